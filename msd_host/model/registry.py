"""The composed registry: one immutable value every consumer reads (spec 10, Build; reference, section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from .capability import Capability, Hook
from .frozen import FrozenDict, thaw

if TYPE_CHECKING:
    from .report import OverlayReport

__all__ = ["PointHooks", "Registry"]


@frozen(unsafe_hash=False)
class PointHooks:
    """The hooks of one loop point in rendering order; each is `{capId, …}` as its manifest declares it."""

    steps: tuple[Hook, ...] = ()
    contributions: tuple[Hook, ...] = ()
    gates: tuple[Hook, ...] = ()


@frozen(unsafe_hash=False)
class Registry:
    """Every derived view over first-party and accepted overlays alike.

    `overlay` is None when nothing was composed and there is nothing to say; then the registry is the
    frozen first-party object itself.
    """

    version: str
    capabilities: FrozenDict[str, Capability]
    by_skill: FrozenDict[str, str]
    by_agent: FrozenDict[str, str]
    by_loop_point: FrozenDict[str, PointHooks]
    config_keys: FrozenDict[str, str]
    config_schema: FrozenDict[str, FrozenDict[str, Any]]
    runtimes: FrozenDict[str, Capability]
    command_families: FrozenDict[str, FrozenDict[str, str]]
    clusters: FrozenDict[str, tuple[str, ...]]
    profiles: FrozenDict[str, FrozenDict[str, Any]]
    reviewers: FrozenDict[str, FrozenDict[str, Any]]
    overlay: OverlayReport | None = field(default=None)

    def requires_closure(self, capability_id: str) -> tuple[str, ...]:
        """Ids that *capability_id* needs, directly or not, sorted; `()` for an unknown id."""
        seen: set[str] = set()
        queue = [capability_id]
        while queue:
            known = self.capabilities.get(queue.pop())
            fresh = [r for r in known.requires if r not in seen] if known is not None else []
            seen.update(fresh)
            queue.extend(fresh)
        return tuple(sorted(seen))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the source document's names (`bySkill`, `byLoopPoint`, `_overlay`, …)."""
        answer = {name: self._view(attribute) for name, attribute in VIEWS.items()}
        if self.overlay is not None:
            answer["_overlay"] = self.overlay.to_dict()
        return answer

    def _view(self, attribute: str) -> Any:
        value = getattr(self, attribute)
        if attribute in ("capabilities", "runtimes"):
            return {k: thaw(c.raw) for k, c in value.items()}
        if attribute == "by_loop_point":
            return {
                point: {
                    "steps": thaw(hooks.steps),
                    "contributions": thaw(hooks.contributions),
                    "gates": thaw(hooks.gates),
                }
                for point, hooks in value.items()
            }
        return thaw(value)


#: JSON name of each view and the attribute that holds it, in the order in which they are written.
VIEWS: FrozenDict[str, str] = FrozenDict(
    {
        "version": "version",
        "capabilities": "capabilities",
        "bySkill": "by_skill",
        "byAgent": "by_agent",
        "byLoopPoint": "by_loop_point",
        "configKeys": "config_keys",
        "configSchema": "config_schema",
        "runtimes": "runtimes",
        "commandFamilies": "command_families",
        "capabilityClusters": "clusters",
        "profileMembership": "profiles",
        "reviewers": "reviewers",
    }
)
