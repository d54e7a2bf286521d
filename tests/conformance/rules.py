"""The rules V1 to V14 of the conformance notes as predicates over one differing candidate.

Each looks at the recorded decision, at what our own decision says of itself (code, details, faults, roots,
what `explain` tells) and, where the rule speaks of the tree, at the bundle on its own; never at the number of a
case. They exclude each other: a difference that two rules explain is as unexplained as one that none does.
V2 and V15 are not about decisions: `aspects`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import cast

from msd_host import ConsentStoreError, Fault, ManifestError, MSDError, Refused
from tests.conformance.compare import ABSENT, CONSENT, Pair, says
from tests.conformance.engines import is_range, is_version, satisfies
from tests.conformance.needs import (
    central_clash,
    fell_with,
    lost_its_owner,
    met_by,
    own_faults_first,
    tier_of_later,
)
from tests.conformance.stricter import is_meant

__all__ = ["RULES", "rules_of"]

_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
_PARITY = {
    "settings-json": "settings-json",
    "codex-toml": "toml",
    "copilot-instructions": "markdown",
    "cline-rules": "markdown-dir",
    "cursor-hooks-json": "none",
    "profile-marker-only": "none",
    "none": "none",
}


def v1_consent_first(pair: Pair) -> bool:
    """Nothing of a project candidate is told before consent, and what does not decode was never agreed to."""
    if pair.ours.code not in CONSENT or pair.ours.scope != "project" or pair.decision == ABSENT:
        return False
    if pair.reason_class == "unconsented" or pair.recorded["scope"] != "project":
        return False
    asked = pair.run.asked.get(pair.id)
    if asked is None:
        return pair.ours.code == "unconsented" and not pair.was_in
    if asked.outcome == "stale":
        return pair.ours.code == "consent-changed" and not pair.was_in
    return asked.error is not None and pair.ours.code == "unconsented" and _refusal_is_meant(pair, asked.error)


def _refusal_is_meant(pair: Pair, error: MSDError) -> bool:
    """Whether the other system refused the bundle for the same fault, never looked, or a stricter rule of ours did."""
    if isinstance(error, ManifestError):
        if pair.reason_class == "pending":
            return True
        faults = cast("tuple[Fault, ...]", error.faults)
        same = not pair.was_in and faults[0].code.value in says(pair.recorded)
        return same or is_meant(faults, pair.bundle) or all(_follows_no_link(f, pair) for f in faults)
    return isinstance(error, Refused) and pair.bundle.has_irregular()


def v3_fixed_point(pair: Pair) -> bool:
    """Needs are met by whoever stands; who fell holds nothing; faults of its own come before claims."""
    if pair.ours.decision == "accepted":
        return met_by(pair) == {"step"} or lost_its_owner(pair)
    return own_faults_first(pair) or fell_with(pair) or tier_of_later(pair)


def v4_one_by_one(pair: Pair) -> bool:
    """What broke the whole set is judged for each candidate: the innocent are in, the culprit is out."""
    if pair.decision != "dropped":
        return False
    broken = _breaks_parity(pair)
    if pair.ours.decision == "accepted":
        return not broken
    return broken and {f.path for f in pair.ours.faults} == {"$.runtime.configFormat"}


def _breaks_parity(pair: Pair) -> bool:
    runtime = pair.bundle.manifest.get("runtime") if isinstance(pair.bundle.manifest, dict) else None
    return runtime is not None and _PARITY.get(runtime["installSurface"]) != runtime["configFormat"]


def v5_stricter_manifest(pair: Pair) -> bool:
    """Every fault of the manifest is one of the stricter rules, broken by the value that lies there."""
    return pair.ours.decision == "skipped" and pair.decision != ABSENT and is_meant(pair.ours.faults, pair.bundle)


def v6_central_keys(pair: Pair) -> bool:
    """A key of the product's own, one its patterns match, or one on the way to such a key."""
    if pair.ours.code != "config-collision" or not pair.ours.details.get("central"):
        return False
    return pair.decision != ABSENT and central_clash(str(pair.ours.details["name"]))


def v7_contributions_flow(pair: Pair) -> bool:
    """Contributions produce and consume like steps."""
    if pair.ours.decision == "accepted":
        return "contribution" in met_by(pair)
    if pair.ours.code != "consumes" or not pair.was_in:
        return False
    return all(
        f.details.get("kind") == "contribution"
        and any(f.details["artifact"] in hook["consumes"] for hook in pair.bundle.hooks("contributions"))
        for f in pair.ours.faults
    )


def v8_engines(pair: Pair) -> bool:
    """Ranges and host versions by our grammar; a range that is none has its own code."""
    host = str(pair.run.case["input"]["host_version"])
    if pair.ours.decision == "accepted":
        wanted = re.search(r'\(requires engines\.msd "(.*)"\)$', pair.reason)
        return pair.reason_class == "engines" and wanted is not None and satisfies(wanted.group(1), host)
    if pair.ours.code == "engines-invalid":
        told = pair.was_in or pair.reason_class == "engines" or "engines.msd must be" in pair.reason
        return told and not is_range(pair.ours.details["range"])
    if pair.ours.code != "engines-unsatisfied" or not pair.was_in:
        return False
    return pair.ours.details["verdict"] == "unparsable_host" and not is_version(host)


def v9_reads(pair: Pair) -> bool:
    """No link is followed, fragments are bounded and UTF-8, a byte order mark is no fault."""
    if pair.ours.decision == "accepted":
        return pair.reason_class == "manifest-invalid-json" and pair.bundle.data().startswith(b"\xef\xbb\xbf")
    if pair.ours.code not in ("manifest-unreadable", "fragment-invalid"):
        return False
    return all(_follows_no_link(fault, pair) for fault in pair.ours.faults)


def _follows_no_link(fault: Fault, pair: Pair) -> bool:
    """Whether a read of ours failed for a reason of V9 that the tree shows as well."""
    code, bundle, read = fault.code.value, pair.bundle, fault.details.get("read")
    if code == "manifest-unreadable":
        return read == "symlink" and bundle.kind() == "symlink"
    hooks = [*bundle.hooks("steps"), *bundle.hooks("contributions")]
    paths = [str(hook["fragment"]["path"]) for hook in hooks if "path" in (hook.get("fragment") or {})]
    names = [os.path.normpath(path) for path in paths]
    kinds = {bundle.kind(name) for name in names}
    files = [bundle.data(name) for name in names]
    shown = {
        "symlink": "symlink" in kinds,
        "too-large": any(len(data) > 2**20 for data in files),
        "encoding": any(data.decode("utf-8", "replace").encode() != data for data in files),
    }
    return code == "fragment-invalid" and shown.get(str(read), False)


def v10_what_is_a_candidate(pair: Pair) -> bool:
    """Linked bundles and invalid names are reported, dot-folders are nothing."""
    if pair.ours.decision == "none":
        return pair.id.startswith(".") and pair.decision == "skipped"
    if pair.ours.code == "bundle-symlink":
        return pair.recorded.get("entry") == "symlink" and os.path.islink(pair.folder)
    return pair.ours.code == "invalid-id" and not _ID.fullmatch(pair.id) and pair.decision == "skipped"


def v11_names(pair: Pair) -> bool:
    """Names without regard to case, words of the command line, names of clusters."""
    details, product = pair.ours.details, pair.run.host.product
    if not pair.ours.code.endswith("-collision") or details.get("central"):
        return False
    if "reserved" in details or "cluster" in details:
        return details.get("reserved") in product.reserved_families or details.get("cluster") in product.clusters
    return _spelled_otherwise(str(details.get("name")), str(details.get("owner")), pair)


def _spelled_otherwise(name: str, owner: str, pair: Pair) -> bool:
    known = pair.run.registry.capabilities.get(owner)
    words = _strings(known.raw) if known is not None else set()
    return name not in words and name.casefold() in {word.casefold() for word in words}


def _strings(value: object) -> set[str]:
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return {s for k, v in value.items() for s in (k, *_strings(v))}
    return {s for v in value for s in _strings(v)} if isinstance(value, tuple) else set()


def v12_escalation(pair: Pair) -> bool:
    """The roots relate so that the global one is project ground, cannot be proven, or the store is not used."""
    roots, asked = pair.run.roots, pair.run.asked.get(pair.id)
    if pair.decision == ABSENT:
        unproven = roots["global"] if roots["global"]["state"] == "unknown" else None
        return pair.id == "*" and unproven is not None and pair.ours.scope == str(roots["global_scope"]) == "project"
    if pair.ours.scope == "project" and pair.recorded["scope"] == "global":
        return str(roots["global_scope"]) == "project"
    unused = roots["store_refusal"] is not None and asked is not None and isinstance(asked.error, ConsentStoreError)
    return unused and pair.ours.code in CONSENT


def v13_other_store(pair: Pair) -> bool:
    """Damage to the other system's consent file is no damage to ours."""
    asked, damaged = pair.run.asked.get(pair.id), any("consent.json" in note for note in pair.run.case["notes"])
    if pair.reason_class != "unconsented" or asked is None or asked.outcome != "granted" or not damaged:
        return False
    return pair.ours.decision == "accepted" and pair.run.explain(pair.id)["found"][-1].get("consent") == "granted"


def v14_served_project(pair: Pair) -> bool:
    """The folder lies under no root of ours, or under one the other system did not look into."""
    ours, theirs = pair.run.explain(pair.id)["looked_in"], pair.run.case["recorded"]["roots"]
    dirs = {os.path.realpath(pair.run.placed(root["dir"])) for root in theirs}
    if pair.decision == ABSENT:
        return os.path.dirname(pair.folder) not in dirs and pair.ours.scope == "project" and pair.id != "*"
    return pair.ours.decision == "none" and pair.decision != "ignored" and os.path.dirname(pair.folder) not in ours


RULES: dict[str, Callable[[Pair], bool]] = {
    "V1": v1_consent_first,
    "V3": v3_fixed_point,
    "V4": v4_one_by_one,
    "V5": v5_stricter_manifest,
    "V6": v6_central_keys,
    "V7": v7_contributions_flow,
    "V8": v8_engines,
    "V9": v9_reads,
    "V10": v10_what_is_a_candidate,
    "V11": v11_names,
    "V12": v12_escalation,
    "V13": v13_other_store,
    "V14": v14_served_project,
}


def rules_of(pair: Pair) -> list[str]:
    """The names of every rule that explains the difference; it should be exactly one."""
    return [name for name, rule in RULES.items() if rule(pair)]
