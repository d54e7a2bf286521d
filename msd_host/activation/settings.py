"""Reading, explaining and changing configuration (spec 40, Config activation; spec 60, `settings`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..composition import Composition
from ..errors import DamagedState, NotFound, UsageError
from ..model.candidate import Candidate
from ..model.codes import CONSENT_CODES
from ..model.cohort import Skip
from ..model.scope import Scope
from ..reading.roots import Roots
from ..rules.keys import prefixes
from ..text import clean, nearest, quoted
from . import store
from .answers import Explained, Written
from .config import PROJECT, USER, Config, Setting, is_users_alone, user_config_path
from .documents import put, take
from .state import Activation
from .values import check_value, parse_value

if TYPE_CHECKING:
    from ..host import Host
    from .change import Change, Changed

__all__ = ["Settings", "config_edit"]

_LEAVES = 10_000  # of one file; nobody reads more names


class Settings:
    """The configuration of one host. Questions are put to one composition; nothing here prints or asks."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def config(self, composition: Composition) -> Config:
        """Every layer, read now."""
        return self._host.config(composition.roots)

    def keys(self, composition: Composition) -> tuple[str, ...]:
        """Every key there is by name: those of capabilities, and the product's own."""
        return tuple(sorted({*composition.registry.config_schema, *self._host.product.central_schema.keys}))

    def list(self, composition: Composition) -> tuple[Explained, ...]:
        """Every key with its value; of the product's own dynamic ones those that are set."""
        config = self.config(composition)
        activation = Activation(composition.registry, config)
        dynamic = {key for _, key in _leaves(config) if self._is_dynamic(key)}
        return tuple(
            self._explained(composition, activation, key) for key in sorted({*self.keys(composition), *dynamic})
        )

    def unknown(self, composition: Composition) -> tuple[tuple[str, str], ...]:
        """(layer, key) for every name in a file that nobody declares, so that it has no effect."""
        known = {*self.keys(composition)}
        known |= {p for key in known for p in prefixes(key)}
        leaves = _leaves(self.config(composition))
        return tuple((layer, key) for layer, key in leaves if key not in known and not self._is_dynamic(key))

    def explain(self, composition: Composition, key: str) -> Explained:
        """Every layer's word on *key*. Raises `NotFound` with the nearest name, or the reason its owner is skipped."""
        self._require(composition, key)
        return self._explained(composition, Activation(composition.registry, self.config(composition)), key)

    def get(self, composition: Composition, key: str) -> Setting:
        """What *key* is worth. Raises like `explain`."""
        return self.explain(composition, key).setting

    def parse(self, composition: Composition, key: str, text: str) -> Any:
        """What the word *text* means for *key*. Raises `Refused` with what would have been right."""
        self._require(composition, key)
        return parse_value(key, text, composition.registry.config_schema.get(key))

    def set(self, composition: Composition, key: str, value: Any, *, layer: str | None = None) -> Written:
        """Write *value* into the project's or the user's file; by default the project's where there is one.

        Raises `NotFound` for an unknown key, `Refused` for a value that does not fit, `UsageError` for a
        layer that is not there, `DamagedState` with nothing changed where the file cannot be changed safely.
        """
        self._require(composition, key)
        check_value(key, value, composition.registry.config_schema.get(key))
        return self._write(composition, key, layer, lambda document: put(document, key, value))

    def unset(self, composition: Composition, key: str, *, layer: str | None = None) -> Written:
        """Take *key* out of one file; also one that nobody declares any more, if it is there. Raises like `set`."""
        if (self.layer_for(composition, key, layer), key) not in _leaves(self.config(composition)):
            self._require(composition, key)
        return self._write(composition, key, layer, lambda document: take(document, key))

    def change(
        self, composition: Composition, changes: Sequence[Change], *, layer: str | None = None
    ) -> tuple[Changed, ...]:
        """Switch capabilities on or off and set their gates, all of it or nothing (`activation.change`)."""
        from .change import change_capabilities

        return change_capabilities(self._host, composition, changes, layer)

    def layer_for(self, composition: Composition, key: str, layer: str | None) -> str:
        """The layer a change of *key* goes to. Raises `UsageError` where it cannot."""
        roots = composition.roots
        if is_users_alone(key):
            if layer == PROJECT:
                raise UsageError(f"{quoted(key)} counts in the user's own configuration only; write it with --user")
            return USER
        if layer not in (None, PROJECT, USER):
            raise UsageError(f"{quoted(layer)} is not a layer that can be written")
        if layer == PROJECT and roots.served_path is None:
            raise UsageError("there is no project here")
        return layer or (PROJECT if roots.served_path is not None else USER)

    def _write(
        self, composition: Composition, key: str, layer: str | None, change: Callable[[dict[str, Any]], object]
    ) -> Written:
        host = self._host
        target = self.layer_for(composition, key, layer)
        edit = config_edit(host, composition.roots, target, change)
        changed = store.apply(host.files, host.product.limits, [edit])[0]
        if changed:
            host.tell("setting-changed", key=key, layer=target)
        activation = Activation(composition.registry, self.config(composition))
        setting = activation.setting(key)
        return Written(key, target, edit.path, changed, setting, self._after(composition, activation, setting, target))

    def _after(
        self, composition: Composition, activation: Activation, setting: Setting, target: str
    ) -> tuple[str, ...]:
        order = [*(s.layer for s in setting.said)]
        shadowed = setting.layer in order and target in order and order.index(setting.layer) < order.index(target)
        notes = [f"the {setting.layer} layer decides {quoted(setting.key)}, whatever this one says"] if shadowed else []
        return (*notes, *_owner_notes(activation, composition.registry.config_keys.get(setting.key)))

    def _explained(self, composition: Composition, activation: Activation, key: str) -> Explained:
        registry = composition.registry
        owner = registry.config_keys.get(key)
        return Explained(
            key,
            owner,
            registry.config_schema.get(key),
            activation.setting(key),
            activation.is_users_first(key),
            _owner_notes(activation, owner),
        )

    def _is_dynamic(self, key: str) -> bool:
        central = self._host.product.central_schema
        patterns = central.derived("patterns", lambda: tuple(re.compile(p) for p in central.patterns))
        return key == clean(key, 200) and all(key.split(".")) and any(pattern.search(key) for pattern in patterns)

    def _require(self, composition: Composition, key: str) -> None:
        schema = composition.registry.config_schema
        if key in schema or key in self._host.product.central_schema.keys or self._is_dynamic(key):
            return
        for layer in self.config(composition).layers:
            if layer.name == USER and layer.problem is not None:
                told = f"{clean(layer.path, 400)} {clean(layer.problem)}"
                raise DamagedState(f"{told}; without it no overlay counts, so {quoted(key)} cannot be looked up")
        owner = _skipped_owner(composition, key)
        if owner is not None:
            message = f"{quoted(key)} belongs to {quoted(owner.id)}, which is skipped: {owner.reason} [{owner.code}]"
            raise NotFound(message, remedy=owner.remedy)
        close = nearest(key, self.keys(composition))
        hint = f"; did you mean {quoted(close)}?" if close else ""
        remedy = f"{composition.context.command} settings list"
        raise NotFound(f"there is no configuration key {quoted(key)}{hint}", nearest=close, remedy=remedy)


def _owner_notes(activation: Activation, owner: str | None) -> tuple[str, ...]:
    if owner is None:
        return ()
    state = activation.capability(owner)
    return () if state.active else (f"{quoted(owner)}, whose key it is, is not active: {state.reason}",)


def _skipped_owner(composition: Composition, key: str) -> Skip | None:
    """The skip of the overlay that declares *key*, if its manifest may be spoken of: the user let it in once."""
    overlay = composition.registry.overlay
    skips = {s.sighting: s for s in overlay.warnings} if overlay is not None else {}
    for candidate in composition.seen:
        skip = skips.get(candidate.key)
        capability = candidate.capability
        if skip is None or capability is None or not _may_be_told(candidate, skip):
            continue
        if key in capability.config:
            return skip
    return None


def _may_be_told(candidate: Candidate, skip: Skip) -> bool:
    """Spec 10, the line: an unconsented candidate is known by its id, scope, folder and gate points only."""
    agreed = candidate.scope is not Scope.PROJECT or candidate.consent.state == "granted"
    return agreed and skip.code not in CONSENT_CODES


def config_edit(host: Host, roots: Roots, layer: str, change: Callable[[dict[str, Any]], object]) -> store.Edit:
    """The edit of the configuration file of *layer*. Raises `DamagedState` in a home that is not the user's own ground."""
    if layer == PROJECT:
        assert roots.served_path is not None
        path = os.path.join(roots.served_path, host.product.project_config)
        return store.Edit(path, change, inside=roots.served_path)
    path_or_none = user_config_path(host.product, roots)
    if path_or_none is None:
        raise DamagedState(f"{roots.store_refusal}; nothing was changed")
    return store.Edit(path_or_none, change, private=True)


def _leaves(config: Config) -> tuple[tuple[str, str], ...]:
    """(layer, dotted key) of every value in a file; an object without values has none."""
    found: list[tuple[str, str]] = []
    for layer in config.layers:
        waiting: list[tuple[str, Any]] = [(clean(k, 200), v) for k, v in reversed(layer.values.items())]
        while waiting and len(found) < _LEAVES:
            key, value = waiting.pop()
            if isinstance(value, Mapping):
                waiting.extend((f"{key}.{clean(k, 200)}", v) for k, v in reversed([*value.items()]))
            else:
                found.append((layer.name, key))
    return tuple(found)
