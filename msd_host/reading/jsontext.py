"""Strict JSON from untrusted bytes to frozen values (spec 10, Reading).

The interpreter's own scanner does the work; it lets through more than JSON allows, so hooks and cheap tests
of the bytes stand around it. Only a refused text is looked at a second time, to say everything that is
wrong with it and where.
"""

from __future__ import annotations

from collections.abc import Iterable
from json.decoder import JSONDecodeError, JSONDecoder
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import frozen

from ..limits import Limits
from ..model.frozen import FrozenDict
from ..text import quoted

if TYPE_CHECKING:
    from .positions import Mark

__all__ = ["JsonFault", "TextFault", "decode"]

MOST_FAULTS = 100  # of one text; nobody reads more
LONGEST_INTEGER = 20  # characters of -9223372036854775808, the longest one allowed
NOT_64_BITS = "an integer does not fit 64 bits"
TOO_LARGE = "a number is too large"
_INTEGERS = range(-(2**63), 2**63)
_NOT_BRACKETS = bytes(b for b in range(256) if b not in b"[]{}")
_AS_ONE_KIND = bytes.maketrans(b"[]{}", b"()()")
_put = dict.__setitem__  # a frozen dictionary is finished here, before anybody sees it


@frozen
class TextFault:
    """One thing that is wrong with a text; `line` and `column` count from 1, `path` is a JSON path."""

    message: str
    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.message} (line {self.line}, column {self.column})"


class JsonFault(ValueError):
    """Bytes that are not the JSON we read. There is at least one fault; the attributes are the first's."""

    def __init__(self, faults: Iterable[TextFault]) -> None:
        self.faults = tuple(faults)
        first = self.faults[0]
        super().__init__(str(first))
        self.message, self.path, self.line, self.column = first.message, first.path, first.line, first.column

    def __reduce__(self) -> tuple[type[JsonFault], tuple[tuple[TextFault, ...]]]:
        return (JsonFault, (self.faults,))


class _Refused(ValueError):
    """What the interpreter's scanner would let through; the second look says what and where."""


def _object(pairs: list[tuple[str, Any]]) -> FrozenDict[str, Any]:
    made: FrozenDict[str, Any] = FrozenDict(pairs)
    if len(made) != len(pairs):
        raise _Refused("a key is there twice")
    for key, value in pairs:
        if type(value) is list:
            _put(made, key, _array(value))
    return made


def _array(items: list[Any]) -> tuple[Any, ...]:
    return tuple([_array(item) if type(item) is list else item for item in items]) if items else ()


def is_integer(literal: str) -> bool:
    """Whether an integer literal fits 64 bits with a sign; never converts a long one."""
    return len(literal) <= LONGEST_INTEGER and int(literal) in _INTEGERS


def is_finite(literal: str) -> bool:
    """Whether a literal with a fraction or an exponent is a number a float can hold."""
    return isfinite(float(literal))


def _string_fault(text: str, limits: Limits) -> str | None:
    if len(text) > limits.string_chars:
        return f"a string has {len(text)} characters; the limit is {limits.string_chars}"
    if "\0" in text:
        return "a string holds the character NUL"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a string holds one half of a surrogate pair"
    return None


def _integer(literal: str) -> int:
    if not is_integer(literal):
        raise _Refused(NOT_64_BITS)
    return int(literal)


def _number(literal: str) -> float:
    if not is_finite(literal):
        raise _Refused(TOO_LARGE)
    return float(literal)


def _constant(literal: str) -> NoReturn:
    raise _Refused(f"{literal} is not JSON")


_DECODER = JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_int=_integer, parse_constant=_constant)


def decode(data: bytes, limits: Limits) -> object:
    """The value of the JSON text *data*: objects as `FrozenDict`, arrays as tuples.

    Raises `JsonFault` for anything that is not exactly one JSON value in UTF-8 (one byte order mark is
    tolerated), and for duplicate keys, numbers beyond 64 bits or floats, NUL, halves of surrogate
    pairs, and what is beyond *limits* (spec 10, Reading).
    """
    try:
        text = str(data, "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise JsonFault([_not_utf8(data, error)]) from None
    try:
        if _may_be_deep(data, limits.json_depth):
            raise _Refused("nested too deeply")
        value = _DECODER.decode(text)
        if type(value) is list:
            value = _array(value)
        if _may_hold_unsound(data, limits) and not _all_sound(value, limits):
            raise _Refused("a string cannot be kept")
    except ValueError as error:
        raise _explained(text, limits, error) from None
    except (RecursionError, MemoryError):  # nesting was tested: it is the process that has little left
        raise JsonFault([TextFault("it is more than this process can read", "$", 1, 1)]) from None
    return value


def _may_be_deep(data: bytes, limit: int) -> bool:
    """Whether *data* is nested more deeply than *limit*, or its brackets do not match.

    Tested before parsing: how much nesting the interpreter's scanner survives is not ours to say.
    Each round takes away the innermost pairs, so balanced brackets of depth n are gone after n rounds.
    """
    if data.count(b"{") + data.count(b"[") <= limit:
        return False
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(data.split(b'"')[::2])
    nest = outside.translate(_AS_ONE_KIND, _NOT_BRACKETS)
    for _ in range(limit):
        if not nest:
            return False
        inner = nest.replace(b"()", b"")
        if len(inner) == len(nest):
            return True
        nest = inner
    return bool(nest)


def _may_hold_unsound(data: bytes, limits: Limits) -> bool:
    """Whether the strings need a look one by one. The scanner refuses raw control characters itself."""
    if len(data) > limits.string_chars:
        return True
    return b"\\u" in data and (b"\\ud" in data or b"\\uD" in data or b"\\u0000" in data)


def _all_sound(value: Any, limits: Limits) -> bool:
    level = [value]
    while level:
        deeper: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                if _string_fault(item, limits) is not None:
                    return False
            elif kind is tuple:
                deeper.extend(item)
            elif kind is FrozenDict:
                deeper.extend(item)
                deeper.extend(item.values())
        level = deeper
    return True


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> TextFault:
    before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return TextFault("the text is not UTF-8", "$", line, column)


def _explained(text: str, limits: Limits, cause: ValueError) -> JsonFault:
    return JsonFault(_faults(text, limits) or [_beyond_view(cause)])


def _beyond_view(cause: ValueError) -> TextFault:
    """For a text so long that the second look ended before the fault."""
    if isinstance(cause, JSONDecodeError):
        return TextFault("the text is not JSON here", "$", cause.lineno, cause.colno)
    return TextFault(str(cause), "$", 1, 1)


def _faults(text: str, limits: Limits) -> list[TextFault]:
    """Everything that is wrong with *text*, in its order, up to where it stops making sense."""
    from .positions import MARKS, Scanner, place, shown  # most texts are in order, and then nobody needs it

    found: list[TextFault] = []
    scanner = Scanner(text)
    for count, mark in enumerate(scanner):
        message = _objection(mark, limits)
        if message is not None:
            found.append(TextFault(message, shown(mark.path), *place(text, mark.offset)))
        if len(found) == MOST_FAULTS or count == MARKS or _is_too_deep(mark, limits):
            break
    if scanner.stop is not None:
        offset, message = scanner.stop
        found.append(TextFault(message, shown(scanner.path[:-1]), *place(text, offset)))
    return found


def _is_too_deep(mark: Mark, limits: Limits) -> bool:
    return mark.kind == "open" and len(mark.path) >= limits.json_depth


def _objection(mark: Mark, limits: Limits) -> str | None:
    kind, text = mark.kind, mark.text
    if kind == "number":
        if not any(c in ".eE" for c in text):
            return None if is_integer(text) else NOT_64_BITS
        return None if is_finite(text) else TOO_LARGE
    if kind == "word":
        return None if text in ("true", "false", "null") else f"{text} is not JSON"
    if kind == "open":
        return f"nested more than {limits.json_depth} levels deep" if _is_too_deep(mark, limits) else None
    if kind == "repeated":
        return f"the key {quoted(text)} is there twice"
    return _string_fault(text, limits)
