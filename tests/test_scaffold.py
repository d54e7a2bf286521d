"""What `new` writes passes its own tests at once, and `capability check` too (spec 50, For authors)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from msd_host import MSD
from msd_host.extending.controls import Controls
from msd_host.extending.discovery import Found
from msd_host.extending.loading import load_found
from tests.cli import environment, msd
from tests.planted import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, MSD)


@pytest.mark.parametrize("kind", ["capability", "stage", "observer"])
def test_it_passes_its_own_tests(world: World, kind: str) -> None:
    done = msd(world, "new", kind, "acme-thing")
    assert done.code == 0, done.err
    folder = world.project / "acme-thing"
    env = environment(world.home)
    env["PYTHONPATH"] = str(folder) + os.pathsep + env["PYTHONPATH"]
    words = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder), str(folder / "tests")]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert " passed" in ran.stdout
    if kind == "capability":
        assert msd(world, "capability", "check", "acme-thing/acme-thing").code == 0


def test_a_scaffolded_stage_is_what_the_host_loads(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    msd(world, "new", "stage", "acme-stage")
    monkeypatch.syspath_prepend(str(world.project / "acme-stage"))
    (state,) = load_found([Found("acme-stage", "0.1.0", "stage", "acme_stage", "")], Controls())
    assert state.state == "loaded" and state.admitted is not None
    host_world = World(world.root / "second", extensions=[("s", sys.modules["acme_stage"])])
    host_world.add_global("wild", keywords=["experimental"])
    host_world.add_global("tame")
    assert host_world.codes() == {"wild": "vetoed"}


def test_nothing_is_overwritten_and_names_are_checked(world: World) -> None:
    (world.project / "acme").mkdir()
    assert msd(world, "new", "capability", "acme").code == 3
    assert not list((world.project / "acme").iterdir())
    for name in ("Acme", "../x", "msd-x", "a b", ""):
        assert msd(world, "new", "capability", name).code == 2
    assert msd(world, "new", "gadget", "acme").code == 2
