"""npm-style version ranges, judged against released versions (spec 10, Manifest).

No package on the shelf is right, and a wrong "yes" lets an overlay in that does not fit. This parser never
accepts what npm rejects. It refuses some oddities that npm lets pass, as nobody can say what they mean: digits
or a pre-release tag after a wildcard (`1.x.3`, `1.x.x-rc`), build metadata after fewer than three parts, and
signs that pile up (`^=1`, `~ >1`).

A range is a union (`||`) of sets of comparators that must all hold. The version judged is always a release:
against `<2.0.0-rc.1` and the like it compares as semver orders it, after every pre-release of the same numbers.
So each set comes down to one interval of releases. No pattern matching: the cost is linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

__all__ = ["MAX_LENGTH", "NpmRange", "Release", "parse"]

Release = tuple[int, int, int]

MAX_LENGTH = 256  # of a text that is looked at
_MAX_NUMBER = 2**53 - 1  # beyond it npm cannot count
_WILDCARDS = ("x", "X", "*")
_OPERATORS = ("^", "~>", "~", ">=", "<=", ">", "<", "=")  # a longer one before its beginning
_BLANKS = str.maketrans("\t\n\v\f\r", "     ")  # blank to npm; Python's own split would take more


class _Wrong(ValueError):
    """The text is no range."""


class _Interval(NamedTuple):
    """The releases from `low` up to, but without, `high`; None is no bound."""

    low: Release = (0, 0, 0)
    high: Release | None = None

    def holds(self, release: Release) -> bool:
        return self.low <= release and (self.high is None or release < self.high)

    def both(self, other: _Interval) -> _Interval:
        highs = [high for high in (self.high, other.high) if high is not None]
        return _Interval(max(self.low, other.low), min(highs, default=None))


_ALL = _Interval()
_NOTHING = _Interval(high=(0, 0, 0))


class _Partial(NamedTuple):
    """`numbers` holds the parts before the first wildcard; `pre` tells of a pre-release tag."""

    numbers: tuple[int, ...]
    pre: bool

    @property
    def low(self) -> Release:
        """The least release with these numbers."""
        major, minor, patch = (*self.numbers, 0, 0, 0)[:3]
        return major, minor, patch

    @property
    def past(self) -> Release:
        """The least release after all that have these numbers."""
        if len(self.numbers) < 3:
            return self.bumped(len(self.numbers) - 1)
        major, minor, patch = self.low
        return major, minor, patch + 1

    def bumped(self, at: int) -> Release:
        """The least release with a higher number at place *at*. Raises where npm could not write that number."""
        if self.numbers[at] == _MAX_NUMBER:
            raise _Wrong("a bound beyond what npm counts")
        major, minor, patch = (*self.numbers[:at], self.numbers[at] + 1, 0, 0)[:3]
        return major, minor, patch


class NpmRange(NamedTuple):
    """A parsed range."""

    intervals: tuple[_Interval, ...]

    def contains(self, release: Release) -> bool:
        """Whether the released version *release* is in the range."""
        return any(interval.holds(release) for interval in self.intervals)


def parse(text: str) -> NpmRange | None:
    """*text* as a range; None where it is none, which npm may see otherwise (see the module), never the reverse.

    As to npm, nothing at all between two `||` asks for nothing: any version will do.
    """
    return _parsed(text) if len(text) <= MAX_LENGTH else None


@lru_cache(maxsize=1024)  # a set of overlays asks for the same few ranges over and over
def _parsed(text: str) -> NpmRange | None:
    text = text.translate(_BLANKS)
    if not (text.isascii() and text.isprintable()):
        return None
    try:
        return NpmRange(tuple(_alternative(part) for part in text.split("||")))
    except _Wrong:
        return None


def _alternative(text: str) -> _Interval:
    """Everything between two `||`: a hyphen range, or comparators that all must hold."""
    words = text.split()
    if len(words) == 3 and words[1] == "-":
        return _at_least(_partial(words[0])).both(_at_most(_partial(words[2])))
    found = _ALL
    for operator, version in _comparators(iter(words)):
        found = found.both(_interval(operator, _partial(version)))
    return found


def _comparators(words: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Pairs of operator and version; the operator may be a word of its own, or absent."""
    for word in words:
        operator = next((sign for sign in _OPERATORS if word.startswith(sign)), "")
        yield operator or "=", word[len(operator) :] or next(words, "")


def _partial(text: str) -> _Partial:
    """A version, whole or in part. Raises `_Wrong`."""
    before, plus, build = text.removeprefix("v").partition("+")
    core, dash, tag = before.partition("-")
    parts = core.split(".")
    numbers = tuple(_number(part) for part in parts if part not in _WILDCARDS)
    if len(parts) > 3 or any(part in _WILDCARDS for part in parts[: len(numbers)]):
        raise _Wrong("too many parts, or digits after a wildcard")
    if (plus and not (len(parts) == 3 and _are_labels(build))) or (
        dash and not (len(numbers) == 3 and _are_labels(tag) and not _has_padded_number(tag))
    ):
        raise _Wrong("what follows the numbers is no tag")
    return _Partial(numbers, bool(dash))


def _number(text: str) -> int:
    if not text.isdigit() or (text[0] == "0" and text != "0") or int(text) > _MAX_NUMBER:
        raise _Wrong("not a number that npm counts")
    return int(text)


def _are_labels(text: str) -> bool:
    return all(label.replace("-", "0").isalnum() for label in text.split("."))


def _has_padded_number(text: str) -> bool:
    return any(label.isdigit() and label[0] == "0" and label != "0" for label in text.split("."))


def _interval(operator: str, partial: _Partial) -> _Interval:
    if operator in (">", "<") and not partial.numbers:
        return _NOTHING  # above, or below, all there is
    if operator == ">=":
        return _at_least(partial)
    if operator == "<=":
        return _at_most(partial)
    if operator == "<":
        return _Interval(high=partial.low)
    if operator == ">":
        return _Interval(partial.low if partial.pre else partial.past)
    if not partial.numbers:
        return _ALL
    if operator == "^":
        return _Interval(partial.low, partial.bumped(_leftmost(partial.numbers)))
    if operator in ("~", "~>"):
        return _Interval(partial.low, partial.bumped(min(len(partial.numbers), 2) - 1))
    return _NOTHING if partial.pre else _Interval(partial.low, partial.past)  # a release is no pre-release


def _at_least(partial: _Partial) -> _Interval:
    return _Interval(partial.low)


def _at_most(partial: _Partial) -> _Interval:
    if not partial.numbers:
        return _ALL
    return _Interval(high=partial.low if partial.pre else partial.past)  # a release comes after its pre-releases


def _leftmost(numbers: tuple[int, ...]) -> int:
    """The place of the first number that is not zero: the one a caret keeps. Else the last place there is."""
    return next((i for i, number in enumerate(numbers) if number), len(numbers) - 1)
