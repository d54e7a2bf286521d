"""The active hooks of one point, in rendering order (reference, section 7.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from ..activation.state import Activation
from ..errors import UsageError
from ..model.capability import HOOK_KINDS, Hook
from ..model.frozen import thaw
from ..model.registry import Registry
from ..text import clean, nearest
from .warnings import gate_warnings

__all__ = ["ActiveHook", "PointState", "check_point", "resolve"]


@frozen(unsafe_hash=False)
class ActiveHook:
    """One hook that fires; `body` is the JSON object of the envelope, `scope` and `version` its provenance."""

    kind: str
    cap_id: str
    scope: str
    version: str
    body: dict[str, Any]


@frozen(unsafe_hash=False)
class PointState:
    """What is to be said at a point: the hooks that fire, and every warning there is."""

    point: str
    hooks: tuple[ActiveHook, ...]
    warnings: tuple[dict[str, Any], ...]


def check_point(point: str, known: tuple[str, ...]) -> None:
    """Raise `UsageError` with the nearest name for a word that is no point."""
    if point not in known:
        close = nearest(point, known)
        hint = f'; did you mean "{close}"?' if close else ""
        raise UsageError(f'"{clean(point, 80)}" is not a loop point{hint} The points are: {", ".join(known)}')


def resolve(registry: Registry, point: str, activation: Activation) -> PointState:
    """The state of *point*, which the registry must know (`check_point`)."""
    hooks = registry.by_loop_point[point]
    found: list[ActiveHook] = []
    switched_off: list[dict[str, Any]] = []
    for kind, field in HOOK_KINDS:
        for hook in getattr(hooks, field):
            if activation.fires(kind, hook):
                found.append(_active(registry, activation, kind, hook))
            elif kind == "gate":
                switched_off.extend(_off_by_project(activation, point, hook))
    warnings = (*_problems(activation), *switched_off, *gate_warnings(activation.blocked_gates(), point))
    return PointState(point, tuple(found), warnings)


def _active(registry: Registry, activation: Activation, kind: str, hook: Hook) -> ActiveHook:
    declared = {k: v for k, v in hook.items() if k not in ("capId", "point", "configValues")}
    body: dict[str, Any] = {"capId": hook["capId"], "kind": kind}
    body.update({k: thaw(v) for k, v in declared.items() if v != () and v is not None})
    values = activation.values(hook["configValues"]) if hook.get("configValues") else {}
    if values:
        body["configValues"] = values
    capability = registry.capabilities[hook["capId"]]
    return ActiveHook(kind, capability.id, activation.scope(capability.id).label, capability.version, body)


def _off_by_project(activation: Activation, point: str, hook: Hook) -> Iterator[dict[str, Any]]:
    setting = activation.project_only_off(hook)
    if setting is not None:
        id, key = hook["capId"], clean(setting.key, 80)
        yield {
            "kind": "gate-off",
            "id": id,
            "point": point,
            "code": "gate-off",
            "reason": f"{key} is off in the {setting.layer}'s configuration",
            "remedy": None,
            "message": f'the gate of "{id}" at {point} is off because the {setting.layer}\'s configuration sets {key}',
        }


def _problems(activation: Activation) -> Iterator[dict[str, Any]]:
    for problem in activation.problems():
        yield {"kind": "config", "code": "config", "message": problem}
