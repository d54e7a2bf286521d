"""The seven sealed stages, in running order (spec 10, The line). Each has exactly one implementation: the host's.

A stage takes the state the one before it gave and gives the next; after each the pipeline checks that
nothing appeared, nothing loosened and nothing vanished.
"""

# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false
# A hookspec has no body.
from __future__ import annotations

from typing import TYPE_CHECKING

from . import sealed_hookspec

if TYPE_CHECKING:
    from msd_host.context import LoadContext
    from msd_host.model.cohort import (
        Accepted,
        BuildFailure,
        Coherent,
        Consented,
        Deduped,
        Discovered,
        Distinct,
        Reviewed,
    )
    from msd_host.model.registry import Registry
    from msd_host.model.report import StageTrace
    from msd_host.reading.sources import Sources

__all__ = [
    "msd_stage_build",
    "msd_stage_collision",
    "msd_stage_consent",
    "msd_stage_cross_validation",
    "msd_stage_discover",
    "msd_stage_fallback",
    "msd_stage_scope_dedupe",
]


@sealed_hookspec(firstresult=True)
def msd_stage_discover(sources: Sources, context: LoadContext) -> Discovered:
    """Find every candidate and gather all evidence about it. The only stage that reads; it drops nothing it can name."""


@sealed_hookspec(firstresult=True)
def msd_stage_scope_dedupe(cohort: Discovered, context: LoadContext) -> Deduped:
    """One physical folder, one candidate, one scope. May tighten a scope; drops second sightings, as trace only."""


@sealed_hookspec(firstresult=True)
def msd_stage_consent(cohort: Deduped, context: LoadContext) -> Consented:
    """Drop project candidates without a matching grant, and whatever the user denied."""


@sealed_hookspec(firstresult=True)
def msd_stage_collision(cohort: Consented, context: LoadContext) -> Distinct:
    """Drop candidates with faults of their own, then give each exclusive name to one owner: a fold in candidate order."""


@sealed_hookspec(firstresult=True)
def msd_stage_cross_validation(cohort: Distinct | Reviewed, context: LoadContext) -> Coherent:
    """Drop what leans on something that is not there: a prune, the same in any order."""


@sealed_hookspec(firstresult=True)
def msd_stage_build(cohort: Coherent, context: LoadContext) -> Registry:
    """First-party and the accepted candidates as one registry; raises when the whole set does not build."""


@sealed_hookspec(firstresult=True)
def msd_stage_fallback(
    attempt: Accepted | BuildFailure, trace: tuple[StageTrace, ...], context: LoadContext
) -> Registry:
    """The answer of a load: what was built, or exactly the first-party registry, with everything there is to say."""
