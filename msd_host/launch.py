"""Starting what an overlay brings into a coding tool: its hooks and servers (spec 30, Shared files; spec 20, Snapshot).

The settings file names this launcher, not the script. Each time it asks the one composition whether the overlay is
accepted, installed, agreed to and on, and starts nothing otherwise: so a revocation, a change or a removal silences
what a file still names. Scripts of project overlays run out of the copy the user agreed to.
"""

from __future__ import annotations

import os
import stat as st
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from .composition import Composition, bundle_store
from .errors import Refused
from .model.candidate import Candidate
from .model.capability import Capability
from .text import quoted
from .verified import vouched

if TYPE_CHECKING:
    from .host import Host

__all__ = ["Start", "start_of_hook", "start_of_server"]

_INTERPRETERS = {".py": (sys.executable,), ".sh": ("sh",), ".js": ("node",), ".cjs": ("node",), ".mjs": ("node",)}


@frozen
class Start:
    """A program to become: its words, what is added to the environment, and the folder to start in (None: this one)."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    folder: str | None = None


def start_of_hook(host: Host, composition: Composition, id: str, event: str, script: str) -> Start:
    """What the hook *script* of *id* at *event* starts. Raises `Refused` where it may not start, and why."""
    capability, candidate = _allowed(host, composition, id)
    declared = [h for h in capability.lifecycle_hooks if h["event"] == event and h["script"] == script]
    if not declared:
        raise Refused(f"{quoted(id)} declares no such hook for {quoted(event)}")
    root = _root(host, composition, candidate)
    path = os.path.join(root, script)
    real = os.path.realpath(path)
    if not real.startswith(root.rstrip(os.sep) + os.sep) or not os.path.isfile(real):
        raise Refused(f"{quoted(script)} is not a file of {quoted(id)}")
    return Start((*_with(real), real), _environment(host, id, event))


def start_of_server(host: Host, composition: Composition, id: str, name: str) -> Start:
    """What the server *name* of *id* starts. Raises `Refused` where it may not start, and why."""
    capability, candidate = _allowed(host, composition, id)
    config: Mapping[str, Any] | None = capability.mcp_servers.get(name)
    if config is None or "command" not in config:
        raise Refused(f"{quoted(id)} has no server {quoted(name)} that is started here")
    folder = config.get("cwd")
    if folder is not None:
        folder = os.path.join(_root(host, composition, candidate), folder)
    env = {**_environment(host, id, name), **config.get("env", {})}
    return Start((config["command"], *config.get("args", ())), env, folder)


def _allowed(host: Host, composition: Composition, id: str) -> tuple[Capability, Candidate]:
    """Accepted, installed, agreed to and on: what dispatch asks as well."""
    overlay = composition.registry.overlay
    accepted = overlay is not None and id in overlay.accepted
    candidate = next((c for c in composition.cohort.candidates if c.id == id), None)
    if not accepted or candidate is None:
        raise Refused(f"{quoted(id)} is not an accepted overlay here")
    if not candidate.committed:
        raise Refused(f"no completed installation put {quoted(id)} there")
    state = host.activation(composition).capability(id)
    if not state.active:
        raise Refused(f"{quoted(id)} is not active: {state.reason}")
    return composition.registry.capabilities[id], candidate


def _root(host: Host, composition: Composition, candidate: Candidate) -> str:
    """The folder with the bytes that were agreed to: the stored copy, looked at now, or the user's own installation."""
    if candidate.content_hash is None:
        return candidate.where
    if candidate.consent.run_only:
        raise Refused(f"{quoted(candidate.id)} is agreed to for one run alone, which starts nothing by itself")
    found = vouched(host, composition, candidate)
    return bundle_store(host.product, host.files, composition.roots).path_of(found.content_hash)


def _with(path: str) -> tuple[str, ...]:
    """The interpreter for a script by its ending; nothing for one that may be executed."""
    if os.stat(path).st_mode & st.S_IXUSR:
        return ()
    interpreter = _INTERPRETERS.get(os.path.splitext(path)[1].lower())
    if interpreter is None:
        raise Refused(f"{quoted(os.path.basename(path))} is not executable, and its ending names no interpreter")
    return interpreter


def _environment(host: Host, id: str, what: str) -> dict[str, str]:
    """Bytecode beside a stored script would be bytes nobody agreed to."""
    prefix = host.product.name.upper().replace("-", "_")
    return {f"{prefix}_CAPABILITY": id, f"{prefix}_EVENT": what, "PYTHONDONTWRITEBYTECODE": "1"}
