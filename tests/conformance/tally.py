"""The table of a conformance run: equal, explained per rule, unexplained."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.conformance.compare import (
    agrees,
    command_root_difference,
    gate_difference,
    pairs,
    rule_of,
    silenced_before,
    view_differences,
)
from tests.conformance.trees import Run


class Tally:
    """Counts over all cases; `unexplained` holds one line per difference without a rule."""

    def __init__(self) -> None:
        self.cases = 0
        self.equal = 0
        self.rules: dict[str, tuple[int, set[int]]] = {}
        self.unexplained: list[str] = []

    def _explained(self, rule: str, case: int) -> None:
        count, cases = self.rules.get(rule, (0, set()))
        self.rules[rule] = (count + 1, cases | {case})

    def add(self, run: Run) -> list[str]:
        """Judge one case; returns its unexplained differences."""
        number = run.case["case"]
        self.cases += 1
        found: list[str] = []
        both: set[str] = set()
        differs = False
        for pair in pairs(run):
            if agrees(pair):
                self.equal += 1
                if pair.ours.decision == "accepted":
                    both.add(pair.id)
            else:
                differs = True
                rule = rule_of(pair)
                if rule is None:
                    recorded = f"{pair.recorded['decision']} ({pair.recorded['scope']}) {pair.recorded.get('reason')}"
                    found.append(f"{number} {pair.id}: {pair.ours}; recorded {recorded}")
                else:
                    self._explained(rule, number)
            gates = gate_difference(pair)
            if gates is not None:
                found.append(f"{number} {pair.id}: {gates}")
            elif pair.ours.skip is not None and pair.ours.skip.gates and not silenced_before(pair):
                self._explained("V2", number)
            roots = command_root_difference(pair)
            if roots is not None:
                found.append(f"{number} {pair.id}: {roots}")
            elif pair.ours.decision == "accepted" and pair.ours.scope == "project" and pair.recorded.get("commandRoot"):
                self._explained("V15", number)
        found.extend(f"{number}: {d}" for d in view_differences(run, both))
        if not differs:
            found.extend(self._identity(run))
        self.unexplained.extend(found)
        return found

    @staticmethod
    def _identity(run: Run) -> Iterable[str]:
        """The kind of result, where nothing beside the candidates (a note on a ledger, say) makes a report."""
        overlay = run.composition.registry.overlay
        if overlay is not None and overlay.diagnostics and not overlay.accepted and not overlay.warnings:
            return
        ours = "base" if overlay is None else "composed" if overlay.accepted else "base+overlay"
        if ours != run.case["recorded"]["identity"]:
            yield f"{run.case['case']}: the result is {ours}, recorded {run.case['recorded']['identity']}"

    def merge(self, cases: int, equal: int, rules: dict[str, list[Any]], unexplained: list[str]) -> None:
        """Take in what another process counted."""
        self.cases += cases
        self.equal += equal
        for rule, (count, numbers) in rules.items():
            before, seen = self.rules.get(rule, (0, set()))
            self.rules[rule] = (before + count, seen | set(numbers))
        self.unexplained.extend(unexplained)

    def lines(self) -> list[str]:
        rows = [f"conformance: {self.cases} cases", f"  equal          {self.equal:>5} candidates"]
        for rule in sorted(self.rules, key=lambda r: int(r[1:])):
            count, cases = self.rules[rule]
            rows.append(f"  {rule:<4} explains  {count:>5} candidates in {len(cases)} cases")
        rows.append(f"  unexplained    {len(self.unexplained):>5}")
        return rows
