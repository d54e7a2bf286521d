"""Stage 2, scope dedupe: one physical folder is one candidate in one scope; a scope may only tighten (spec 10, Roots)."""

from __future__ import annotations

from ..context import LoadContext
from ..model.candidate import Candidate
from ..model.cohort import Deduped, Discovered
from ..model.scope import Scope
from .marker import stage


@stage
def msd_stage_scope_dedupe(cohort: Discovered, context: LoadContext) -> Deduped:
    strictest: dict[object, Scope] = {}
    for candidate in cohort.candidates:
        place = _place(candidate)
        scope = max(candidate.scope, _floor(candidate, context))
        strictest[place] = max(scope, strictest.get(place, scope))
    kept: dict[object, Candidate] = {}
    again: list[Candidate] = []
    for candidate in cohort.candidates:
        place = _place(candidate)
        if place in kept:
            again.append(candidate)
        else:
            kept[place] = candidate.tightened(strictest[place])
    ordered = sorted(kept.values(), key=lambda c: (c.scope, c.id, c.root))
    return Deduped(tuple(ordered), cohort.skips, (*cohort.sightings, *again), cohort.diagnostics)


def _place(candidate: Candidate) -> object:
    return candidate.place if candidate.place is not None else candidate.key


def _floor(candidate: Candidate, context: LoadContext) -> Scope:
    """The least restrictive scope the roots allow: a global root that may be the project's is a project root."""
    return context.roots.global_scope if candidate.scope is Scope.GLOBAL else candidate.scope
