"""`check`: every active gate of a point evaluated, whoever brought it (spec 40, Loop; reference, section 7.6).

One resolver says what is active, for rendering and for checking. What a gate asks of an agent or a person is
listed for the caller. A gate that is not in force is told in the same answer and never counts as passed.
"""

from __future__ import annotations

import os
import time
from typing import Any

from attrs import evolve, field, frozen

from ..activation.config import read_config
from ..activation.state import Activation
from ..composition import Composition
from ..model.frozen import freeze
from ..product import Product
from ..reading.files import Files
from ..text import clean
from .ground import Ground, Phase, phase_at
from .predicates import Unanswerable, evaluate
from .resolve import ActiveHook, check_point, resolve

__all__ = ["ADVISORY", "BLOCKED", "ERROR", "PASSED", "UNANSWERED", "GateReport", "GateResult", "check_gates"]

PASSED, BLOCKED, ADVISORY, ERROR, UNANSWERED = "passed", "blocked", "advisory", "error", "unanswered"


@frozen
class GateResult:
    """One active gate. `question` is what it asks of the caller, None for a predicate.

    `outcome`: `advisory` is a no that does not block; `error` a check that could not be made, of a gate that says
    to skip then; `blocked` also one that could not be made, of a gate that says to halt. `seconds` never compares.
    """

    cap_id: str
    scope: str
    kind: str
    blocking: bool
    on_error: str
    outcome: str
    message: str
    question: str | None = None
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
    composition: Composition,
    files: Files,
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
    product, registry = composition.context.product, composition.registry
    check_point(point, product.contract.points)
    base = composition.roots.served_path or os.path.realpath(cwd)
    phase = phase_at(files, base, cwd, phase_number, phase_dir, phase_req_ids)
    config = read_config(files, product, composition.roots)
    state = resolve(registry, point, Activation(registry, config))
    ground = _ground(files, product, base, phase)
    gates = tuple(_check(hook, product, ground) for hook in state.hooks if hook.kind == "gate")
    broken = [{"kind": "config", "code": "config", "message": problem} for problem in config.problems]
    errors = [warning for gate, warning in gates if warning is not None]
    return GateReport(point, tuple(g for g, _ in gates), freeze((*broken, *state.warnings, *_placed(errors, point))))


def _ground(files: Files, product: Product, base: str, phase: Phase) -> Ground:
    return Ground(files, product.limits, base, f"{os.path.dirname(product.project_config)}/phases", phase)


def _placed(errors: list[dict[str, Any]], point: str) -> list[dict[str, Any]]:
    return [{**error, "point": point, "message": error["message"].format(point=point)} for error in errors]


def _check(hook: ActiveHook, product: Product, ground: Ground) -> tuple[GateResult, dict[str, Any] | None]:
    raise NotImplementedError
