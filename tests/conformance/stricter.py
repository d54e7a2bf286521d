"""Where our manifest rules are meant to be stricter than the other system's (V5), each checked on the manifest itself.

A fault of ours counts as meant only when the value at its path breaks the stricter rule by the plain
reading of spec 10 written down here. A manifest that our decoder refuses for any other reason stays unexplained.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from msd_host import Fault
from tests.conformance.bundle import MISSING, Bundle, at_path, document_faults

__all__ = ["is_meant"]

RESERVED = {"__proto__", "constructor", "prototype"}
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
WORD = re.compile(r"[a-z][a-z0-9-]{0,63}")
KEY = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*){0,7}")
MODULE = re.compile(r"[a-z_][a-z0-9_]*\.py")

#: Steps of a path (an index is `0`), the value there and the whole manifest: does it break the stricter rule?
Check = Callable[[Sequence[str], Any, Any], bool]


def _not_like(pattern: re.Pattern[str]) -> Check:
    def check(steps: Sequence[str], value: Any, manifest: Any) -> bool:
        return isinstance(value, str) and (not pattern.fullmatch(value) or _is_reserved(value))

    return check


def _is_reserved(name: str) -> bool:
    return name.casefold() in RESERVED or DEVICE.fullmatch(name) is not None


def _key(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    return not KEY.fullmatch(steps[1])


def _slice(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    """The full look at a slice, which the other system takes of the whole set only (V4) and by role."""
    slices = manifest.get("config")
    whole = slices.get(steps[1], MISSING) if isinstance(slices, dict) else MISSING
    if not isinstance(whole, dict):
        return whole is not MISSING and manifest["role"] != "feature"
    kinds: dict[str, tuple[type, ...]] = {"boolean": (bool,), "string": (str,), "number": (int, float), "enum": (str,)}
    fits = kinds.get(str(whole.get("type")), ())
    default = whole.get("default")
    right = isinstance(default, fits) and (isinstance(default, bool) == (whole.get("type") == "boolean"))
    values = whole.get("values")
    chosen = whole.get("type") != "enum" or (isinstance(values, list) and default in values)
    described = isinstance(whole.get("description"), str) and bool(whole["description"])
    return not (right and chosen and described)


def _families(manifest: Any) -> set[str]:
    commands = manifest.get("commands")
    listed = commands if isinstance(commands, list) else []
    return {str(c["family"]).casefold() for c in listed if isinstance(c, dict) and "family" in c}


def _foreign_command(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    words = value.split() if isinstance(value, str) else []
    return not words or words[0].casefold() not in _families(manifest)


def _foreign_key(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    return value not in manifest["config"]


def _no_identifier(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    return isinstance(value, str) and not value.isidentifier()


def _no_text(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    return not isinstance(value, str) or not value.strip()


def _no_predicate(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    kind = value.get("kind") if isinstance(value, dict) else None
    return not (isinstance(kind, str) and kind.strip())


def _no_server(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    """One of `mcpServers` (or all of them) without the shape of spec 10."""
    servers = manifest.get("mcpServers", {})
    if len(steps) == 1 or not isinstance(servers, dict):
        return not isinstance(servers, dict)
    server = servers.get(steps[1], MISSING)
    if not isinstance(server, dict):
        return server is not MISSING
    if "command" not in server:
        return server.get("type") not in ("http", "sse") or not isinstance(server.get("url"), str)
    texts = [server["command"], *(server.get("args") or ()), *(server.get("env") or {}).values()]
    return not all(isinstance(text, str) for text in texts) or not server["command"]


def _on_other_role(steps: Sequence[str], value: Any, manifest: Any) -> bool:
    return bool(manifest["role"] != "feature")


CHECKS: dict[str, Check] = {
    "id": _not_like(WORD),
    "skills.0": _not_like(STEM),
    "agents.0": _not_like(STEM),
    "commands": _on_other_role,
    "commands.0.family": _not_like(WORD),
    "commands.0.module": _not_like(MODULE),
    "commands.0.router": _no_identifier,
    "config.KEY": _key,
    "config.KEY.*": _slice,
    "contributions.0.configValues.*": _foreign_key,
    "steps.0.ref.command": _foreign_command,
    "gates.0.check.query": _no_text,
    "gates.0.check.agentVerdict": _no_text,
    "gates.0.check.predicate": _no_predicate,
    "gates.0.check.predicate.kind": _no_text,
    "mcpServers": _no_server,
    "mcpServers.*": _no_server,
}


def _shape_of(steps: Sequence[str]) -> str:
    plain = ["0" if step.isdigit() and i and steps[0] != "config" else step for i, step in enumerate(steps)]
    if plain[:1] == ["config"] and len(plain) > 1:
        return "config.KEY" if len(plain) == 2 else "config.KEY.*"
    if plain[:1] == ["mcpServers"] and len(plain) > 1:
        return "mcpServers.*"
    if plain[2:3] == ["configValues"] and len(plain) > 3:
        return "contributions.0.configValues.*"
    return ".".join(plain)


def is_meant(faults: Sequence[Fault], bundle: Bundle) -> bool:
    """Whether every one of our *faults* with a manifest is one of the stricter rules at work."""
    return bool(faults) and all(_is_meant(fault, bundle) for fault in faults)


def _is_meant(fault: Fault, bundle: Bundle) -> bool:
    if fault.details.get("read") == "too-large":
        return fault.code.value == "manifest-unreadable" and len(bundle.data()) > 2**20
    if fault.code.value not in ("manifest-invalid", "reserved-id"):
        return False
    if fault.details.get("json"):
        return bool(document_faults(bundle.data()) - {"no JSON"})
    manifest = bundle.manifest
    if not isinstance(manifest, dict):
        return False
    steps, value = at_path(manifest, fault.path)
    shape = _shape_of(steps)
    if shape == "config.KEY" and KEY.fullmatch(steps[1]):
        return _slice(steps, value, manifest)
    check = CHECKS.get(shape)
    if check is None or (value is MISSING and check not in (_slice, _no_server)):
        return False
    return check(steps, value, manifest)
