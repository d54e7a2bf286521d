"""Our decision beside the recorded one, candidate by candidate, and whether the two say the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from attrs import frozen

from msd_host import Skip
from tests.conformance.bundle import Bundle
from tests.conformance.trees import Run

__all__ = ["ABSENT", "CONSENT", "Ours", "Pair", "agrees", "pairs", "says"]

CONSENT = frozenset({"unconsented", "consent-changed", "consent-unverifiable", "denied"})
ABSENT = "absent"  # the decision of a recording that knows nothing of a candidate of ours

#: What a recorded class of reasons is called by us. Classes that stand for several invariants: `_PHRASES`.
SAME: dict[str, frozenset[str]] = {
    "validation": frozenset({"manifest-invalid", "id-mismatch", "reserved-id"}),
    "processing-error": frozenset({"manifest-invalid"}),
    "manifest-invalid-json": frozenset({"manifest-invalid"}),
    "manifest-missing": frozenset({"manifest-missing", "manifest-unreadable"}),
    "manifest-unreadable": frozenset({"manifest-unreadable"}),
    "unconsented": CONSENT - {"denied"},
    "engines": frozenset({"engines-unsatisfied"}),
    "fragment": frozenset({"fragment-invalid"}),
    "cross-validation-throw": frozenset({"produces-collision"}),
    "compose-fallback": frozenset({"whole-set"}),
    **{
        name: frozenset({name})
        for name in "pending confinement id-collision skill-collision agent-collision config-collision family-collision".split()
    },
}

#: The invariants behind the class `cross-validation`, by the words of its reason.
_PHRASES = (
    (r'requires "[^"]*" which does not exist', "requires"),
    (r"requires cycle detected", "cycle"),
    (r"tier-monotone violation", "tier"),
    (r"runtimeCompat.* references unknown runtime", "runtime-compat"),
    (r"(step|contribution|gate)\.when ", "contract"),
    (r"contribution\.into ", "contract"),
    (r'consumes "[^"]*" which is', "consumes"),
    (r"reviewer (slug|flag|reviewsSection) ", "reviewer-collision"),
    (r'skill "[^"]*" is owned by both', "skill-collision"),
    (r'agent "[^"]*" is owned by both', "agent-collision"),
    (r'command family "[^"]*" is owned by both', "family-collision"),
    (r'config key "[^"]*" is (owned by both|declared in)', "config-collision"),
)


def says(recorded: dict[str, Any]) -> frozenset[str]:
    """The codes of ours that say what *recorded* says of a skipped candidate."""
    reason_class = recorded.get("reasonClass")
    if reason_class == "cross-validation":
        return frozenset(code for phrase, code in _PHRASES if re.search(phrase, recorded["reason"]))
    return SAME[reason_class] if reason_class is not None else frozenset()


@frozen
class Ours:
    """What we made of a candidate: `decision` is accepted, skipped or none."""

    decision: str = "none"
    scope: str = ""
    skip: Skip | None = None

    @property
    def code(self) -> str:
        return self.skip.code.value if self.skip is not None else ""

    @property
    def details(self) -> dict[str, Any]:
        return dict(self.skip.details) if self.skip is not None else {}

    @property
    def faults(self) -> tuple[Any, ...]:
        return self.skip.faults if self.skip is not None else ()

    def __str__(self) -> str:
        return f"{self.decision} ({self.scope}) {self.code}: {self.skip.reason if self.skip else ''}"


@frozen(eq=False, slots=False)
class Pair:
    """One candidate on both sides; `recorded` may be of the decision `absent`."""

    run: Run
    recorded: dict[str, Any]
    ours: Ours

    @property
    def id(self) -> str:
        return str(self.recorded["id"])

    @property
    def decision(self) -> str:
        return str(self.recorded["decision"])

    @property
    def reason_class(self) -> str:
        return str(self.recorded.get("reasonClass") or "")

    @property
    def reason(self) -> str:
        return str(self.recorded.get("reason") or "")

    @property
    def was_in(self) -> bool:
        """Whether the other system's rules let it in (it may have gone with the whole set afterwards)."""
        return self.decision in ("accepted", "dropped")

    @property
    def folder(self) -> str:
        return os.path.join(os.path.realpath(self.run.placed(self.recorded["dir"])), self.id)

    @cached_property
    def bundle(self) -> Bundle:
        where = self.ours.skip.where if self.ours.skip is not None else self.folder
        return Bundle.of(self.run, where)

    def __str__(self) -> str:
        recorded = f"{self.decision} ({self.recorded.get('scope')}) {self.reason_class} {self.reason[:200]}"
        return f"{self.id}: {self.ours}; recorded {recorded}"


def _readable(path: str) -> str:
    """A path as the recording spells it: bytes that are no UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _mine(run: Run) -> dict[str, Ours]:
    """Everything we decided, by folder."""
    overlay = run.registry.overlay
    if overlay is None:
        return {}
    found = {s.where: Ours("skipped", s.scope.label, s) for s in overlay.warnings}
    for id, scope in overlay.accepted.items():
        found[_where(run, id)] = Ours("accepted", scope.label)
    return found


def _where(run: Run, id: str) -> str:
    """The folder of an accepted overlay; `explain` is asked only where the tree holds more than one of the id."""
    tail = os.path.join(".msd", "capabilities", id, "capability.json")
    places = [os.path.dirname(path) for path in run.entries if path.endswith(os.sep + tail)]
    if len(places) == 1:
        return places[0]
    found = run.explain(id)["found"]
    return str(next(f["where"] for f in found if f["verdicts"][-1]["verdict"] == "accepted"))


def pairs(run: Run) -> Iterator[Pair]:
    """Every recorded candidate beside ours, then those of ours that the recording does not know."""
    mine = {_readable(where): ours for where, ours in _mine(run).items()}
    for recorded in run.case["recorded"]["candidates"]:
        folder = os.path.join(os.path.realpath(run.placed(recorded["dir"])), recorded["id"])
        yield Pair(run, recorded, mine.pop(folder, Ours()))
    for where, ours in mine.items():
        root, name = os.path.split(where)
        id = ours.skip.id if ours.skip is not None else name
        yield Pair(run, {"id": id, "dir": root, "scope": "", "decision": ABSENT}, ours)


def agrees(pair: Pair) -> bool:
    """The same decision in the same scope and, for a skipped one, a code that says the same."""
    recorded, ours = pair.recorded, pair.ours
    if pair.decision == "ignored":
        return ours.decision == "none"
    if ours.decision != pair.decision or ours.scope != recorded["scope"]:
        return False
    if ours.code in CONSENT:
        asked = pair.run.asked.get(pair.id)
        return ours.code in says(recorded) and (asked is None or asked.outcome != "granted")
    return ours.decision == "accepted" or ours.code in says(recorded)
