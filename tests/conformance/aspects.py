"""What a composition holds beside its decisions: silenced gates, command roots, derived views, the kind of result.

Each function gives a verdict per candidate or case: `equal`, the rule that explains a difference, or
a sentence saying what is wrong (with a blank in it, so it is never taken for a rule).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from tests.conformance.compare import ABSENT, Pair
from tests.conformance.trees import Run, product

__all__ = ["EQUAL", "command_root", "gate_records", "gates", "identity", "stray_command_roots", "view_faults"]

EQUAL = "equal"
_UNREAD = ("manifest-missing", "manifest-unreadable", "bundle-symlink")
_LARGEST_MANIFEST = 2**20


def gates(pair: Pair) -> str:
    """The gates of one skipped candidate: those its manifest declares, each once, known points only (V2)."""
    if pair.ours.skip is None or pair.id == "*":
        return EQUAL
    ours = set(pair.ours.skip.gates)
    wrong = _not_declared(pair, ours)
    if wrong:
        return wrong
    if pair.decision != "skipped":
        return EQUAL  # nothing to compare with: it was let in, or not seen
    theirs = set(pair.recorded["gates"]) if pair.recorded["gateRecorded"] else set()
    if ours == theirs:
        return EQUAL
    known = theirs & set(product().contract.points)
    return "V2" if known <= ours else f"gates lost: {sorted(known - ours)}"


def _not_declared(pair: Pair, ours: set[str]) -> str:
    """How our gates differ from what the manifest says to a plain reader; empty when they do not."""
    data = pair.bundle.data()
    declared = pair.bundle.declared_gates if pair.bundle.kind() == "regular" else set()
    if pair.ours.code in _UNREAD or len(data) > _LARGEST_MANIFEST:
        declared = set()
    if declared is None:  # no JSON: whatever was salvaged must at least stand there
        made_up = {point for point in ours if f'"{point}"'.encode() not in data}
        return f"gates made up: {sorted(made_up)}" if made_up else ""
    return "" if ours == declared else f"gates are {sorted(ours)}, declared {sorted(declared)}"


def gate_records(run: Run) -> Iterator[str]:
    """Loudness: the report silences exactly the gates of its skips, one record each."""
    overlay = run.registry.overlay
    if overlay is None:
        return
    records = [(g.cap_id, g.scope, g.point, g.code) for g in overlay.blocked_gates]
    skipped = {(s.id, s.scope, point, s.code) for s in overlay.warnings for point in s.gates}
    if len(set(records)) != len(records):
        yield "gate records repeat themselves"
    if set(records) != skipped:
        yield f"gate records are not those of the skips: {sorted(set(records) ^ skipped)}"
    if set(overlay.incompatible_gate_cap_ids) != {id for id, *_ in records}:
        yield "incompatible ids are not those of the gate records"


def command_root(pair: Pair) -> str:
    """Where command modules are loaded from: the bundle of a global overlay, the store for a project's (V15)."""
    overlay = pair.run.registry.overlay
    if overlay is None or pair.ours.decision != "accepted" or pair.decision != "accepted":
        return EQUAL
    ours = overlay.command_roots.get(pair.id)
    theirs = pair.run.case["recorded"]["commandRoots"].get(pair.id)
    if (ours is None) != (theirs is None):
        return f"command root {ours}, recorded {theirs}"
    if ours is None or os.path.realpath(pair.run.placed(theirs)) == ours:
        return EQUAL
    store = os.path.join(os.path.realpath(pair.run.placed(pair.run.case["input"]["home"])), ".msd", "store")
    kept = Path(ours, "capability.json")
    same = os.path.dirname(ours) == store and kept.is_file() and kept.read_bytes() == pair.bundle.data()
    return "V15" if pair.ours.scope == "project" and same else f"command root {ours}, recorded {theirs}"


def stray_command_roots(run: Run) -> Iterator[str]:
    """Only an accepted overlay has one."""
    overlay = run.registry.overlay
    if overlay is not None and not set(overlay.command_roots) <= set(overlay.accepted):
        yield f"command roots of others than the accepted: {dict(overlay.command_roots)}"


def identity(run: Run, found: list[tuple[Pair, str]]) -> str:
    """The kind of result; another one must follow from candidates that a rule explains (V and a number)."""
    overlay, recorded = run.registry.overlay, run.case["recorded"]["identity"]
    ours = "base" if overlay is None else "composed" if overlay.accepted else "base+overlay"
    if ours == "base" and run.registry is not run.host.baseline:
        return "the result is no longer the frozen registry itself"
    if ours == recorded:
        return EQUAL
    flipped = [(pair, rule) for pair, rule in found if rule != EQUAL and _flips(pair, ours, recorded)]
    rules = sorted({rule for _, rule in flipped})
    return " ".join(["follows", *rules]) if rules else f"the result is {ours}, recorded {recorded}"


def _flips(pair: Pair, ours: str, recorded: str) -> bool:
    if "composed" in (ours, recorded):
        return (pair.ours.decision == "accepted") != (pair.decision == "accepted")
    return (pair.ours.decision == "none") != (pair.decision in ("ignored", ABSENT))


def view_faults(run: Run, both: Collection[str]) -> Iterator[str]:
    """Every derived entry of the ids accepted on both sides that is not as recorded, or not recorded at all."""
    document = run.registry.to_dict()
    for view in _OWNERS:
        change = run.case["recorded"]["views"].get(view, {"set": {}, "del": []})
        if change["del"]:
            yield f"{view} was recorded with entries deleted: {change['del']}"
        ours = _owned(view, document[view], both)
        theirs = _owned(view, change["set"], both)
        if not _equal(ours, theirs):
            keys = [k for k in {**ours, **theirs} if k not in ours or k not in theirs or not _equal(ours[k], theirs[k])]
            yield f"{view}: " + "; ".join(f"{k} is {ours.get(k)!r}, recorded {theirs.get(k)!r}" for k in keys[:3])
    yield from _hook_faults(run, document["byLoopPoint"], set(both))


#: Whose an entry is, by view.
_OWNERS = {
    "bySkill": lambda key, value: value,
    "byAgent": lambda key, value: value,
    "configKeys": lambda key, value: value,
    "configSchema": lambda key, value: value["owner"],
    "commandFamilies": lambda key, value: value["capId"],
    "capabilityClusters": lambda key, value: key,
    "profileMembership": lambda key, value: key,
    "runtimes": lambda key, value: key,
}


def _owned(view: str, entries: dict[str, Any], ids: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in entries.items() if _OWNERS[view](key, value) in ids}


def _hook_faults(run: Run, ours: dict[str, Any], both: set[str]) -> Iterator[str]:
    """Hooks of first-party and of the ids accepted on both sides, in the order in which they render."""
    base = run.host.baseline.to_dict()["byLoopPoint"]
    recorded = run.case["recorded"]["views"].get("byLoopPoint", {"set": {}})["set"]
    kept = both | set(run.host.baseline.capabilities)
    for point, lists in ours.items():
        for kind, hooks in lists.items():
            mine = [hook for hook in hooks if hook["capId"] in kept]
            theirs = [hook for hook in recorded.get(point, base[point])[kind] if hook["capId"] in kept]
            if not _equal(mine, theirs):
                order = [hook["capId"] for hook in mine], [hook["capId"] for hook in theirs]
                yield f"{kind} at {point} are of {order[0]}, recorded {order[1]}"


def _equal(one: Any, other: Any) -> bool:
    """Equal JSON values of the same types, integers beyond 2^53 being rounded in the record."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool) or not isinstance(one, (int, float)):
        return type(one) is type(other) and bool(one == other)
    if not isinstance(other, (int, float)):
        return False
    return one == other or (abs(one) > 2**53 and float(one) == float(other))
