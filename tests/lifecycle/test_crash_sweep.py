"""Killed after any changing call, the next change ends in old or new (spec 30, Law 4). The table: `sweep.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from msd_host import Scope
from tests.lifecycle.sweep import VERBS, sweep


@pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.PROJECT], ids=lambda s: s.label)
@pytest.mark.parametrize("verb", VERBS)
def test_old_or_new_and_nothing_between(verb: str, scope: Scope, tmp_path: Path) -> None:
    found = sweep(verb, scope, tmp_path)
    assert not found.wrong
    assert found.points > 15 and set(found.outcomes) <= {"old", "new"}
    assert found.outcomes["new"] and (verb == "remove" or found.outcomes["old"])
