"""`check`: every active gate of a point evaluated, whoever brought it (spec 40, Loop; reference, section 7.6).

One resolver says what is active, for rendering and for checking. What a gate asks of an agent or a person is
listed for the caller. A gate that is not in force is told in the same answer and never counts as passed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from ..composition import Composition
from ..model.frozen import freeze
from ..text import clean
from .ground import Ground, phase_at
from .predicates import EVALUATORS, Evaluator, Unanswerable, Verdict, evaluate
from .resolve import ActiveHook, check_point, resolve

if TYPE_CHECKING:
    from ..extending.values import PredicateKind
    from ..host import Host

__all__ = ["ADVISORY", "BLOCKED", "ERROR", "PASSED", "UNANSWERED", "GateReport", "GateResult", "check_gates"]

PASSED, BLOCKED, ADVISORY, ERROR, UNANSWERED = "passed", "blocked", "advisory", "error", "unanswered"


@frozen
class GateResult:
    """One active gate. `question` is what it asks of the caller, None for a predicate.

    `outcome`: `advisory` is a no that does not block; `error` a check that could not be made, of a gate that says
    to skip then; `blocked` also one that could not be made, of a gate that says to halt. `failed` marks
    both of these. `seconds` never compares.
    """

    cap_id: str
    scope: str
    kind: str
    blocking: bool
    on_error: str
    outcome: str
    message: str
    question: str | None = None
    failed: bool = False
    seconds: float = field(default=0.0, eq=False)

    @property
    def stops(self) -> bool:
        """Whether the loop may not go on because of it."""
        return self.outcome == BLOCKED or (self.outcome == UNANSWERED and self.blocking)

    def to_dict(self, *, times: bool = False) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "capId": self.cap_id,
            "scope": self.scope,
            "kind": self.kind,
            "blocking": self.blocking,
            "onError": self.on_error,
            "outcome": self.outcome,
            "message": self.message,
        }
        return {**answer, "seconds": round(self.seconds, 3)} if times else answer


@frozen(unsafe_hash=False)
class GateReport:
    """The gates of one point in their order, and every warning there is (JSON objects with a `message`)."""

    point: str
    gates: tuple[GateResult, ...]
    warnings: tuple[Any, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing that is in force stops the loop here; see `warnings` for what is not in force."""
        return not any(gate.stops for gate in self.gates)

    @property
    def unanswered(self) -> tuple[GateResult, ...]:
        """The gates whose question the caller has to put to somebody."""
        return tuple(gate for gate in self.gates if gate.outcome == UNANSWERED)

    def to_dict(self, *, times: bool = False) -> dict[str, Any]:
        """JSON shape; *times* adds how long each check took, so that two answers no longer compare."""
        return {
            "point": self.point,
            "passed": self.passed,
            "gates": [gate.to_dict(times=times) for gate in self.gates],
            "unanswered": [
                {"capId": g.cap_id, "scope": g.scope, "kind": g.kind, "blocking": g.blocking, "question": g.question}
                for g in self.unanswered
            ],
            "warnings": [dict(warning) for warning in self.warnings],
        }


def check_gates(
    host: Host,
    composition: Composition,
    point: str,
    cwd: str,
    *,
    phase_number: str = "",
    phase_dir: str | None = None,
    phase_req_ids: str = "",
) -> GateReport:
    """Evaluate every active gate at *point*, one after the other, the rest too once one has said no.

    Commands run in the served project (in *cwd* where there is none) with the rights of this process. Raises
    `UsageError` for a word that is no point, and for a phase that has no meaning.
    """
    product = composition.context.product
    check_point(point, product.contract.points)
    base = composition.roots.served_path or os.path.realpath(cwd)
    phase = phase_at(host.files, base, cwd, phase_number, phase_dir, phase_req_ids)
    state = resolve(composition.registry, point, host.activation(composition))
    active = [hook for hook in state.hooks if hook.kind == "gate"]
    phases = os.path.join(os.path.dirname(product.project_config), "phases")
    ground = Ground(host.files, product.limits, base, phases, phase)
    evaluators = _evaluators(composition, active)
    gates = tuple(_check(hook, evaluators, ground) for hook in active)
    _report(composition, point, gates)
    advisories = [{"kind": "extension", "code": "extension", "message": a} for a in composition.advisories]
    failed = [_told(gate, point) for gate in gates if gate.failed]
    return GateReport(point, gates, freeze((*state.warnings, *failed, *advisories)))


def _report(composition: Composition, point: str, gates: Iterable[GateResult]) -> None:
    if composition.extensions is not None:
        for gate in gates:
            told = {"point": point, "id": gate.cap_id, "check": gate.kind, "outcome": gate.outcome}
            composition.extensions.emit("gate-checked", **told)


def _evaluators(composition: Composition, active: Iterable[ActiveHook]) -> dict[str, Evaluator]:
    """What the product names of the host's own kinds, and, where a gate asks for more, what extensions add."""
    own = composition.context.product.gate_kinds
    known = {kind: EVALUATORS[kind] for kind in own if kind in EVALUATORS}
    asked = {hook.body["check"].get("predicate", {}).get("kind") for hook in active} - {None}
    if composition.extensions is None or asked <= known.keys():
        return known
    project = composition.roots.served_path
    added = composition.extensions.predicate_kinds({*own, *EVALUATORS})
    return {**known, **{name: _foreign(kind, project) for name, kind in added.items()}}


def _foreign(kind: PredicateKind, project: str | None) -> Evaluator:
    def evaluate(predicate: Mapping[str, Any], _: Ground) -> Verdict:
        try:
            verdict = kind.evaluate(freeze(predicate), project)
        except (Exception, SystemExit) as error:
            why = f"{type(error).__name__}: {clean(error)}" if str(error) else type(error).__name__
            raise Unanswerable(f"its evaluator failed ({why})") from None
        return Verdict(verdict.passed is True, clean(verdict.message, 2000))

    return evaluate


def _check(hook: ActiveHook, evaluators: Mapping[str, Evaluator], ground: Ground) -> GateResult:
    """One gate; its verdict is put to `blocking`, a check that cannot be made to `onError`."""
    body, check = hook.body, hook.body["check"]
    if "predicate" not in check:
        kind = "query" if "query" in check else "agentVerdict"
        question = check[kind]
        return _result(hook, kind, UNANSWERED, f"for you to answer: {clean(question)}", question=question)
    started, failed = time.monotonic(), False
    try:
        verdict = evaluate(check["predicate"], evaluators, ground)
        no = BLOCKED if body["blocking"] else ADVISORY
        outcome, message = PASSED if verdict.passed else no, verdict.message
    except Unanswerable as why:
        failed, message = True, f"it cannot be checked: {why}"
        outcome = BLOCKED if body["onError"] == "halt" else ERROR
    kind, seconds = clean(check["predicate"]["kind"], 80), time.monotonic() - started
    return _result(hook, kind, outcome, message, failed=failed, seconds=seconds)


def _result(hook: ActiveHook, kind: str, outcome: str, message: str, **fields: Any) -> GateResult:
    body = hook.body
    return GateResult(hook.cap_id, hook.scope, kind, body["blocking"], body["onError"], outcome, message, **fields)


def _told(gate: GateResult, point: str) -> dict[str, Any]:
    follows = "it blocks" if gate.stops else "it is NOT in force this time"
    return {
        "kind": "gate-error",
        "id": gate.cap_id,
        "scope": gate.scope,
        "point": point,
        "code": "gate-error",
        "reason": gate.message,
        "remedy": None,
        "message": f'a gate of "{gate.cap_id}" at {point}: {gate.message}; {follows} (onError is {gate.on_error})',
    }
