"""Untrusted text as a person can judge it: nothing hidden, nothing reordered, nothing lost (spec 20, Disclosure).

`msd_host.text.clean` makes a harmless line out of a text; here the text itself is what is being judged, so
what does not print is spelled out instead of dropped.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["blocked", "shown", "stable_json", "told"]

#: Characters that count as printable and yet leave nothing to see.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_RUN = re.compile(" {17,}")


def shown(text: str, limit: int | None = None) -> str:
    r"""*text* on one line, with controls, direction marks and invisible characters as `\n`, `\u202e` and the like.

    What is beyond *limit* characters is counted; a long run of blanks, which could push text out of sight, too.
    """
    cut = text if limit is None or len(text) <= limit else text[:limit]
    if not cut.isprintable() or _BLANK.search(cut):
        cut = "".join([c if _is_plain(c) else c.encode("unicode_escape").decode("ascii") for c in cut])
    cut = _RUN.sub(lambda match: f"<{len(match.group())} blanks>", cut)
    return cut if len(text) == len(text[:limit]) else f"{cut}… ({len(text)} characters)"


def _is_plain(char: str) -> bool:
    return char.isprintable() and _BLANK.match(char) is None


def blocked(text: str) -> list[str]:
    """*text* in full, line by line, each behind a bar that the text itself cannot draw at the line's start."""
    return [f"| {shown(line)}" for line in text.split("\n")]


def told(value: Any) -> str:
    """A JSON value in one line: texts as they are, the rest as JSON."""
    return shown(value) if isinstance(value, str) else shown(stable_json(value))


def stable_json(value: Any) -> str:
    """JSON without white space, keys in UTF-16 order, so that equal values have one spelling (reference, 1.5)."""
    return json.dumps(_ordered(value), ensure_ascii=False, separators=(",", ":"), default=str)


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _ordered(value[k]) for k in sorted(value, key=utf16)}
    if isinstance(value, (list, tuple)):
        return [_ordered(item) for item in value]
    return value


def utf16(text: object) -> bytes:
    """Sort key: the order of UTF-16 code units."""
    return str(text).encode("utf-16-be", "surrogatepass")
