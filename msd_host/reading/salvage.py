"""The gate points of a manifest that is no JSON of ours: a skipped gate is never silent (spec 10, Skips).

Walks the tokens of the text, whatever else is wrong with it, in one pass and without a stack: repeated keys,
any depth, a text that ends too early.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["points_in_text"]

#: A string that never ends is a token too, so that no text makes the walk look at its tail again and again.
_TOKEN = re.compile(r'"((?:[^"\\]|\\(?:.|\Z))*)(?:"|\Z)|[\[\]{}:]', re.DOTALL)
_MEMBER, _GATE = 1, 3  # how deep the members of the document and of one gate lie: { "gates": [ { "point": …


def points_in_text(data: bytes, points: Iterable[str]) -> tuple[str, ...]:
    """The known *points* that stand where a gate's point stands, in the order given."""
    named: set[str] = set()
    keys = {_MEMBER: "", _GATE: ""}
    depth, last, is_value = 0, "", False
    for token in _TOKEN.finditer(data.decode("utf-8", "replace")):
        char = token.group()[0]
        if char == '"':
            last = token.group(1)
            if is_value and depth == _GATE and keys[_MEMBER] == "gates" and keys[_GATE] == "point":
                named.add(last)
            is_value = False
        elif char == ":":
            is_value = True
            if depth in keys:
                keys[depth] = last
        else:
            depth += 1 if char in "[{" else -1
            is_value = False
    return tuple(point for point in points if point in named)
