"""Stage 1, discover: every candidate with all evidence about it. The one stage that reads; it judges nothing."""

from __future__ import annotations

from ..context import LoadContext
from ..model.cohort import Discovered
from ..reading.bundles import find_candidates
from ..reading.sources import Sources
from .marker import stage


@stage
def msd_stage_discover(sources: Sources, context: LoadContext) -> Discovered:
    candidates, diagnostics = find_candidates(sources)
    return Discovered(tuple(candidates), diagnostics=tuple(diagnostics))
