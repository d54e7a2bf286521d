"""Stage 6, build: first-party and what was accepted, through the one builder (spec 10, M3)."""

from __future__ import annotations

from ..context import LoadContext
from ..model.cohort import Coherent
from ..model.registry import Registry
from ..registry.builder import build_registry
from .marker import stage


@stage
def msd_stage_build(cohort: Coherent, context: LoadContext) -> Registry:
    first_party = context.product.first_party.capabilities
    overlays = [c.capability for c in cohort.candidates if c.capability is not None]
    return build_registry([*first_party, *overlays], context.product.contract, frozenset(c.id for c in first_party))
