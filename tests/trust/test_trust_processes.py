"""Real processes that die at any moment, and many at once (field case 11; spec 80, Crash sweep and Concurrency)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import msd_host

HERE = Path(__file__).parent
# A namespace of the checkout or an installed package: wherever this process found it.
SOURCES = str(Path(next(iter(msd_host.__path__))).parent)

#: Between the old and the new state, these may be seen on the way; each is as safe as the old one.
BETWEEN: dict[str, list[dict[str, Any]]] = {
    # The denial stands until the very end; what was granted before it is gone with its first step.
    "grant over denial": [{"denied": True, "grants": [2], "listed": 1}],
    # The denial is the decision; the grants it overrides go afterwards.
    "deny": [{"denied": True, "grants": [1, 2], "listed": 2}],
}


def run(*arguments: str) -> Any:
    answer = subprocess.run(
        [sys.executable, str(HERE / "processes.py"), *arguments],
        env={**os.environ, "PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


@pytest.mark.parametrize(
    "scenario",
    [
        "first grant",
        "second grant",
        "grant over denial",
        "deny",
        "revoke",
        "revoke one",
        "lift",
        "gc",
        "put",
        "put over damage",
    ],
)
def test_case_11_killed_at_any_call_the_store_is_old_or_new(scenario: str, tmp_path: Path) -> None:
    found = run("crash", scenario, str(tmp_path))
    old, new = found["old"], found["new"]
    allowed = [old, new, *({**old, **between} for between in BETWEEN.get(scenario, []))]
    assert old != new
    *killed, last = found["outcomes"]
    assert last == {"code": 0, "facts": new}
    assert len(killed) >= 3
    for outcome in killed:
        assert outcome["code"] == 77
        assert outcome["facts"] in allowed
        assert outcome["again"] == new, "the same call again, after the crash, ends where it should"
        assert outcome["litter"] == []
    assert old in [outcome["facts"] for outcome in killed]


def test_case_11_many_processes_lose_nothing(tmp_path: Path) -> None:
    found = run("crowd", str(tmp_path))
    assert set(found["codes"]) == {0}
    assert all(found["shared"])
    assert found["mine"] == found["expected"]
    assert any(found["expected"].values())
    assert found["ignored"] == []
    assert set(found["listed"]) >= {"shared", *(id for id, grants in found["expected"].items() if grants)}
    assert found["bundle"]
    assert found["litter"] == []
