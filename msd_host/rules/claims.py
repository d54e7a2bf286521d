"""Exclusive claims: the names a capability would own, and the fold that gives each to one owner (spec 10, Collision).

First-party owns its claims before any overlay is looked at; among overlays the earlier candidate wins.
Names are compared without regard to case. What a fallen candidate would have owned stays free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..contract import LoopContract
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..text import quoted
from .flow import Node, nodes_of
from .keys import KeyOwners

__all__ = ["Claim", "ClaimTable", "Facts", "facts_of", "twice"]


class Claim(NamedTuple):
    """`word` is what messages call the kind; `name` is as declared, `key` as compared."""

    key: tuple[str, str]
    name: str
    code: SkipCode

    @property
    def word(self) -> str:
        return self.key[0]


class Facts(NamedTuple):
    """What one capability would own and how its hooks flow, worked out once and judged by several rules."""

    capability: Capability
    claims: tuple[Claim, ...]
    nodes: tuple[Node, ...]


def _reviewer_claims(lane: FrozenDict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "reviewer slug", lane["slug"]
    for flag in lane["flags"]:
        yield "reviewer flag", flag
    yield "reviews section", lane["reviewsSection"]


def facts_of(capability: Capability, contract: LoopContract) -> Facts:
    """Every exclusive claim of *capability* but its config keys; one made twice comes twice (I1-I3, I7, I12)."""
    raw = capability.raw
    found = [Claim(("id", raw["id"]), raw["id"], SkipCode.ID_COLLISION)]
    for word, field, code in _NAMED:
        found.extend([Claim((word, name.casefold()), name, code) for name in raw.get(field, ())])
    for command in raw.get("commands", ()):
        family = command["family"]
        found.append(Claim(("command family", family.casefold()), family, SkipCode.FAMILY_COLLISION))
    if raw.get("reviewer") is not None:
        for word, name in _reviewer_claims(raw["reviewer"]):
            found.append(Claim((word, name.casefold()), name, SkipCode.REVIEWER_COLLISION))
    nodes = nodes_of(capability, contract)
    for node in nodes:
        for artifact in dict.fromkeys(node.produces):
            key = (f"artifact at {node.point}", artifact.casefold())
            found.append(Claim(key, artifact, SkipCode.PRODUCES_COLLISION))
    return Facts(capability, tuple(found), nodes)


_NAMED = (
    ("skill", "skills", SkipCode.SKILL_COLLISION),
    ("agent", "agents", SkipCode.AGENT_COLLISION),
)


def twice(facts: Facts) -> Iterator[Fault]:
    """A name that one manifest claims twice collides with itself."""
    claims = facts.claims
    if len({claim.key for claim in claims}) == len(claims):
        return
    seen: set[tuple[str, str]] = set()
    for claim in claims:
        if claim.key in seen:
            yield _clash(claim, facts.capability.id, facts.capability.id)
        seen.add(claim.key)


def _clash(claim: Claim, claimant: str, owner: str) -> Fault:
    return Fault(
        claim.code,
        f"the {claim.word} {quoted(claim.name)} of {quoted(claimant)} is owned by {quoted(owner)} already",
        details=FrozenDict({"claim": claim.word, "name": claim.name, "owner": owner}),
        culprits=() if owner == claimant else (owner,),
    )


class ClaimTable:
    """Who owns what. A table may stand on a base (first-party) that it reads and never changes."""

    def __init__(self, base: ClaimTable | None = None) -> None:
        self._base_owners: Mapping[tuple[str, str], str] = base._owners if base is not None else {}
        self._owners: dict[tuple[str, str], str] = {}
        self._keys: KeyOwners = KeyOwners(base._keys if base is not None else None)
        self._flow = _PointFlow()

    @classmethod
    def of(cls, capabilities: Iterable[Capability], contract: LoopContract) -> ClaimTable:
        """The table of a set that is known to be clean (first-party)."""
        table = cls()
        for capability in capabilities:
            table._own(facts_of(capability, contract))
        return table

    def _own(self, facts: Facts) -> None:
        id, owners = facts.capability.id, self._owners
        for claim in facts.claims:
            owners.setdefault(claim.key, id)
        self._keys.add(facts.capability.config, id)

    def objections(self, facts: Facts) -> tuple[Fault, ...]:
        """Every claim of a candidate that somebody owns already, or a cycle it would close within a point."""
        capability, faults = facts.capability, []
        for claim in facts.claims:
            owner = self._base_owners.get(claim.key) or self._owners.get(claim.key)
            if owner is not None:
                faults.append(_clash(claim, capability.id, owner))
        faults.extend(self._key_objections(capability))
        return tuple(faults or self._flow.objections(facts.nodes))

    def _key_objections(self, capability: Capability) -> Iterator[Fault]:
        for key in capability.config:
            found = self._keys.clash(key, capability.id)
            if found is not None:
                other, owner = found
                yield Fault(
                    SkipCode.CONFIG_COLLISION,
                    f"the config key {quoted(key)} of {quoted(capability.id)} clashes with {quoted(other)}"
                    f" of {quoted(owner)}",
                    details=FrozenDict({"claim": "config key", "name": key, "other": other, "owner": owner}),
                    culprits=(owner,),
                )

    def take(self, facts: Facts) -> None:
        """Record every claim of a candidate without objections."""
        self._own(facts)
        self._flow.add(facts.nodes)


class _PointFlow:
    """The produce-consume graph among accepted overlays' hooks, per list of a point.

    First-party hooks take no part: nothing an overlay produces orders them, so no cycle can pass through one.
    """

    def __init__(self) -> None:
        self._producers: dict[tuple[int, str], list[Node]] = {}
        self._consumers: dict[tuple[int, str], list[Node]] = {}

    def add(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            for artifact in node.produces:
                self._producers.setdefault((node.rank, artifact), []).append(node)
            for artifact in node.consumes:
                self._consumers.setdefault((node.rank, artifact), []).append(node)

    def objections(self, nodes: Iterable[Node]) -> Iterator[Fault]:
        mine = [n for n in nodes if n.produces and n.consumes]
        if not any(self._fed(n) and self._feeds(n) for n in mine):
            return  # a cycle needs an edge in and an edge out of what is already there
        for node in mine:
            owners = self._cycle(node, mine)
            if owners:
                yield Fault(
                    SkipCode.CYCLE,
                    f"its hooks at {node.point} and those of {', '.join(map(quoted, owners))} wait for each other",
                    details=FrozenDict({"point": node.point, "with": tuple(owners)}),
                    culprits=tuple(owners),
                )
                return

    def _fed(self, node: Node) -> bool:
        return any((node.rank, a) in self._producers for a in node.consumes)

    def _feeds(self, node: Node) -> bool:
        return any((node.rank, a) in self._consumers for a in node.produces)

    def _cycle(self, start: Node, mine: list[Node]) -> list[str]:
        """Owners met on a way from *start* back to it; empty when there is none."""
        came_from: dict[int, Node | None] = {id(start): None}
        queue = [start]
        for node in queue:  # grows while it is walked
            for artifact in node.produces:
                own = [n for n in mine if n.rank == node.rank and artifact in n.consumes and n is not node]
                for successor in (*self._consumers.get((node.rank, artifact), ()), *own):
                    if successor is start:
                        return _owners_back(node, came_from, start.owner)
                    if id(successor) not in came_from:
                        came_from[id(successor)] = node
                        queue.append(successor)
        return []


def _owners_back(node: Node | None, came_from: dict[int, Node | None], own: str) -> list[str]:
    owners: dict[str, None] = {}
    while node is not None:
        owners.setdefault(node.owner)
        node = came_from[id(node)]
    return sorted(o for o in owners if o != own) or [own]
