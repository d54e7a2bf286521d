"""Configuration layers and what a key is worth (spec 40, Config activation).

Layers, strongest first: project, user, declared default. A value of the wrong type is reported and the
default applies. For the keys of an overlay's gates an explicit user value wins over the project's: a
repository cannot switch off a control its user switched on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import isfinite
from typing import Any

from attrs import frozen

from ..limits import Limits
from ..model.frozen import EMPTY, FrozenDict
from ..product import Product
from ..reading.files import Files, ReadFault, read_path
from ..reading.jsontext import JsonFault, decode
from ..reading.roots import Roots
from ..text import clean, quoted

__all__ = ["Config", "Layer", "Setting", "is_truthy", "lookup", "read_config", "read_layer", "user_config_path"]

_ABSENT: Any = object()
PROJECT, USER, DEFAULT = "project", "user", "default"


@frozen(unsafe_hash=False)
class Layer:
    """One configuration file. `problem` is set when it is there and cannot be used; it then says nothing."""

    name: str
    path: str
    values: FrozenDict[str, Any] = EMPTY
    problem: str | None = None


@frozen
class Setting:
    """What a key is worth: the value, the layer it came from, and what was wrong on the way."""

    key: str
    value: Any
    layer: str
    problems: tuple[str, ...] = ()
    project_value: Any = None
    user_value: Any = None


def is_truthy(value: Any) -> bool:
    """JSON truth: `false`, 0, the empty string and null are false; everything else, `[]` and `{}` too, is true."""
    return not (value is None or value is False or value == "" or (value == 0 and not isinstance(value, bool)))


def lookup(values: Mapping[str, Any], key: str) -> Any:
    """The value at dotted *key* of nested objects, or `_ABSENT`."""
    at: Any = values
    for segment in key.split("."):
        if not isinstance(at, Mapping) or segment not in at:
            return _ABSENT
        at = at[segment]
    return at


def fits(value: Any, declared: Mapping[str, Any]) -> bool:
    """Whether *value* has the type its slice declares."""
    kind = declared["type"]
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    return isinstance(value, str) and (kind != "enum" or value in declared.get("values", ()))


def read_layer(files: Files, name: str, path: str, limits: Limits) -> Layer:
    """The configuration file at *path*; absent is empty, damage is reported and says nothing."""
    try:
        document = decode(read_path(files, path, limits.config_bytes, os.path.basename(path)), limits)
    except ReadFault as fault:
        return Layer(name, path, problem=None if fault.kind == "missing" else fault.message)
    except JsonFault as fault:
        return Layer(name, path, problem=f"is not valid JSON: {fault}")
    if not isinstance(document, FrozenDict):
        return Layer(name, path, problem="does not hold an object")
    return Layer(name, path, document)


@frozen(unsafe_hash=False)
class Config:
    """The layers of one project and one home."""

    project: Layer
    user: Layer

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence per layer that cannot be read."""
        layers = (self.project, self.user)
        return tuple(f"{layer.path}: {clean(layer.problem)}; defaults apply" for layer in layers if layer.problem)

    def setting(self, key: str, declared: Mapping[str, Any] | None, *, user_first: bool = False) -> Setting:
        """What *key* is worth under its slice *declared* (None: a key nobody declares)."""
        layers = (self.user, self.project) if user_first else (self.project, self.user)
        problems: list[str] = []
        seen = {layer.name: lookup(layer.values, key) for layer in layers}
        for layer in layers:
            value = seen[layer.name]
            if value is _ABSENT:
                continue
            if declared is None or fits(value, declared):
                return Setting(key, value, layer.name, tuple(problems), *self._both(seen))
            wanted = declared["type"] if declared else "?"
            problems.append(f"{quoted(key)} in {layer.path} is not a {wanted}; it is ignored")
        default = declared["default"] if declared is not None else None
        return Setting(key, default, DEFAULT, tuple(problems), *self._both(seen))

    @staticmethod
    def _both(seen: Mapping[str, Any]) -> tuple[Any, Any]:
        project, user = seen[PROJECT], seen[USER]
        return (None if project is _ABSENT else project, None if user is _ABSENT else user)


def read_config(files: Files, product: Product, roots: Roots) -> Config:
    """Both layers. Without a served project there is no project layer, and no user layer in a home that lies
    on the project's ground: what a repository can write is never the user's word.
    """
    project, user = roots.served_path, user_config_path(product, roots)
    return Config(
        read_layer(files, PROJECT, os.path.join(project, product.project_config), product.limits)
        if project
        else Layer(PROJECT, ""),
        read_layer(files, USER, user, product.limits) if user else Layer(USER, ""),
    )


def user_config_path(product: Product, roots: Roots) -> str | None:
    """Where the user's own configuration lies, None where that place is not the user's alone."""
    if roots.store_refusal is not None:
        return None
    return os.path.join(roots.home.given, product.folder, "config.json")
