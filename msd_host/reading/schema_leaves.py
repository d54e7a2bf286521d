"""Checks of single values: functions that give the value back as it is or raise `Wrong`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..model.frozen import FrozenDict
from ..text import nearest, quoted
from .schema import Wrong, mistyped, one_of
from .schema_words import Depth, Positive, Word

__all__ = ["NUMBERS", "PRIMITIVES", "Check", "exact", "literal", "point", "word"]

#: Takes a value and the type it is for, as the structuring functions hand them on.
Check = Callable[[Any, Any], Any]

PRIMITIVES: Mapping[type, str] = FrozenDict({str: "a string", bool: "a boolean", int: "a whole number"})


def word(kind: Word) -> Check:
    """Text of a constrained type."""
    fits = re.compile(kind.pattern).fullmatch
    refused = kind.refused

    def check(value: Any, _: Any) -> Any:
        if type(value) is not str:
            raise mistyped("a string", value)
        if fits(value) is None:
            raise Wrong(f"must be {kind.expected}, not {quoted(value)}" if value else "must not be empty")
        if refused is not None and refused(value):
            raise Wrong(f"{quoted(value)} {kind.because}")
        return value

    return check


def exact(kind: type, expected: str) -> Check:
    """A value of exactly the type *kind*."""

    def check(value: Any, _: Any) -> Any:
        if type(value) is not kind:
            raise mistyped(expected, value)
        return value

    return check


def literal(options: tuple[Any, ...]) -> Check:
    """One of *options*, of its type: `true` is not 1."""
    types, allowed = frozenset(map(type, options)), frozenset(options)

    def check(value: Any, _: Any) -> Any:
        if type(value) not in types or value not in allowed:
            raise one_of(options, value)
        return value

    return check


def point(points: frozenset[str]) -> Check:
    """A point of the loop."""

    def check(value: Any, _: Any) -> Any:
        if type(value) is not str:
            raise mistyped("a string", value)
        if value not in points:
            close = nearest(value, points)
            hint = f"; did you mean {quoted(close)}?" if close is not None else ""
            raise Wrong(f"{quoted(value)} is not a point of the loop{hint}")
        return value

    return check


def _at_least(least: int, expected: str) -> Check:
    def check(value: Any, _: Any) -> Any:
        if type(value) is not int:
            raise mistyped(expected, value)
        if value < least:
            raise Wrong(f"must be {expected}, not {value}")
        return value

    return check


_depth_number = _at_least(-1, 'a whole number from -1 on or "undocumented"')


def _depth(value: Any, kind: Any) -> Any:
    return value if type(value) is str and value == "undocumented" else _depth_number(value, kind)


NUMBERS: Mapping[Any, Check] = FrozenDict({Positive: _at_least(1, "a whole number above 0"), Depth: _depth})
