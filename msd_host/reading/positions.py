"""Where in a JSON text a value stands. Used only once something is wrong with it.

A small scanner that walks the text token by token, without recursion and without keeping what it has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import NamedTuple

from ..text import quoted

__all__ = ["MARKS", "Mark", "Path", "Scanner", "locate", "place", "shown"]

#: Keys and indices from the root of a document.
Path = tuple[str | int, ...]

MARKS = 50_000  # how far into a refused text we look for its faults: a tenth of a second

LONGEST_SHOWN = 200
ENDS = "the text ends too early"

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORD = re.compile(r"true|false|null|NaN|-?Infinity")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_CLOSING = {"{": "}", "[": "]"}
_STRING_FAULTS = (
    ("Unterminated", "a string is not closed"),
    ("Invalid control", "a control character stands in a string as it is"),
    ("Invalid", "an escape in a string is not one of JSON's"),
)


class Mark(NamedTuple):
    """One key or value. `kind`: key, repeated (seen before), string, number, word, open (a container)."""

    path: Path
    offset: int
    kind: str
    text: str


class _Open:
    """A container whose end has not been reached."""

    __slots__ = ("closing", "count", "keys", "step")

    def __init__(self, bracket: str) -> None:
        self.closing = _CLOSING[bracket]
        self.count = 0
        self.keys: set[str] = set()
        self.step: str | int = 0


class _Stop(Exception):
    def __init__(self, offset: int, message: str) -> None:
        self.offset = offset
        self.message = message


class Scanner:
    """Iterating yields a `Mark` per key and value; afterwards `stop` is where and why the text is no JSON."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.stop: tuple[int, str] | None = None
        self._at = 0
        self._open: list[_Open] = []

    @property
    def path(self) -> Path:
        """Where the scanner is."""
        return tuple([frame.step for frame in self._open])

    def __iter__(self) -> Iterator[Mark]:
        try:
            if not self._char():
                raise _Stop(self._at, "the text is empty")
            yield self._value()
            while self._open:
                yield from self._next(self._open[-1])
            if self._char():
                raise _Stop(self._at, "there is more text after the end of the value")
        except _Stop as stop:
            self.stop = (stop.offset, stop.message)

    def _char(self) -> str:
        """The next character that is not white space; empty at the end."""
        self._at = _SPACE.match(self.text, self._at).end()  # type: ignore[union-attr]  # matches nothing, too
        return self.text[self._at : self._at + 1]

    def _value(self) -> Mark:
        char, start, path = self._char(), self._at, self.path
        if char in _CLOSING:
            self._at += 1
            self._open.append(_Open(char))
            return Mark(path, start, "open", char)
        if char == '"':
            return Mark(path, start, "string", self._string())
        for kind, pattern in (("number", _NUMBER), ("word", _WORD)):
            match = pattern.match(self.text, start)
            if match is not None:
                self._at = match.end()
                return Mark(path, start, kind, match.group())
        raise _Stop(start, "a value is missing here" if char else ENDS)

    def _string(self) -> str:
        try:
            found, self._at = scanstring(self.text, self._at + 1, True)
        except JSONDecodeError as error:
            said = (words for head, words in _STRING_FAULTS if error.msg.startswith(head))
            raise _Stop(error.pos, next(said, "a string is damaged")) from None
        return str(found)

    def _next(self, frame: _Open) -> Iterator[Mark]:
        """The next member of the innermost container, or its end."""
        char = self._char()
        if char == frame.closing:
            self._at += 1
            self._open.pop()
            return
        if frame.count:
            self._expect(",", f'a "," or "{frame.closing}" is missing here')
            if self._char() == frame.closing:
                raise _Stop(self._at, f'a "," stands before "{frame.closing}"')
        if frame.closing == "}":
            yield self._key(frame)
        else:
            frame.step = frame.count
        frame.count += 1
        yield self._value()

    def _key(self, frame: _Open) -> Mark:
        char, start = self._char(), self._at
        if char != '"':
            raise _Stop(start, "a key in double quotes is missing here" if char else ENDS)
        frame.step = key = self._string()
        kind = "repeated" if key in frame.keys else "key"
        frame.keys.add(key)
        path = self.path
        self._expect(":", 'a ":" is missing here')
        return Mark(path, start, kind, key)

    def _expect(self, char: str, message: str) -> None:
        found = self._char()
        if found != char:
            raise _Stop(self._at, message if found else ENDS)
        self._at += 1


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def shown(path: Path) -> str:
    """*path* as a JSON path: `$.steps[0].point`. Keys from outside are cleaned."""
    parts = ["$"]
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif len(step) <= 64 and _PLAIN_KEY.fullmatch(step):
            parts.append(f".{step}")
        else:
            parts.append(f"[{quoted(step)}]")
    text = "".join(parts)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def locate(text: str, paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Line and column of the value at each path; of the nearest container around it where there is none.

    A path beyond the part of a long text that is looked at is left out.
    """
    asked = set(paths)
    wanted = {path[:n] for path in asked for n in range(len(path) + 1)}
    offsets: dict[Path, int] = {}
    for count, mark in enumerate(Scanner(text)):
        if mark.kind not in ("key", "repeated") and mark.path in wanted:
            offsets.setdefault(mark.path, mark.offset)
        if len(offsets) == len(wanted):
            break
        if count == MARKS:
            asked &= offsets.keys()
            break
    return {path: place(text, offset) for path in asked if (offset := _nearest(path, offsets)) is not None}


def _nearest(path: Path, offsets: dict[Path, int]) -> int | None:
    while path and path not in offsets:
        path = path[:-1]
    return offsets.get(path)
