"""One acceptance: `check` of a folder says what a load says of it once the user agreed (spec 30, law 3)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from msd_host import MSD, Host, Scope
from msd_host.errors import MSDError
from tests.planted import World, gate, ledger, manifest

Change = Callable[[World, Path], None]


def _link_inside(world: World, folder: Path) -> None:
    (folder / "more.md").symlink_to(folder / "notes.md")


def _too_large(world: World, folder: Path) -> None:
    with (folder / "big.bin").open("wb") as file:
        file.truncate(MSD.limits.bundle_bytes + 1)


def _pending(world: World, folder: Path) -> None:
    scope = world.home if world.home in folder.parents else world.project
    ledger(scope, acme={"_pending": True})


def _other_id(world: World, folder: Path) -> None:
    (folder / "capability.json").write_text(json.dumps(manifest("other")))


def _no_json(world: World, folder: Path) -> None:
    (folder / "capability.json").write_text("{")


def _needs_what_is_not_there(world: World, folder: Path) -> None:
    (folder / "capability.json").write_text(json.dumps(manifest("acme", requires=["nobody"])))


def _linked_bundle(world: World, folder: Path) -> None:
    folder.rename(world.root / "elsewhere")
    folder.symlink_to(world.root / "elsewhere")


def _linked_root(world: World, folder: Path) -> None:
    folder.parent.rename(world.root / "caps")
    folder.parent.symlink_to(world.root / "caps")


def _nothing(world: World, folder: Path) -> None: ...


CHANGES: tuple[Change, ...] = (
    _nothing,
    _link_inside,
    _too_large,
    _pending,
    _other_id,
    _no_json,
    _needs_what_is_not_there,
    _linked_bundle,
    _linked_root,
)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__.lstrip("_"))
@pytest.mark.parametrize("scope", ["global", "project"])
def test_check_says_of_a_folder_in_place_what_a_load_says(world: World, scope: str, change: Change) -> None:
    add = world.add_global if scope == "global" else world.add_project
    folder = add("acme", gates=[gate()], files={"notes.md": "notes"})
    change(world, folder)
    verdict = world.host.check(folder, cwd=world.project)
    hashes = _hashes(world)
    loaded = world.codes(trust={"acme": hashes})
    if loaded.get("acme") == "unconsented":  # nobody can agree to bytes without a hash
        assert verdict.code is not None and verdict.code.value in ("consent-unverifiable", "bundle-symlink")
        assert not verdict.ok
        return
    code = None if verdict.code is None else verdict.code.value
    assert (verdict.ok, code) == ("acme" in world.accepted(trust={"acme": hashes}), loaded.get("acme"))


def _hashes(world: World) -> list[str]:
    """The hash to agree to, where there is one."""
    try:
        found = world.host.trust.show("acme", cwd=world.project).content_hash
    except MSDError:
        return []
    return [] if found is None else [found]


def test_check_says_the_scope_that_a_load_would_judge_it_in(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.host = Host(MSD, home=world.project / "inner", discover_extensions=False)
    folder = world.plant(world.project / "inner" / ".msd" / "capabilities" / "acme", manifest("acme"))
    skip = world.skips()["acme"]
    assert skip.scope.label == world.host.check(folder, cwd=world.project).scope.label == "project"


def test_check_tells_why_bytes_cannot_be_vouched_for(world: World) -> None:
    folder = world.add_project("acme")
    _link_inside(world, folder)
    (fault,) = world.host.check(folder, cwd=world.project).faults
    assert "link" in fault.message


def test_a_folder_elsewhere_is_judged_as_if_it_lay_in_the_scope_asked_for(world: World, tmp_path: Path) -> None:
    folder = world.plant(tmp_path / "author" / "acme-src", manifest("acme", gates=[gate()]), {"notes.md": "x"})
    assert world.host.check(folder, cwd=world.project, scope=Scope.PROJECT).ok
    _link_inside(world, folder)
    assert world.host.check(folder, cwd=world.project, scope=Scope.GLOBAL).ok
    verdict = world.host.check(folder, cwd=world.project, scope=Scope.PROJECT)
    assert (verdict.id, verdict.code and verdict.code.value) == ("acme-src", "consent-unverifiable")
