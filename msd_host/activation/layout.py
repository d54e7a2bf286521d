"""Where a runtime takes skills and agents: its descriptor, read as places (spec 40, Profiles and surface; reference, 1.7)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from ..errors import Refused, UsageError
from ..model.capability import Capability
from ..reading.roots import Roots, os_home
from ..text import clean, quoted

__all__ = ["Place", "Shelf", "confined", "shelves_of"]


@frozen
class Shelf:
    """One kind of artifact in one folder: `subpath` below the base, names beginning with `prefix`."""

    kind: str
    subpath: tuple[str, ...]
    prefix: str

    def path(self, stem: str, rest: str = "") -> str:
        """The path below the base of the file *rest* of the skill *stem*, or of the agent *stem*."""
        name = f"{self.prefix}{stem}"
        return "/".join((*self.subpath, name, rest) if self.kind == "skills" else (*self.subpath, f"{name}.md"))

    def holds(self, path: str) -> bool:
        """Whether something this shelf takes can lie at *path*."""
        parts, depth = tuple(path.split("/")), len(self.subpath)
        is_deep_enough = len(parts) >= depth + 2 if self.kind == "skills" else len(parts) == depth + 1
        safe = all(part not in ("", ".", "..") and "\0" not in part for part in parts)
        return safe and is_deep_enough and parts[:depth] == self.subpath and parts[depth].startswith(self.prefix)


@frozen
class Place:
    """A base folder and its shelves. `top` is the folder a link must not lead out of, None for the user's own ground."""

    base: str
    shelves: tuple[Shelf, ...]
    top: str | None = None


def shelves_of(
    runtime: Capability,
    env: Mapping[str, str],
    *,
    config_dir: str | None = None,
    project: str | None = None,
) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    """(places to fill, what the descriptor asks for that is left out).

    In *project* where that is given, else in *config_dir*, else where the descriptor says. Raises `UsageError`
    where it does not say, `Refused` for a descriptor that leads out of its base.
    """
    descriptor: Mapping[str, Any] = runtime.runtime or {}
    entries = descriptor["artifactLayout"]["local" if project is not None else "global"]
    by_base: dict[str, list[Shelf]] = {}
    left: list[str] = []
    for entry in entries:
        if entry["converter"] is not None or entry["kind"] not in ("skills", "agents") or entry["nesting"] != "flat":
            left.append(
                f"{clean(entry['kind'], 40)} in {clean(entry['destSubpath'], 120)}: this layout is not known here"
            )
            continue
        base = _base(runtime.id, descriptor, entry, env, config_dir, project)
        by_base.setdefault(base, []).append(_shelf(runtime.id, entry))
    return tuple(Place(base, tuple(shelves), project) for base, shelves in by_base.items()), tuple(left)


def confined(place: Place, roots: Roots) -> Place:
    """*place*, and where it lies in the served project, no link of that project leads out of it.

    A project that is the home too is the user's own ground, links and all.
    """
    served, canonical = roots.served, roots.served_path
    if place.top is not None or served is None or canonical is None or roots.one_folder:
        return place
    for top in (served.given, canonical):
        if os.path.commonpath((top, place.base)) == top:
            return evolve(place, base=os.path.join(canonical, os.path.relpath(place.base, top)), top=canonical)
    return place


def _shelf(id: str, entry: Mapping[str, Any]) -> Shelf:
    subpath, prefix = tuple(p for p in entry["destSubpath"].split("/") if p not in ("", ".")), entry["prefix"]
    leads_out = entry["destSubpath"].startswith("/") or ".." in subpath or any(c in prefix for c in "/\\\0")
    if leads_out or not subpath:
        raise Refused(f"the runtime {quoted(id)} wants {quoted(entry['destSubpath'])}, which leads out of its folder")
    return Shelf(entry["kind"], subpath, prefix)


def _base(
    id: str,
    descriptor: Mapping[str, Any],
    entry: Mapping[str, Any],
    env: Mapping[str, str],
    config_dir: str | None,
    project: str | None,
) -> str:
    if project is not None:
        local = descriptor.get("localConfigDir")
        if not local or ".." in local.split("/") or os.path.isabs(local):
            raise UsageError(f"the runtime {quoted(id)} has no folder in projects")
        return os.path.join(project, local)
    if config_dir is not None:
        return config_dir
    if entry.get("home"):
        return _below_home(env, entry["home"])
    found = next(_homes(descriptor["configHome"], env), None)
    if found is None:
        raise UsageError(f"the runtime {quoted(id)} does not say where its folder is; name it with --config-dir")
    return found


def _homes(home: Mapping[str, Any], env: Mapping[str, str]) -> Iterator[str]:
    """What the environment says first, then the usual place."""
    yield from (env[name] for name in home["env"] if os.path.isabs(env.get(name, "")))
    kind = home["kind"]
    if kind == "xdg":
        named = env.get("XDG_CONFIG_HOME", "")
        yield os.path.join(named if os.path.isabs(named) else _below_home(env, ".config"), home["name"])
    elif kind in ("dot-home", "generic-agents-root"):
        yield _below_home(env, home["name"])
    elif kind == "dot-home-nested":
        yield _below_home(env, os.path.join(home["parent"], home["name"]))


def _below_home(env: Mapping[str, str], name: str) -> str:
    if os.path.isabs(name) or ".." in name.split("/"):
        raise Refused(f"{quoted(name)} leads out of the home")
    return os.path.join(os_home(env), name)
