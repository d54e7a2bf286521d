"""Stage 4, collision: faults of a candidate's own, then exclusive claims, a fold in candidate order (spec 10, M6)."""

from __future__ import annotations

from contextlib import suppress

from ..context import LoadContext
from ..contract import LoopContract
from ..model.candidate import Candidate
from ..model.cohort import Consented, Distinct
from ..model.fault import Fault
from ..rules.claims import ClaimTable, Facts, Holder, facts_of
from ..rules.flow import knotted
from ..rules.own import own_faults
from ..sieve import sift
from .marker import stage


@stage
def msd_stage_collision(cohort: Consented, context: LoadContext) -> Distinct:
    product = context.product
    base = product.first_party.derived(
        ("claims", product.contract), lambda: ClaimTable.of(product.first_party.capabilities, product.contract)
    )
    known = _facts(cohort, product.contract)
    table = ClaimTable(base, knotted(node for facts in known.values() for node in facts.nodes))

    def judge(candidate: Candidate) -> tuple[Fault, ...]:
        capability = candidate.capability
        facts = None if capability is None else known.get(candidate.key) or facts_of(capability, product.contract)
        faults = own_faults(candidate, facts, context)
        if facts is not None and not faults:
            faults = table.objections(facts)
            if not faults:
                table.take(facts, Holder(candidate.scope, candidate.key))
        return faults

    return sift(cohort, Distinct, "collision", judge, context)


def _facts(cohort: Consented, contract: LoopContract) -> dict[tuple[str, str], Facts]:
    """What each candidate would own. One that has no answer is left out; its own judgement meets the error again."""
    known: dict[tuple[str, str], Facts] = {}
    for candidate in cohort.candidates:
        with suppress(Exception):
            if candidate.capability is not None:
                known[candidate.key] = facts_of(candidate.capability, contract)
    return known
