"""The first-party set as it was frozen at release: no JSON is parsed and no decoder imported to load it (spec 10, M2)."""

from __future__ import annotations

from ..model.capability import Capability
from ..model.frozen import freeze

__all__ = ["central_schema", "first_party"]


def first_party() -> tuple[Capability, ...]:
    """The frozen capabilities in id order."""
    from ..first_party import _registry

    return tuple(Capability(freeze(raw)) for raw in _registry.CAPABILITIES)


def central_schema() -> tuple[frozenset[str], tuple[str, ...]]:
    """(exact keys, pattern sources) of the product's own configuration."""
    from ..first_party import _registry

    return frozenset(_registry.CENTRAL_KEYS), _registry.CENTRAL_PATTERNS
