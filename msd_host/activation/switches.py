"""What the user of this machine wants to see: the surface file in the home (spec 40, Axes, Profiles and surface).

It lies where no repository can write. In a home that is not the user's own ground nothing is read, and
everything counts as on. What is said for the served project wins over what is said for all of them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from ..digests import sha256_hex
from ..model.capability import TIERS
from ..model.frozen import FrozenDict
from ..product import Product
from ..reading.files import Files, ReadFault, read_path
from ..reading.jsontext import JsonFault, decode
from ..reading.roots import Roots
from ..remedies import is_valid_id
from ..text import clean

__all__ = [
    "SCHEMA",
    "WHOLE",
    "Switches",
    "choose",
    "document_fault",
    "project_name",
    "read_switches",
    "surface_path",
    "switch",
    "want",
]

SCHEMA = 1
WHOLE = TIERS[-1]
_LISTS = ("disabled", "enabled", "added", "removed")
_NONE: frozenset[str] = frozenset()


@frozen
class Switches:
    """`off` is off in every project, `off_here` in the served one only; `on_here` lifts what `off` says, there.
    `on` and `on_here` also come in whatever the profile says.

    `profile` is the one that counts here. `added` and `removed` are skill stems: those the user wants besides
    what the profile gives, and those not wanted of it. `problem` is set when the file is there and cannot be
    used; then nothing is off and the profile is the whole one.
    """

    path: str | None = None
    off: frozenset[str] = _NONE
    off_here: frozenset[str] = _NONE
    on_here: frozenset[str] = _NONE
    on: frozenset[str] = _NONE
    problem: str | None = None
    profile: str = WHOLE
    added: frozenset[str] = _NONE
    removed: frozenset[str] = _NONE

    def why_off(self, id: str) -> str | None:
        """The reason for which *id* is off, None when it is on."""
        if not is_valid_id(id):
            return None
        if id in self.off_here:
            return "the user of this machine switched it off in this project"
        if id in self.off and id not in self.on_here:
            return "the user of this machine switched it off"
        return None

    @property
    def named(self) -> frozenset[str]:
        """Every id the file says something about here."""
        return self.off | self.off_here | self.on_here | self.on


def surface_path(product: Product, roots: Roots) -> str | None:
    """Where the surface file lies, None where that place is not the user's alone."""
    if roots.store_refusal is not None:
        return None
    return os.path.join(roots.home.given, product.folder, "surface.json")


def project_name(root: str) -> str:
    """The name under which the project at the canonical *root* stands in the surface file."""
    return sha256_hex(os.fsencode(root))


def read_switches(files: Files, product: Product, roots: Roots) -> Switches:
    """The surface file as it bears on the served project. Never raises; damage is a `problem`."""
    path = surface_path(product, roots)
    if path is None:
        return Switches()
    try:
        document = decode(read_path(files, path, product.limits.config_bytes, "surface.json"), product.limits)
    except ReadFault as fault:
        return Switches(path) if fault.kind == "missing" else _broken(path, fault.message)
    except JsonFault as fault:
        return _broken(path, f"is not valid JSON: {fault}")
    problem = document_fault(document)
    if problem is not None:
        return _broken(path, problem)
    assert isinstance(document, FrozenDict)
    here: Mapping[str, Any] = {}
    if roots.served_path is not None and "projects" in document:
        here = document["projects"].get(project_name(roots.served_path), {})
    added, removed = _stems(document, here)
    return Switches(
        path,
        _ids(document, "disabled"),
        _ids(here, "disabled"),
        _ids(here, "enabled"),
        _ids(document, "enabled"),
        profile=here.get("profile", document.get("profile", WHOLE)),
        added=added,
        removed=removed,
    )


def _stems(document: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
    """(added, removed) as they count in a project that says *here*."""
    added, removed = _ids(here, "added"), _ids(here, "removed")
    return added | (_ids(document, "added") - removed), removed | (_ids(document, "removed") - added)


def _broken(path: str, problem: str) -> Switches:
    return Switches(path, problem=f"{clean(path, 400)}: {clean(problem)}; nothing is switched off by it")


def document_fault(document: object) -> str | None:
    """Why *document* (frozen or not) is no surface file of ours, or None."""
    if not isinstance(document, Mapping):
        return "does not hold an object"
    if document.get("schema", SCHEMA) != SCHEMA or isinstance(document.get("schema"), bool):
        return f"is not of schema {SCHEMA}"
    projects = document.get("projects", {})
    if not isinstance(projects, Mapping) or not all(isinstance(p, Mapping) for p in projects.values()):
        return "holds something else than objects under projects"
    lists = [document.get(n, []) for n in _LISTS]
    lists += [p.get(n, []) for p in projects.values() for n in _LISTS]
    if not all(isinstance(ids, (list, tuple)) and all(isinstance(i, str) for i in ids) for ids in lists):
        return "holds something else than lists of ids"
    if not all(p.get("profile", WHOLE) in TIERS for p in (document, *projects.values())):
        return f"names a profile that is none of {', '.join(TIERS)}"
    return None


def _ids(holder: Mapping[str, Any], name: str) -> frozenset[str]:
    return frozenset(holder.get(name, ()))


def switch(document: dict[str, Any], id: str, on: bool, root: str | None, *, beyond: bool = False) -> None:
    """Put *id* on or off in the surface *document*, in place: in the project at *root*, or everywhere with None.

    *beyond*: the profile does not give it, so it comes in by name. Everything else in it stays, in its order.
    """
    here = _said_at(document, root)
    lifted = root is not None and id in document.get("disabled", ())
    by_name = on and (lifted or beyond or (root is None and id in here.get("enabled", ())))
    _say(
        document,
        root,
        {"disabled": _with(here, "disabled", id, not on), "enabled": _with(here, "enabled", id, by_name)},
    )


def choose(document: dict[str, Any], profile: str, root: str | None) -> None:
    """Let *profile* count, in place, as `switch` does."""
    _say(document, root, {"profile": profile})


def want(document: dict[str, Any], stem: str, wanted: bool, root: str | None) -> None:
    """Put the skill *stem* on the list of those added or removed, and off the other, in place."""
    here = _said_at(document, root)
    _say(
        document,
        root,
        {"added": _with(here, "added", stem, wanted), "removed": _with(here, "removed", stem, not wanted)},
    )


def _said_at(document: Mapping[str, Any], root: str | None) -> Mapping[str, Any]:
    here: Mapping[str, Any] = document if root is None else document.get("projects", {}).get(project_name(root), {})
    return here


def _say(document: dict[str, Any], root: str | None, fresh: Mapping[str, Any]) -> None:
    """Write what differs; an empty list that was not there stays away."""
    said = _said_at(document, root)
    changed = {name: value for name, value in fresh.items() if value != said.get(name, [])}
    if changed:
        document.setdefault("schema", SCHEMA)
        target = document
        if root is not None:
            target = document.setdefault("projects", {}).setdefault(project_name(root), {})
        target.update(changed)


def _with(holder: Mapping[str, Any], name: str, id: str, wanted: bool) -> list[str]:
    ids: list[str] = holder.get(name, [])
    if (id in ids) == wanted:
        return ids
    return sorted([*ids, id]) if wanted else [i for i in ids if i != id]
