"""Each recorded overlay tree is decided as recorded, or differently by exactly one rule (conformance notes)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.tally import Tally
from tests.conformance.trees import Case, cases, run
from tests.shared import needs_shared

pytestmark = needs_shared


def test_all_cases_are_there() -> None:
    assert len(cases()) == 200
    assert len({case["case"] for case in cases()}) == 200


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['case']}-{case['theme']}")
def test_case(case: Case, tmp_path: Path, tally: Tally) -> None:
    unexplained = tally.add(run(case, tmp_path.resolve()))
    assert not unexplained, "\n".join(unexplained)
