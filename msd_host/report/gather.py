"""What the page says, gathered from one composition and the projections everybody else uses (spec 60; spec 10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..composition import Composition
from ..loop.resolve import ActiveHook, resolve
from ..model.cohort import Skip
from ..model.scope import Scope
from ..text import clean

if TYPE_CHECKING:
    from ..activation.state import Activation
    from ..host import Host

__all__ = ["Page", "gather"]

_LONG = 400


@frozen
class Page:
    """Every list holds plain objects of clean text, in the order in which they are shown."""

    title: str
    version: str
    project: str | None
    home: str
    points: tuple[dict[str, Any], ...]
    capabilities: tuple[dict[str, Any], ...]
    loud: tuple[dict[str, Any], ...]
    skips: tuple[dict[str, Any], ...]
    trust: tuple[dict[str, Any], ...]
    records: tuple[dict[str, Any], ...]
    extensions: tuple[str, ...]
    notes: tuple[str, ...]
    trace: tuple[dict[str, Any], ...]


def gather(host: Host, composition: Composition) -> Page:
    """The page of *composition*. Of what nobody agreed to only what spec 10 allows is in it."""
    registry, activation = composition.registry, host.activation(composition)
    overlay = registry.overlay
    contract = host.product.contract
    loud = [g for g in activation.blocked_gates() if not g.muted]
    desk = host.trust
    records = desk.records(composition.roots.served_path or composition.roots.home_path)
    return Page(
        host.product.title,
        host.product.version,
        composition.roots.served_path and clean(composition.roots.served_path, _LONG),
        clean(composition.roots.home_path, _LONG),
        tuple(
            {
                "step": step.name,
                "point": point,
                "hooks": [_hook(h) for h in resolve(registry, point, activation).hooks],
                "silent": sum(1 for g in loud if g.point == point),
            }
            for step in contract.steps
            for point in step.points
        ),
        tuple(_capability(composition, activation, id) for id in _overlays_first(registry.capabilities, activation)),
        tuple(
            {
                "point": g.point,
                "id": clean(g.cap_id, 80),
                "scope": g.scope.label,
                "code": g.code.value,
                "reason": clean(g.reason, _LONG),
                "remedy": g.remedy,
            }
            for g in sorted(loud, key=lambda g: (contract.index.get(g.point, 0), g.cap_id))
        ),
        tuple(_skip(s) for s in (overlay.warnings if overlay is not None else ())),
        tuple(s.to_dict() for s in desk.states(composition) if s.state != "first-party"),
        tuple(
            [
                {
                    "id": g.id,
                    "what": "agreed",
                    "version": clean(g.version, 40),
                    "when": g.granted_at,
                    "where": clean(g.root, _LONG),
                    "hash": g.content_hash,
                }
                for g in records.grants
            ]
            + [
                {
                    "id": d.id,
                    "what": "refused",
                    "version": "",
                    "when": d.denied_at,
                    "where": clean(d.root, _LONG),
                    "hash": "",
                }
                for d in records.denials
            ]
        ),
        tuple(clean(name, 120) for name in (overlay.extensions if overlay is not None else ())),
        tuple(
            [clean(a, _LONG) for a in composition.advisories]
            + [clean(p, _LONG) for p in activation.survey()]
            + [
                clean(f"{d.id}: {d.path} {d.message}", _LONG)
                for d in (overlay.diagnostics if overlay is not None else ())
            ]
        ),
        tuple(
            {"stage": t.stage, "kept": t.kept, "dropped": t.dropped}
            for t in (overlay.trace if overlay is not None else ())
        ),
    )


def _overlays_first(ids: Iterable[str], activation: Activation) -> list[str]:
    """What somebody added is what a person looks for."""
    return sorted(ids, key=lambda one: (activation.scope(one) is Scope.FIRST_PARTY, one))


def _hook(hook: ActiveHook) -> dict[str, Any]:
    body = hook.body
    about = {
        "step": body.get("ref", {}).get("skill")
        or body.get("ref", {}).get("agent")
        or body.get("ref", {}).get("command"),
        "contribution": body.get("into"),
        "gate": "blocking" if body.get("blocking") else "advisory",
    }[hook.kind]
    makes = body.get("produces") or ()
    return {
        "kind": hook.kind,
        "id": hook.cap_id,
        "scope": hook.scope,
        "version": clean(hook.version, 40),
        "about": clean(about or "", 120),
        "makes": clean(", ".join(makes), 200),
    }


def _capability(composition: Composition, activation: Activation, id: str) -> dict[str, Any]:
    capability = composition.registry.capabilities[id]
    state = activation.capability(id)
    return {
        "id": id,
        "title": clean(capability.title, 120),
        "description": clean(capability.description, _LONG),
        "version": clean(capability.version, 40),
        "tier": capability.tier,
        "role": capability.role,
        "scope": activation.scope(id).label,
        "state": "active" if state.active else "not active",
        "reason": clean(state.reason, _LONG),
        "hooks": sum(1 for _ in capability.hooks()),
        "skills": [clean(s, 80) for s in capability.skills],
        "requires": list(capability.requires),
    }


def _skip(skip: Skip) -> dict[str, Any]:
    return {
        "id": clean(skip.id, 80),
        "scope": skip.scope.label,
        "stage": skip.stage,
        "code": skip.code.value,
        "reason": clean(skip.reason, _LONG),
        "where": clean(skip.where, _LONG),
        "gates": list(skip.gates),
        "remedy": skip.remedy,
        "muted": skip.muted,
    }
