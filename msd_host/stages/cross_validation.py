"""Stage 5, cross-validation: what a candidate needs of the others, a prune that is the same in any order (spec 10, M7)."""

from __future__ import annotations

from ..context import LoadContext
from ..model.candidate import Candidate
from ..model.cohort import Coherent, Distinct, Reviewed
from ..model.fault import Fault
from ..rules.cross import Fallen, Supply, prune
from ..sieve import sift
from .marker import stage


@stage
def msd_stage_cross_validation(cohort: Distinct | Reviewed, context: LoadContext) -> Coherent:
    product = context.product
    supply = product.first_party.derived(
        ("supply", product.contract), lambda: Supply(product.first_party.capabilities, product.contract)
    )
    fallen = {skip.id: Fallen(skip.code, skip.culprits) for skip in cohort.skips if skip.id != "*"}
    faults = prune([c.capability for c in cohort.candidates if c.capability is not None], supply, fallen)

    def judge(candidate: Candidate) -> tuple[Fault, ...]:
        return faults.get(candidate.id, ())

    return sift(cohort, Coherent, "cross_validation", judge, context)
