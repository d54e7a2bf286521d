"""What a person sees before saying yes (spec 20, Disclosure and asking; reference, section 1.5).

A disclosure hides nothing that is declared: what is cut says how long it is, what does not print is spelled
out, and what the hash cannot vouch for is marked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from ..digests import sha256_hex
from ..model.capability import Capability
from ..model.frozen import EMPTY, FrozenDict
from ..model.scope import Scope
from ..text import clean
from .escape import shown, stable_json, told, utf16
from .surfaces import Surface, surfaces_of

__all__ = ["Disclosure", "Surface", "disclose", "signature"]

#: Every top-level field the host gives a meaning to; anything else is shown as unknown.
KNOWN = (
    frozenset(["id", "role", "version", "title", "description", "tier", "requires", "engines", "compatVersions"])
    | frozenset(["author", "homepage", "repository", "license", "keywords", "provenance", "integrity"])
    | frozenset(["skills", "agents", "commands", "hooks", "mcpServers", "steps", "contributions", "gates"])
    | frozenset(["config", "activationKey", "runtimeCompat", "reviewer", "runtime"])
)

_HEADINGS = {
    "hook": "Runtime hooks: scripts that the runtime starts",
    "command": "Command modules: code that runs when its command is called",
    "mcp": "MCP servers",
    "reviewer": "Reviewer lanes",
    "gate": "Gates",
    "step": "Steps",
    "contribution": "Prompt contributions",
    "runtime": "Runtime descriptor",
    "config": "Configuration keys",
    "skill": "Skills",
    "agent": "Agents",
}
_NAMES_ONLY = frozenset(["skill", "agent"])


@frozen(unsafe_hash=False)
class Disclosure:
    """`about` holds what the manifest says of itself, `unknown` fields this host gives no meaning to.

    `source` is the ledger's word and in project scope the repository's own, unless the user has just named it. `signature` changes with every
    executable surface; it is for wording only, the content hash decides.
    """

    id: str
    version: str
    role: str
    scope: Scope
    folder: str
    content_hash: str | None
    source: str | None
    about: FrozenDict[str, Any]
    surfaces: tuple[Surface, ...]
    unknown: FrozenDict[str, Any]
    signature: str
    source_named: bool = False

    @property
    def has_executable(self) -> bool:
        """Whether something of it runs; where not, it still steers agents."""
        return any(surface.is_executable for surface in self.surfaces)

    def to_dict(self) -> dict[str, Any]:
        """JSON shape, kept in the consent record; of the signature only its digest."""
        return {
            "id": self.id,
            "version": self.version,
            "role": self.role,
            "scope": self.scope.label,
            "folder": self.folder,
            "contentHash": self.content_hash,
            "source": self.source,
            "about": dict(self.about),
            "surfaces": [surface.to_dict() for surface in self.surfaces],
            "unknown": dict(self.unknown),
            "signature": sha256_hex(self.signature.encode("utf-8", "surrogatepass")),
        }

    def lines(self) -> list[str]:
        """Plain text, one line each, safe to print."""
        return [*self._header(), *self._sections(), *self._rest()]

    def _header(self) -> Iterator[str]:
        yield f"Capability {clean(self.id, 80)} {clean(self.version, 80)} ({clean(self.role, 20)})"
        for label, value in self.about.items():
            yield f"  {label}: {clean(told(value))}"
        if self.source is not None:
            claimed = ", as the repository claims" if self.scope is Scope.PROJECT and not self.source_named else ""
            yield f"  source: {shown(self.source, 300)}{claimed}"
        yield f"  scope: {self.scope.label}"
        yield f"  folder: {shown(self.folder)}"
        yield f"  content hash: {self.content_hash or 'not taken'}"

    def _sections(self) -> Iterator[str]:
        for kind, heading in _HEADINGS.items():
            found = [surface for surface in self.surfaces if surface.kind == kind]
            if not found:
                continue
            if kind in _NAMES_ONLY:
                yield f"{heading} ({len(found)}): " + ", ".join(shown(surface.name) for surface in found)
                continue
            yield f"{heading} ({len(found)}):"
            for surface in found:
                yield from surface.lines()

    def _rest(self) -> Iterator[str]:
        if self.unknown:
            yield f"Fields this host does not know ({len(self.unknown)}):"
            for name, value in self.unknown.items():
                yield f"  {shown(name)}: {shown(stable_json(value), 300)}"
        if not self.has_executable:
            yield "It runs nothing itself; its prompts and settings steer your agents."
        yield "There is no sandbox: what it runs, and what that calls, runs with all the rights you have."


def disclose(
    capability: Capability,
    *,
    content_hash: str | None,
    scope: Scope,
    folder: str,
    source: str | None = None,
    source_named: bool = False,
) -> Disclosure:
    """Everything *capability* declares. Total over every well-formed one."""
    raw = capability.raw
    return Disclosure(
        id=capability.id,
        version=capability.version,
        role=capability.role,
        scope=scope,
        folder=folder,
        content_hash=content_hash,
        source=source,
        about=FrozenDict({label: raw[name] for name, label in _ABOUT.items() if raw.get(name) not in (None, ())}),
        surfaces=surfaces_of(capability),
        unknown=FrozenDict({name: raw[name] for name in sorted(raw) if name not in KNOWN}),
        signature=signature(capability),
        source_named=source_named,
    )


_ABOUT = {
    "title": "title",
    "description": "description",
    "author": "author",
    "homepage": "homepage",
    "repository": "repository",
    "license": "licence",
    "tier": "tier",
    "requires": "requires",
    "engines": "engines",
    "runtimeCompat": "runtimes",
    "activationKey": "switched by",
    "compatVersions": "versions for other hosts",
    "keywords": "keywords",
    "provenance": "provenance, as it claims",
    "integrity": "integrity, as it claims",
}


def signature(capability: Capability) -> str:
    """The executable surfaces as one text: equal for equal ones in any order (reference, 1.5; with the matcher)."""
    groups = [
        _sorted(["hook", h["event"], h["script"], h.get("matcher", "")] for h in capability.lifecycle_hooks),
        _sorted(["mod", c["family"], c["module"], c.get("router", "")] for c in capability.commands),
        _sorted(_server_row(name, config) for name, config in capability.mcp_servers.items()),
    ]
    lane = capability.reviewer
    if lane is not None:
        groups.append(_sorted([_lane_row(lane)]))
    return stable_json(groups)


def _sorted(rows: Any) -> list[str]:
    return sorted((stable_json(row) for row in rows), key=utf16)


def _server_row(name: str, config: FrozenDict[str, Any]) -> list[Any]:
    transport = config.get("type") or config.get("transport")
    shapes = [config.get("url"), config.get("headers", EMPTY), config.get("env", EMPTY), config.get("cwd")]
    return ["mcp", name, transport, config.get("command"), config.get("args", ()), *shapes, config]


def _lane_row(lane: FrozenDict[str, Any]) -> list[Any]:
    invoke = lane.get("invoke", EMPTY)
    return [
        "lane",
        lane.get("slug"),
        lane.get("transport"),
        invoke.get("binary"),
        invoke.get("args", ()),
        invoke.get("hostConfigKey"),
        invoke.get("promptChannel"),
        lane.get("handler"),
    ]
