"""One flat `key: value` line of a markdown file's frontmatter: as little YAML as a gate needs (reference, section 1.4).

Nested values, lists, blocks, anchors and tags have no scalar here, so they equal nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from ..text import quoted

__all__ = ["NoScalar", "Scalar", "is_equal", "scalar_at"]

_FENCE = "---"
_LINE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)[ \t]*:(?:[ \t]+(.*))?")
_DOUBLE = re.compile(r'("(?:[^"\\]|\\.)*")[ \t]*(?:#.*)?')
_SINGLE = re.compile(r"'((?:[^']|'')*)'[ \t]*(?:#.*)?")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NULLS = frozenset(["", "~", "null", "Null", "NULL"])
_NOT_PLAIN = "|>&*!%@[]{},?`"


class NoScalar(Exception):
    """Why a file has no value that could be compared."""


@frozen
class Scalar:
    """A value as it is written, without its quotes."""

    text: str
    is_quoted: bool = False


def scalar_at(data: bytes, field: str) -> Scalar:
    """The value of *field* in the frontmatter of *data*. Raises `NoScalar`, also for null and what is not there."""
    found = [value for key, value in _pairs(_block(data)) if key == field]
    if not found:
        raise NoScalar(f"has no field {quoted(field)} in its frontmatter")
    if len(found) > 1:
        raise NoScalar(f"has the field {quoted(field)} {len(found)} times")
    scalar = _scalar(found[0], field)
    if not scalar.is_quoted and scalar.text in _NULLS:
        raise NoScalar(f"has no value for {quoted(field)}")
    return scalar


def is_equal(scalar: Scalar, wanted: Any) -> bool:
    """Whether *scalar* is *wanted* (a JSON scalar), strictly or as text: `0` equals `"0"`. Null equals nothing."""
    if wanted is None:
        return False
    if scalar.text == _as_text(wanted):
        return True
    if scalar.is_quoted or isinstance(wanted, (bool, str)) or _NUMBER.fullmatch(scalar.text) is None:
        return False
    try:
        return float(scalar.text) == float(wanted)
    except OverflowError:
        return False


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _block(data: bytes) -> list[str]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NoScalar("is not UTF-8 text") from None
    lines = [line.rstrip(" \t\r") for line in text.split("\n")]
    if lines[0] != _FENCE:
        raise NoScalar("has no frontmatter")
    for number, line in enumerate(lines[1:], 1):
        if line in (_FENCE, "..."):
            return lines[1:number]
    raise NoScalar("has a frontmatter that does not end")


def _pairs(lines: list[str]) -> Iterator[tuple[str, str]]:
    """The keys of the outermost level; what is indented belongs to a value above it."""
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is not None:
            yield match[1], (match[2] or "").strip(" \t")


def _scalar(raw: str, field: str) -> Scalar:
    if raw[:1] == "'" and (single := _SINGLE.fullmatch(raw)):
        return Scalar(single[1].replace("''", "'"), is_quoted=True)
    if raw[:1] == '"' and (double := _DOUBLE.fullmatch(raw)):
        try:
            return Scalar(json.loads(double[1]), is_quoted=True)
        except ValueError:
            pass
    elif raw[:1] not in ("'", '"') and (not raw or raw[0] not in _NOT_PLAIN):
        return Scalar(_COMMENT.sub("", raw).strip(" \t"))
    raise NoScalar(f"has no plain value for {quoted(field)}")
