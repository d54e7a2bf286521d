"""What a capability asks a coding tool's settings to hold: its hooks and servers, behind the launcher (spec 30).

Nothing of this machine stands in it but the launcher's name, so a team may commit the file. The launcher looks at
consent and bytes each time, which is what makes a revocation count at once.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from ...model.capability import Capability
from ...model.frozen import thaw

__all__ = ["HOOKS", "SERVERS", "Entries", "entries_of"]

HOOKS, SERVERS = "hooks", "mcpServers"


@frozen(unsafe_hash=False)
class Entries:
    """`hooks` are (event, group), `servers` (name, configuration), in the manifest's order."""

    id: str
    hooks: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    servers: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hooks or self.servers)


def entries_of(capability: Capability, launcher: str) -> Entries:
    """The entries of *capability*, each started by *launcher*. A server that is only an address stays one."""
    return Entries(
        capability.id,
        tuple((hook["event"], _group(capability.id, hook, launcher)) for hook in capability.lifecycle_hooks),
        tuple(
            (name, _server(capability.id, name, thaw(config), launcher))
            for name, config in capability.mcp_servers.items()
        ),
    )


def _group(id: str, hook: Mapping[str, Any], launcher: str) -> dict[str, Any]:
    command = shlex.join([launcher, "hook", "run", id, hook["event"], hook["script"]])
    group: dict[str, Any] = {"hooks": [{"type": "command", "command": command}]}
    if hook.get("matcher"):
        group["matcher"] = hook["matcher"]
    return group


def _server(id: str, name: str, config: dict[str, Any], launcher: str) -> dict[str, Any]:
    if "command" not in config:
        return config
    return {"command": launcher, "args": ["hook", "serve", id, name]}
