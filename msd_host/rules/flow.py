"""Who produces and who consumes an artifact, and the order this puts on the hooks of one point.

Steps and contributions take part; at one point a contribution renders after every step, so it can feed no
step there (spec 10, Cross-validation; reference, sections 3.3 and 3.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..contract import LoopContract
from ..model.capability import Capability, Hook

__all__ = ["FLOW_KINDS", "Node", "nodes_of", "order_hooks", "own_cycle"]

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
