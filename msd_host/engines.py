"""Whether this host is one that a capability asks for: `engines.<product>` (spec 10, Manifest).

Two grammars: a comma, `==`, `~=` or `!=` marks a PEP 440 specifier set, judged by `packaging` (imported only
then); everything else is an npm range. In both a pre-release host is judged as its release, so that a release
candidate of the host does not retire every overlay.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from .npm_range import Release, parse

__all__ = ["Verdict", "is_valid_range", "judge", "release_of"]

_PEP440_MARKS = (",", "==", "~=", "!=")
_MAX_LENGTH = 256
_DIGITS = frozenset("0123456789")


class Verdict(Enum):
    """What comes of a range and a host version. Only `SATISFIED` lets a capability in."""

    SATISFIED = "satisfied"
    UNSATISFIED = "unsatisfied"
    INVALID_RANGE = "invalid-range"
    UNPARSABLE_HOST = "unparsable-host"


def release_of(version: str) -> Release | None:
    """The three numbers of a host version, padded; None where there is no telling."""
    core = version.strip().partition("+")[0].partition("-")[0]
    parts = core[1:].split(".") if core[:1] in ("v", "V") else core.split(".")
    if not 1 <= len(parts) <= 3 or not all(0 < len(p) <= 15 and _DIGITS.issuperset(p) for p in parts):
        return None
    major, minor, patch = ([int(p) for p in parts] + [0, 0])[:3]
    return major, minor, patch


@lru_cache(maxsize=1024)  # a set of overlays asks for the same few ranges over and over
def judge(range_text: str, host_version: str) -> Verdict:
    """Whether *host_version* is in *range_text*. Total: any two strings have an answer."""
    if len(range_text) > _MAX_LENGTH or not range_text.strip():
        return Verdict.INVALID_RANGE
    release = release_of(host_version)
    if any(mark in range_text for mark in _PEP440_MARKS):
        return _judge_pep440(range_text, release)
    found = parse(range_text)
    if found is None:
        return Verdict.INVALID_RANGE
    if release is None:
        return Verdict.UNPARSABLE_HOST
    return Verdict.SATISFIED if found.contains(release) else Verdict.UNSATISFIED


def _judge_pep440(range_text: str, release: Release | None) -> Verdict:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # dear to import, and rarely asked for

    try:
        specifiers = SpecifierSet(range_text)
    except InvalidSpecifier:
        return Verdict.INVALID_RANGE
    if not any(part.strip() for part in range_text.split(",")):
        return Verdict.INVALID_RANGE  # commas alone ask for nothing
    if release is None:
        return Verdict.UNPARSABLE_HOST
    inside = specifiers.contains(".".join(map(str, release)), prereleases=True)
    return Verdict.SATISFIED if inside else Verdict.UNSATISFIED


def is_valid_range(range_text: str) -> bool:
    """Whether *range_text* parses in the grammar it is written in."""
    return judge(range_text, "0.0.0") is not Verdict.INVALID_RANGE
