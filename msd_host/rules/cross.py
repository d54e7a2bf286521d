"""What a candidate needs of the others: the prune, a greatest fixed point that only removes (spec 10, M7).

Removing somebody can only take something away from the rest, so the answer is the same in any order. Cost
is proportional to the candidates: each is judged once, and again only when something it leans on has fallen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..contract import LoopContract
from ..model.capability import TIERS, Capability
from ..model.codes import COLLISION_CODES, SkipCode
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..text import joined, quoted
from .flow import Node, nodes_of

__all__ = ["Fallen", "Supply", "prune"]

_RANK = {tier: i for i, tier in enumerate(TIERS)}


class _Producers:
    """Who produces one artifact, by rank; answers whether a consumer finds a standing producer in time."""

    __slots__ = ("_nodes", "_ranks", "_sorted", "lost")

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._ranks: list[int] = []
        self._sorted = True
        self.lost: list[Node] = []

    def add(self, node: Node) -> None:
        self._nodes.append(node)
        self._sorted = False

    def _order(self) -> None:
        if not self._sorted:
            self._nodes.sort(key=lambda n: (n.rank, n.owner, n.number))
            self._ranks = [n.rank for n in self._nodes]
            self._sorted = True

    def in_time(self, consumer: Node, gone: Mapping[str, object]) -> bool:
        self._order()
        end = bisect_right(self._ranks, consumer.rank)
        return any(n.owner not in gone and not _same(n, consumer) for n in self._nodes[:end])

    def standing(self, gone: Mapping[str, object]) -> list[Node]:
        self._order()
        return [n for n in self._nodes if n.owner not in gone]

    def drop(self, owner: str) -> None:
        """Forget a fallen owner, so that nobody has to walk past it again."""
        self.lost += [n for n in self._nodes if n.owner == owner]
        self._nodes = [n for n in self._nodes if n.owner != owner]
        self._sorted = False


def _same(one: Node, other: Node) -> bool:
    return (one.owner, one.kind, one.number) == (other.owner, other.kind, other.number)


class Supply:
    """What first-party offers to everybody: ids with their tiers, runtimes, produced artifacts."""

    def __init__(self, capabilities: Iterable[Capability], contract: LoopContract) -> None:
        self.contract = contract
        self.tiers = {c.id: c.tier for c in capabilities}
        self.runtimes = frozenset(c.id for c in capabilities if c.role == "runtime")
        self.earliest: dict[str, int] = {}
        for capability in capabilities:
            for node in nodes_of(capability, contract):
                for artifact in node.produces:
                    self.earliest[artifact] = min(node.rank, self.earliest.get(artifact, node.rank))

    def meets(self, artifact: str, rank: int) -> bool:
        """Whether *artifact* comes from the host or from first-party by *rank*."""
        at = self.contract.available.get(artifact)
        if at is not None and at <= rank // 2:
            return True
        return self.earliest.get(artifact, rank + 1) <= rank


def prune(
    capabilities: Iterable[Capability], supply: Supply, fallen: Mapping[str, Fallen] | None = None
) -> dict[str, tuple[Fault, ...]]:
    """The faults of each capability that cannot stay, by id; all others can. *fallen* ones fell before: for the texts."""
    return _Prune(tuple(capabilities), supply, fallen or {}).run()


class Fallen(NamedTuple):
    """An id that is not there any more, the code it fell with, and the others that had to do with it."""

    code: SkipCode
    culprits: tuple[str, ...] = ()


class _Prune:
    def __init__(self, capabilities: tuple[Capability, ...], supply: Supply, fallen: Mapping[str, Fallen]) -> None:
        self._supply = supply
        self._fallen = fallen
        self._all = {c.id: c for c in capabilities}
        self._gone: dict[str, tuple[Fault, ...]] = {}
        self._needs_of: dict[str, list[Node]] = {}
        self._producers: dict[str, _Producers] = {}
        self._leaning: dict[tuple[str, str], list[str]] = {}  # (what, name) -> ids that lean on it
        for capability in capabilities:
            self._index(capability)

    def _index(self, capability: Capability) -> None:
        for node in nodes_of(capability, self._supply.contract):
            for artifact in node.produces:
                self._producers.setdefault(artifact, _Producers()).add(node)
            if node.consumes:
                self._needs_of.setdefault(capability.id, []).append(node)
                for artifact in node.consumes:
                    self._lean("artifact", artifact, capability.id)
        for other in capability.requires:
            self._lean("id", other, capability.id)
        for runtime in _runtimes_named(capability):
            self._lean("id", runtime, capability.id)

    def _lean(self, what: str, name: str, id: str) -> None:
        self._leaning.setdefault((what, name), []).append(id)

    def run(self) -> dict[str, tuple[Fault, ...]]:
        members = _cycle_members(self._all)
        for id, cycle in members.items():
            self._fall(id, (_cycle_fault(cycle),))
        waiting = [id for id in self._all if id not in self._gone]
        queued = set(waiting)
        fallen = list(members)
        while waiting or fallen:
            for id in fallen:
                for other in self._touched(id):
                    if other not in self._gone and other not in queued:
                        waiting.append(other)
                        queued.add(other)
            fallen = []
            for id in waiting:
                faults = tuple(self._faults(self._all[id]))
                if faults:
                    fallen.append(id)
                    self._fall(id, faults)
            waiting, queued = [], set()
        return self._gone

    def _fall(self, id: str, faults: tuple[Fault, ...]) -> None:
        self._gone[id] = faults
        for node in nodes_of(self._all[id], self._supply.contract):
            for artifact in node.produces:
                self._producers[artifact].drop(id)

    def _touched(self, id: str) -> Iterator[str]:
        yield from self._leaning.get(("id", id), ())
        for node in nodes_of(self._all[id], self._supply.contract):
            for artifact in node.produces:
                yield from self._leaning.get(("artifact", artifact), ())

    def _faults(self, capability: Capability) -> Iterator[Fault]:
        yield from self._requires(capability)
        yield from self._runtime_compat(capability)
        for node in self._needs_of.get(capability.id, ()):
            yield from self._consumes(node)

    def _tier(self, id: str) -> str | None:
        tier = self._supply.tiers.get(id)
        if tier is None and id in self._all and id not in self._gone:
            tier = self._all[id].tier
        return tier

    def _requires(self, capability: Capability) -> Iterator[Fault]:
        for i, other in enumerate(capability.requires):
            tier = self._tier(other)
            path = f"$.requires[{i}]"
            if tier is None:
                yield self._missing(SkipCode.REQUIRES, "requires", other, path)
            elif _RANK[tier] > _RANK[capability.tier]:
                message = f"requires {quoted(other)} of the higher tier {tier}; its own tier is {capability.tier}"
                details = FrozenDict({"requires": other, "tier": tier})
                culprits = (other,) if other not in self._supply.tiers else ()
                yield Fault(SkipCode.TIER, message, path, details=details, culprits=culprits)

    def _missing(self, code: SkipCode, verb: str, other: str, path: str) -> Fault:
        fell = self._fell(other)
        if fell is None:
            details = FrozenDict({"needs": other, "found": False})
            return Fault(code, f"{verb} {quoted(other)}, which is not there", path, details=details)
        details = FrozenDict({"needs": other, "found": True, "code": fell.code.value})
        if fell.code in COLLISION_CODES and fell.culprits:
            how = f"which lost to {joined(fell.culprits)} ({fell.code})"  # true also if it came back when that fell
        else:
            how = f"which was skipped ({fell.code})"
        return Fault(code, f"{verb} {quoted(other)}, {how}", path, details=details, culprits=(other, *fell.culprits))

    def _fell(self, id: str) -> Fallen | None:
        faults = self._gone.get(id)
        return self._fallen.get(id) if faults is None else Fallen(faults[0].code)

    def _runtime_compat(self, capability: Capability) -> Iterator[Fault]:
        for runtime in _runtimes_named(capability):
            known = self._all.get(runtime) if runtime not in self._gone else None
            if runtime in self._supply.runtimes or (known is not None and known.role == "runtime"):
                continue
            if self._fell(runtime) is not None:
                yield self._missing(SkipCode.RUNTIME_COMPAT, "names the runtime", runtime, "$.runtimeCompat")
                continue
            message = f"names {quoted(runtime)}, which is not a runtime here"
            details = FrozenDict({"needs": runtime})
            yield Fault(SkipCode.RUNTIME_COMPAT, message, "$.runtimeCompat", details=details)

    def _consumes(self, node: Node) -> Iterator[Fault]:
        for artifact in node.consumes:
            if self._supply.meets(artifact, node.rank):
                continue
            producers = self._producers.get(artifact)
            if producers is None or not producers.in_time(node, self._gone):
                yield self._unmet(node, artifact, producers)

    def _unmet(self, node: Node, artifact: str, producers: _Producers | None) -> Fault:
        late = [n for n in producers.standing(self._gone) if not _same(n, node)] if producers else []
        lost = sorted({n.owner for n in producers.lost} - {node.owner}) if producers else []
        point = self._supply.contract.points
        culprits: tuple[str, ...] = ()
        if late or artifact in self._supply.earliest or artifact in self._supply.contract.available:
            ranks = [n.rank for n in late[:1]]
            if artifact in self._supply.earliest:
                ranks.append(self._supply.earliest[artifact])
            if artifact in self._supply.contract.available:
                ranks.append(self._supply.contract.available[artifact] * 2)
            first = point[min(ranks) // 2]
            why = "late"
            message = (
                f"consumes {quoted(artifact)} at {node.point}, which is there only after this {node.kind} ({first})"
            )
        elif artifact in node.produces:
            why = "own"
            message = f"consumes {quoted(artifact)} at {node.point}, which only it produces"
        elif lost:
            why, culprits = "fell", (lost[0],)
            code = self._gone[lost[0]][0].code
            message = (
                f"consumes {quoted(artifact)} at {node.point}, which {quoted(lost[0])} would have produced ({code})"
            )
        else:
            why = "never"
            message = f"consumes {quoted(artifact)} at {node.point}, which nothing produces"
        details = FrozenDict({"artifact": artifact, "point": node.point, "kind": node.kind, "why": why})
        path = f"$.{node.kind}s[{node.number}].consumes"
        return Fault(SkipCode.CONSUMES, message, path, details=details, culprits=culprits)


def _runtimes_named(capability: Capability) -> tuple[str, ...]:
    compat = capability.runtime_compat
    if compat is None:
        return ()
    named = (*compat["supported"], *compat["unsupported"], *compat.get("notes", ()))
    return tuple(dict.fromkeys(r for r in named if r != "*")) if named != ("*",) else ()


def _cycle_fault(cycle: tuple[str, ...]) -> Fault:
    shown = cycle[:_SHOWN]
    way = " -> ".join((*shown, cycle[0] if len(shown) == len(cycle) else "…"))
    details = FrozenDict({"cycle": shown})
    return Fault(SkipCode.CYCLE, f"requires itself: {way}", "$.requires", details=details, culprits=shown[1:])


_SHOWN = 8


def _cycle_members(everybody: Mapping[str, Capability]) -> dict[str, tuple[str, ...]]:
    """For each member of a requires cycle the way round from it."""
    edges = {id: [r for r in c.requires if r in everybody] for id, c in everybody.items() if c.requires}
    edges = {id: targets for id, targets in edges.items() if targets}
    found: dict[str, tuple[str, ...]] = {id: (id,) for id, targets in edges.items() if id in targets}
    for group in _Tarjan(edges).groups() if edges else ():
        for id, way in _ways_round(group, edges).items():
            found.setdefault(id, way)
    return {id: found[id] for id in everybody if id in found}


class _Tarjan:
    """Strongly connected groups of two or more, without recursion (a manifest must not choose our stack depth)."""

    def __init__(self, edges: Mapping[str, list[str]]) -> None:
        self._edges = edges
        self._order: dict[str, int] = {}
        self._low: dict[str, int] = {}
        self._stack: list[str] = []
        self._on_stack: set[str] = set()

    def groups(self) -> list[list[str]]:
        found: list[list[str]] = []
        for start in self._edges:
            if start not in self._order:
                self._walk(start, found)
        return found

    def _enter(self, node: str) -> tuple[str, Iterator[str]]:
        self._order[node] = self._low[node] = len(self._order)
        self._stack.append(node)
        self._on_stack.add(node)
        return node, iter(self._edges.get(node, ()))

    def _walk(self, start: str, found: list[list[str]]) -> None:
        work = [self._enter(start)]
        while work:
            node, targets = work[-1]
            target = next((t for t in targets if t not in self._order or t in self._on_stack), None)
            if target is None:
                work.pop()
                self._leave(node, work[-1][0] if work else None, found)
            elif target in self._order:
                self._low[node] = min(self._low[node], self._order[target])
            else:
                work.append(self._enter(target))

    def _leave(self, node: str, parent: str | None, found: list[list[str]]) -> None:
        if parent is not None:
            self._low[parent] = min(self._low[parent], self._low[node])
        if self._low[node] != self._order[node]:
            return
        group: list[str] = []
        while not group or group[-1] != node:
            group.append(self._stack.pop())
            self._on_stack.discard(group[-1])
        if len(group) > 1:
            found.append(sorted(group))


def _ways_round(group: list[str], edges: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """A shortest way round for each member; of a very large group only one way is searched and shown to all."""
    members = frozenset(group)
    if len(group) > 64:
        way = _way_round(group[0], edges, members)
        turned = {id: way[i:] + way[:i] for i, id in enumerate(way[:64])}
        return {id: turned.get(id, way) for id in group}
    return {id: _way_round(id, edges, members) for id in group}


def _way_round(start: str, edges: Mapping[str, list[str]], members: frozenset[str]) -> tuple[str, ...]:
    came_from: dict[str, str] = {}
    queue = [start]
    for node in queue:  # breadth first, so the way shown is a shortest one; grows while it is walked
        for target in edges.get(node, ()):
            if target == start:
                way = [node]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return tuple(reversed(way))
            if target in members and target not in came_from:
                came_from[target] = node
                queue.append(target)
    return (start,)
