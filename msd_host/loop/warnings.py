"""Silenced gates are loud at every pass, until somebody resolves them (spec 10, Skips, gates, fallback)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..model.codes import CONSENT_CODES, SkipCode
from ..model.report import BlockedGate
from ..remedies import is_valid_id

__all__ = ["gate_warnings"]

_SHOWN = 2
_ASKING = CONSENT_CODES - {SkipCode.DENIED}
_STATES = {
    SkipCode.CONSENT_CHANGED: " (changed since agreed to)",
    SkipCode.CONSENT_UNVERIFIABLE: " (cannot be verified)",
}


def gate_warnings(gates: Iterable[BlockedGate], point: str) -> Iterator[dict[str, Any]]:
    """One warning per (capability, point), and one for all that only wait for the user's consent."""
    here = [g for g in gates if g.point == point and not g.muted]
    waiting = [g for g in here if g.code in _ASKING]
    seen: set[tuple[str, str]] = set()
    for gate in here:
        key = (gate.cap_id, gate.scope.label)
        if gate.code not in _ASKING and key not in seen:
            seen.add(key)
            yield _one(gate)
    if waiting:
        yield _waiting(waiting)


def _one(gate: BlockedGate) -> dict[str, Any]:
    named = f'the gate of "{gate.cap_id}"' if is_valid_id(gate.cap_id) else "a gate of a capability without a valid id"
    if gate.cap_id == "*":
        named = "every gate of the overlays"
    fix = f"; to resolve it: {gate.remedy}" if gate.remedy else ""
    return {
        "kind": "gate-skipped",
        "id": gate.cap_id,
        "scope": gate.scope.label,
        "point": gate.point,
        "code": gate.code.value,
        "reason": gate.reason,
        "remedy": gate.remedy,
        "message": f"{named} at {gate.point} is NOT in force: {gate.reason} [{gate.code}]{fix}",
    }


def _waiting(gates: Sequence[BlockedGate]) -> dict[str, Any]:
    by_id = {g.cap_id: g for g in reversed(gates)}
    ids = list(dict.fromkeys(g.cap_id for g in gates))
    more = len(ids) - _SHOWN
    named = [id + _STATES.get(by_id[id].code, "") for id in ids[:_SHOWN]]
    shown = ", ".join(named) + (f", +{more}" if more > 0 else "")
    point, remedy = gates[0].point, gates[0].remedy
    return {
        "kind": "gate-skipped",
        "id": ids[0],
        "ids": ids[:16],
        "count": len(ids),
        "scope": gates[0].scope.label,
        "point": point,
        "code": gates[0].code.value,
        "reason": gates[0].reason,
        "remedy": remedy,
        "message": (
            f"the gates of project overlays at {point} are NOT in force until the user agrees to them: {shown};"
            f" ask the user to run: {remedy}"
        ),
    }
