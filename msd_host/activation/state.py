"""Which capabilities are active and which hooks fire, each with its reason: one resolver for everybody (spec 40, Axes)."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from ..model.capability import Capability, Hook
from ..model.frozen import FrozenDict
from ..model.registry import Registry
from ..model.scope import Scope
from ..text import quoted
from .config import PROJECT, Config, Setting, is_truthy

__all__ = ["Activation", "CapabilityState"]


@frozen
class CapabilityState:
    """`active`, and the reason when it is not."""

    id: str
    active: bool
    reason: str = ""


class Activation:
    """The state of one registry under one configuration. Pure; answers are remembered per instance."""

    def __init__(self, registry: Registry, config: Config) -> None:
        self._registry = registry
        self._config = config
        self._states: dict[str, CapabilityState] = {}
        self._settings: dict[tuple[str, bool], Setting] = {}

    def scope(self, id: str) -> Scope:
        """Where the capability *id* comes from."""
        overlay = self._registry.overlay
        return Scope.FIRST_PARTY if overlay is None else overlay.accepted.get(id, Scope.FIRST_PARTY)

    def setting(self, key: str, *, gate: bool = False) -> Setting:
        """What *key* is worth; *gate* marks it as the key of an overlay's gate (a user's value wins)."""
        known = self._settings.get((key, gate))
        if known is None:
            declared = self._registry.config_schema.get(key)
            known = self._settings[key, gate] = self._config.setting(key, declared, user_first=gate)
        return known

    def capability(self, id: str) -> CapabilityState:
        """Whether *id* is active: its activation key is on, and so is all it requires."""
        known = self._states.get(id)
        if known is None:
            known = self._resolve(id)
        return known

    def _resolve(self, id: str) -> CapabilityState:
        """Requirements first, without recursion: chains are as long as somebody wrote them."""
        waiting = [id]
        while waiting:
            at = waiting[-1]
            capability = self._registry.capabilities.get(at)
            todo = [r for r in capability.requires if r not in self._states] if capability is not None else []
            if todo:
                waiting.extend(todo)
                continue
            waiting.pop()
            if at not in self._states:
                self._states[at] = self._judge(at, capability)
        return self._states[id]

    def _judge(self, id: str, capability: Capability | None) -> CapabilityState:
        if capability is None:
            return CapabilityState(id, False, "it is not in the registry")
        for other in capability.requires:
            if not self._states[other].active:
                return CapabilityState(id, False, f"it requires {quoted(other)}, which is not active")
        key = capability.activation_key
        if key is not None:
            gated = bool(capability.gates) and self.scope(id) is not Scope.FIRST_PARTY
            setting = self.setting(key, gate=gated)
            if not is_truthy(setting.value):
                return CapabilityState(id, False, f"{quoted(key)} is off ({setting.layer})")
        return CapabilityState(id, True)

    def fires(self, kind: str, hook: Hook) -> bool:
        """Whether *hook* (of the view, with `capId`) fires: its capability is active and its `when` is on."""
        if not self.capability(hook["capId"]).active:
            return False
        key = hook.get("when")
        return key is None or is_truthy(self.setting(key, gate=self._is_overlay_gate(kind, hook)).value)

    def _is_overlay_gate(self, kind: str, hook: Hook) -> bool:
        return kind == "gate" and self.scope(hook["capId"]) is not Scope.FIRST_PARTY

    def project_only_off(self, hook: Hook) -> Setting | None:
        """The setting by which the project alone turned this overlay gate off, if that is why it does not fire."""
        if not self._is_overlay_gate("gate", hook):
            return None
        capability = self._registry.capabilities[hook["capId"]]
        for key in (capability.activation_key, hook.get("when")):
            if key is None:
                continue
            setting = self.setting(key, gate=True)
            if setting.layer == PROJECT and not is_truthy(setting.value):
                return setting
        return None

    def values(self, wanted: FrozenDict[str, Any]) -> dict[str, Any]:
        """`configValues` of a contribution: alias to the value of its key."""
        return {alias: self.setting(key).value for alias, key in wanted.items()}

    def problems(self) -> tuple[str, ...]:
        """Every wrong-typed value met so far, without repeats."""
        return tuple(dict.fromkeys(p for s in self._settings.values() for p in s.problems))
