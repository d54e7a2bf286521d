"""One capability: a decoded, accepted-as-well-formed manifest, read through short names.

The manifest itself stays the value (`raw`): views carry it verbatim, fields of a newer host included.
"""

# mypy: disable-error-code="no-any-return"
# The codec has proved the shape of `raw`; every property only repeats what it proved.
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from .frozen import EMPTY, FrozenDict

__all__ = ["HOOK_KINDS", "TIERS", "Capability", "Hook"]

TIERS: tuple[str, ...] = ("core", "standard", "full")

#: Loop hook kinds in the order in which they render at one point, with their manifest field.
HOOK_KINDS: tuple[tuple[str, str], ...] = (("step", "steps"), ("contribution", "contributions"), ("gate", "gates"))

Hook = FrozenDict[str, Any]


@frozen(unsafe_hash=False)
class Capability:
    """`raw` is the manifest as a frozen JSON object, fragments inlined (reference, section 1)."""

    raw: FrozenDict[str, Any]

    @property
    def id(self) -> str:
        return self.raw["id"]

    @property
    def role(self) -> str:
        """`feature`, `runtime` or `reviewer`."""
        return self.raw["role"]

    @property
    def version(self) -> str:
        return self.raw["version"]

    @property
    def title(self) -> str:
        return self.raw["title"]

    @property
    def description(self) -> str:
        return self.raw["description"]

    @property
    def tier(self) -> str:
        """`core`, `standard` or `full`."""
        return self.raw["tier"]

    @property
    def requires(self) -> tuple[str, ...]:
        return self.raw["requires"]

    @property
    def skills(self) -> tuple[str, ...]:
        return self.raw.get("skills", ())

    @property
    def agents(self) -> tuple[str, ...]:
        return self.raw.get("agents", ())

    @property
    def config(self) -> FrozenDict[str, Any]:
        """Dotted key to slice `{type, default, description[, values]}`."""
        return self.raw.get("config", EMPTY)

    @property
    def commands(self) -> tuple[FrozenDict[str, Any], ...]:
        """Command modules `{family, module, router[, subcommands]}`."""
        return self.raw.get("commands", ())

    @property
    def lifecycle_hooks(self) -> tuple[FrozenDict[str, Any], ...]:
        """Runtime hooks `{event, script[, matcher]}`; not to be taken for loop hooks."""
        return self.raw.get("hooks", ())

    @property
    def mcp_servers(self) -> FrozenDict[str, Any]:
        return self.raw.get("mcpServers", EMPTY)

    @property
    def steps(self) -> tuple[Hook, ...]:
        return self.raw.get("steps", ())

    @property
    def contributions(self) -> tuple[Hook, ...]:
        return self.raw.get("contributions", ())

    @property
    def gates(self) -> tuple[Hook, ...]:
        return self.raw.get("gates", ())

    @property
    def activation_key(self) -> str | None:
        return self.raw.get("activationKey")

    @property
    def runtime(self) -> FrozenDict[str, Any] | None:
        return self.raw.get("runtime")

    @property
    def reviewer(self) -> FrozenDict[str, Any] | None:
        return self.raw.get("reviewer")

    @property
    def runtime_compat(self) -> FrozenDict[str, Any] | None:
        return self.raw.get("runtimeCompat")

    def engines(self, product: str) -> str | None:
        """The declared host range for *product* (`engines.msd`), if any."""
        return self.raw.get("engines", EMPTY).get(product)

    def hooks(self) -> Iterator[tuple[str, int, Hook]]:
        """Every loop hook as (kind, index within its list, hook), steps first."""
        for kind, field in HOOK_KINDS:
            for index, hook in enumerate(self.raw.get(field, ())):
                yield kind, index, hook
