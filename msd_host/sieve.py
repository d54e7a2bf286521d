"""The only loop over candidates, the only place where a failure becomes a skip, and the law of narrowing.

A stage is a judge: given a candidate it states a `Fault` or nothing. `sift` asks it about each one.
`check_narrower` holds after every stage (spec 10, The line):

1. no candidate appears that was not there before;
2. no scope becomes less restrictive;
3. manifest and content hash stay as they were;
4. earlier skips are kept, in order;
5. each candidate is kept or skipped, never both, never neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from .context import LoadContext
from .errors import HostIntegrityError
from .model.candidate import Candidate
from .model.codes import SkipCode
from .model.cohort import Cohort, Skip
from .model.fault import Fault
from .remedies import is_valid_id, remedy_for
from .text import clean

__all__ = ["Judge", "check_narrower", "sift", "skip_of"]

C = TypeVar("C", bound=Cohort)
Judge = Callable[[Candidate], "tuple[Fault, ...]"]


def skip_of(candidate: Candidate, stage: str, faults: tuple[Fault, ...], context: LoadContext) -> Skip:
    """The skip that *faults* amount to: the first one names the code, the reason tells them all."""
    first = faults[0]
    limit = context.product.limits.reason_chars
    reason = clean("; ".join(str(f) for f in faults[:8]), limit)
    culprits = tuple(dict.fromkeys(c for f in faults for c in f.culprits))
    remedy, see = remedy_for(context.command, first.code, candidate.id, candidate.scope, candidate.where, culprits)
    return Skip(
        id=candidate.id if is_valid_id(candidate.id) else clean(candidate.id, 80),
        scope=candidate.scope,
        where=candidate.where,
        stage=stage,
        code=first.code,
        reason=reason,
        gates=candidate.gates,
        culprits=culprits,
        remedy=first.remedy or remedy,
        see=see,
        muted=first.code is SkipCode.DENIED,
        details=first.details,
        faults=faults,
        sighting=candidate.key,
    )


def sift(cohort: Cohort, into: type[C], stage: str, judge: Judge, context: LoadContext) -> C:
    """Keep the candidates *judge* has nothing against. A judge that raises has objected."""
    kept: list[Candidate] = []
    skips: list[Skip] = []
    for candidate in cohort.candidates:
        try:
            faults = judge(candidate)
        except (Exception, RecursionError) as error:
            faults = (Fault(SkipCode.INTERNAL_ERROR, f"{stage} failed with {type(error).__name__}: {error}"),)
        if faults:
            skips.append(skip_of(candidate, stage, faults, context))
        else:
            kept.append(candidate)
    return into(tuple(kept), cohort.skips + tuple(skips), cohort.sightings, cohort.diagnostics)


def _breach(stage: str, what: str, keys: Iterable[object]) -> HostIntegrityError:
    names = ", ".join(sorted(clean(k, 120) for k in keys)[:5])
    return HostIntegrityError(f"the stage {stage} broke the law of narrowing: {what}: {names}")


def check_narrower(before: Cohort, after: Cohort, stage: str) -> None:
    """Raise `HostIntegrityError` when *after* is not a narrowing of *before*."""
    known = {(c.root, c.id): c for c in before.candidates}
    left = {(c.root, c.id): c for c in after.candidates}
    if not left.keys() <= known.keys() or len(left) != len(after.candidates):
        raise _breach(stage, "appeared from nowhere", left.keys() - known.keys())
    for key, now in left.items():
        was = known[key]
        if now is was:
            continue
        if now.scope < was.scope:
            raise _breach(stage, "scope loosened", [key])
        if now.capability is not was.capability or now.content_hash != was.content_hash:
            raise _breach(stage, "content changed", [key])
    if after.skips[: len(before.skips)] != before.skips:
        raise _breach(stage, "the history of skips was rewritten", [])
    gone = {s.sighting for s in after.skips[len(before.skips) :]} | {
        (c.root, c.id) for c in after.sightings[len(before.sightings) :]
    }
    if lost := known.keys() - left.keys() - gone:
        raise _breach(stage, "vanished without a skip", lost)
    if both := left.keys() & gone:
        raise _breach(stage, "kept and skipped at once", both)
