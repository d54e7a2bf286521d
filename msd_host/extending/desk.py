"""Looking after installed extensions without importing them; trying one out happens in a child process (spec 50, 60)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from ..activation import store
from ..activation.settings import config_edit
from ..errors import DamagedState, NotFound, UsageError
from ..reading.roots import Roots
from ..text import clean, nearest, quoted
from .controls import UNREADABLE, Controls
from .discovery import Found, normalised
from .gathering import controls_of, found_extensions

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Checked", "Listed", "PluginDesk"]

CHECK_SECONDS = 30.0


@frozen
class Listed:
    """One installed extension; `state` is `on`, `off` or `missed` (installed, but not found by the host's own scan)."""

    name: str
    version: str
    target: str
    where: str
    state: str
    reason: str = ""
    required: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "target": self.target,
            "where": self.where,
            "state": self.state,
            "reason": self.reason,
            "required": self.required,
        }


@frozen
class Checked:
    """What became of importing one extension in a process of its own."""

    name: str
    ok: bool
    reason: str = ""
    hooks: tuple[str, ...] = ()
    seconds: float = field(default=0.0, eq=False)  # what importing it took

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "reason": self.reason, "hooks": list(self.hooks)}


class PluginDesk:
    """List, check, enable and disable for one host and one place to stand in."""

    def __init__(self, host: Host, cwd: str | os.PathLike[str] | None = None, *, off: bool = False) -> None:
        self._host = host
        self._roots: Roots = host.roots(cwd)
        self._off = off

    def controls(self) -> Controls:
        """The user's word about extensions."""
        return controls_of(self._host.product, self._host.files, self._roots, self._host.env, off=self._off)

    def found(self) -> tuple[list[Found], list[str]]:
        """(what the own scan finds, its warnings)."""
        return found_extensions(self._host.product, self._roots.served_path, self._host.files)

    def list(self) -> tuple[tuple[Listed, ...], tuple[str, ...]]:
        """(every installed extension, warnings); imports none of them."""
        found, warnings = self.found()
        controls = self.controls()
        required = {n.casefold() for n in controls.required}
        rows = [
            Listed(
                f.name,
                f.version,
                f.target,
                f.where,
                "on" if controls.allows(f.names) else "off",
                controls.why_off(f.names),
                bool(required & {n.casefold() for n in f.names}),
            )
            for f in found
        ]
        rows.extend(_missed(self._host.product.extension_group, {f.name for f in found}))
        return tuple(sorted(rows, key=lambda r: r.name)), (*warnings, *self.lacking())

    def lacking(self) -> tuple[str, ...]:
        """What is wrong with the user's word about extensions, and the required ones that are not installed."""
        found, _ = self.found()
        controls = self.controls()
        there = {n.casefold() for f in found for n in f.names}
        absent = [n for n in controls.required if n is not UNREADABLE and n.casefold() not in there]
        return (*controls.problems, *(f"the required extension {n} is not installed" for n in absent))

    def check(self, name: str | None = None) -> tuple[Checked, ...]:
        """Import each extension, or the named one, in a child process and look it over there."""
        found, _ = self.found()
        chosen = found if name is None else [self.resolve(name)]
        return tuple(_check(one) for one in chosen)

    def resolve(self, name: str) -> Found:
        """The extension a person means by *name*. Raises `NotFound`, or `UsageError` for one that is ambiguous."""
        found, _ = self.found()
        meant = [f for f in found if name.casefold() in {n.casefold() for n in f.names}]
        if len(meant) > 1:
            raise UsageError(f"{quoted(name)} may mean {', '.join(f.name for f in meant)}; say which")
        if not meant:
            close = nearest(name, [n for f in found for n in f.names])
            hint = f"; did you mean {quoted(close)}?" if close else ""
            raise NotFound(f"there is no extension {quoted(name)}{hint}", nearest=close)
        return meant[0]

    def switch(self, name: str, *, on: bool) -> bool:
        """Write the user's word about one extension; whether anything changed. Imports nothing.

        One that is not installed may be denied by its full name in advance.
        """
        try:
            one = self.resolve(name)
            known, full = {n.casefold() for n in one.names}, one.name
        except NotFound:
            if on:
                raise
            known, full = {name.casefold()}, name

        def change(document: dict[str, Any]) -> None:
            section = document.setdefault("plugins", {})
            if not isinstance(section, dict):
                raise DamagedState("plugins in the user's configuration is not an object; nothing was changed")
            denied = [d for d in _names(section, "deny") if d.casefold() not in known]
            section["deny"] = denied if on else [*denied, full]
            allowed = _names(section, "allow")
            if on and "allow" in section and not known & {a.casefold() for a in allowed}:
                section["allow"] = [*allowed, full]

        edit = config_edit(self._host, self._roots, "user", change)
        return store.apply(self._host.files, self._host.product.limits, [edit])[0]


def _names(section: dict[str, Any], name: str) -> list[str]:
    value = section.get(name, [])
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise DamagedState(f"plugins.{name} in the user's configuration is not a list of names; nothing was changed")
    return value


def _missed(group: str, known: set[str]) -> list[Listed]:
    """What the general view of installed distributions knows and the own scan does not (egg-info, custom finders)."""
    from importlib_metadata import distributions

    rows: dict[str, Listed] = {}
    for distribution in distributions():
        try:
            name, version = normalised(distribution.name), distribution.version
            entries = [e for e in distribution.entry_points if e.group == group]
        except Exception as error:
            name, version, entries = clean(getattr(distribution, "_path", "?"), 120), "", []
            rows[name] = Listed(
                name, version, "", name, "missed", f"its metadata cannot be read: {type(error).__name__}"
            )
        for entry in entries:
            full = f"{name}:{entry.name}"
            if full not in known:
                where = clean(getattr(distribution, "_path", ""), 200)
                rows[full] = Listed(full, version, entry.value, where, "missed", "not in a form the host loads from")
    return [row for row in rows.values() if ":" in row.name]


_PROBE = """
import json, sys, time
from msd_host.extending.discovery import Found
from msd_host.extending.loading import load_found
from msd_host.extending.controls import Controls
found = Found(*json.loads(sys.argv[1]))
real, sys.stdout = sys.stdout, sys.stderr
began = time.perf_counter()
(state,) = load_found([found], Controls())
took = time.perf_counter() - began
a = state.admitted
hooks = [n for n, h in (("msd_review", a.review), ("msd_observe", a.observe), ("msd_predicate_kinds", a.predicate_kinds)) if h] if a else []
real.write(json.dumps([state.state == "loaded", state.reason, hooks, took]))
real.flush()
import os
os._exit(0)
"""


def _check(found: Found) -> Checked:
    words = [found.distribution, found.version, found.entry, found.target, found.where]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    argv = [sys.executable, "-c", _PROBE, json.dumps(words)]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=CHECK_SECONDS, env=env, check=False
        )
    except subprocess.TimeoutExpired:
        return Checked(found.name, False, f"it did not come to an end within {CHECK_SECONDS:g} s")
    try:
        ok, reason, hooks, took = json.loads(done.stdout)
        return Checked(found.name, bool(ok), str(reason), tuple(hooks), float(took))
    except (ValueError, TypeError):
        return Checked(found.name, False, f"its process ended with exit {done.returncode} before it could be looked at")
