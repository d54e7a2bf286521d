"""npm-style version ranges, judged against released versions (spec 10, Manifest).

No package on the shelf is right, and a wrong "yes" lets an overlay in that does not fit. This parser never
accepts what npm rejects; it is stricter in one place, digits after a wildcard (`1.x.3`), which npm takes in
some positions. A range is a union (`||`) of sets of comparators that must all hold.

The version judged is always a release: against `<2.0.0-rc.1` and the like a release compares as semver orders
it, after every pre-release of the same numbers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

__all__ = ["NpmRange", "Release", "parse"]

Release = tuple[int, int, int]

_MAX_LENGTH = 256  # npm's own limit
_MAX_NUMBER = 2**53 - 1  # beyond it npm cannot count

_NUMBER = r"(?:0|[1-9][0-9]{0,15})"
_PART = rf"(?:{_NUMBER}|[xX*])"
_LABEL = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_PARTIAL = (
    rf"[v=\s]*({_PART})(?:\.({_PART})(?:\.({_PART})"
    rf"(-{_LABEL}(?:\.{_LABEL})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)?)?"
)


class _Patterns(NamedTuple):
    """Compiled on first use: a load without overlays judges no range."""

    comparator: re.Pattern[str]
    hyphen: re.Pattern[str]
    after_operator: re.Pattern[str]


@lru_cache(maxsize=1)
def _patterns() -> _Patterns:
    return _Patterns(
        re.compile(rf"(\^|~>?|[<>]=?|=)?({_PARTIAL})", re.ASCII),
        re.compile(rf"({_PARTIAL})\s+-\s+({_PARTIAL})", re.ASCII),
        re.compile(r"(\^|~>?|[<>]=?|=)\s+"),
    )


class _Wrong(ValueError):
    """The text is no range."""


class _Partial(NamedTuple):
    """`numbers` holds the parts before the first wildcard; `pre` tells of a pre-release tag."""

    numbers: tuple[int, ...]
    pre: bool

    @property
    def low(self) -> Release:
        """The least version of these numbers."""
        major, minor, patch = (*self.numbers, 0, 0, 0)[:3]
        return major, minor, patch

    def bumped(self, at: int) -> Release:
        """The least version after all that share the numbers up to place *at*."""
        numbers = [*self.numbers, 0, 0, 0][:3]
        numbers[at] += 1
        numbers[at + 1 :] = [0] * (2 - at)
        return numbers[0], numbers[1], numbers[2]


class NpmRange:
    """A parsed range: a union of half-open intervals `[low, high)`, `high` None for no bound."""

    __slots__ = ("_intervals",)

    def __init__(self, intervals: tuple[tuple[Release, Release | None], ...]) -> None:
        self._intervals = intervals

    def contains(self, version: Release) -> bool:
        """Whether the released *version* is in the range."""
        return any(low <= version and (high is None or version < high) for low, high in self._intervals)


_Interval = tuple[Release, "Release | None"]
_ALL: _Interval = ((0, 0, 0), None)
_NOTHING: _Interval = ((0, 0, 0), (0, 0, 0))


@lru_cache(maxsize=1024)
def parse(text: str) -> NpmRange | None:
    """*text* as a range, None where npm would not take it."""
    if len(text) > _MAX_LENGTH or not text.isascii():
        return None
    try:
        return NpmRange(tuple(_conjunction(part.strip()) for part in text.split("||")))
    except _Wrong:
        return None


def _conjunction(text: str) -> _Interval:
    """Everything between two `||`: a hyphen range, or comparators that all must hold."""
    hyphen = _patterns().hyphen.fullmatch(text)
    if hyphen is not None:
        low, high = _partial(hyphen.groups()[1:5]), _partial(hyphen.groups()[6:10])
        return _both(_at_least(low), _at_most(high))
    found = _ALL
    for word in _patterns().after_operator.sub(r"\1", text).split():
        match = _patterns().comparator.fullmatch(word)
        if match is None:
            raise _Wrong(word)
        found = _both(found, _interval(match.group(1) or "=", _partial(match.groups()[2:6])))
    return found


def _partial(groups: tuple[str | None, ...]) -> _Partial:
    major, minor, patch, pre = groups
    numbers: list[int] = []
    open_end = False
    for part in (major, minor, patch):
        if part is None or part in "xX*":
            open_end = True
        elif open_end:
            raise _Wrong("digits after a wildcard")
        else:
            numbers.append(int(part))
            if numbers[-1] > _MAX_NUMBER:
                raise _Wrong("a number beyond what npm counts")
    if pre is not None and len(numbers) < 3:
        raise _Wrong("a pre-release of a wildcard")
    return _Partial(tuple(numbers), pre is not None)


def _both(one: _Interval, other: _Interval) -> _Interval:
    high = one[1] if other[1] is None else other[1] if one[1] is None else min(one[1], other[1])
    return max(one[0], other[0]), high


def _at_least(partial: _Partial) -> _Interval:
    return partial.low, None


def _at_most(partial: _Partial) -> _Interval:
    if not partial.numbers:
        return _ALL
    if partial.pre:
        return (0, 0, 0), partial.low  # the release itself comes after its pre-releases
    return (0, 0, 0), partial.bumped(len(partial.numbers) - 1)


def _interval(operator: str, partial: _Partial) -> _Interval:
    count = len(partial.numbers)
    if operator == "^":
        return _caret(partial)
    if operator in ("~", "~>"):
        return (partial.low, partial.bumped(min(count, 2) - 1)) if count else _ALL
    if operator == ">=":
        return _at_least(partial)
    if operator == "<=":
        return _at_most(partial)
    if operator == "<":
        return (0, 0, 0), partial.low
    if operator == ">":
        if not count:
            return _NOTHING
        return (partial.low if partial.pre else partial.bumped(count - 1)), None
    if partial.pre:
        return _NOTHING  # exactly a pre-release, which a release never is
    return (partial.low, partial.bumped(count - 1)) if count else _ALL


def _caret(partial: _Partial) -> _Interval:
    """Up to the next change of the leftmost number that is not zero."""
    numbers = partial.numbers
    if not numbers:
        return _ALL
    first = next((i for i, n in enumerate(numbers) if n), len(numbers) - 1)
    return partial.low, partial.bumped(first)
