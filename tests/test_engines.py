"""`engines` ranges: npm's own answers for plain releases, PEP 440 sets, odd hosts (spec 10, Manifest)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msd_host.engines import Verdict, is_valid_range, judge, release_of
from msd_host.npm_range import parse
from tests.shared import SHARED, needs_shared

PAIRS_FILE = SHARED / "data" / "semver_pairs.json"


def pairs() -> list[dict[str, Any]]:
    return json.loads(PAIRS_FILE.read_text())["pairs"] if PAIRS_FILE.is_file() else []


def is_ours_to_decide(pair: dict[str, Any]) -> bool:
    """PEP 440 rows, the empty range, pre-release hosts, padded hosts (spec 10)."""
    pep = any(mark in pair["range"] for mark in (",", "==", "!=", "~="))
    return pep or not pair["range"].strip() or "-" in pair["version"] or pair["version"].count(".") != 2


@needs_shared
def test_the_shared_truth_is_there_in_full() -> None:
    assert len(pairs()) == 85
    assert sum(not is_ours_to_decide(p) for p in pairs()) > 55


@pytest.mark.parametrize(
    "pair", [p for p in pairs() if not is_ours_to_decide(p)], ids=lambda p: f"{p['range']}@{p['version']}"
)
def test_npm_ranges_answer_as_npm_does(pair: dict[str, Any]) -> None:
    assert (judge(pair["range"], pair["version"]) is Verdict.SATISFIED) == pair["satisfies"]


@pytest.mark.parametrize(
    ("range_text", "host", "verdict"),
    [
        (">=1.2.0,<2", "1.5.0", Verdict.SATISFIED),
        ("==1.2.3", "1.2.4", Verdict.UNSATISFIED),
        ("!=1.2.3", "1.2.4", Verdict.SATISFIED),
        ("~=1.2", "1.9.0", Verdict.SATISFIED),
        ("==1.*", "1.9.0", Verdict.SATISFIED),
        (">=1,junk", "1.0.0", Verdict.INVALID_RANGE),
        (",", "1.0.0", Verdict.INVALID_RANGE),
        ("", "1.0.0", Verdict.INVALID_RANGE),
        ("   ", "1.0.0", Verdict.INVALID_RANGE),
        (">=1.2.0", "1.2.0-rc.1", Verdict.SATISFIED),
        ("<2.0.0", "2.0.0-rc.1", Verdict.UNSATISFIED),
        (">=1.2.0,<2", "1.2.0-rc.1", Verdict.SATISFIED),
        (">=1.6.0", "1.10", Verdict.SATISFIED),
        (">=1", "2", Verdict.SATISFIED),
        (">=1", "v2.0.0", Verdict.SATISFIED),
        (">=1", "2.0.0+build.7", Verdict.SATISFIED),
        ("*", "garbage", Verdict.UNPARSABLE_HOST),
        (">=1,<3", "garbage", Verdict.UNPARSABLE_HOST),
        ("*", "1.2.3.4", Verdict.UNPARSABLE_HOST),
        ("*", "", Verdict.UNPARSABLE_HOST),
        ("*", "\u0661.0.0", Verdict.UNPARSABLE_HOST),
        ("1.2.3-rc.1", "1.2.3", Verdict.UNSATISFIED),
        ("<1.2.3-rc.1", "1.2.3", Verdict.UNSATISFIED),
        ("<=1.2.3-rc.1", "1.2.2", Verdict.SATISFIED),
        (">1.2.3-rc.1", "1.2.3", Verdict.SATISFIED),
        (">*", "1.0.0", Verdict.UNSATISFIED),
        ("^99999999999999999", "1.0.0", Verdict.INVALID_RANGE),
        (">=1.0.0; rm -rf", "1.0.0", Verdict.INVALID_RANGE),
        ("x" * 257, "1.0.0", Verdict.INVALID_RANGE),
        ("9" * 5000, "9" * 5000, Verdict.INVALID_RANGE),
        (">=1.\u0661", "1.0.0", Verdict.INVALID_RANGE),
    ],
)
def test_what_the_specification_decides_itself(range_text: str, host: str, verdict: Verdict) -> None:
    assert judge(range_text, host) is verdict
    assert is_valid_range(range_text) == (verdict is not Verdict.INVALID_RANGE)


NUMBER = st.integers(0, 12)
RELEASE = st.tuples(NUMBER, NUMBER, NUMBER)


def text_of(release: tuple[int, int, int]) -> str:
    return ".".join(map(str, release))


def holds(range_text: str, release: tuple[int, int, int]) -> bool:
    found = parse(range_text)
    assert found is not None, range_text
    return found.contains(release)


@given(RELEASE, RELEASE)
def test_comparators_order_releases(one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    assert holds(f">={text_of(one)}", other) == (other >= one)
    assert holds(f"> {text_of(one)}", other) == (other > one)
    assert holds(f"<{text_of(one)}", other) == (other < one)
    assert holds(f"<= {text_of(one)}", other) == (other <= one)
    assert holds(f"={text_of(one)}", other) == (other == one)


@given(RELEASE, RELEASE)
def test_caret_and_tilde_mean_what_they_stand_for(one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    major, minor, patch = one
    upper = (major + 1, 0, 0) if major else (0, minor + 1, 0) if minor else (0, 0, patch + 1)
    assert holds(f"^{text_of(one)}", other) == (one <= other < upper)
    assert holds(f"~{text_of(one)}", other) == (one <= other < (major, minor + 1, 0))
    assert holds(f"{major}.x", other) == (other[0] == major)
    assert holds(f"{major}.{minor}", other) == (other[:2] == (major, minor))


@given(RELEASE, RELEASE, RELEASE)
def test_two_bars_are_a_union_a_blank_is_an_intersection_and_a_hyphen_is_both_ends(
    one: tuple[int, int, int], two: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    low, high = f">={text_of(one)}", f"<={text_of(two)}"
    assert holds(f"{low} || {high}", other) == (holds(low, other) or holds(high, other))
    assert holds(f"{low}   {high}", other) == (holds(low, other) and holds(high, other))
    assert holds(f"{text_of(one)} - {text_of(two)}", other) == holds(f"{low} {high}", other)


@given(st.text(alphabet="0123456789.xX*<>=~^| -v+abrc,!", max_size=300), st.text(max_size=30))
def test_any_two_strings_have_an_answer(range_text: str, host: str) -> None:
    verdict = judge(range_text, host)
    if release_of(host) is None:
        assert verdict is not Verdict.SATISFIED


@pytest.mark.parametrize("text", ["1." * 128, "-" * 256, "1.2.3-" + "a." * 120, " " * 200 + "x", "=" * 256, "v " * 128])
def test_adversarial_texts_are_answered_at_once(text: str) -> None:
    assert judge(text, "1.0.0") in (Verdict.INVALID_RANGE, Verdict.UNSATISFIED, Verdict.SATISFIED)
