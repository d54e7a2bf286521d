"""Killed after any changing call, the next change ends in old or new (spec 30, Law 4). The table: `sweep.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from msd_host import Scope
from tests.lifecycle.ground import Bench
from tests.lifecycle.killing import killed_at
from tests.lifecycle.sweep import VERBS, ends_of, sweep, told_of


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.PROJECT], ids=lambda s: s.label)
@pytest.mark.parametrize("verb", VERBS)
def test_old_or_new_and_nothing_between(verb: str, scope: Scope, tmp_path: Path) -> None:
    found = sweep(verb, scope, tmp_path)
    assert not found.wrong
    assert found.points > 15 and set(found.outcomes) <= {"old", "new"}
    assert found.outcomes["new"] and (verb == "remove" or found.outcomes["old"])


@pytest.mark.parametrize("verb", ["update+settings", "remove+settings"])
def test_a_recovery_that_is_killed_itself_is_taken_up_by_the_next(verb: str, tmp_path: Path) -> None:
    before, act = VERBS[verb]
    ends = ends_of(verb, Scope.PROJECT, tmp_path / "ends")
    killed = 0
    for first in range(8, 200, 9):
        for second in range(2, 200, 4):
            bench = Bench(tmp_path / f"{first}-{second}", Scope.PROJECT)
            before(bench)
            if not killed_at(first, lambda bench=bench: act(bench)):  # type: ignore[misc]
                break
            again = killed_at(second, bench.lifecycle.reconcile)
            bench.lifecycle.reconcile()
            assert told_of(bench) in ends, (first, second)
            assert not bench.leftovers(), (first, second)
            if not again:
                break
            killed += 1
    assert killed > 5


def test_what_comes_back_after_a_removal_began_is_not_deleted(tmp_path: Path) -> None:
    """A checkout may bring the folder back before anybody ends the removal."""
    kept = 0
    for number in range(1, 100):
        bench = Bench(tmp_path / str(number), Scope.PROJECT)
        bench.install(bench.source())
        if not killed_at(number, bench.remove):
            break
        folder = bench.project_folder("acme")
        if not folder.exists():
            bench.add_project("acme")
            bench.lifecycle.reconcile()
            assert folder.exists() and bench.codes() == {"acme": "unconsented"}, number
            kept += 1
    assert kept > 3
