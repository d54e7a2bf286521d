"""Boxes in columns, so that every requirement leads to the right (a small layered layout, after Sugiyama).

Nodes go to the column behind their last requirer; edges that pass columns get a place in each; columns are sorted
by the middle of what their nodes are tied to, then moved towards it. Bounded: what would cost too much is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from attrs import frozen

__all__ = ["Layout", "Size", "arranged"]

Size = tuple[float, float]
Edge = tuple[int, int]

_GAP_X, _GAP_Y = 64.0, 18.0
_SWEEPS = 8
_MOST_BENDS = 20_000


@frozen
class Layout:
    """`boxes` are (x, y) of each node's upper left corner, `routes` where each edge enters and leaves the columns it
    passes, level all the way through; `size` of the whole.
    """

    boxes: tuple[tuple[float, float], ...]
    routes: tuple[tuple[tuple[float, float], ...], ...]
    size: Size


def arranged(sizes: Sequence[Size], edges: Sequence[Edge]) -> Layout:
    """Lay out nodes of the given *sizes*."""
    levels = _levels(len(sizes), edges)
    columns, chains = _with_bends(levels, edges)
    _sort(columns, chains)
    heights = {node: sizes[node][1] if node < len(sizes) else 0.0 for column in columns for node in column}
    middles = _heights(columns, heights, chains)
    left, widths = _lefts(columns, sizes)
    boxes = tuple((left[levels[i]], middles[i] - sizes[i][1] / 2) for i in range(len(sizes)))
    ends = {n: (left[c], left[c] + widths[c]) for c, column in enumerate(columns) for n in column if n >= len(sizes)}
    routes = tuple(tuple((x, middles[b]) for b in chain[1:-1] for x in ends[b]) for chain in chains)
    bottom = max((y + sizes[i][1] for i, (_, y) in enumerate(boxes)), default=0.0)
    lowest = max((y for route in routes for _, y in route), default=0.0)
    return Layout(boxes, routes, (left[-1] - _GAP_X if len(left) > 1 else 0.0, max(bottom, lowest)))


def _levels(count: int, edges: Sequence[Edge]) -> list[int]:
    """The column of each node; edges of a cycle, which no sound registry has, do not count."""
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for one, other in edges:
        below[one].append(other)
        waiting[other] += 1
    level = [0] * count
    free = [i for i in range(count) if waiting[i] == 0]
    for node in free:
        for other in below[node]:
            level[other] = max(level[other], level[node] + 1)
            waiting[other] -= 1
            if waiting[other] == 0:
                free.append(other)
    return level


def _with_bends(levels: list[int], edges: Sequence[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """(nodes and bends of each column, the way of each edge). Bends have numbers behind those of the nodes."""
    columns: list[list[int]] = [[] for _ in range(max(levels, default=-1) + 1)]
    for node, level in enumerate(levels):
        columns[level].append(node)
    straight = sum(max(levels[b] - levels[a] - 1, 0) for a, b in edges) > _MOST_BENDS
    number, chains = len(levels), []
    for one, other in edges:
        chain = [one]
        for level in range(levels[one] + 1, levels[other] if not straight else 0):
            columns[level].append(number)
            chain.append(number)
            number += 1
        chains.append([*chain, other])
    return columns, chains


def _ties(chains: list[list[int]]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """(what each is tied to on its left, on its right)."""
    left: dict[int, list[int]] = {}
    right: dict[int, list[int]] = {}
    for chain in chains:
        for one, other in pairwise(chain):
            right.setdefault(one, []).append(other)
            left.setdefault(other, []).append(one)
    return left, right


def _sort(columns: list[list[int]], chains: list[list[int]]) -> None:
    left, right = _ties(chains)
    place = {node: float(i) for column in columns for i, node in enumerate(column)}
    for sweep in range(_SWEEPS):
        ties, order = (left, columns) if sweep % 2 == 0 else (right, columns[::-1])
        for column in order:
            wanted = {n: _mean([place[t] for t in ties.get(n, ())], place[n]) for n in column}
            column.sort(key=wanted.__getitem__)
            place.update({node: float(i) for i, node in enumerate(column)})


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _heights(columns: list[list[int]], heights: dict[int, float], chains: list[list[int]]) -> dict[int, float]:
    """The middle of each node and bend, from 0 on downwards."""
    left, right = _ties(chains)
    middle: dict[int, float] = {}
    for column in columns:
        middle.update(_stacked(column, heights, dict.fromkeys(column, 0.0)))
    for sweep in range(_SWEEPS):
        ties, order = (left, columns) if sweep % 2 == 0 else (right, columns[::-1])
        for column in order:
            wanted = {n: _mean([middle[t] for t in ties.get(n, ())], middle[n]) for n in column}
            middle.update(_stacked(column, heights, wanted))
    top = min((middle[n] - heights[n] / 2 for n in middle), default=0.0)
    return {node: y - top for node, y in middle.items()}


def _stacked(column: list[int], heights: dict[int, float], wanted: dict[int, float]) -> dict[int, float]:
    """As near to what is *wanted* as the order and the gaps allow, and moved so that the column leans nowhere."""
    found: dict[int, float] = {}
    floor = float("-inf")
    for node in column:
        half = heights[node] / 2
        found[node] = max(wanted[node], floor + half)
        floor = found[node] + half + _GAP_Y
    lean = _mean([found[n] - wanted[n] for n in column], 0.0)
    return {node: y - lean for node, y in found.items()}


def _lefts(columns: list[list[int]], sizes: Sequence[Size]) -> tuple[list[float], list[float]]:
    """(the left edge of each column and one behind the last, the width of each)."""
    lefts, widths = [0.0], []
    for column in columns:
        widths.append(max((sizes[n][0] for n in column if n < len(sizes)), default=0.0))
        lefts.append(lefts[-1] + widths[-1] + _GAP_X)
    return lefts, widths
