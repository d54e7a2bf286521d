"""Each attempt is refused with its own message, as an object and as an installed entry point."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import msd_impostor
import pytest
from msd_impostor import REFUSALS

from msd_host import ExtensionRefused
from msd_host.extending.admission import admit
from msd_host.testing import World

CLASSES = {
    "".join(part.title() for part in name.split("-")): words for name, words in REFUSALS.items() if name != "gone"
}


@pytest.mark.parametrize("name", CLASSES)
def test_each_attempt_has_its_own_message(name: str) -> None:
    with pytest.raises(ExtensionRefused) as caught:
        admit(getattr(msd_impostor, name), "msd-impostor:x")
    assert CLASSES[name] in str(caught.value)


def test_the_liar_vetoes_in_its_own_name(tmp_path: Path) -> None:
    world = World(tmp_path, extensions=[("liar", msd_impostor.Liar)])
    world.add_global("acme")
    skip = world.skips()["acme"]
    assert skip.code.value == "stage-error" and "answered with bool" in skip.reason


def installed() -> bool:
    try:
        distribution("msd-impostor")
    except PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not installed(), reason="msd-impostor is not installed in this environment")
def test_installed_side_by_side_each_is_one_row_and_nothing_else_changes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "msd_host", "plugins", "check", "--json"], capture_output=True, text=True, check=False
    )
    rows = {r["name"].partition(":")[2]: r for r in json.loads(done.stdout) if r["name"].startswith("msd-impostor:")}
    assert set(rows) == {*REFUSALS, "liar"}
    for name, words in REFUSALS.items():
        assert not rows[name]["ok"] and words in rows[name]["reason"], rows[name]
    assert rows["liar"]["ok"]
