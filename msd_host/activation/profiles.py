"""Which capabilities a profile gives: its tiers, what the user added, and all they lean on (spec 40, Profiles and surface).

Pure. A profile is named after the highest tier it holds; a capability of a higher one comes in when one of its
skills is added by name, or when something that is in requires it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model.capability import TIERS
from ..model.registry import Registry

__all__ = ["installed_by"]


def installed_by(
    registry: Registry, profile: str, added: Iterable[str] = (), named: Iterable[str] = ()
) -> frozenset[str]:
    """The ids that *profile*, the skill stems *added* and the ids *named* give, with everything they require."""
    most = TIERS.index(profile)
    found = {id for id, c in registry.capabilities.items() if TIERS.index(c.tier) <= most}
    found |= {registry.by_skill[stem] for stem in added if stem in registry.by_skill}
    found |= {id for id in named if id in registry.capabilities}
    waiting = list(found)
    for id in waiting:  # grows while it is walked
        for other in registry.capabilities[id].requires:
            if other in registry.capabilities and other not in found:
                found.add(other)
                waiting.append(other)
    return frozenset(found)
