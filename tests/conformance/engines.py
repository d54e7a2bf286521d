"""A second opinion on ranges, just enough to check what the conformance notes say of `engines` (V8)."""

from __future__ import annotations

import re

__all__ = ["is_range", "is_version", "satisfies"]

_PART = r"(?:\d{1,15}|[xX*])"
_COMPARATOR = re.compile(
    rf"(?P<sign>[<>]=?|[~^=])?v?(?P<parts>{_PART}(?:\.{_PART}){{0,2}})(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?"
)
_VERSION = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:[-+].*)?")


def _comparators(text: str) -> list[list[str]]:
    """Alternatives of comparators; npm lets blanks stand between a sign and its version."""
    glued = re.sub(r"([<>=~^]+)\s+", r"\1", text.strip())
    return [alternative.split() for alternative in glued.split("||")]


def is_range(text: str) -> bool:
    """Whether *text* can be an npm range without hyphens, or a PEP 440 set at all."""
    if any(mark in text for mark in (",", "==", "~=", "!=")):
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return bool(SpecifierSet(text))
        except InvalidSpecifier:
            return False
    return all(_COMPARATOR.fullmatch(word) for alternative in _comparators(text) for word in alternative)


def is_version(text: str) -> bool:
    """Whether there is a telling which release *text* is."""
    return _VERSION.fullmatch(text) is not None


def satisfies(text: str, host: str) -> bool:
    """Whether *host* is in a range of plain comparisons of whole versions; other ranges get no second opinion."""
    found = _VERSION.fullmatch(host)
    if found is None or not is_range(text):
        return False
    release = tuple(int(part or 0) for part in found.groups())
    return any(all(_holds(word, release) for word in alternative) for alternative in _comparators(text))


def _holds(word: str, release: tuple[int, ...]) -> bool:
    comparator = re.fullmatch(r"([<>]=?|=)?(\d+)\.(\d+)\.(\d+)", word)
    if comparator is None:
        return False
    sign, bound = comparator.group(1) or "=", tuple(int(part) for part in comparator.groups()[1:])
    return {
        ">": release > bound,
        ">=": release >= bound,
        "<": release < bound,
        "<=": release <= bound,
        "=": release == bound,
    }[sign]
