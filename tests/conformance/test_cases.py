"""Each recorded overlay tree is decided as recorded, or differently by a rule (conformance notes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.tally import Tally
from tests.conformance.trees import cases, run
from tests.shared import needs_shared

ALL = cases()


@needs_shared
def test_all_cases_are_there() -> None:
    assert len(ALL) == 200


@needs_shared
@pytest.mark.parametrize("case", ALL, ids=lambda c: f"{c['case']}-{c['theme']}")
def test_case(case: dict[str, Any], tmp_path: Path, tally: Tally) -> None:
    unexplained = tally.add(run(case, tmp_path.resolve()))
    assert not unexplained, "\n".join(unexplained)
