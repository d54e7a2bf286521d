"""Our decision held against the recorded one; each difference is explained by one rule, from our own evidence.

The rules are those of the conformance notes (V1 to V15). A predicate here looks at what we decided and why
(code, details, faults, roots) or at the tree itself, never at the number of a case.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

from msd_host import Scope, Skip, SkipCode
from msd_host.remedies import is_valid_id
from msd_host.rules.flow import nodes_of
from tests.conformance.trees import Run, content_of, product

CONSENT = {"unconsented", "consent-changed", "consent-unverifiable", "denied"}

#: What a recorded class of reasons may be called by us.
SAME = {
    "validation": {"manifest-invalid", "id-mismatch", "reserved-id", "engines-invalid"},
    "cross-validation": {
        "requires",
        "consumes",
        "cycle",
        "tier",
        "runtime-compat",
        "contract",
        "reviewer-collision",
        "config-collision",
        "skill-collision",
        "agent-collision",
        "family-collision",
        "produces-collision",
    },
    "cross-validation-throw": {"produces-collision"},
    "unconsented": {"unconsented", "consent-changed", "consent-unverifiable"},
    "engines": {"engines-unsatisfied", "engines-invalid"},
    "manifest-missing": {"manifest-missing", "manifest-unreadable"},
    "manifest-unreadable": {"manifest-unreadable"},
    "manifest-invalid-json": {"manifest-invalid"},
    "pending": {"pending"},
    "skill-collision": {"skill-collision"},
    "agent-collision": {"agent-collision"},
    "config-collision": {"config-collision"},
    "family-collision": {"family-collision"},
    "id-collision": {"id-collision"},
    "confinement": {"confinement"},
    "processing-error": {"manifest-invalid"},
    "fragment": {"fragment-invalid"},
    "compose-fallback": set(),
}

OWN_FAULTS = {
    "manifest-invalid",
    "manifest-unreadable",
    "id-mismatch",
    "reserved-id",
    "engines-unsatisfied",
    "engines-invalid",
    "fragment-invalid",
    "contract",
    "confinement",
}


@frozen(eq=False)
class Ours:
    """What we made of one recorded candidate: `decision` is accepted, skipped or none."""

    decision: str
    scope: str
    skip: Skip | None = None

    @property
    def code(self) -> str:
        return self.skip.code.value if self.skip is not None else ""

    @property
    def details(self) -> dict[str, Any]:
        return dict(self.skip.details) if self.skip is not None else {}

    def __str__(self) -> str:
        return f"{self.decision} ({self.scope}) {self.code} {self.skip.reason if self.skip else ''}"


@frozen(eq=False)
class Pair:
    """One recorded candidate beside ours."""

    run: Run
    recorded: dict[str, Any]
    ours: Ours

    @property
    def id(self) -> str:
        return str(self.recorded["id"])

    @property
    def reason(self) -> str:
        return str(self.recorded.get("reasonClass") or "")

    @property
    def folder(self) -> str:
        return os.path.join(os.path.realpath(self.run.placed(self.recorded["dir"])), self.id)

    def manifest(self) -> bytes:
        """The manifest's bytes as the tree has them."""
        wanted = os.path.join(self.folder, "capability.json")
        for entry in self.run.case["tree"]:
            if "path" in entry and entry["kind"] == "regular":
                path = os.path.join(str(self.run.root), entry["path"])
                if os.path.realpath(os.path.dirname(path)) == os.path.dirname(wanted) and path.endswith(
                    "/capability.json"
                ):
                    return content_of(entry)
        return b""


def pairs(run: Run) -> Iterator[Pair]:
    overlay = run.composition.registry.overlay
    accepted = dict(overlay.accepted) if overlay is not None else {}
    skips = list(overlay.warnings) if overlay is not None else []
    for recorded in run.case["recorded"]["candidates"]:
        folder = os.path.join(os.path.realpath(run.placed(recorded["dir"])), recorded["id"])
        mine = [s for s in skips if s.where == folder]
        where = {c.where: c for c in run.composition.cohort.candidates if c.id in accepted}
        if mine:
            ours = Ours("skipped", mine[0].scope.label, mine[0])
        elif folder in where:
            ours = Ours("accepted", accepted[where[folder].id].label)
        else:
            ours = Ours("none", "")
        yield Pair(run, recorded, ours)


def agrees(pair: Pair) -> bool:
    """The same decision in the same scope, for the same kind of reason."""
    recorded, ours = pair.recorded, pair.ours
    if recorded["decision"] == "ignored":
        return ours.decision == "none"
    if recorded["decision"] == "accepted":
        return ours.decision == "accepted" and ours.scope == recorded["scope"]
    return ours.decision == "skipped" and ours.scope == recorded["scope"] and ours.code in SAME[pair.reason]


# The rules, most specific evidence first.


def v10(pair: Pair) -> bool:
    """Links, dot-folders and invalid names: reported by us or not a candidate at all."""
    if pair.ours.decision == "none":
        return pair.id.startswith(".") or not is_valid_id(pair.id)
    return pair.ours.code in ("bundle-symlink", "invalid-id")


def v14(pair: Pair) -> bool:
    """The folder lies under no root of ours: the served project is found by other rules."""
    roots = pair.run.composition.roots
    ours = [r.path for r in (roots.global_root, roots.project_root) if r is not None and r.there]
    return pair.ours.decision == "none" and os.path.dirname(pair.folder) not in ours


def v12(pair: Pair) -> bool:
    """The roots relate so that the global one is project ground, or the store is not the user's alone."""
    roots = pair.run.composition.roots
    tightened = roots.global_scope is Scope.PROJECT and pair.recorded["scope"] == "global"
    refused = roots.store_refusal is not None and pair.ours.code in CONSENT
    return (tightened and pair.ours.scope == "project") or refused


def v1(pair: Pair) -> bool:
    """Consent comes first; and what does not decode, or cannot be vouched for, was never agreed to."""
    if pair.ours.code not in CONSENT or pair.ours.scope != "project":
        return False
    granted = any(g["id"] == pair.id and g["matches_bytes"] for g in pair.run.case["grants"])
    return pair.recorded["decision"] == "skipped" or not granted or pair.id in pair.run.refused


def v4(pair: Pair) -> bool:
    """What once broke the whole set is judged one by one: the innocent are in, the culprit is out."""
    return pair.recorded["decision"] == "dropped" and pair.ours.decision in ("accepted", "skipped")


def v9(pair: Pair) -> bool:
    """No link is followed and sizes are smaller than theirs; a byte order mark is no fault."""
    if pair.ours.decision == "accepted":
        return pair.reason == "manifest-invalid-json" and pair.manifest().startswith(b"\xef\xbb\xbf")
    return pair.ours.code in ("manifest-unreadable", "fragment-invalid") and pair.ours.details.get("read") in (
        "symlink",
        "too-large",
        "encoding",
    )


def v8(pair: Pair) -> bool:
    """Ranges and host versions: judged by npm's own grammar, PEP 440, and padded releases."""
    if pair.ours.code in ("engines-unsatisfied", "engines-invalid"):
        return pair.reason not in SAME or pair.reason == "validation"
    return pair.reason == "engines" and pair.ours.decision == "accepted"


def v6(pair: Pair) -> bool:
    """A key of the product's own, or one its patterns match, also as a prefix."""
    return pair.ours.code == "config-collision" and bool(pair.ours.details.get("central"))


def v11(pair: Pair) -> bool:
    """Names compared without regard to case, words of the command line, names of clusters."""
    if not pair.ours.code.endswith("-collision"):
        return False
    details = pair.ours.details
    if "reserved" in details or "cluster" in details:
        return True
    name, registry = str(details.get("name", "")), pair.run.composition.registry
    owner = registry.capabilities.get(str(details.get("owner", "")))
    spelled = json.dumps(owner.raw, ensure_ascii=False) if owner is not None else ""
    return bool(name) and json.dumps(name, ensure_ascii=False) not in spelled and name.casefold() in spelled.casefold()


def v7(pair: Pair) -> bool:
    """Contributions take part in what is produced and consumed."""
    if pair.ours.code in ("consumes", "produces-collision"):
        return pair.ours.details.get("kind") == "contribution" or pair.ours.code == "produces-collision"
    return (
        pair.ours.decision == "accepted"
        and "consumes" in str(pair.recorded.get("reason"))
        and _fed(pair, "contribution")
    )


def v3(pair: Pair) -> bool:
    """Order decides nothing: needs are met by whoever stands, who fell holds nothing, own faults come first."""
    reason = str(pair.recorded.get("reason"))
    if pair.ours.decision == "accepted":
        return (
            pair.reason.startswith("cross-validation")
            and (
                (("requires" in reason) and _requires_overlays(pair))
                or ("consumes" in reason and _fed(pair, "step"))
                or ("owned by" in reason or "declared" in reason)
            )
            or (pair.reason.endswith("-collision") and _owner_fell(pair))
        )
    if pair.ours.code in OWN_FAULTS:
        return pair.reason.endswith("-collision") or pair.reason.startswith("cross-validation")
    if pair.ours.code in ("requires", "consumes", "runtime-compat"):
        return bool(pair.ours.skip and pair.ours.skip.culprits) or pair.reason == "pending" or _needs_fell(pair)
    return pair.ours.code in ("pending",) or (
        pair.ours.code.endswith("-collision") and bool(pair.ours.skip and pair.ours.skip.culprits)
    )


def v5(pair: Pair) -> bool:
    """Stricter rules for the manifest and its JSON."""
    return pair.ours.code in ("manifest-invalid", "reserved-id")


RULES: dict[str, Callable[[Pair], bool]] = {
    "V14": v14,
    "V10": v10,
    "V12": v12,
    "V1": v1,
    "V4": v4,
    "V9": v9,
    "V8": v8,
    "V6": v6,
    "V11": v11,
    "V7": v7,
    "V3": v3,
    "V5": v5,
}


def _capability(pair: Pair) -> Any:
    return pair.run.composition.registry.capabilities[pair.id]


def _requires_overlays(pair: Pair) -> bool:
    overlay = pair.run.composition.registry.overlay
    return overlay is not None and any(r in overlay.accepted for r in _capability(pair).requires)


def _fed(pair: Pair, kind: str) -> bool:
    """Whether an accepted overlay's *kind* of hook produces, in time, what the candidate consumes."""
    registry, contract = pair.run.composition.registry, product().contract
    overlay = registry.overlay
    wanted = {(n.rank, a) for n in nodes_of(_capability(pair), contract) for a in n.consumes}
    return overlay is not None and any(
        made == artifact and node.rank <= rank
        for id in overlay.accepted
        for node in nodes_of(registry.capabilities[id], contract)
        if node.kind == kind
        for made in node.produces
        for rank, artifact in wanted
    )


def _owner_fell(pair: Pair) -> bool:
    """Whether the name in question has no other owner with us: whoever had it fell."""
    registry = pair.run.composition.registry
    mine = _capability(pair)
    views = (registry.by_skill, registry.by_agent, registry.config_keys)
    names = (mine.skills, mine.agents, mine.config)
    return all(view[n] == pair.id for view, owned in zip(views, names) for n in owned)


def _needs_fell(pair: Pair) -> bool:
    """Whether something recorded as standing and needed here was skipped by us."""
    stood = {c["id"] for c in pair.run.case["recorded"]["candidates"] if c["decision"] == "accepted"}
    overlay = pair.run.composition.registry.overlay
    fell = {s.id for s in overlay.warnings} if overlay is not None else set()
    return bool(stood & fell)


def rule_of(pair: Pair) -> str | None:
    """The name of the rule that explains a difference, None when none does."""
    return next((name for name, rule in RULES.items() if rule(pair)), None)


def declared_gates(pair: Pair) -> set[str]:
    """The known gate points in the manifest's text, read leniently and apart from our own decoder."""
    data = pair.manifest()
    if len(data) > product().limits.manifest_bytes:
        return set()  # more than the host is willing to look at
    try:
        document = json.loads(data.decode("utf-8-sig", "replace"), object_pairs_hook=list)
    except (ValueError, RecursionError):
        return set()
    members = document if isinstance(document, list) else []
    gates = [g for m in members if isinstance(m, tuple) and m[0] == "gates" and isinstance(m[1], list) for g in m[1]]
    points = {m[1] for g in gates if isinstance(g, list) for m in g if isinstance(m, tuple) and m[0] == "point"}
    return {p for p in points if isinstance(p, str)} & set(product().contract.points)


def gate_difference(pair: Pair) -> str | None:
    """How our gate records of a skipped candidate differ from what its manifest declares (V2)."""
    skip = pair.ours.skip
    if skip is None or skip.code in (SkipCode.INVALID_ID, SkipCode.BUNDLE_SYMLINK, SkipCode.MANIFEST_UNREADABLE):
        return None
    overlay = pair.run.composition.registry.overlay
    assert overlay is not None
    silenced = {g.point for g in overlay.blocked_gates if g.cap_id == skip.id and g.scope is skip.scope}
    declared = declared_gates(pair)
    if not declared <= set(skip.gates) or not set(skip.gates) <= silenced:
        return f"gates {sorted(skip.gates)} (silenced {sorted(silenced)}), declared {sorted(declared)}"
    return None


def silenced_before(pair: Pair) -> bool:
    """Whether the other system recorded this skipped candidate's gates as well."""
    return bool(pair.recorded.get("gateRecorded"))


def command_root_difference(pair: Pair) -> str | None:
    """How the folder for command modules differs from the recorded one, where both accepted (V15 put aside)."""
    overlay = pair.run.composition.registry.overlay
    if overlay is None or pair.ours.decision != "accepted" or pair.recorded["decision"] != "accepted":
        return None
    ours = overlay.command_roots.get(pair.id)
    theirs = bool(pair.recorded.get("commandRoot"))
    if (ours is not None) != theirs:
        return f"command root {ours}, recorded {theirs}"
    if ours is None:
        return None
    if pair.ours.scope == "project":
        return None if f"{os.sep}store{os.sep}" in ours else f"command root {ours} is not in the store"
    return None if ours == pair.folder else f"command root {ours}, recorded {pair.folder}"


def view_differences(run: Run, both: set[str]) -> Iterator[str]:
    """Every derived entry owned by an id accepted on both sides that is not as recorded."""
    document = run.composition.registry.to_dict()
    for view, change in run.case["recorded"]["views"].items():
        if view == "byLoopPoint":
            yield from _hook_differences(document[view], change["set"], both)
            continue
        for key, recorded in change["set"].items():
            owner = _owner(view, key, recorded)
            if owner in both and not _equal(document.get(view, {}).get(key), recorded):
                yield f"{view}[{key}]: {document.get(view, {}).get(key)!r}, recorded {recorded!r}"
        if set(change["del"]) and view != "version":
            yield f"{view}: entries were recorded as deleted"


def _owner(view: str, key: str, value: Any) -> str:
    if view in ("bySkill", "byAgent", "configKeys"):
        return str(value)
    if view == "configSchema":
        return str(value["owner"])
    return str(value["capId"]) if view == "commandFamilies" else key


def _hook_differences(ours: Any, recorded: Any, both: set[str]) -> Iterator[str]:
    for point, lists in recorded.items():
        for kind, theirs in lists.items():
            for id in both:
                mine = [h for h in ours[point][kind] if h["capId"] == id]
                if not _equal(mine, [h for h in theirs if h["capId"] == id]):
                    yield f"byLoopPoint[{point}].{kind} of {id}"


def _equal(one: Any, other: Any) -> bool:
    """Equal JSON, integers beyond 2^53 being rounded in the record."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, (int, float)) and isinstance(other, (int, float)) and not isinstance(one, bool):
        return one == other or (abs(one) > 2**53 and float(one) == float(other))
    return bool(one == other)
