"""The only projection from capabilities to a registry: first-party alone and composed sets go through it alike.

Pure: it reads nothing and changes nothing it is given (reference, section 4). It raises `BuildError` on
what only the whole set can show; every fault of a single candidate has been found before (spec 10).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..contract import LoopContract
from ..model.capability import TIERS, Capability, Hook
from ..model.frozen import FrozenDict
from ..model.registry import PointHooks, Registry
from ..rules.flow import order_hooks

__all__ = ["BuildError", "build_registry"]

VERSION = "1"


class BuildError(Exception):
    """The set as a whole does not build."""


def build_registry(
    capabilities: Sequence[Capability], contract: LoopContract, first_party: frozenset[str] | None = None
) -> Registry:
    """The registry of *capabilities*, first-party first. *first_party* names those whose hooks nobody may reorder.

    Raises `BuildError` when two own one name or hooks of one point wait for each other.
    """
    pinned = frozenset(c.id for c in capabilities) if first_party is None else first_party
    skills, agents, keys, families = _owned(capabilities)
    return Registry(
        version=VERSION,
        capabilities=_unique(((c.id, c) for c in capabilities), "id"),
        by_skill=skills,
        by_agent=agents,
        by_loop_point=_points(capabilities, contract, pinned),
        config_keys=keys,
        config_schema=_schema(capabilities),
        runtimes=FrozenDict({c.id: c for c in capabilities if c.role == "runtime"}),
        command_families=FrozenDict(dict(sorted(families.items()))),
        clusters=FrozenDict({c.id: tuple(sorted(c.skills)) for c in _by_id(capabilities) if c.skills}),
        profiles=FrozenDict({c.id: _profile(c) for c in _by_id(capabilities) if c.skills}),
        reviewers=_reviewers(capabilities),
    )


def _by_id(capabilities: Iterable[Capability]) -> list[Capability]:
    return sorted(capabilities, key=lambda c: c.id)


def _unique(pairs: Iterable[tuple[str, Any]], what: str) -> FrozenDict[str, Any]:
    seen: dict[str, Any] = {}
    for name, value in pairs:
        if name in seen:
            raise BuildError(f"the {what} {name} has two owners")
        seen[name] = value
    return FrozenDict(seen)


def _owned(
    capabilities: Sequence[Capability],
) -> tuple[FrozenDict[str, str], FrozenDict[str, str], FrozenDict[str, str], FrozenDict[str, Any]]:
    return (
        _unique(((s, c.id) for c in capabilities for s in c.skills), "skill"),
        _unique(((a, c.id) for c in capabilities for a in c.agents), "agent"),
        _unique(((k, c.id) for c in capabilities for k in c.config), "config key"),
        _unique(((m["family"], _family(c, m)) for c in capabilities for m in c.commands), "command family"),
    )


def _family(capability: Capability, command: FrozenDict[str, Any]) -> FrozenDict[str, str]:
    return FrozenDict({"capId": capability.id, "module": command["module"], "router": command["router"]})


def _schema(capabilities: Iterable[Capability]) -> FrozenDict[str, FrozenDict[str, Any]]:
    return FrozenDict({k: _slice(c.id, s) for c in capabilities for k, s in c.config.items()})


def _slice(owner: str, declared: FrozenDict[str, Any]) -> FrozenDict[str, Any]:
    view = {
        "owner": owner,
        "type": declared["type"],
        "default": declared["default"],
        "description": declared["description"],
    }
    if declared["type"] == "enum":
        view["values"] = declared["values"]
    return FrozenDict(view)


def _profile(capability: Capability) -> FrozenDict[str, Any]:
    return FrozenDict({"tier": capability.tier, "profiles": TIERS[TIERS.index(capability.tier) :]})


def _reviewers(capabilities: Iterable[Capability]) -> FrozenDict[str, FrozenDict[str, Any]]:
    lanes = [(c, c.reviewer) for c in capabilities]
    bodies = {str(r["slug"]): FrozenDict({"capId": c.id, **r}) for c, r in lanes if r is not None}
    return FrozenDict(dict(sorted(bodies.items())))


def _points(
    capabilities: Sequence[Capability], contract: LoopContract, pinned: frozenset[str]
) -> FrozenDict[str, PointHooks]:
    found: dict[str, dict[str, list[tuple[str, Hook]]]] = {p: {} for p in contract.points}
    for capability in capabilities:
        for kind, _, hook in capability.hooks():
            lists = found.get(hook["point"])
            if lists is None:
                raise BuildError(f"{capability.id} hooks the unknown point {hook['point']}")
            lists.setdefault(kind, []).append((capability.id, hook))
    return FrozenDict({point: _point(point, lists, pinned) for point, lists in found.items()})


def _point(point: str, lists: dict[str, list[tuple[str, Hook]]], pinned: frozenset[str]) -> PointHooks:
    if not lists:
        return _NONE
    gates = sorted(lists.get("gate", ()), key=lambda pair: pair[0])
    return PointHooks(
        _ordered(point, "steps", lists.get("step", []), pinned),
        _ordered(point, "contributions", lists.get("contribution", []), pinned),
        tuple(_entry(owner, hook) for owner, hook in gates),
    )


def _ordered(point: str, kind: str, pairs: list[tuple[str, Hook]], pinned: frozenset[str]) -> tuple[Hook, ...]:
    if not pairs:
        return ()
    try:
        order = order_hooks([owner for owner, _ in pairs], [hook for _, hook in pairs], pinned)
    except ValueError as error:
        raise BuildError(f"{kind} at {point}: {error}") from None
    return tuple(_entry(*pairs[i]) for i in order)


def _entry(owner: str, hook: Hook) -> Hook:
    return FrozenDict({"capId": owner, **hook})


_NONE = PointHooks()
