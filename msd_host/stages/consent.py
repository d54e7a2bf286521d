"""Stage 3, consent: what the user of this machine agreed to, byte for byte (spec 20).

Runs before anything of a project manifest is judged or told: the texts here are fixed.
"""

from __future__ import annotations

from ..context import LoadContext
from ..model.candidate import Candidate, Consent
from ..model.codes import SkipCode
from ..model.cohort import Consented, Deduped
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..model.scope import Scope
from ..sieve import sift
from .marker import stage

_TEXTS = {
    SkipCode.UNCONSENTED: "nobody on this machine has agreed to it yet",
    SkipCode.CONSENT_CHANGED: "its content changed since it was agreed to",
    SkipCode.CONSENT_UNVERIFIABLE: "its content cannot be verified",
    SkipCode.DENIED: "the user of this machine refused it",
}


@stage
def msd_stage_consent(cohort: Deduped, context: LoadContext) -> Consented:
    return sift(cohort, Consented, "consent", lambda candidate: _judge(candidate, context), context)


def _judge(candidate: Candidate, context: LoadContext) -> tuple[Fault, ...]:
    state = candidate.consent.state
    if candidate.claims_nothing and state != "denied":
        return ()  # nothing of a manifest stands behind it; it falls with its own code
    if candidate.scope is Scope.GLOBAL and state != "denied":
        return ()
    code = Consent.CODES.get(state)
    if code is None and state == "granted":
        return ()
    code = code or SkipCode.UNCONSENTED  # evidence of another scope never lets a project overlay in
    text, remedy = _TEXTS[code], None
    if context.store_problem is not None and code is not SkipCode.DENIED:
        text, remedy = f"{text}, and no agreement counts: {context.store_problem}", context.store_remedy
    return (Fault(code, text, details=FrozenDict({"state": state}), remedy=remedy),)
