"""Configuration layers and what a key is worth (spec 40, Config activation).

Layers, strongest first: what the embedding process overrides, the workstream's file, the project's, the
user's, the declared default. A value that does not fit is reported and counts as absent. For the keys of an
overlay's gates an explicit user value wins over the project's and the workstream's: a repository cannot
switch off a control its user switched on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import isfinite
from typing import Any

from attrs import field, frozen

from ..errors import UsageError
from ..limits import Limits
from ..model.frozen import EMPTY, FrozenDict, freeze
from ..product import Product
from ..reading.files import Files, ReadFault, read_path
from ..reading.jsontext import JsonFault, decode
from ..reading.roots import Roots
from ..text import clean, quoted
from .switches import Switches, read_switches

__all__ = [
    "DEFAULT",
    "OVERRIDE",
    "PROJECT",
    "REPOSITORY",
    "USER",
    "WORKSTREAM",
    "Config",
    "Layer",
    "Said",
    "Setting",
    "fits",
    "is_truthy",
    "is_users_alone",
    "overrides_of",
    "read_config",
    "read_layer",
    "user_config_path",
]

OVERRIDE, WORKSTREAM, PROJECT, USER, DEFAULT = "override", "workstream", "project", "user", "default"
#: Layers that a repository can write.
REPOSITORY = frozenset([WORKSTREAM, PROJECT])
#: The central key that names the workstream when the environment does not.
WORKSTREAM_KEY = "workflow.workstream"
#: Whatever begins like this decides what the host itself loads or demands; a repository has no say in it (spec 10, 50).
_USERS_ALONE = ("capabilities.", "plugins.")

_ABSENT: Any = object()


@frozen(unsafe_hash=False)
class Layer:
    """One source of values. `problem` is set when it is there and cannot be used; it then says nothing."""

    name: str
    path: str = ""
    values: FrozenDict[str, Any] = EMPTY
    problem: str | None = None
    there: bool = False


@frozen
class Said:
    """What one layer says of one key. With a `problem` its `value` does not count."""

    layer: str
    path: str
    present: bool = False
    value: Any = None
    problem: str | None = None


@frozen
class Setting:
    """What a key is worth: the value, the layer it came from, and what every layer said, strongest first."""

    key: str
    value: Any
    layer: str
    said: tuple[Said, ...] = field(default=(), repr=False)

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence per layer whose value does not count."""
        return tuple(
            f"{quoted(self.key)} in {clean(s.path)} {s.problem}; it is ignored" for s in self.said if s.problem
        )


def is_truthy(value: Any) -> bool:
    """JSON truth: `false`, 0, the empty string and null are false; everything else, `[]` and `{}` too, is true."""
    return not (value is None or value is False or value == "" or (value == 0 and not isinstance(value, bool)))


def is_users_alone(key: str) -> bool:
    """Whether only the user's own configuration counts for *key*."""
    return key.startswith(_USERS_ALONE)


def fits(value: Any, declared: Mapping[str, Any]) -> bool:
    """Whether *value* has the type its slice declares."""
    kind = declared["type"]
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    return isinstance(value, str) and (kind != "enum" or value in declared.get("values", ()))


def _said(layer: Layer, key: str, declared: Mapping[str, Any] | None) -> Said:
    at: Any = layer.values
    for segment in key.split("."):
        if not isinstance(at, Mapping):
            return Said(layer.name, layer.path, problem="is not reached: what lies on its path is not an object")
        at = at.get(segment, _ABSENT)
        if at is _ABSENT:
            flat = "." in key and key in layer.values
            problem = "is written as one name with dots instead of nested objects" if flat else None
            return Said(layer.name, layer.path, problem=problem)
    problem = None
    if declared is not None and not fits(at, declared):
        problem = f"is not {_wanted(declared)}"
    elif layer.name in REPOSITORY and is_users_alone(key):
        problem = "does not count there: only the user's own configuration decides it"
    return Said(layer.name, layer.path, True, at, problem)


def _wanted(declared: Mapping[str, Any]) -> str:
    kind = declared["type"]
    return f"one of {', '.join(clean(v, 40) for v in declared['values'])}" if kind == "enum" else f"a {kind}"


def read_layer(files: Files, name: str, path: str, limits: Limits) -> Layer:
    """The configuration file at *path*; absent is empty, damage is reported and says nothing."""
    try:
        document = decode(read_path(files, path, limits.config_bytes, os.path.basename(path)), limits)
    except ReadFault as fault:
        missing = fault.kind == "missing"
        return Layer(name, path, problem=None if missing else fault.message, there=not missing)
    except JsonFault as fault:
        return Layer(name, path, problem=f"is not valid JSON: {fault}", there=True)
    if not isinstance(document, FrozenDict):
        return Layer(name, path, problem="does not hold an object", there=True)
    return Layer(name, path, document, there=True)


@frozen(unsafe_hash=False)
class Config:
    """The layers of one project and one home, strongest first, and what the user switched off there."""

    layers: tuple[Layer, ...] = ()
    switches: Switches = Switches()
    notes: tuple[str, ...] = ()

    def layer(self, name: str) -> Layer:
        """The layer called *name*, empty where there is none."""
        return next((layer for layer in self.layers if layer.name == name), Layer(name))

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence per layer that cannot be read, and what else is wrong with the whole."""
        broken = [f"{clean(x.path, 400)}: {clean(x.problem)}; it says nothing" for x in self.layers if x.problem]
        if self.switches.problem is not None:
            broken.append(self.switches.problem)
        return (*broken, *self.notes)

    def setting(
        self,
        key: str,
        declared: Mapping[str, Any] | None,
        *,
        user_first: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> Setting:
        """What *key* is worth under its slice *declared* (None: a key without a slice), the layers *without* left out."""
        layers = [layer for layer in self.layers if layer.name not in without]
        if user_first:
            layers.sort(key=lambda layer: layer.name in REPOSITORY)  # stable: everything else stays in order
        said = tuple(_said(layer, key, declared) for layer in layers)
        for one in said:
            if one.present and one.problem is None:
                return Setting(key, one.value, one.layer, said)
        return Setting(key, declared["default"] if declared is not None else None, DEFAULT, said)


def overrides_of(given: Mapping[Any, Any] | None) -> FrozenDict[str, Any]:
    """Dotted keys to values as one nested object. Raises `UsageError` where one key lies on another's path."""
    made: dict[str, Any] = {}
    for key, value in (given or {}).items():
        if not isinstance(key, str) or not all(key.split(".")):
            raise UsageError(f"{quoted(key)} is not a configuration key")
        *parents, last = key.split(".")
        at = made
        for segment in parents:
            at = at.setdefault(segment, {})
            if not isinstance(at, dict):
                raise UsageError(f"the override {quoted(key)} lies on another's path")
        if last in at or isinstance(value, Mapping):
            raise UsageError(f"the override {quoted(key)} must be one plain value and the only one on its path")
        at[last] = value
    return freeze(made)  # type: ignore[no-any-return]


def read_config(
    files: Files,
    product: Product,
    roots: Roots,
    *,
    env: Mapping[str, str] = EMPTY,
    overrides: FrozenDict[str, Any] = EMPTY,
) -> Config:
    """Every layer. Without a served project there are no project layers, and neither user layer nor switches in
    a home that lies on the project's ground: what a repository can write is never the user's word.
    """
    project, user = roots.served_path, user_config_path(product, roots)
    above = Layer(OVERRIDE, "the calling process", overrides, there=bool(overrides))
    below = [read_layer(files, USER, user, product.limits)] if user else []
    if project is not None:
        path = os.path.join(project, product.project_config)
        below.insert(0, read_layer(files, PROJECT, path, product.limits))
    name, note = _workstream(product, env, Config((above, *below)))
    if project is not None and name:
        folder, file = os.path.split(os.path.join(project, product.project_config))
        path = os.path.join(folder, "workstreams", name, file)
        below.insert(0, read_layer(files, WORKSTREAM, path, product.limits))
    return Config((above, *below), read_switches(files, product, roots), (note,) if note else ())


def _workstream(product: Product, env: Mapping[str, str], config: Config) -> tuple[str, str | None]:
    """(the name of the workstream or nothing, what is wrong with the one that was named)."""
    variable = f"{product.name.upper().replace('-', '_')}_WORKSTREAM"
    given: Any = env.get(variable, "")
    source = variable
    if given == "":
        setting = config.setting(WORKSTREAM_KEY, None)
        given, source = setting.value, f"{WORKSTREAM_KEY} ({setting.layer})"
    if not given:
        return "", None
    if isinstance(given, str) and _is_safe_segment(given):
        return given, None
    return "", f"the workstream {quoted(given)} of {source} is not the name of a folder; it is ignored"


def _is_safe_segment(name: str) -> bool:
    return len(name) <= 128 and name.isprintable() and not name.startswith(".") and not set(name) & {"/", "\\"}


def user_config_path(product: Product, roots: Roots) -> str | None:
    """Where the user's own configuration lies, None where that place is not the user's alone."""
    if roots.store_refusal is not None:
        return None
    return os.path.join(roots.home.given, product.folder, "config.json")
