"""MSD itself as a product: the one place in the package that says what MSD's loop, words and places are (spec 70)."""

from __future__ import annotations

import os

from .contract import LoopContract, LoopStep
from .model.capability import Capability
from .model.frozen import FrozenDict
from .product import CentralSchema, FirstParty, Product
from .version import __version__

__all__ = ["LOOP", "MSD"]

LOOP = LoopContract(
    (
        LoopStep("discuss", ("discuss:pre", "discuss:post"), ("orchestrator",), ("CONTEXT.md",)),
        LoopStep(
            "plan", ("plan:pre", "plan:post"), ("researcher", "planner", "checker"), ("PLAN.md",), ("CONTEXT.md",)
        ),
        LoopStep(
            "execute",
            ("execute:pre", "execute:wave:pre", "execute:wave:post", "execute:post"),
            ("executor", "verifier"),
            ("SUMMARY.md",),
            ("PLAN.md",),
        ),
        LoopStep("verify", ("verify:pre", "verify:post"), ("orchestrator",), ("UAT.md",), ("SUMMARY.md",)),
        LoopStep("ship", ("ship:pre", "ship:post"), ("orchestrator",), (), ("UAT.md",)),
    )
)

#: Words of the command line, present and planned, that no overlay may take as a command family.
_HOST_WORDS = frozenset(
    "capability completion demo doctor help hook install list loop new plugins registry remove report schema"
    " settings state surface trust update version x".split()
)

#: Hand-authored groups of skills (reference, section 6.2); an overlay may not take one of their names.
_CLUSTERS = "core_loop audit_review milestone research_ideate workspace_state docs ui ai_eval ns_meta utility".split()


def _frozen_set() -> tuple[Capability, ...]:
    from .registry.frozen import first_party  # the generated module is large; nobody pays before the first look

    return first_party()


def _frozen_schema() -> tuple[frozenset[str], tuple[str, ...]]:
    from .registry.frozen import central_schema

    return central_schema()


MSD = Product(
    name="msd",
    title="MSD",
    version=__version__,
    contract=LOOP,
    first_party=FirstParty(_frozen_set),
    first_party_folder=os.path.join(os.path.dirname(__file__), "first_party", "capabilities"),
    central_schema=CentralSchema(_frozen_schema),
    reserved_prefixes=("msd-", "msd-core-", "anthropic-"),
    reserved_families=_HOST_WORDS,
    clusters=FrozenDict(dict.fromkeys(_CLUSTERS, ())),
)
