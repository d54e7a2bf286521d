"""Columns as a terminal has room for them: what matters less gives way first, and a command is never cut (spec 60)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

__all__ = ["cut", "laid_out", "width", "wrapped"]

_GAP = "  "
_LEAST = 6  # a column that would become narrower than this tells nothing


def width(text: str) -> int:
    """The cells that *text* takes on a terminal; styles take none."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(_cells(char) for char in _unstyled(text))


def cut(text: str, room: int, mark: str = "…") -> str:
    """*text* in at most *room* cells; one that is too long loses its styles and ends in *mark*."""
    if width(text) <= room:
        return text
    used, kept = len(mark), ""
    for char in _unstyled(text):
        used += _cells(char)
        if used > room:
            break
        kept += char
    return (kept + mark)[: max(room, 0)]


def wrapped(text: str, room: int) -> Iterator[str]:
    """*text* in lines of at most *room* cells, broken at blanks and further indented; a longer word stays whole."""
    words = text.lstrip(" ").split(" ")
    lead = " " * (len(text) - len(text.lstrip(" ")))
    line = lead + words[0]
    for word in words[1:]:
        longer = f"{line} {word}"
        if width(longer) > room and line.strip(" "):
            yield line.rstrip(" ")
            longer = f"{lead}  {word}"
        line = longer
    yield line


def _cells(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1


def _unstyled(text: str) -> str:
    first, *rest = text.split("\x1b[")
    return first + "".join(part.partition("m")[2] for part in rest)


def laid_out(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    room: int | None,
    *,
    less: Sequence[str] = (),
    below: bool = False,
    mark: str = "…",
) -> Iterator[str]:
    """The lines of a table, its head first. Without *room* nothing is cut.

    Columns named in *less* shrink, then go, in that order. With *below* a last cell that does not fit is put
    whole on a line of its own below its row; otherwise it is cut.
    """
    kept, widths = _fitting(head, rows, room, less, below)
    for number, row in enumerate((head, *rows)):
        cells = [row[i] for i in kept]
        if room is None:
            yield _joined(cells, widths)
            continue
        cells[:-1] = [cut(cell, w, mark) for cell, w in zip(cells[:-1], widths)]
        line = _joined(cells, widths)
        if width(line) <= room:
            yield line
        elif below and number:
            yield cut(_joined([*cells[:-1], ""], widths), room, mark)
            yield f"    {cells[-1]}"
        else:
            yield cut(line, room, mark)


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (w - width(cell)) for cell, w in zip(cells[:-1], widths)]
    return _GAP.join([*padded, *cells[-1:]]).rstrip()


def _fitting(
    head: Sequence[str], rows: Sequence[Sequence[str]], room: int | None, less: Sequence[str], below: bool
) -> tuple[list[int], list[int]]:
    """(the columns that stay, the width of each)."""
    sizes = {i: max(width(row[i]) for row in (head, *rows)) for i in range(len(head))}
    if room is None:
        return list(sizes), list(sizes.values())
    last = len(head) - 1
    for name in less:
        column = head.index(name)
        over = _total(sizes, last, below) - room
        if over <= 0:
            break
        least = max(width(name), _LEAST)
        if sizes[column] - over >= least:
            sizes[column] -= over
        else:
            del sizes[column]
    return list(sizes), list(sizes.values())


def _total(sizes: dict[int, int], last: int, below: bool) -> int:
    """What the columns take; a last one that may go below its row asks for a name's width only."""
    counted = [min(size, 12) if below and i == last else size for i, size in sizes.items()]
    return sum(counted) + len(_GAP) * (len(counted) - 1)
