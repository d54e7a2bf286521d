"""Stage 4, collision: faults of a candidate's own, then exclusive claims, a fold in candidate order (spec 10, M6)."""

from __future__ import annotations

from ..context import LoadContext
from ..model.candidate import Candidate
from ..model.cohort import Consented, Distinct
from ..model.fault import Fault
from ..rules.claims import ClaimTable, facts_of
from ..rules.own import own_faults
from ..sieve import sift
from .marker import stage


@stage
def msd_stage_collision(cohort: Consented, context: LoadContext) -> Distinct:
    product = context.product
    base = product.first_party.derived(
        ("claims", product.contract), lambda: ClaimTable.of(product.first_party.capabilities, product.contract)
    )
    table = ClaimTable(base)

    def judge(candidate: Candidate) -> tuple[Fault, ...]:
        capability = candidate.capability
        facts = None if capability is None else facts_of(capability, product.contract)
        faults = own_faults(candidate, facts, context)
        if facts is not None and not faults:
            faults = table.objections(facts)
            if not faults:
                table.take(facts)
        return faults

    return sift(cohort, Distinct, "collision", judge, context)
