"""Who produces and who consumes an artifact, and the order this puts on the hooks of one point.

Steps and contributions take part; at one point a contribution renders after every step, so it can feed no
step there (spec 10, Cross-validation; reference, sections 3.3 and 3.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..contract import LoopContract
from ..model.capability import Capability, Hook

__all__ = ["FLOW_KINDS", "Node", "PointFlow", "knotted", "nodes_of", "order_hooks", "own_cycle"]

FLOW_KINDS = (("step", "steps"), ("contribution", "contributions"))


class Node(NamedTuple):
    """One step or contribution. `rank` orders nodes by when they render: point first, then kind."""

    owner: str
    kind: str
    number: int
    point: str
    rank: int
    produces: tuple[str, ...]
    consumes: tuple[str, ...]


def nodes_of(capability: Capability, contract: LoopContract) -> tuple[Node, ...]:
    """The steps and contributions of *capability* whose point the contract knows."""
    raw, place_of, found = capability.raw, contract.index, []
    for late, (kind, field) in enumerate(FLOW_KINDS):
        for number, hook in enumerate(raw.get(field, ())):
            point = hook["point"]
            place = place_of.get(point)
            if place is not None:
                rank = place * len(FLOW_KINDS) + late
                found.append(Node(raw["id"], kind, number, point, rank, hook["produces"], hook["consumes"]))
    return tuple(found)


def own_cycle(nodes: Iterable[Node]) -> Node | None:
    """A node on a cycle among *nodes* of one capability at one point, if there is one."""
    by_place: dict[int, list[Node]] = {}
    for node in nodes:
        if node.produces and node.consumes:
            by_place.setdefault(node.rank, []).append(node)
    for group in by_place.values():
        if len(group) > 1 and len(_sorted_flow(group)) < len(group):
            return group[0]
    return None


def knotted(nodes: Iterable[Node]) -> frozenset[Node]:
    """The nodes that may lie on a cycle, whoever of the owners stands in the end; all others never do.

    Peels off what nothing feeds or what feeds nothing, until nothing more comes off: linear in the artifacts named.
    """
    both = [n for n in nodes if n.produces and n.consumes]
    produced = {(n.rank, a) for n in both for a in n.produces}
    alive = {n for n in both if any((n.rank, a) in produced for a in n.consumes)}
    made = Counter((n.rank, a) for n in alive for a in n.produces)
    used = Counter((n.rank, a) for n in alive for a in n.consumes)
    leaning: dict[tuple[int, str], list[Node]] = {}
    for node in alive:
        for artifact in (*node.produces, *node.consumes):
            leaning.setdefault((node.rank, artifact), []).append(node)
    loose = list(alive)
    for node in loose:  # grows while it is walked
        fed = any(made[node.rank, a] for a in node.consumes)
        if node not in alive or (fed and any(used[node.rank, a] for a in node.produces)):
            continue
        alive.discard(node)
        for count, artifacts in ((made, node.produces), (used, node.consumes)):
            for place in ((node.rank, a) for a in artifacts):
                count[place] -= 1
                if not count[place]:
                    loose.extend(leaning[place])
    return frozenset(alive)


class PointFlow:
    """The produce-consume graph among accepted overlays' hooks, per list of a point, free of cycles at all times.

    First-party hooks take no part: nothing an overlay produces orders them, so no cycle can pass through one.
    Only *knotted* hooks are looked at, as no other can close a cycle.
    """

    def __init__(self, knotted: frozenset[Node] = frozenset()) -> None:
        self._knotted = knotted
        self._consumers: dict[tuple[int, str], list[Node]] = {}

    def add(self, nodes: Iterable[Node]) -> None:
        """Take the hooks of an overlay that closes no cycle."""
        _index(self._consumers, (n for n in nodes if n in self._knotted))

    def knot(self, nodes: Iterable[Node]) -> tuple[str, list[str]] | None:
        """(point, owners) of a cycle that *nodes* would close, None where they close none.

        Every cycle runs through one of them, so one walk from all of them that visits nothing twice finds it.
        """
        mine = [n for n in nodes if n in self._knotted]
        own: dict[tuple[int, str], list[Node]] = {}
        _index(own, mine)
        done: set[int] = set()
        for start in mine:
            cycle = self._walk(start, own, done) if id(start) not in done else None
            if cycle:
                return start.point, sorted({node.owner for node in cycle})
        return None

    def _walk(self, start: Node, own: dict[tuple[int, str], list[Node]], done: set[int]) -> list[Node] | None:
        """The nodes of a cycle that can be reached from *start*; None when there is none. Depth first, no recursion."""
        way, ways = [start], [self._after(start, own)]
        on_way = {id(start): 0}
        while ways:
            successor = next(ways[-1], None)
            if successor is None:
                ways.pop()
                left = way.pop()
                del on_way[id(left)]
                done.add(id(left))
            elif id(successor) in on_way:
                return way[on_way[id(successor)] :]
            elif id(successor) not in done:
                on_way[id(successor)] = len(way)
                way.append(successor)
                ways.append(self._after(successor, own))
        return None

    def _after(self, node: Node, own: dict[tuple[int, str], list[Node]]) -> Iterator[Node]:
        for artifact in node.produces:
            for consumers in (self._consumers, own):
                yield from (n for n in consumers.get((node.rank, artifact), ()) if n is not node)


def _index(consumers: dict[tuple[int, str], list[Node]], nodes: Iterable[Node]) -> None:
    for node in nodes:
        for artifact in node.consumes:
            consumers.setdefault((node.rank, artifact), []).append(node)


def _sorted_flow(nodes: Sequence[Node]) -> list[Node]:
    hooks = [(n.owner, n.produces, n.consumes) for n in nodes]
    return [nodes[i] for i in _kahn(hooks)]


def order_hooks(owners: Sequence[str], hooks: Sequence[Hook], pinned: frozenset[str] = frozenset()) -> list[int]:
    """The order (as indices) in which the hooks of one list of one point render.

    Producers come before consumers; among the ready, by capability id, declaration order within one.
    *pinned* owners are first-party: an edge from anyone else into their hooks is ignored, so that their
    hooks keep the relative order they have alone. Raises `ValueError` on a cycle.
    """
    rows = [(owner, h["produces"], h["consumes"]) for owner, h in zip(owners, hooks)]
    order = _kahn(rows, pinned)
    if len(order) != len(rows):
        ids = ", ".join(sorted({owners[i] for i in set(range(len(rows))) - set(order)}))
        raise ValueError(f"hooks wait for each other: {ids}")
    return order


def _edges(rows: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]], pinned: frozenset[str]) -> list[set[int]]:
    consumers: dict[str, list[int]] = {}
    for j, (_, _, consumes) in enumerate(rows):
        for artifact in consumes:
            consumers.setdefault(artifact, []).append(j)
    after: list[set[int]] = [set() for _ in rows]
    for i, (owner, produces, _) in enumerate(rows):
        for artifact in produces:
            for j in consumers.get(artifact, ()):
                if i != j and not (rows[j][0] in pinned and owner not in pinned):
                    after[i].add(j)
    return after


def _kahn(
    rows: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]], pinned: frozenset[str] = frozenset()
) -> list[int]:
    """First in, first out: what a hook unlocks queues up behind what was ready before it (reference, 3.4)."""
    if len(rows) <= 1:
        return list(range(len(rows)))
    by_owner = sorted(range(len(rows)), key=lambda i: rows[i][0])
    produced = {a for _, produces, _ in rows for a in produces}
    if not any(a in produced for _, _, consumes in rows for a in consumes):
        return by_owner
    after = _edges(rows, pinned)
    waiting = [0] * len(rows)
    for targets in after:
        for j in targets:
            waiting[j] += 1
    queue = [i for i in by_owner if waiting[i] == 0]
    for i in queue:  # grows while it is walked
        unlocked = []
        for j in after[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                unlocked.append(j)
        queue.extend(sorted(unlocked, key=lambda j: (rows[j][0], j)))
    return queue
