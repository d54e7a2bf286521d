"""Unified diffs of untrusted text, in time and size that no text can blow up.

Finding the shortest diff is quadratic and worse for texts made to be so. These are true diffs, found by common
ends and by lines that are unique on both sides (patience diff), a fixed number of times over; where neither
helps, what differs is shown as one block out and one block in.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .escape import shown

__all__ = ["Budget", "unified"]

_CONTEXT = 3
_LINE_CHARS = 2000
_FILE_LINES = 2000  # lines of one file's diff; the rest is counted
_ALL_LINES = 20_000
_ROUNDS = 8

#: (equal, start and end in the old lines, start and end in the new ones)
_Code = tuple[bool, int, int, int, int]

#: (start and end in the old lines, start and end in the new ones)
_Gap = tuple[int, int, int, int]


class Budget:
    """How many lines one comparison of two bundles may still show."""

    def __init__(self, lines: int = _ALL_LINES) -> None:
        self.lines = lines


def unified(old: bytes, new: bytes, budget: Budget) -> tuple[tuple[str, ...], str]:
    """(escaped diff lines without file headers, why there are none or not all)."""
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return (), "not text"
    lines = _hunks(before, after)
    most = min(_FILE_LINES, budget.lines)
    budget.lines -= min(len(lines), most)
    hidden = len(lines) - most
    return tuple(lines[:most]), f"{hidden} more lines of difference are not shown" if hidden > 0 else ""


def _text(data: bytes) -> list[str] | None:
    """Lines with their ends, split at LF only; None for what is not text."""
    if b"\0" in data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    parts = text.split("\n")
    last = parts.pop()
    lines = [f"{part}\n" for part in parts]
    return [*lines, last] if last else lines


def _hunks(old: list[str], new: list[str]) -> list[str]:
    lines: list[str] = []
    for group in _groups(_opcodes(old, new)):
        lines.append(_header(group))
        for same, i, j, k, m in group:
            if same:
                lines += _marked(" ", old[i:j])
            else:
                lines += [*_marked("-", old[i:j]), *_marked("+", new[k:m])]
    return lines


def _opcodes(old: list[str], new: list[str]) -> list[_Code]:
    codes: list[_Code] = []
    at_old = at_new = 0
    for i, k, count in (*_runs(_matches(old, new)), (len(old), len(new), 0)):
        if i > at_old or k > at_new:
            codes.append((False, at_old, i, at_new, k))
        if count:
            codes.append((True, i, i + count, k, k + count))
        at_old, at_new = i + count, k + count
    return codes


def _runs(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Neighbouring pairs as (old, new, length)."""
    runs: list[tuple[int, int, int]] = []
    for i, k in pairs:
        if runs and (i, k) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((i, k, 1))
    return runs


def _matches(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Places of equal lines in both, rising: common ends, then lines that are unique in both, then again between."""
    found: list[tuple[int, int]] = []
    gaps = [(0, len(old), 0, len(new))]
    for _ in range(_ROUNDS):
        later: list[_Gap] = []
        for i, j, k, m in gaps:
            while i < j and k < m and old[i] == new[k]:
                found.append((i, k))
                i, k = i + 1, k + 1
            while i < j and k < m and old[j - 1] == new[m - 1]:
                j, m = j - 1, m - 1
                found.append((j, m))
            rest = (i, j, k, m)
            later += _between(_anchors(old, new, rest), rest)
        gaps = later
    return sorted(found)


def _between(anchors: list[tuple[int, int]], gap: _Gap) -> Iterator[_Gap]:
    """The gaps that *anchors* cut a range into, each beginning with its anchor; none where nothing was found."""
    i, j, k, m = gap
    if anchors:
        starts = [(i, k), *anchors]
        ends = [*anchors, (j, m)]
        yield from ((a, c, b, d) for (a, b), (c, d) in zip(starts, ends, strict=True) if (a, b) != (c, d))


def _anchors(old: list[str], new: list[str], gap: _Gap) -> list[tuple[int, int]]:
    """The longest rising row of lines that occur exactly once on each side of the range."""
    i, j, k, m = gap
    here, there = _unique(old, i, j), _unique(new, k, m)
    pairs = [(place, there[line]) for line, place in here.items() if line in there]
    tops: list[int] = []  # smallest end of a row of each length
    rows: list[tuple[int, int]] = []  # (pair, pair before it in its row)
    ends: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(tops, place)
        rows.append((number, ends[length - 1] if length else -1))
        tops[length : length + 1] = [place]
        ends[length : length + 1] = [number]
    row: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        row.append(pairs[number])
        number = rows[number][1]
    return row[::-1]


def _unique(lines: list[str], start: int, end: int) -> dict[str, int]:
    """Where each line stands that occurs once between *start* and *end*, in order."""
    counts = Counter(lines[start:end])
    return {line: place for place, line in enumerate(lines[start:end], start) if counts[line] == 1}


def _groups(codes: list[_Code]) -> list[list[_Code]]:
    """The codes of each hunk: differences with a few equal lines around them."""
    groups: list[list[_Code]] = [[]]
    for place, (same, i, j, k, m) in enumerate(codes):
        if not same:
            groups[-1].append((same, i, j, k, m))
            continue
        before, after = place > 0, place < len(codes) - 1
        if before and after and j - i <= 2 * _CONTEXT:
            groups[-1].append((same, i, j, k, m))
            continue
        if before:
            count = min(_CONTEXT, j - i)
            groups[-1].append((same, i, i + count, k, k + count))
        if after:
            count = min(_CONTEXT, j - i)
            groups.append([(same, j - count, j, m - count, m)])
    return [group for group in groups if any(not code[0] for code in group)]


def _header(group: list[_Code]) -> str:
    _, i, _, k, _ = group[0]
    _, _, j, _, m = group[-1]
    return f"@@ -{_span(i, j)} +{_span(k, m)} @@"


def _span(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"


def _marked(sign: str, lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        found.append(sign + shown(line.removesuffix("\n"), _LINE_CHARS))
        if not line.endswith("\n"):
            found.append("\\ no line end at the end of the file")
    return found
