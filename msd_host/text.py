"""Text from outside is cleaned once, where it enters a message (spec 10, Skips).

Kept free of `re`: the command line's light tier prints reasons too.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["clean", "joined", "nearest", "quoted", "shell_word"]

_INVISIBLE = frozenset(
    [0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0]
    + list(range(0x180B, 0x1810))
    + list(range(0x200B, 0x2010))  # zero-width characters and direction marks
    + list(range(0x2028, 0x202F))  # line separators and bidi embeddings
    + list(range(0x2060, 0x2070))
    + list(range(0xFE00, 0xFE10))
    + list(range(0xFFF9, 0xFFFC))
)


def _is_dropped(char: str) -> bool:
    point = ord(char)
    return (
        point < 0x20
        or 0x7F <= point <= 0x9F
        or char == "`"
        or point in _INVISIBLE
        or 0xD800 <= point <= 0xDFFF
        or 0xE0000 <= point <= 0xE0FFF
    )


def clean(text: object, limit: int = 300) -> str:
    """One printable line: no control, direction or invisible characters, no backticks, at most *limit* characters."""
    raw = str(text)[: limit * 8]
    if raw.isascii() and raw.isprintable() and "`" not in raw and "  " not in raw:
        flat = raw.strip()
    else:
        flat = " ".join("".join(" " if _is_dropped(c) else c for c in raw).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def quoted(name: object) -> str:
    """A name from outside, cleaned and in double quotes."""
    return '"' + clean(name, 80).replace('"', "'") + '"'


def joined(names: Iterable[object], limit: int = 5) -> str:
    """Names in quotes, comma separated, the tail counted instead of listed."""
    every = [quoted(n) for n in names]
    shown = ", ".join(every[:limit])
    return shown if len(every) <= limit else f"{shown}, +{len(every) - limit}"


def shell_word(text: str) -> str:
    """*text* as one word of a command that works when pasted into bash, zsh or ksh, and is printed as it is pasted.

    What `clean` would drop, bytes that are no text among them, is written as escapes.
    """
    if text and text.isascii() and text.replace("/", "").replace("-", "").replace(".", "").replace("_", "").isalnum():
        return text
    if clean(text, len(text) + 1) == text:
        return "'" + text.replace("'", "'\"'\"'") + "'"
    return "$'" + "".join(_escaped(char) for char in text) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if char.isprintable() and char not in "` " and not _is_dropped(char):
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name closest to *word*, if it is close enough to be meant."""
    from difflib import get_close_matches  # only ever needed once something has already gone wrong

    found = get_close_matches(word[:80], sorted(set(known)), n=1, cutoff=0.6)
    return found[0] if found else None
