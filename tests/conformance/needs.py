"""What candidates of one case need of and take from each other, read off their recorded manifests."""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from typing import Any

from tests.conformance.bundle import Bundle
from tests.conformance.compare import Pair
from tests.conformance.trees import CENTRAL, product

__all__ = ["central_clash", "fell_with", "lost_its_owner", "met_by", "own_faults_first", "tier_of_later"]

_REQUIRES = re.compile(r'requires "([^"]*)" which does not exist')
_CONSUMES = re.compile(r'step at point "([^"]*)" consumes "([^"]*)" which is ')
_OWNED = re.compile(r'owns (skill|agent|config key|command family) "([^"]*)" already owned')
_CLAIMED = re.compile(r"(id|skill|agent|config|family)-collision|cross-validation(-throw)?")
#: Codes of a candidate's own faults that both systems know alike; the other one looked at claims first.
_OWN = ("engines-unsatisfied", "contract", "fragment-invalid", "confinement")


def _accepted_by_us(pair: Pair) -> set[str]:
    overlay = pair.run.registry.overlay
    return set(overlay.accepted) if overlay is not None else set()


def _recorded(pair: Pair) -> dict[str, dict[str, Any]]:
    return {c["id"]: c for c in pair.run.case["recorded"]["candidates"]}


def _came_later(pair: Pair, other: str) -> bool:
    """Whether *other* did not stand yet when the other system looked at the candidate."""
    theirs = _recorded(pair).get(other)
    if theirs is None or theirs["decision"] not in ("accepted", "dropped"):
        return True
    return (theirs["scope"], other) > (pair.recorded["scope"], pair.id)


def _rank(point: str) -> int:
    return product().contract.points.index(point)


def _producers(pair: Pair, point: str, artifact: str, kind: str) -> list[str]:
    """Accepted overlays whose hooks of *kind* have made *artifact* by *point*."""
    mine = pair.run.registry.capabilities
    return [
        id
        for id in _accepted_by_us(pair) - {pair.id}
        if any(artifact in h["produces"] and _rank(h["point"]) <= _rank(point) for h in mine[id].raw.get(kind, ()))
    ]


def _need(pair: Pair, part: str) -> str:
    """Who meets one unmet need of the record now: `step` (or a required overlay), `contribution`, `` for nobody."""
    required = _REQUIRES.search(part)
    if required is not None:
        other = required.group(1)
        return "step" if other in _accepted_by_us(pair) and _came_later(pair, other) else ""
    consumed = _CONSUMES.search(part)
    if consumed is None:
        return ""
    point, artifact = consumed.groups()
    if any(_came_later(pair, id) for id in _producers(pair, point, artifact, "steps")):
        return "step"
    return "contribution" if _producers(pair, point, artifact, "contributions") else ""


def met_by(pair: Pair) -> set[str]:
    """By what the needs that were unmet in the record are met with us; empty unless all of them are."""
    if pair.reason_class != "cross-validation" or not _has_all_it_requires(pair):
        return set()
    found = {_need(pair, part) for part in pair.reason.split("; ")}
    return set() if "" in found else found


def _has_all_it_requires(pair: Pair) -> bool:
    manifest = pair.bundle.manifest
    required = manifest.get("requires", ()) if isinstance(manifest, dict) else ()
    return all(other in pair.run.registry.capabilities for other in required)


def lost_its_owner(pair: Pair) -> bool:
    """Accepted, because the overlay that owned the name in question is not accepted with us."""
    owned = _OWNED.search(pair.reason)
    if owned is None:
        return False
    word, name = owned.groups()
    holders = [c for c in _recorded(pair).values() if c["decision"] == "accepted" and _claims(pair, c, word, name)]
    return bool(holders) and not {c["id"] for c in holders} & _accepted_by_us(pair)


def _claims(pair: Pair, candidate: dict[str, Any], word: str, name: str) -> bool:
    folder = os.path.join(os.path.realpath(pair.run.placed(candidate["dir"])), candidate["id"])
    manifest = Bundle.of(pair.run, folder).manifest or {}
    if word == "command family":
        return any(command.get("family") == name for command in manifest.get("commands", ()))
    return name in manifest.get({"skill": "skills", "agent": "agents", "config key": "config"}[word], ())


def own_faults_first(pair: Pair) -> bool:
    """Skipped for a fault of its own, where the other system had met a claim or a need before."""
    if pair.decision != "skipped" or _CLAIMED.fullmatch(pair.reason_class) is None:
        return False
    return pair.ours.code in _OWN and pair.ours.skip is not None and pair.ours.skip.stage == "collision"


def fell_with(pair: Pair) -> bool:
    """Skipped, because everything it lacks is of overlays that stood in the record and do not with us."""
    if pair.ours.code not in ("requires", "runtime-compat", "consumes") or not pair.was_in:
        return False
    stood = {id for id, c in _recorded(pair).items() if c["decision"] in ("accepted", "dropped")}
    fell = stood - _accepted_by_us(pair)
    return all(_lacks_one_of(pair, fault.details, fell) for fault in pair.ours.faults)


def _lacks_one_of(pair: Pair, details: dict[str, Any], fell: set[str]) -> bool:
    if "needs" in details:
        return details["needs"] in fell
    made = [c for c in _recorded(pair).values() if c["id"] in fell and _makes(pair, c, details["artifact"])]
    return details["kind"] == "step" and bool(made)


def _makes(pair: Pair, candidate: dict[str, Any], artifact: str) -> bool:
    folder = os.path.join(os.path.realpath(pair.run.placed(candidate["dir"])), candidate["id"])
    steps = Bundle.of(pair.run, folder).hooks("steps")
    return any(artifact in step.get("produces", ()) for step in steps)


def tier_of_later(pair: Pair) -> bool:
    """Skipped for the tier of what it requires, which did not stand yet when the other system looked."""
    if pair.ours.code != "tier" or pair.reason_class != "cross-validation":
        return False
    missing = set(_REQUIRES.findall(pair.reason))
    return str(pair.ours.details["requires"]) in missing & set(_recorded(pair))


@lru_cache(maxsize=1)
def _central() -> tuple[frozenset[str], tuple[str, ...]]:
    document = json.loads(CENTRAL.read_text(encoding="utf-8"))
    keys = frozenset([*document["validKeys"], *document["runtimeStateKeys"]])
    return keys, tuple(entry["source"] for entry in document["dynamicKeyPatterns"])


def central_clash(key: str) -> bool:
    """Whether *key* is a key of the central schema, matches one of its patterns, or shares a way with a key."""
    keys, patterns = _central()
    related = any(key.startswith(f"{k}.") or k.startswith(f"{key}.") for k in keys)
    return key in keys or related or any(re.search(pattern, key) for pattern in patterns)
