"""What composition has to say beside the registry: skips, loud gates, command roots, trace (spec 10)."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from .codes import SkipCode
from .cohort import Skip
from .fault import Diagnostic
from .frozen import EMPTY, FrozenDict
from .scope import Scope

__all__ = ["BlockedGate", "OverlayReport", "StageTrace", "blocked_gates"]


@frozen
class BlockedGate:
    """A gate point at which a skipped capability is not in force: one record per (capability, scope, point)."""

    point: str
    cap_id: str
    scope: Scope
    code: SkipCode
    reason: str
    remedy: str | None = None
    muted: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "point": self.point,
            "capId": self.cap_id,
            "scope": self.scope.label,
            "code": self.code.value,
            "reason": self.reason,
            "remedy": self.remedy,
            **({"muted": True} if self.muted else {}),
        }


@frozen
class StageTrace:
    """One line of the trace: what a stage kept and dropped. Times never take part in comparison."""

    stage: str
    kept: int
    dropped: int
    ms: float = field(default=0.0, eq=False)

    def to_dict(self) -> dict[str, Any]:
        return {"stage": self.stage, "kept": self.kept, "dropped": self.dropped, "ms": round(self.ms, 3)}


@frozen(unsafe_hash=False)
class OverlayReport:
    """`command_roots` maps an accepted overlay to the folder its command modules may be loaded from."""

    warnings: tuple[Skip, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    blocked_gates: tuple[BlockedGate, ...] = ()
    command_roots: FrozenDict[str, str] = EMPTY
    accepted: FrozenDict[str, Scope] = EMPTY
    trace: tuple[StageTrace, ...] = ()
    extensions: tuple[str, ...] = ()

    @property
    def incompatible_gate_cap_ids(self) -> tuple[str, ...]:
        """Ids of skipped capabilities that declare a gate, without repeats."""
        return tuple(dict.fromkeys(gate.cap_id for gate in self.blocked_gates))

    def to_dict(self) -> dict[str, Any]:
        return {
            "warnings": [s.to_dict() for s in self.warnings],
            "diagnostics": [
                {"id": d.id, "code": d.code, "message": d.message, "path": d.path} for d in self.diagnostics
            ],
            "incompatibleGateCapIds": list(self.incompatible_gate_cap_ids),
            "blockedGates": [g.to_dict() for g in self.blocked_gates],
            "commandRoots": dict(self.command_roots),
            "accepted": {id: scope.label for id, scope in self.accepted.items()},
            "trace": [t.to_dict() for t in self.trace],
            "extensions": list(self.extensions),
        }


def blocked_gates(skips: tuple[Skip, ...]) -> tuple[BlockedGate, ...]:
    """Loudness is derived from the skips, so no path that drops a capability can forget its gates."""
    found: dict[tuple[str, Scope, str], BlockedGate] = {}
    for skip in skips:
        for point in skip.gates:
            gate = BlockedGate(point, skip.id, skip.scope, skip.code, skip.reason, skip.remedy, skip.muted)
            found.setdefault((skip.id, skip.scope, point), gate)
    return tuple(found.values())
