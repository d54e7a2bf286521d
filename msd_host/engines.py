"""Whether this host is one that a capability asks for: `engines.<product>` (spec 10, Manifest).

Two grammars: a comma, `==`, `~=` or `!=` marks a PEP 440 specifier set, judged by `packaging` (imported only
then); everything else is an npm range. In both a pre-release host is judged as its release, so that a release
candidate of the host does not retire every overlay.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from .npm_range import MAX_LENGTH, Release, parse

__all__ = ["Verdict", "is_valid_range", "judge", "release_of"]

_PEP440_MARKS = (",", "==", "~=", "!=")
_NOTHING_ASKED = " \t\n\v\f\r|,"
_PLAIN = frozenset("0123456789.")
_MAX_DIGITS = 15  # of one number of a host version; what npm counts, and no more

#: Python writes its pre-releases without a hyphen: `1.2.0rc1`, `1.2.0.dev3`.
_PYTHON_SUFFIX = r"([0-9.]*[0-9])(?:(?:a|b|rc)[0-9]+)?(?:\.post[0-9]+)?(?:\.dev[0-9]+)?"


class Verdict(Enum):
    """What comes of a range and a host version. Only `SATISFIED` lets a capability in."""

    SATISFIED = "satisfied"
    UNSATISFIED = "unsatisfied"
    INVALID_RANGE = "invalid-range"
    UNPARSABLE_HOST = "unparsable-host"


@lru_cache(maxsize=8)  # one host has one version
def release_of(version: str) -> Release | None:
    """The three numbers of a host version, padded; None where there is no telling.

    A leading `v`, blanks around, and pre-release, post-release and build tags do not count.
    """
    core = version.strip().partition("+")[0].partition("-")[0]
    parts = _numeric_part(core[1:] if core[:1] in ("v", "V") else core).split(".")
    if len(parts) > 3 or not all(0 < len(part) <= _MAX_DIGITS for part in parts):
        return None
    major, minor, patch = ([int(part) for part in parts] + [0, 0])[:3]
    return major, minor, patch


def _numeric_part(core: str) -> str:
    """Digits and dots; nothing where *core* has anything else but a suffix that Python knows."""
    if _PLAIN.issuperset(core):
        return core
    found = re.fullmatch(_PYTHON_SUFFIX, core) if len(core) <= MAX_LENGTH else None
    return found[1] if found else ""


def judge(range_text: str, host_version: str) -> Verdict:
    """Whether *host_version* is in *range_text*. Total: any two strings have an answer, and soon."""
    if len(range_text) > MAX_LENGTH or not range_text.strip(_NOTHING_ASKED):
        return Verdict.INVALID_RANGE
    return _verdict(range_text, release_of(host_version))


def is_valid_range(range_text: str) -> bool:
    """Whether *range_text* parses in the grammar it is written in."""
    return judge(range_text, "0.0.0") is not Verdict.INVALID_RANGE


@lru_cache(maxsize=1024)  # a set of overlays asks for the same few ranges over and over
def _verdict(range_text: str, release: Release | None) -> Verdict:
    is_pep440 = any(mark in range_text for mark in _PEP440_MARKS)
    inside = _in_pep440(range_text, release) if is_pep440 else _in_npm(range_text, release)
    if inside is None:
        return Verdict.INVALID_RANGE
    if release is None:
        return Verdict.UNPARSABLE_HOST
    return Verdict.SATISFIED if inside else Verdict.UNSATISFIED


def _in_npm(range_text: str, release: Release | None) -> bool | None:
    """None: no range."""
    found = parse(range_text)
    return None if found is None else release is not None and found.contains(release)


def _in_pep440(range_text: str, release: Release | None) -> bool | None:
    """None: no specifier set."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # dear to import, and rarely asked for

    try:
        specifiers = SpecifierSet(range_text)
    except InvalidSpecifier:
        return None
    return release is not None and specifiers.contains(".".join(map(str, release)), prereleases=True)
