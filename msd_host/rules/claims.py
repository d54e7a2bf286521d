"""Exclusive claims: the names a capability would own, and the fold that gives each to one owner (spec 10, Collision).

First-party owns its claims before any overlay is looked at; among overlays the earlier candidate wins.
Names are compared without regard to case. What a fallen candidate would have owned stays free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from attrs import evolve

from ..contract import LoopContract
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..model.scope import Scope
from ..text import quoted
from .flow import Node, PointFlow, nodes_of
from .keys import KeyOwners

__all__ = ["Claim", "ClaimTable", "Facts", "Holder", "facts_of", "twice"]


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
            yield _clash(claim, facts.capability.id, facts.capability.id, "itself")
        seen.add(claim.key)


def _clash(claim: Claim, claimant: str, owner: str, named: str) -> Fault:
    return Fault(
        claim.code,
        f"the {claim.word} {quoted(claim.name)} of {quoted(claimant)} is owned by {named} already",
        details=FrozenDict({"claim": claim.word, "name": claim.name, "owner": owner}),
        culprits=() if owner == claimant else (owner,),
    )


class Holder(NamedTuple):
    """An overlay that has its claims: the scope it stands in and its sighting (`Candidate.key`)."""

    scope: Scope
    key: tuple[str, str]


class ClaimTable:
    """Who owns what. A table may stand on a base (first-party) that it reads and never changes.

    Cost: proportional to the claims of whoever is judged. The one search there is, for hooks that wait for each
    other, is made only for *knotted* hooks, those that could (`flow.knotted`).
    """

    def __init__(self, base: ClaimTable | None = None, knotted: frozenset[Node] = frozenset()) -> None:
        self._base_owners: Mapping[tuple[str, str], str] = base._owners if base is not None else {}
        self._owners: dict[tuple[str, str], str] = {}
        self._holders: dict[str, Holder] = {}
        self._keys: KeyOwners = KeyOwners(base._keys if base is not None else None)
        self._flow = PointFlow(knotted)

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
                faults.append(_clash(claim, capability.id, owner, self._named(owner, capability.id)))
        faults.extend(self._key_objections(capability))
        return tuple(self._with_rivals(fault) for fault in faults or self._flow_objections(facts))

    def _named(self, owner: str, claimant: str) -> str:
        holder = self._holders.get(owner)
        if holder is None:
            return f"{quoted(owner)} (first-party)"
        return f"the {holder.scope.label} {quoted(owner)}" if owner == claimant else quoted(owner)

    def _with_rivals(self, fault: Fault) -> Fault:
        """The fault with the sightings that stand in the way, none where first-party does."""
        owners = (*fault.culprits, fault.details.get("owner"))
        rivals = dict.fromkeys(self._holders[owner].key for owner in owners if owner in self._holders)
        return evolve(fault, rivals=tuple(rivals)) if rivals else fault

    def _key_objections(self, capability: Capability) -> Iterator[Fault]:
        for key in capability.config:
            found = self._keys.clash(key, capability.id)
            if found is not None:
                other, owner = found
                yield Fault(
                    SkipCode.CONFIG_COLLISION,
                    f"the config key {quoted(key)} of {quoted(capability.id)} clashes with {quoted(other)}"
                    f" of {self._named(owner, capability.id)}",
                    details=FrozenDict({"claim": "config key", "name": key, "other": other, "owner": owner}),
                    culprits=(owner,),
                )

    def _flow_objections(self, facts: Facts) -> Iterator[Fault]:
        knot = self._flow.knot(facts.nodes)
        if knot is not None:
            point, owners = knot
            others = tuple(o for o in owners if o != facts.capability.id)
            yield Fault(
                SkipCode.CYCLE,
                f"its hooks at {point} and those of {', '.join(map(quoted, others))} wait for each other",
                details=FrozenDict({"point": point, "with": others}),
                culprits=others,
            )

    def take(self, facts: Facts, holder: Holder) -> None:
        """Record every claim of a candidate without objections."""
        self._own(facts)
        self._holders[facts.capability.id] = holder
        self._flow.add(facts.nodes)
