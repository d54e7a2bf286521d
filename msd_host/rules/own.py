"""A candidate's own faults: what is wrong with it whatever else is there (spec 10, Collision, first sentence)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from ..context import LoadContext
from ..engines import Verdict, judge
from ..model.candidate import Candidate
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.fault import Diagnostic, Fault
from ..model.frozen import FrozenDict
from ..text import joined, quoted
from .claims import Facts, twice
from .flow import own_cycle
from .keys import CentralKeys

__all__ = ["contract_faults", "notes", "own_faults"]


def own_faults(candidate: Candidate, facts: Facts | None, context: LoadContext) -> tuple[Fault, ...]:
    """Every fault of the candidate's own; the first names the code of its skip. No *facts* without a manifest."""
    if candidate.pending and not candidate.claims_nothing:
        return (Fault(SkipCode.PENDING, "an install or update of it is in flight"),)
    faults = [*_reserved(candidate.id, context), *candidate.faults]
    if facts is not None:
        for rule in _RULES:
            faults.extend(rule(facts.capability, context))
        faults.extend(twice(facts))
        faults.extend(_cycles(facts))
    return tuple(faults)


def _reserved(id: str, context: LoadContext) -> Iterator[Fault]:
    for prefix in context.product.reserved_prefixes:
        if id.casefold().startswith(prefix):
            details = FrozenDict({"prefix": prefix})
            yield Fault(SkipCode.RESERVED_ID, f"ids that begin with {quoted(prefix)} are reserved", details=details)
            return


def _engines(capability: Capability, context: LoadContext) -> Iterator[Fault]:
    name = context.product.name
    wanted = capability.engines(name)
    if wanted is None:
        return
    verdict = judge(wanted, context.host_version)
    details = FrozenDict({"range": wanted, "host": context.host_version, "verdict": verdict.name.lower()})
    path = f"$.engines.{name}"
    if verdict is Verdict.INVALID_RANGE:
        yield Fault(SkipCode.ENGINES_INVALID, f"{quoted(wanted)} is not a version range", path, details=details)
    elif verdict is not Verdict.SATISFIED:
        message = f"needs {context.product.title} {quoted(wanted)}; this is {quoted(context.host_version)}"
        yield Fault(SkipCode.ENGINES_UNSATISFIED, message, path, details=details)


def _contract(capability: Capability, context: LoadContext) -> Iterator[Fault]:
    return contract_faults(capability, context.product.contract.roles)


def contract_faults(capability: Capability, roles: FrozenDict[str, tuple[str, ...]]) -> Iterator[Fault]:
    """Agent roles of contributions and `when` keys (reference, section 3.1)."""
    for i, contribution in enumerate(capability.contributions):
        known = roles.get(contribution["point"], ())
        if contribution["into"] not in known:
            message = (
                f"the agent role {quoted(contribution['into'])} is not one of {joined(known)}"
                f" at {contribution['point']}"
            )
            yield Fault(SkipCode.CONTRACT, message, f"$.contributions[{i}].into")
    for kind, i, hook in capability.hooks():
        when = hook.get("when")
        if when is not None and when not in capability.config:
            message = f"{quoted(when)} is not a config key of this capability"
            yield Fault(SkipCode.CONTRACT, message, f"$.{kind}s[{i}].when")


def _central(capability: Capability, context: LoadContext) -> Iterator[Fault]:
    if not capability.config:
        return
    schema = context.product.central_schema
    central = schema.derived("rules", lambda: CentralKeys(schema))
    for key in capability.config:
        other = central.clash(key)
        if other is not None:
            message = f"the config key {quoted(key)} clashes with the host's own {quoted(other)}"
            details = FrozenDict({"claim": "config key", "name": key, "other": other, "central": True})
            yield Fault(SkipCode.CONFIG_COLLISION, message, f"$.config[{quoted(key)}]", details=details)


def _host_words(capability: Capability, context: LoadContext) -> Iterator[Fault]:
    product = context.product
    if capability.id in product.clusters:
        details = FrozenDict({"cluster": capability.id})
        yield Fault(SkipCode.ID_COLLISION, f"{quoted(capability.id)} is the name of a cluster", details=details)
    for i, command in enumerate(capability.commands):
        if command["family"] in product.reserved_families:
            message = f"{quoted(command['family'])} is a word of the {product.command} command line"
            details = FrozenDict({"reserved": command["family"]})
            yield Fault(SkipCode.FAMILY_COLLISION, message, f"$.commands[{i}].family", details=details)


def _confinement(capability: Capability, context: LoadContext) -> Iterator[Fault]:
    home = context.config_home
    if home is None or capability.runtime is None:
        return
    base = os.path.abspath(home)
    for place in ("global", "local"):
        for i, entry in enumerate(capability.runtime["artifactLayout"][place]):
            target = os.path.normpath(os.path.join(base, entry["destSubpath"]))
            if target != base and not target.startswith(base.rstrip("/") + "/"):
                path = f"$.runtime.artifactLayout.{place}[{i}].destSubpath"
                message = f"{quoted(entry['destSubpath'])} leads out of the configuration folder"
                yield Fault(SkipCode.CONFINEMENT, message, path)


def _cycles(facts: Facts) -> Iterator[Fault]:
    node = own_cycle(facts.nodes) if len(facts.nodes) > 1 else None
    if node is not None:
        details = FrozenDict({"point": node.point, "with": (node.owner,)})
        yield Fault(SkipCode.CYCLE, f"its own {node.kind}s at {node.point} wait for each other", details=details)


_RULES: tuple[Callable[[Capability, LoadContext], Iterator[Fault]], ...] = (
    _engines,
    _contract,
    _confinement,
    _central,
    _host_words,
)


def notes(candidate: Candidate, context: LoadContext) -> Iterator[Diagnostic]:
    """What is worth saying about an accepted candidate and changes nothing."""
    yield from candidate.diagnostics
    capability = candidate.capability
    if capability is None:
        return
    contract, kinds = context.product.contract, context.product.gate_kinds
    for kind, i, hook in capability.hooks():
        path = f"$.{kind}s[{i}]"
        if hook["point"] in contract.unwired:
            message = f"no workflow of the host calls {hook['point']} yet; this {kind} never renders there"
            yield Diagnostic(capability.id, "unwired-point", message, path)
        predicate = hook["check"].get("predicate") if kind == "gate" else None
        if predicate is not None and predicate["kind"] not in kinds:
            message = f"no evaluator for the predicate kind {quoted(predicate['kind'])}"
            yield Diagnostic(capability.id, "unknown-predicate", message, path)
