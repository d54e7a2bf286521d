"""JSON that is written back as it was read: numbers keep their spelling (spec 40; spec 30, Ledger)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["parsed", "spelled"]


class _Integer(int):
    """A whole number that is written as it was read."""

    text: str


class _Number(float):
    """A number with a fraction or an exponent that is written as it was read."""

    text: str


def _integer(text: str) -> _Integer:
    number = _Integer(text)
    number.text = text
    return number


def _number(text: str) -> _Number:
    number = _Number(text)
    number.text = text
    return number


def parsed(data: bytes) -> Any:
    """The value of *data*, JSON that a strict reader has accepted already."""
    return json.loads(str(data, "utf-8").removeprefix("\ufeff"), parse_int=_integer, parse_float=_number)


def spelled(value: Any, step: str, lead: str = "\n") -> str:
    """*value* as JSON text, each level indented by *step*. How deep it may go was bounded when it was read."""
    inner = lead + step
    if isinstance(value, Mapping) and value:
        rows = (f"{_text(key)}: {spelled(item, step, inner)}" for key, item in value.items())
        return "{" + inner + ("," + inner).join(rows) + lead + "}"
    if isinstance(value, (list, tuple)) and value:
        return "[" + inner + ("," + inner).join(spelled(item, step, inner) for item in value) + lead + "]"
    if isinstance(value, (_Integer, _Number)):
        return value.text
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
