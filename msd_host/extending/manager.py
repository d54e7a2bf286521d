"""The open side: host-owned adapters around admitted extensions, behind a manager of their own (spec 50).

Downstream objects are never registered. An adapter runs its extension's code on that extension's worker, against
a deadline, and turns whatever comes back into a veto or an advisory. Adapters answer with their name, answers
are sorted, so no order of registration or installation can show.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pluggy
from attrs import evolve, frozen
from msd_hookspecs import PROJECT, hookimpl, observers, predicates, reviews

from ..context import LoadContext
from ..model.candidate import Candidate
from ..model.codes import SkipCode
from ..model.cohort import Coherent, Reviewed, Skip
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..model.report import StageTrace
from ..model.scope import Scope
from ..sieve import skip_of
from ..text import clean
from .admission import Admitted
from .values import Event, PredicateKind, PredicateVerdict, ReviewCandidate, ReviewContext, Veto, told
from .workers import Late, Worker, clock

__all__ = ["OpenHooks"]

REVIEW_SECONDS = 10.0  # of one extension, per load
NOTICE_SECONDS = 2.0  # for one event


@frozen
class _Objection:
    """What one extension has against one candidate."""

    by: str
    code: SkipCode
    reason: str


class _Adapter:
    """Stands in for one extension: plain identity, no surprises."""

    def __init__(self, extension: Admitted, tell: Any) -> None:
        self.extension = extension
        self.worker = Worker(extension.name)
        self.left = REVIEW_SECONDS
        self._tell = tell
        self._deaf = False

    @hookimpl
    def msd_review(self, candidate: Any, context: Any) -> _Objection | None:
        review = self.extension.review
        if review is None:
            return None
        started = clock()
        try:
            outcome = self.worker.call(lambda: review(candidate=candidate, context=context), seconds=self.left)
        except Late:
            seconds = f"{REVIEW_SECONDS:g} s"
            return self._broken(f"gave no answer within {seconds} and is not asked again in this run")
        self.left = max(0.0, self.left - (clock() - started))
        if outcome.error is not None:
            return self._broken(f"raised {told(outcome.error)}")
        if outcome.value is None:
            return None
        if type(outcome.value) is Veto:
            return _Objection(
                self.extension.name, SkipCode.VETOED, clean(outcome.value.reason, 200) or "no reason given"
            )
        return self._broken(f"answered with {type(outcome.value).__name__}, which is neither a Veto nor None")

    def _broken(self, what: str) -> _Objection:
        return _Objection(self.extension.name, SkipCode.STAGE_ERROR, clean(f"its review {what}"))

    @hookimpl
    def msd_observe(self, event: Any) -> None:
        observe = self.extension.observe
        if observe is None or self._deaf:
            return
        try:
            outcome = self.worker.call(lambda: observe(event=event), seconds=NOTICE_SECONDS)
        except Late:
            self._deaf = True
            self._tell(f"{self.extension.name}: its observer was slower than {NOTICE_SECONDS:g} s and hears no more")
            return
        if outcome.error is not None:
            self._tell(f"{self.extension.name}: its observer raised {told(outcome.error)}")

    @hookimpl
    def msd_predicate_kinds(self) -> tuple[PredicateKind, ...]:
        kinds = self.extension.predicate_kinds
        if kinds is None:
            return ()
        try:
            outcome = self.worker.call(lambda: tuple(kinds()), seconds=NOTICE_SECONDS)
        except Late:
            self._tell(f"{self.extension.name}: its predicate kinds did not come within {NOTICE_SECONDS:g} s")
            return ()
        if outcome.error is not None or not all(type(k) is PredicateKind for k in outcome.value):
            why = told(outcome.error) if outcome.error is not None else "not all of them are PredicateKind"
            self._tell(f"{self.extension.name}: its predicate kinds cannot be used: {why}")
            return ()
        return tuple(self._guarded(kind) for kind in outcome.value)

    def _guarded(self, kind: PredicateKind) -> PredicateKind:
        def evaluate(payload: Mapping[str, Any], project: str | None) -> PredicateVerdict:
            outcome = self.worker.call(kind.evaluate, payload, project, seconds=REVIEW_SECONDS)
            if outcome.error is not None:
                raise outcome.error
            if type(outcome.value) is not PredicateVerdict:
                raise TypeError(f"{kind.name} answered with {type(outcome.value).__name__}, not a PredicateVerdict")
            return outcome.value

        return PredicateKind(kind.name, evaluate)


class OpenHooks:
    """Every admitted extension of one host. `advisories` is what an operator must hear about them.

    `required` names extensions without which no overlay may be accepted (spec 50, Controls).
    """

    def __init__(
        self, extensions: Iterable[Admitted], advisories: Iterable[str] = (), missing: Iterable[str] = ()
    ) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        for contract in (reviews, observers, predicates):
            self._manager.add_hookspecs(contract)
        self.advisories: list[str] = list(advisories)
        self.missing = tuple(sorted(missing))
        self.names: tuple[str, ...] = ()
        self._adapters: list[_Adapter] = []
        for extension in sorted(extensions, key=lambda e: e.name, reverse=True):  # called last first: by name
            adapter = _Adapter(extension, self.advise)
            self._manager.register(adapter, name=extension.name)
            self._adapters.insert(0, adapter)
        self.names = tuple(a.extension.name for a in self._adapters)

    def advise(self, message: str) -> None:
        """Keep *message* once."""
        if message not in self.advisories:
            self.advisories.append(message)

    @property
    def listening(self) -> bool:
        """Whether anybody observes."""
        return any(a.extension.observe is not None for a in self._adapters)

    @property
    def reviewing(self) -> bool:
        """Whether a load must pass the downstream stages."""
        return bool(self.missing) or any(a.extension.review is not None for a in self._adapters)

    def emit(self, kind: str, **data: Any) -> None:
        """Tell every observer; never raises."""
        if self.listening:
            self._manager.hook.msd_observe(event=Event(kind, FrozenDict(data), time.time()))

    def predicate_kinds(self, taken: Iterable[str]) -> dict[str, PredicateKind]:
        """The kinds that extensions add to those *taken*; one claimed twice is nobody's."""
        found: dict[str, list[PredicateKind]] = {}
        for kinds in self._manager.hook.msd_predicate_kinds():
            for kind in kinds:
                found.setdefault(kind.name, []).append(kind)
        for name in sorted(found):
            if name in taken or len(found[name]) > 1:
                self.advise(f"the predicate kind {clean(name, 60)} is taken or claimed twice; nobody's is used")
                del found[name]
        return {name: kinds[0] for name, kinds in found.items()}

    def review(self, cohort: Coherent, context: LoadContext) -> tuple[Reviewed, tuple[StageTrace, ...]]:
        """The set without those that somebody vetoed. A required extension that is not there vetoes them all."""
        for adapter in self._adapters:
            adapter.left = REVIEW_SECONDS
        view = ReviewContext(context.host_version, context.product.name, context.roots.served_path)
        kept: list[Candidate] = []
        skips: list[Skip] = []
        dropped: dict[str, int] = {a.extension.name: 0 for a in self._adapters if a.extension.review is not None}
        for candidate in cohort.candidates:
            objections = self._objections(candidate, view)
            if not objections:
                kept.append(candidate)
                continue
            skips.append(_skip(candidate, objections, context))
            for objection in objections:
                dropped[objection.by] = dropped.get(objection.by, 0) + 1
        traces = tuple(StageTrace(name, len(cohort.candidates) - n, n) for name, n in sorted(dropped.items()))
        return Reviewed(tuple(kept), cohort.skips + tuple(skips), cohort.sightings, cohort.diagnostics), traces

    def _objections(self, candidate: Candidate, view: ReviewContext) -> list[_Objection]:
        if self.missing:
            words = f"the required extension {self.missing[0]} is not there or not working"
            return [_Objection(", ".join(self.missing), SkipCode.PLUGINS_REQUIRED, words)]
        answers: list[_Objection] = self._manager.hook.msd_review(candidate=_shown(candidate), context=view)
        return sorted(answers, key=lambda o: o.by)


def _shown(candidate: Candidate) -> ReviewCandidate:
    capability = candidate.capability
    assert capability is not None
    return ReviewCandidate(
        capability.id,
        capability.version,
        candidate.scope.label,
        candidate.where,
        capability.raw,
        candidate.content_hash,
        candidate.source,
        candidate.scope is Scope.GLOBAL,
    )


def _skip(candidate: Candidate, objections: Sequence[_Objection], context: LoadContext) -> Skip:
    vetoes = [o for o in objections if o.code is not SkipCode.STAGE_ERROR] or list(objections)
    faults = tuple(Fault(o.code, f"{o.by}: {o.reason}") for o in (*vetoes, *(o for o in objections if o not in vetoes)))
    skip = skip_of(candidate, "review", faults, context)
    return evolve(skip, by=", ".join(o.by for o in objections))
