"""Where the values of a JSON text lie, so that one can be put in or taken out and every other byte stays (spec 30)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]

from attrs import frozen

__all__ = ["Node", "Span", "insert", "parse", "take_out"]

_BLANK = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[^\s,\]}]+")


@frozen
class Span:
    """One value: `key` is its name in an object, None in an array; `start` is where the key or the value begins."""

    key: str | None
    start: int
    node: Node

    @property
    def end(self) -> int:
        return self.node.end


@frozen
class Node:
    """A value from `start` to `end`. `parts` are those of an object or an array, in order."""

    kind: str
    start: int
    end: int
    parts: tuple[Span, ...] = ()

    def get(self, key: str) -> Node | None:
        """The value of *key* in an object."""
        return next((part.node for part in self.parts if part.key == key), None)


def parse(text: str) -> Node:
    """The spans of *text*, which must be valid JSON of bounded depth."""
    return _value(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int) -> Node:
    char = text[at]
    if char in "{[":
        return _container(text, at)
    if char == '"':
        return Node("scalar", at, scanstring(text, at + 1)[1])
    found = _WORD.match(text, at)
    assert found is not None
    return Node("scalar", at, found.end())


def _container(text: str, start: int) -> Node:
    is_object = text[start] == "{"
    parts: list[Span] = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        begin, key = at, None
        if is_object:
            key, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        node = _value(text, at)
        parts.append(Span(key, begin, node))
        at = _skip(text, node.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Node("object" if is_object else "array", start, at + 1, tuple(parts))


def insert(text: str, container: Node, key: str | None, value: object, depth: int, *, roomy: bool = False) -> str:
    """*text* with *value* as the last part of *container*, in the file's own style. `take_out` undoes exactly this.

    *roomy*: the container is ours and goes as a whole, so it may get lines of its own.
    """
    step = _indent(text)
    body = json.dumps(value, indent=step or None, ensure_ascii=False)
    newline = "\r\n" if "\r\n" in text else "\n"
    pad = newline + (step or "") * depth if step is not None else ("" if not container.parts else " ")
    if step is not None:
        body = body.replace("\n", pad)
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    if container.parts:
        at = container.parts[-1].end
        return f"{text[:at]},{pad}{name}{body}{text[at:]}"
    at = container.start + 1
    if roomy and step is not None:
        outer = newline + step * (depth - 1)
        return f"{text[:at]}{pad}{name}{body}{outer}{text[at:]}"
    return f"{text[:at]}{name}{body}{text[at:]}"


def take_out(text: str, container: Node, part: Span) -> str:
    """*text* without *part*, its comma and the blanks that came with it."""
    at = container.parts.index(part)
    if at > 0:
        return text[: container.parts[at - 1].end] + text[part.end :]
    if len(container.parts) > 1:
        return text[: part.start] + text[container.parts[1].start :]
    return text[: part.start] + text[part.end :]


def _indent(text: str) -> str | None:
    """The file's own step, None for a file on one line."""
    for line in _lines(text):
        lead = line[: len(line) - len(line.lstrip(" \t"))]
        if lead and len(lead) <= 8:
            return lead
    return None if "\n" not in text.strip() and text.strip() not in ("{}", "") else "  "


def _lines(text: str) -> Iterator[str]:
    yield from text.splitlines()[1:]
