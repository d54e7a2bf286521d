"""One load, from top to bottom. The only module that holds the sealed plugin manager (spec 10, spec 50).

The stages are called through pluggy so that each is a named, replaceable-in-tests, observable contract;
the seal makes sure that there is exactly one implementation of each, the host's, at every load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeVar

import pluggy
from attrs import evolve
from msd_hookspecs import SEALED_PROJECT
from msd_hookspecs import stages as contract

from .context import LoadContext
from .errors import HostIntegrityError
from .integrity import check_siblings
from .model.candidate import Candidate
from .model.codes import SkipCode
from .model.cohort import (
    Accepted,
    BuildFailure,
    Coherent,
    Cohort,
    Consented,
    Deduped,
    Discovered,
    Distinct,
    Reviewed,
    Skip,
)
from .model.registry import Registry
from .model.report import OverlayReport, StageTrace, blocked_gates
from .model.scope import Scope
from .reading.sources import Sources
from .sieve import check_narrower
from .stages import build, collision, consent, cross_validation, discover, fallback, scope_dedupe
from .text import clean

__all__ = ["FIRST_PARTY_STAGES", "Line", "Review", "SealedStages", "run"]

FIRST_PARTY_STAGES: tuple[object, ...] = (
    discover,
    scope_dedupe,
    consent,
    collision,
    cross_validation,
    build,
    fallback,
)

C = TypeVar("C", bound=Cohort)

#: The place of the downstream stages: takes the coherent set, gives a subset of it with vetoes as skips.
Review = Callable[[Coherent, LoadContext], "tuple[Reviewed, tuple[StageTrace, ...]]"]

#: Told what happens: an event kind and its data. Must not raise.
Notify = Callable[..., None]

_TRIALS = 64  # builds the search for a culprit may cost


class SealedStages:
    """The seven stages behind a manager nobody else can reach, checked before each load."""

    def __init__(self, implementations: Sequence[object] = FIRST_PARTY_STAGES) -> None:
        check_siblings()
        manager = pluggy.PluginManager(SEALED_PROJECT)
        manager.add_hookspecs(contract)
        for number, implementation in enumerate(implementations):
            manager.register(implementation, name=f"first-party-{number}")
        manager.check_pending()
        names = [n for n in contract.__all__ if n.startswith("msd_stage_")]
        self._hooks = {name: getattr(manager.hook, name) for name in names}
        self._seal = {name: self._fingerprint(hook) for name, hook in self._hooks.items()}
        self.verify()

    @staticmethod
    def _fingerprint(hook: pluggy.HookCaller) -> tuple[Any, ...]:
        return tuple((i.function, i.wrapper or i.hookwrapper) for i in hook.get_hookimpls())

    def verify(self) -> None:
        """Raise `HostIntegrityError` unless each stage still has exactly its own implementation."""
        for name, hook in self._hooks.items():
            now = self._fingerprint(hook)
            if len(now) != 1 or now[0][1] or now != self._seal[name]:
                raise HostIntegrityError(f"the stage {name} no longer has exactly the host's implementation")

    def call(self, stage: str, **values: object) -> Any:
        """What the one implementation of *stage* answers."""
        return self._hooks[f"msd_stage_{stage}"](**values)


class Line:
    """The state of one load: what stands so far (`reached`), who was seen at all, and the trace."""

    def __init__(self, stages: SealedStages, context: LoadContext, notify: Notify | None = None) -> None:
        self.notify = notify
        self.stages = stages
        self.context = context
        self.at = "seal"
        self.reached: Cohort = Cohort()
        self.seen: tuple[Candidate, ...] = ()
        self.trace: list[StageTrace] = []

    def step(self, stage: str, into: type[C], **values: object) -> C:
        """Run one stage and hold it to the law of narrowing."""
        self.at = stage
        before = values.get("cohort")
        if self.notify is not None:
            self.notify("stage-started", stage=stage)
        started = perf_counter()
        after = self.stages.call(stage, context=self.context, **values)
        if not isinstance(after, into):
            raise HostIntegrityError(f"the stage {stage} gave {type(after).__name__}, not {into.__name__}")
        if isinstance(before, Cohort):
            check_narrower(before, after, stage)
        self._note(stage, after, len(before.candidates) if isinstance(before, Cohort) else None, started)
        self.reached = after
        return after

    def _note(self, stage: str, after: Cohort, before: int | None, started: float) -> None:
        kept = len(after.candidates)
        self.note(stage, kept, 0 if before is None else before - kept, perf_counter() - started)

    def note(self, stage: str, kept: int, dropped: int, seconds: float) -> None:
        """One line of the trace, told to whoever listens."""
        self.trace.append(StageTrace(stage, kept, dropped, seconds * 1000))
        if self.notify is not None:
            self.notify("stage-finished", stage=stage, kept=kept, dropped=dropped, seconds=round(seconds, 6))

    def merge(self, since: int, entered: int) -> None:
        """Tell several rounds of collision and cross-validation as one, into which *entered* candidates went."""
        rounds, last = self.trace[since:], self.trace[-1]
        if len(rounds) > 2:
            ms = {stage: sum(t.ms for t in rounds if t.stage == stage) for stage in ("collision", "cross_validation")}
            distinct = rounds[-2].kept
            self.trace[since:] = [
                StageTrace("collision", distinct, entered - distinct, ms["collision"]),
                StageTrace(last.stage, last.kept, distinct - last.kept, ms["cross_validation"]),
            ]


def run(
    stages: SealedStages,
    sources: Sources,
    context: LoadContext,
    review: Review | None = None,
    notify: Notify | None = None,
) -> tuple[Registry, Line]:
    """The registry of one load and the way it came about. Never raises for anything an overlay did."""
    line = Line(stages, context, notify)
    attempt: Accepted | BuildFailure
    try:
        stages.verify()
        discovered = line.step("discover", Discovered, sources=sources)
        deduped = line.step("scope_dedupe", Deduped, cohort=discovered)
        line.seen = deduped.candidates
        consented = line.step("consent", Consented, cohort=deduped)
        coherent = _settle(line, consented)
        if review is not None:
            line.at = "review"
            reviewed, traces = review(coherent, context)
            check_narrower(coherent, reviewed, "review")
            for trace in traces:
                line.note(trace.stage, trace.kept, trace.dropped, trace.ms / 1000)
            coherent = line.step("cross_validation", Coherent, cohort=reviewed)
        attempt = _build(line, coherent)
    except (Exception, RecursionError) as error:
        attempt = BuildFailure(line.at, f"{line.at} failed: {type(error).__name__}: {clean(error)}", line.reached)
    return _answer(line, attempt), line


def _answer(line: Line, attempt: Accepted | BuildFailure) -> Registry:
    """What the last stage says; should that itself fail, first-party and the bare fact, loud at every point."""
    context = line.context
    try:
        registry = line.stages.call("fallback", attempt=attempt, trace=tuple(line.trace), context=context)
        if isinstance(registry, Registry):
            return registry
        raise HostIntegrityError(f"the stage fallback gave {type(registry).__name__}")
    except (Exception, RecursionError) as error:
        whole = Skip(
            "*",
            Scope.GLOBAL,
            "",
            "fallback",
            SkipCode.WHOLE_SET,
            clean(f"fallback failed: {type(error).__name__}: {error}"),
            gates=context.product.contract.points,
            remedy=f"{context.command} doctor",
        )
        return evolve(context.baseline, overlay=OverlayReport((whole,), blocked_gates=blocked_gates((whole,))))


def _settle(line: Line, consented: Consented) -> Coherent:
    """Collision and cross-validation until nothing falls any more: one that fell holds no claim.

    They are run again only when somebody lost a claim to one that fell, and always from the candidates
    after consent without those that fell; what was said of the fallen is kept. Those that could not stand
    whoever wins the claims go first and together, so that one who needs the next owner does not fall with them.
    """
    start, gone, before = consented, dict[tuple[str, str], Skip](), len(line.trace)
    while True:
        distinct = line.step("collision", Distinct, cohort=start)
        coherent = line.step("cross_validation", Coherent, cohort=distinct)
        fell = {s.sighting: s for s in coherent.skips[len(distinct.skips) :]}
        lost = [s for s in distinct.skips[len(start.skips) :] if any(f.rivals for f in s.faults)]
        if fell.keys().isdisjoint(key for s in lost for f in s.faults for key in f.rivals):
            line.merge(before, len(consented.candidates))
            return coherent
        gone |= _hopeless(line, distinct, start, {s.sighting for s in lost}) or fell
        left = tuple(c for c in consented.candidates if c.key not in gone)
        said = tuple(gone[c.key] for c in consented.candidates if c.key in gone)
        start = Consented(left, consented.skips + said, consented.sightings, consented.diagnostics)
        check_narrower(consented, start, "collision")


def _hopeless(
    line: Line, distinct: Distinct, start: Consented, lost: set[tuple[str, str]]
) -> dict[tuple[str, str], Skip]:
    """Skips of those that fall even if all that *lost* a claim to an overlay were there as well."""
    standing = {c.key for c in distinct.candidates}
    together = tuple(c for c in start.candidates if c.key in standing or c.key in lost)
    if len({c.id for c in together}) < len(together):
        return {}  # two of one id: what leans on it cannot be told yet
    everybody = Distinct(together, start.skips, start.sightings, start.diagnostics)
    after = line.stages.call("cross_validation", cohort=everybody, context=line.context)
    return {s.sighting: s for s in after.skips[len(start.skips) :]}


def _build(line: Line, coherent: Coherent) -> Accepted | BuildFailure:
    if not coherent.candidates:
        return Accepted(line.context.baseline, coherent)
    line.at = "build"
    started = perf_counter()
    try:
        registry = line.stages.call("build", cohort=coherent, context=line.context)
    except (Exception, RecursionError) as error:
        return BuildFailure("build", f"{type(error).__name__}: {clean(error)}", coherent, _culprits(line, coherent))
    line.note("build", len(coherent.candidates), 0, perf_counter() - started)
    return Accepted(registry, coherent)


def _culprits(line: Line, coherent: Coherent) -> tuple[str, ...]:
    """A smallest set of overlays that does not build, searched for within a bound; for the message only."""
    trials = iter(range(_TRIALS))

    def breaks(candidates: Sequence[Candidate]) -> bool:
        if next(trials, None) is None:
            return False
        try:
            line.stages.call("build", cohort=Coherent(tuple(candidates)), context=line.context)
        except (Exception, RecursionError):
            return True
        return False

    guilty = list(coherent.candidates)
    parts = 2
    while len(guilty) >= 2:
        size = max(1, len(guilty) // parts)
        pieces = [guilty[i : i + size] for i in range(0, len(guilty), size)]
        rests = [[c for p in pieces[:i] + pieces[i + 1 :] for c in p] for i in range(len(pieces))]
        smaller = next((s for s in (*pieces, *(r for r in rests if len(r) < len(guilty))) if s and breaks(s)), None)
        if smaller is not None:
            parts = 2 if len(smaller) == size else max(parts - 1, 2)
            guilty = smaller
        elif size > 1:
            parts = min(parts * 2, len(guilty))
        else:
            break
    return tuple(c.id for c in guilty) if len(guilty) <= 8 else ()
