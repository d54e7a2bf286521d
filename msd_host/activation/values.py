"""From a word of the command line to a value, and whether a value may stand under a key (spec 40, Config activation)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import Refused
from ..text import clean, nearest, quoted
from .config import fits

__all__ = ["check_value", "parse_flag", "parse_value"]

_WORDS = {"true": True, "false": False}
_PLAIN = (str, bool, int, float)


def parse_flag(text: str) -> bool | None:
    """`true` or `false`, in these letters only; None for anything else."""
    return _WORDS.get(text)


def parse_value(key: str, text: str, declared: Mapping[str, Any] | None) -> Any:
    """What *text* means for *key*. Raises `Refused` with what would have been right.

    A key without a slice takes a plain JSON value, a JSON array of such, or any other text as it is.
    """
    if declared is None:
        return _json_or_text(text)
    kind = declared["type"]
    if kind == "boolean":
        value: Any = parse_flag(text)
    elif kind == "number":
        value = _number(text)
    else:
        value = text
    if value is None:
        raise Refused(_mismatch(key, text, declared))
    return check_value(key, value, declared)


def check_value(key: str, value: Any, declared: Mapping[str, Any] | None) -> Any:
    """*value* where it may stand under *key*. Raises `Refused` otherwise."""
    if declared is None:
        items = value if isinstance(value, (list, tuple)) else (value,)
        if all(isinstance(item, _PLAIN) for item in items):
            return value
        raise Refused(f"{quoted(key)} takes plain values and lists of them; to have none, unset it")
    if not fits(value, declared):
        raise Refused(_mismatch(key, value, declared))
    return value


def _json_or_text(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    if value is None or isinstance(value, dict) or (isinstance(value, list) and not all(_is_plain(v) for v in value)):
        raise Refused(f"{quoted(text)}: a plain value or a list of them is wanted; to have none, unset the key")
    return value


def _is_plain(value: Any) -> bool:
    return isinstance(value, _PLAIN)


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _number(text: str) -> int | float | None:
    if not text.isascii() or text.strip("+-.eE0123456789"):
        return None
    try:
        value = json.loads(text)
    except ValueError:  # also for more digits than the interpreter converts
        return None
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    return value if isinstance(value, (int, float)) else None


def _mismatch(key: str, value: Any, declared: Mapping[str, Any]) -> str:
    shown, kind = quoted(value), declared["type"]
    if kind == "boolean":
        close = nearest(str(value).lower(), _WORDS)
        wanted = "true or false"
    elif kind == "enum":
        close = nearest(str(value), declared["values"])
        wanted = f"one of {', '.join(clean(v, 40) for v in declared['values'])}"
    else:
        close = None
        wanted = "a finite number" if kind == "number" else "a text"
    hint = f"; did you mean {quoted(close)}?" if close else ""
    return f"{quoted(key)} takes {wanted}, not {shown}{hint}"
