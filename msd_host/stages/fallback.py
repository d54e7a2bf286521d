"""Stage 7, fallback: the answer. If the set did not build, exactly first-party, and every lost gate loud (spec 10, M10)."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from ..context import LoadContext
from ..model.candidate import Candidate
from ..model.codes import SkipCode
from ..model.cohort import Accepted, BuildFailure, Cohort, Skip
from ..model.fault import Diagnostic
from ..model.frozen import FrozenDict
from ..model.registry import Registry
from ..model.report import OverlayReport, StageTrace, blocked_gates
from ..model.scope import Scope
from ..remedies import is_valid_id, remedy_for
from ..rules.own import notes
from ..text import clean, joined
from .marker import stage


@stage
def msd_stage_fallback(
    attempt: Accepted | BuildFailure, trace: tuple[StageTrace, ...], context: LoadContext
) -> Registry:
    accepted: tuple[Candidate, ...] = ()
    if isinstance(attempt, BuildFailure):
        cohort, registry = attempt.cohort, context.baseline
        skips = (*cohort.skips, *_dropped(attempt, context))
    else:
        cohort, skips = attempt.cohort, attempt.cohort.skips
        accepted = cohort.candidates
        registry = attempt.registry if accepted else context.baseline
    diagnostics = (*_about_roots(cohort, context), *_about(accepted, context))
    if not (accepted or skips or diagnostics):
        return context.baseline
    return evolve(registry, overlay=_report(accepted, skips, diagnostics, trace))


def _report(
    accepted: Iterable[Candidate],
    skips: tuple[Skip, ...],
    diagnostics: tuple[Diagnostic, ...],
    trace: tuple[StageTrace, ...],
) -> OverlayReport:
    kept = tuple(accepted)
    return OverlayReport(
        warnings=skips,
        diagnostics=diagnostics,
        blocked_gates=blocked_gates(skips),
        command_roots=FrozenDict({c.id: c.command_root for c in kept if c.command_root is not None}),
        accepted=FrozenDict({c.id: c.scope for c in kept}),
        trace=trace,
    )


def _about_roots(cohort: Cohort, context: LoadContext) -> tuple[Diagnostic, ...]:
    linked = tuple(Diagnostic("*", "linked-root", clean(note)) for note in context.roots.notes)
    return (*linked, *cohort.diagnostics)


def _about(accepted: Iterable[Candidate], context: LoadContext) -> tuple[Diagnostic, ...]:
    return tuple(note for candidate in accepted for note in notes(candidate, context))


def _dropped(failure: BuildFailure, context: LoadContext) -> tuple[Skip, ...]:
    """One skip for the set and one for each overlay that went with it, every remedy pointing at the culprit."""
    why = clean(failure.error)
    blamed = tuple(id for id in failure.culprits if is_valid_id(id))
    naming = f" because of {joined(blamed)}" if blamed else ""
    head = f"no overlay was composed{naming}: {why}"
    by_id = {c.id: c for c in failure.cohort.candidates}
    remedy, see = _remedy(blamed, by_id, context)
    nobody_known = not (failure.cohort.candidates or failure.cohort.skips)
    whole = Skip(
        "*",
        Scope.GLOBAL,
        "",
        failure.stage,
        SkipCode.WHOLE_SET,
        clean(head),
        gates=context.product.contract.points if nobody_known else (),  # whose gates are lost nobody can say
        culprits=blamed,
        remedy=remedy,
        see=see,
    )
    each = tuple(
        Skip(
            id=c.id,
            scope=c.scope,
            where=c.where,
            stage=failure.stage,
            code=SkipCode.WHOLE_SET,
            reason=clean(head if c.id in blamed else f"dropped together with all others{naming}: {why}"),
            gates=c.gates,
            culprits=tuple(id for id in blamed if id != c.id),
            remedy=remedy,
            see=see,
            sighting=c.key,
        )
        for c in failure.cohort.candidates
    )
    return (whole, *each)


def _remedy(
    blamed: tuple[str, ...], by_id: dict[str, Candidate], context: LoadContext
) -> tuple[str | None, tuple[str, ...]]:
    """Remove the first culprit; without one, look at the whole state."""
    culprit = by_id.get(blamed[0]) if blamed else None
    if culprit is None:
        return remedy_for(context.command, SkipCode.WHOLE_SET, "*", Scope.GLOBAL, "")
    found, _ = remedy_for(context.command, SkipCode.ID_COLLISION, culprit.id, culprit.scope, culprit.where)
    return found, (f"{context.command} doctor",)
