"""The downstream stage: a package may veto a candidate that stands, and can say nothing else (spec 50).

Called after cross-validation, on a set that already stands; vetoes are followed by the prune alone, so they
can only subtract. Vetoes form a set: neither registration nor installation order can matter.
"""

# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false
# A hookspec has no body.
from __future__ import annotations

from typing import TYPE_CHECKING

from . import hookspec

if TYPE_CHECKING:
    from msd_host.extending.values import ReviewCandidate, ReviewContext, Veto

__all__ = ["msd_review"]


@hookspec
def msd_review(candidate: ReviewCandidate, context: ReviewContext) -> Veto | None:
    """Judge one candidate: a `Veto` takes it out of the set, None has nothing against it.

    Anything else, an exception or `SystemExit` takes it out too, with the code `stage-error`. The reviews of
    one package share ten seconds per load.
    """
