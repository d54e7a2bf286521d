"""Which capabilities are active and which hooks fire, each with its reason: one resolver for everybody (spec 40, Axes)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve, frozen

from ..model.capability import Capability, Hook
from ..model.frozen import FrozenDict
from ..model.registry import Registry
from ..model.report import BlockedGate
from ..model.scope import Scope
from ..text import quoted
from .config import REPOSITORY, Config, Setting, is_truthy
from .profiles import installed_by
from .switches import WHOLE, Switches

__all__ = ["Activation", "CapabilityState", "HookState"]


@frozen
class CapabilityState:
    """The legs an active capability stands on, and the first one that gives way.

    `installed`: it is in the registry and the user's profile has it. `surfaced`: the user did not switch it
    off. `configured`: its activation key, if it has one, is on. `active`: all of it, and all that it requires is active. `off_by`
    is the setting that decided against it, its own or that of something it requires.
    """

    id: str
    active: bool
    reason: str = ""
    installed: bool = True
    surfaced: bool = True
    configured: bool = True
    off_by: Setting | None = None

    @property
    def enabled(self) -> bool:
        return self.installed and self.surfaced


@frozen
class HookState:
    """`configured`: its `when` key is on, or it has none; `layer` says who decided. `active` needs its capability too."""

    point: str
    kind: str
    when: Any
    configured: bool
    active: bool
    layer: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "point": self.point,
            "kind": self.kind,
            "when": self.when,
            "configured": self.configured,
            "active": self.active,
            "layer": self.layer,
        }


class Activation:
    """The state of one registry under one configuration. Pure; answers are remembered per instance."""

    def __init__(self, registry: Registry, config: Config) -> None:
        self._registry = registry
        self._config = config
        self._states: dict[str, CapabilityState] = {}
        self._settings: dict[str, Setting] = {}
        self._controls: frozenset[str] | None = None
        self._installed: frozenset[str] | None = None
        wanted = config.switches
        if wanted.profile != WHOLE:
            named = wanted.on | wanted.on_here
            self._installed = installed_by(registry, wanted.profile, wanted.added, named)

    @property
    def switches(self) -> Switches:
        """What the user of this machine wants to see."""
        return self._config.switches

    def scope(self, id: str) -> Scope:
        """Where the capability *id* comes from."""
        overlay = self._registry.overlay
        return Scope.FIRST_PARTY if overlay is None else overlay.accepted.get(id, Scope.FIRST_PARTY)

    def setting(self, key: str) -> Setting:
        """What *key* is worth."""
        known = self._settings.get(key)
        if known is None:
            declared = self._registry.config_schema.get(key)
            known = self._config.setting(key, declared, user_first=self.is_users_first(key))
            self._settings[key] = known
        return known

    def is_users_first(self, key: str) -> bool:
        """Whether an overlay's gate hangs on *key*, so that the user's word counts more than the project's."""
        if self._controls is None:
            self._controls = frozenset(self._overlay_controls())
        return key in self._controls

    def _overlay_controls(self) -> Iterator[str]:
        overlay = self._registry.overlay
        for id in overlay.accepted if overlay is not None else ():
            capability = self._registry.capabilities[id]
            keys = [gate.get("when") for gate in capability.gates]
            yield from (key for key in (*keys, capability.activation_key) if keys and isinstance(key, str))

    def capability(self, id: str) -> CapabilityState:
        """Whether *id* is active: it is on, its activation key is on, and so is all it requires."""
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
        off = self._config.switches.why_off(id)
        if capability is None:
            return CapabilityState(id, False, "it is not in the registry", installed=False, surfaced=off is None)
        key = capability.activation_key
        setting = None if key is None else self.setting(key)
        configured = setting is None or is_truthy(setting.value)
        installed = self._installed is None or id in self._installed
        if off is not None:
            return CapabilityState(id, False, off, installed=installed, surfaced=False, configured=configured)
        if not installed:
            reason = f"the profile {self.switches.profile} leaves it out (its tier is {capability.tier})"
            return CapabilityState(id, False, reason, installed=False, configured=configured)
        if setting is not None and not configured:
            reason = f"{quoted(setting.key)} is off ({setting.layer})"
            return CapabilityState(id, False, reason, configured=False, off_by=setting)
        for other in capability.requires:
            state = self._states[other]
            if not state.active:
                reason = f"it requires {quoted(other)}, which is not active"
                return CapabilityState(id, False, reason, off_by=state.off_by)
        return CapabilityState(id, True)

    def fires(self, kind: str, hook: Hook) -> bool:
        """Whether *hook* (of the view, with `capId`) fires: its capability is active and its `when` is on."""
        return self.capability(hook["capId"]).active and self._when(hook)[0]

    def _when(self, hook: Hook) -> tuple[bool, Setting | None]:
        """(whether the hook's own key is on, what the key is worth). A key that is no text is never on."""
        key = hook.get("when")
        if key is None:
            return True, None
        if not isinstance(key, str) or not key:
            return False, None
        setting = self.setting(key)
        return is_truthy(setting.value), setting

    def hooks(self, id: str) -> tuple[HookState, ...]:
        """Every loop hook of the capability *id*, which the registry must know, in rendering order of its kinds."""
        active = self.capability(id).active
        found: list[HookState] = []
        for kind, _, hook in self._registry.capabilities[id].hooks():
            on, setting = self._when(hook)
            layer = None if setting is None else setting.layer
            found.append(HookState(hook["point"], kind, hook.get("when"), on, on and active, layer))
        return tuple(found)

    def project_only_off(self, hook: Hook) -> Setting | None:
        """The setting by which the project alone turned this overlay gate off, if that is why it does not fire."""
        if self.scope(hook["capId"]) is Scope.FIRST_PARTY:
            return None
        state = self.capability(hook["capId"])
        setting = state.off_by if not state.active else self._when(hook)[1]
        if setting is None or setting.layer not in REPOSITORY or is_truthy(setting.value):
            return None
        declared = self._registry.config_schema.get(setting.key)
        otherwise = self._config.setting(setting.key, declared, without=REPOSITORY)
        return setting if is_truthy(otherwise.value) else None

    def blocked_gates(self) -> tuple[BlockedGate, ...]:
        """The gates of skipped overlays; those of one that the user switched off are muted, and say so."""
        overlay = self._registry.overlay
        return () if overlay is None else tuple(self._muted(gate) for gate in overlay.blocked_gates)

    def _muted(self, gate: BlockedGate) -> BlockedGate:
        off = self._config.switches.why_off(gate.cap_id)
        if gate.muted or off is None:
            return gate
        return evolve(gate, muted=True, reason=f"{off}; it is skipped besides: {gate.reason}")

    def values(self, wanted: FrozenDict[str, Any]) -> dict[str, Any]:
        """`configValues` of a contribution: alias to the value of its key."""
        return {alias: self.setting(key).value for alias, key in wanted.items()}

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the configuration and with every value met so far, without repeats."""
        met = (p for s in self._settings.values() for p in s.problems)
        return tuple(dict.fromkeys((*self._config.problems, *met)))

    def survey(self) -> tuple[str, ...]:
        """`problems` after a look at every key there is."""
        for key in self._registry.config_schema:
            self.setting(key)
        return self.problems()
