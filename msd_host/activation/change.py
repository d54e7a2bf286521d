"""Switching capabilities on and off and setting their gates, all of it or nothing (spec 40; reference, section 6.7).

A switch is the user's and lies in the home; a gate is a configuration key and lies where settings lie.
Switching off never touches a gate's value, so switching on brings back what was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from ..composition import Composition
from ..errors import DamagedState, NotFound, Refused, UsageError
from ..model.capability import Capability
from ..model.cohort import Skip
from ..model.frozen import EMPTY
from ..remedies import is_valid_id
from ..text import nearest, quoted
from . import store
from .config import PROJECT, is_truthy
from .documents import put
from .settings import config_edit
from .state import Activation, CapabilityState
from .switches import document_fault, surface_path, switch

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Change", "Changed", "change_capabilities", "on_surface"]


@frozen(unsafe_hash=False)
class Change:
    """What is wanted of one capability: `on` or off (None: as it is), and values of its boolean keys."""

    id: str
    on: bool | None = None
    gates: Mapping[str, bool] = EMPTY


@frozen
class Changed:
    """What became of one `Change`. `state` is that after it; `notes` say what may surprise."""

    id: str
    state: CapabilityState
    changed: bool
    notes: tuple[str, ...] = ()
    gates: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "changed": self.changed,
            "enabled": self.state.enabled,
            "active": self.state.active,
            "reason": self.state.reason or None,
            "gates": list(self.gates),
            "notes": list(self.notes),
        }


def change_capabilities(
    host: Host, composition: Composition, changes: Sequence[Change], layer: str | None
) -> tuple[Changed, ...]:
    """Make every change or none. *layer* is `user` for everywhere, `project` for the served project (the default).

    Raises `NotFound` for an unknown id or gate, `Refused` for a key that is no switch or an overlay whose
    keys are out of reach, `UsageError` for changes that say nothing, `DamagedState` where a file cannot be
    changed safely; in each case nothing was changed.
    """
    for change in changes:
        _check(host, composition, change)
    target = host.settings.layer_for(composition, "", layer)
    edits = _edits(host, composition, changes, target)
    done = store.apply(host.files, host.product.limits, edits)
    activation = host.activation(composition)
    return tuple(_outcome(composition, activation, change, any(done)) for change in changes)


def _check(host: Host, composition: Composition, change: Change) -> None:
    capability = composition.registry.capabilities.get(change.id)
    if change.on is None and not change.gates:
        raise UsageError(f"nothing is said about {quoted(change.id)}: on, off, or a gate")
    if capability is None and not _is_known(host, composition, change.id):
        raise _unknown(composition, change.id)
    for key, value in change.gates.items():
        _check_gate(composition, change.id, capability, key, value)


def _is_known(host: Host, composition: Composition, id: str) -> bool:
    """A skipped overlay can be switched off too, and one that went away can be taken off the list."""
    skipped = any(s.id == id for s in _skips(composition))
    return is_valid_id(id) and (skipped or id in host.config(composition.roots).switches.named)


def _skips(composition: Composition) -> tuple[Skip, ...]:
    overlay = composition.registry.overlay
    return () if overlay is None else overlay.warnings


def _unknown(composition: Composition, id: str) -> NotFound:
    known = [*composition.registry.capabilities, *(s.id for s in _skips(composition) if is_valid_id(s.id))]
    close = nearest(id, known)
    hint = f"; did you mean {quoted(close)}?" if close else ""
    remedy = f"{composition.context.command} capability list"
    return NotFound(f"there is no capability {quoted(id)} here{hint}", nearest=close, remedy=remedy)


def _check_gate(composition: Composition, id: str, capability: Capability | None, key: str, value: object) -> None:
    if capability is None:
        skip = next((s for s in _skips(composition) if s.id == id), None)
        why = f": {skip.reason} [{skip.code}]" if skip is not None else ""
        raise Refused(f"{quoted(id)} is skipped, so its keys cannot be set{why}", remedy=skip.remedy if skip else None)
    declared = capability.config.get(key)
    switches = [k for k, slice in capability.config.items() if slice["type"] == "boolean"]
    if declared is None:
        close = nearest(key, switches)
        hint = f"; did you mean {quoted(close)}?" if close else f"; it has {', '.join(switches) or 'none'}"
        raise NotFound(f"{quoted(id)} has no gate {quoted(key)}{hint}", nearest=close)
    if declared["type"] != "boolean" or not isinstance(value, bool):
        raise Refused(
            f"{quoted(key)} is a key of type {declared['type']}; a gate is a boolean one and takes true or false"
        )


def _edits(host: Host, composition: Composition, changes: Sequence[Change], target: str) -> list[store.Edit]:
    gates = {key: value for change in changes for key, value in change.gates.items()}
    activation = host.activation(composition)
    flips = [(c.id, c.on, _is_beyond(composition, activation, c.id)) for c in changes if c.on is not None]
    roots = composition.roots
    edits: list[store.Edit] = []
    if gates:

        def set_gates(document: dict[str, Any]) -> None:
            for key, value in gates.items():
                put(document, key, value)

        edits.append(config_edit(host, roots, target, set_gates))
    if flips:
        path, root = surface_path(host.product, roots), roots.served_path if target == PROJECT else None
        if path is None:
            raise DamagedState(f"{roots.store_refusal}; nothing was changed")
        edits.append(store.Edit(path, _flipping(path, flips, root), private=True))
    return edits


def _is_beyond(composition: Composition, activation: Activation, id: str) -> bool:
    """Whether only the user's profile keeps *id* out."""
    return id in composition.registry.capabilities and not activation.capability(id).installed


def _flipping(path: str, flips: Sequence[tuple[str, bool, bool]], root: str | None) -> Any:
    def change(document: dict[str, Any]) -> None:
        for id, on, beyond in flips:
            switch(document, id, on, root, beyond=beyond)

    return on_surface(path, change)


def on_surface(path: str, change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """*change* for a surface file that is one. Raises `DamagedState` for another."""

    def changing(document: dict[str, Any]) -> None:
        problem = document_fault(document)
        if problem is not None:
            raise DamagedState(f"{path} {problem}; nothing was changed")
        change(document)

    return changing


def _outcome(composition: Composition, activation: Activation, change: Change, changed: bool) -> Changed:
    state = activation.capability(change.id)
    skip = next((s for s in _skips(composition) if s.id == change.id), None)
    notes: list[str] = []
    if change.on is not None and state.surfaced is not change.on:
        notes.append("it stays on here, where it is switched on by name" if state.surfaced else state.reason)
    if not state.installed and skip is not None:
        muted = "" if state.surfaced else "; its gates are muted"
        notes.append(f"it is skipped: {skip.reason} [{skip.code}]{muted}")
    if state.installed:
        notes.extend(_surprises(composition, activation, change, state))
    return Changed(change.id, state, changed, tuple(notes), tuple(change.gates))


def _surprises(composition: Composition, activation: Activation, change: Change, state: CapabilityState) -> list[str]:
    notes: list[str] = []
    hooks = activation.hooks(change.id)
    if state.enabled and hooks and not any(hook.configured for hook in hooks):
        notes.append("present but dead: it is on, and every hook of it is configured off")
    for key, wanted in change.gates.items():
        setting = activation.setting(key)
        if is_truthy(setting.value) is not wanted:
            notes.append(f"the {setting.layer} layer decides {quoted(key)}, whatever this one says")
    if change.on is False:
        leaning = [c.id for c in composition.registry.capabilities.values() if change.id in c.requires]
        if leaning:
            notes.append(f"not active without it: {', '.join(quoted(id) for id in leaning[:5])}")
    return notes
