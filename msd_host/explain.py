"""The whole way of one id through a composition, as a value (spec 60, `explain`)."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from .composition import Composition
from .model.candidate import Candidate
from .model.codes import CONSENT_CODES
from .model.cohort import Skip
from .model.frozen import FrozenDict, freeze, thaw
from .reading.roots import Canonical, Roots
from .rules.claims import facts_of
from .text import clean

__all__ = ["Explanation", "explain"]


@frozen(unsafe_hash=False)
class Explanation:
    """`state` is first-party, active, skipped or not-found; `found` holds one entry per sighting of the id."""

    id: str
    state: str
    found: tuple[FrozenDict[str, Any], ...]
    looked_in: tuple[str, ...]
    roots: FrozenDict[str, Any]
    trace: tuple[FrozenDict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "state": self.state,
            "found": thaw(self.found),
            "looked_in": list(self.looked_in),
            "roots": thaw(self.roots),
            "trace": thaw(self.trace),
        }


def explain(composition: Composition, id: str) -> Explanation:
    """Root, scope and why, each stage's verdict with evidence, claims, gates and what to do."""
    cohort = composition.cohort
    skips = [s for s in _skips(composition) if s.id == id]
    found = [
        *(_accepted(c, composition) for c in cohort.candidates if c.id == id and _is_in(c, composition)),
        *(_skipped(s, composition) for s in skips),
        *(_sighted(c) for c in cohort.sightings if c.id == id),
    ]
    first_party = id in composition.context.baseline.capabilities
    if first_party:
        found.insert(0, _first_party(id, composition))
    accepted = any(c.id == id and _is_in(c, composition) for c in cohort.candidates)
    state = "first-party" if first_party else "active" if accepted else "skipped" if skips else "not-found"
    return Explanation(
        id,
        state,
        tuple(found),
        _looked_in(composition.roots),
        freeze(_roots(composition.roots)),
        tuple(freeze(t.to_dict()) for t in _trace(composition)),
    )


def _trace(composition: Composition) -> tuple[Any, ...]:
    overlay = composition.registry.overlay
    return () if overlay is None else overlay.trace


def _skips(composition: Composition) -> tuple[Skip, ...]:
    overlay = composition.registry.overlay
    return composition.cohort.skips if overlay is None else overlay.warnings


def _is_in(candidate: Candidate, composition: Composition) -> bool:
    overlay = composition.registry.overlay
    return overlay is not None and candidate.id in overlay.accepted


def _first_party(id: str, composition: Composition) -> FrozenDict[str, Any]:
    capability = composition.context.baseline.capabilities[id]
    claims = [f"{c.word} {c.name}" for c in facts_of(capability, composition.context.product.contract).claims]
    verdict = {"stage": "baseline", "verdict": "kept", "reason": "ships with the host"}
    return freeze(  # type: ignore[no-any-return]
        {
            "scope": "first-party",
            "where": "",
            "version": capability.version,
            "verdicts": [verdict],
            "claims": [*claims, *(f"config key {k}" for k in capability.config)],
            "gates": [g["point"] for g in capability.gates],
            "notes": [],
        }
    )


_BEFORE_REVIEW = ("discover", "scope_dedupe", "consent", "collision", "cross_validation")


def _kept(up_to: str, composition: Composition) -> list[dict[str, Any]]:
    """The stages passed before *up_to*, in the order they ran; those of extensions carry the extension's name."""
    ran = list(dict.fromkeys(t.stage for t in _trace(composition)))
    if up_to in ran:
        ran = ran[: ran.index(up_to)]
    elif up_to == "review":
        ran = [s for s in ran if s in _BEFORE_REVIEW]
    return [{"stage": s, "verdict": "kept"} for s in ran]


def _accepted(candidate: Candidate, composition: Composition) -> FrozenDict[str, Any]:
    capability = candidate.capability
    assert capability is not None
    claims = [f"{c.word} {c.name}" for c in facts_of(capability, composition.context.product.contract).claims]
    overlay = composition.registry.overlay
    diagnostics = overlay.diagnostics if overlay is not None else ()
    return freeze(  # type: ignore[no-any-return]
        {
            "scope": candidate.scope.label,
            "scope_why": _why(candidate, composition),
            "where": candidate.where,
            "version": capability.version,
            "consent": candidate.consent.state,
            "run_only": candidate.consent.run_only,
            "content_hash": candidate.content_hash,
            "source": clean(candidate.source) if candidate.source else None,
            "verdicts": [*_kept("", composition), {"stage": "fallback", "verdict": "accepted"}],
            "claims": [clean(c, 200) for c in (*claims, *(f"config key {k}" for k in capability.config))],
            "requires": list(capability.requires),
            "gates": list(candidate.gates),
            "notes": [clean(f"{d.path} {d.message}") for d in diagnostics if d.id == candidate.id],
        }
    )


def _why(candidate: Candidate, composition: Composition) -> str:
    roots = composition.roots
    if candidate.root == (roots.global_root.path or roots.global_root.given):
        return roots.global_why
    return "it lies in the served project"


def _skipped(skip: Skip, composition: Composition) -> FrozenDict[str, Any]:
    verdict: dict[str, Any] = {
        "stage": skip.stage,
        "verdict": "skipped",
        "by": skip.by,
        "code": skip.code.value,
        "reason": skip.reason,
    }
    if skip.code not in CONSENT_CODES:
        verdict["details"] = thaw(skip.details)
    return freeze(  # type: ignore[no-any-return]
        {
            "scope": skip.scope.label,
            "where": skip.where,
            "verdicts": [*_kept(skip.stage, composition), verdict],
            "gates": list(skip.gates),
            "culprits": list(skip.culprits),
            "remedy": skip.remedy,
            "see": list(skip.see),
            "notes": [],
        }
    )


def _sighted(candidate: Candidate) -> FrozenDict[str, Any]:
    verdict = {"stage": "scope_dedupe", "verdict": "dropped", "reason": "the same folder was seen already"}
    return freeze(  # type: ignore[no-any-return]
        {"scope": candidate.scope.label, "where": candidate.where, "verdicts": [verdict], "gates": [], "notes": []}
    )


def _looked_in(roots: Roots) -> tuple[str, ...]:
    places = [roots.global_root] + ([roots.project_root] if roots.project_root is not None else [])
    return tuple(dict.fromkeys(p.path or p.given for p in places))


def _place(place: Canonical | None) -> dict[str, Any] | None:
    return None if place is None else {"given": place.given, "path": place.path, "state": place.state, "why": place.why}


def _roots(roots: Roots) -> dict[str, Any]:
    return {
        "home": _place(roots.home),
        "global": _place(roots.global_root),
        "global_scope": roots.global_scope.label,
        "global_why": roots.global_why,
        "served": _place(roots.served),
        "project": _place(roots.project_root),
        "one_folder": roots.one_folder,
        "store": _place(roots.store),
        "store_refusal": roots.store_refusal,
        "notes": list(roots.notes),
    }
