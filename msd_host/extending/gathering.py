"""Which extensions a host has: those it was handed, and those it found, as far as the user lets it (spec 50)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from attrs import frozen

from ..activation.config import read_layer, user_config_path
from ..errors import UsageError
from ..product import Product
from ..reading.files import Files
from ..reading.roots import Roots
from ..text import clean
from .controls import Controls, controls_from
from .discovery import Found, scan

if TYPE_CHECKING:
    from .loading import State

__all__ = ["Gathered", "controls_of", "found_extensions", "gather", "given_extensions"]


@frozen(eq=False)
class Gathered:
    """Everything known about a host's extensions: `states` of the found ones, and what to warn about."""

    states: tuple[State, ...]
    controls: Controls
    warnings: tuple[str, ...]
    missing: tuple[str, ...]


def found_extensions(product: Product, project: str | None, files: Files) -> tuple[list[Found], list[str]]:
    """What is installed for *product*'s group; scanned once for an import path and project."""
    key = ("extensions", product.extension_group, tuple(sys.path), project)
    return product.first_party.derived(key, lambda: scan(product.extension_group, project, files))


def controls_of(product: Product, files: Files, roots: Roots, env: Mapping[str, str], *, off: bool) -> Controls:
    """The user's word about extensions, from their own configuration and the process environment."""
    path = user_config_path(product, roots)
    variable = env.get(product.plugins_variable, "")
    if path is None:
        return controls_from({}, variable, off=off)
    layer = read_layer(files, "user", path, product.limits)
    damage = None if layer.problem is None else f"{path}: {layer.problem}"
    return controls_from(layer.values, variable, off=off, damage=damage)


def gather(product: Product, files: Files, roots: Roots, env: Mapping[str, str], *, off: bool) -> Gathered:
    """Find, filter and import; nothing is imported that the user did not leave on."""
    found, warnings = found_extensions(product, roots.served_path, files)
    controls = controls_of(product, files, roots, env, off=off)
    if not (found or controls.required):
        return Gathered((), controls, tuple(clean(t, 400) for t in (*controls.problems, *warnings)), ())
    from .loading import load_found, missing_of  # workers and admission: only where there is somebody to admit

    states = load_found(found, controls)
    broken = [
        f"the extension {s.found.name} ({s.found.distribution} {s.found.version}, group {product.extension_group})"
        f" does not work: {s.reason}"
        for s in states
        if s.state == "failed"
    ]
    told = (*controls.problems, *warnings, *broken)
    return Gathered(tuple(states), controls, tuple(clean(t, 400) for t in told), missing_of(controls.required, states))


def given_extensions(extensions: Iterable[object]) -> list[tuple[str, object]]:
    """Names for objects that an embedder hands over, as they are or as `(name, object)`."""
    named: list[tuple[str, object]] = []
    for number, extension in enumerate(extensions):
        if isinstance(extension, tuple) and len(extension) == 2 and isinstance(extension[0], str):
            name, extension = extension
        else:
            name = getattr(extension, "__name__", type(extension).__name__).rpartition(".")[2] + f"-{number}"
        named.append((f"given:{name}", extension))
    if len({name for name, _ in named}) != len(named):
        raise UsageError("two extensions were given the same name")
    return named
