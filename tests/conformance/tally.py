"""The table of a conformance run: equal, explained by one rule, unexplained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.conformance.aspects import (
    EQUAL,
    command_root,
    gate_records,
    gates,
    identity,
    stray_command_roots,
    view_faults,
)
from tests.conformance.compare import Pair, agrees, pairs
from tests.conformance.rules import rules_of
from tests.conformance.trees import Run

__all__ = ["Tally"]


class Tally:
    """Counts over all cases; `unexplained` holds one line per difference without exactly one rule.

    `equal` and `rules` count candidates, V2 their gate records and V15 their command roots; `follows` counts cases
    whose kind of result differs because of explained candidates.
    """

    def __init__(self) -> None:
        self.cases = 0
        self.equal = 0
        self.rules: dict[str, tuple[int, set[int]]] = {}
        self.follows = 0
        self.unexplained: list[str] = []

    def add(self, run: Run) -> list[str]:
        """Judge one case; returns its unexplained differences."""
        number = int(run.case["case"])
        found = [(pair, _verdict(pair)) for pair in pairs(run)]
        faults = [*self._decisions(number, found), *self._beside(number, found), *self._whole(run, found)]
        self.cases += 1
        lines = [f"{number} {run.case['theme']}: {fault}" for fault in faults]
        self.unexplained.extend(lines)
        return lines

    def _explain(self, rule: str, number: int) -> None:
        count, cases = self.rules.get(rule, (0, set()))
        self.rules[rule] = (count + 1, cases | {number})

    def _decisions(self, number: int, found: list[tuple[Pair, str]]) -> Iterator[str]:
        for pair, verdict in found:
            if verdict == EQUAL:
                self.equal += 1
            elif " " in verdict:
                yield f"{verdict}: {pair}"
            else:
                self._explain(verdict, number)

    def _beside(self, number: int, found: list[tuple[Pair, str]]) -> Iterator[str]:
        for pair, _ in found:
            for verdict in (gates(pair), command_root(pair)):
                if " " in verdict:
                    yield f"{pair.id}: {verdict}"
                elif verdict != EQUAL:
                    self._explain(verdict, number)

    def _whole(self, run: Run, found: list[tuple[Pair, str]]) -> Iterator[str]:
        both = {p.id for p, verdict in found if verdict == EQUAL and p.ours.decision == "accepted"}
        yield from gate_records(run)
        yield from stray_command_roots(run)
        yield from view_faults(run, both)
        verdict = identity(run, found)
        if verdict.startswith("follows "):
            self.follows += 1
        elif verdict != EQUAL:
            yield verdict

    def merge(self, cases: int, equal: int, rules: dict[str, list[Any]], follows: int, unexplained: list[str]) -> None:
        """Take in what another process counted."""
        self.cases += cases
        self.equal += equal
        self.follows += follows
        for rule, (count, numbers) in rules.items():
            before, seen = self.rules.get(rule, (0, set()))
            self.rules[rule] = (before + count, seen | set(numbers))
        self.unexplained.extend(unexplained)

    def counts(self) -> list[Any]:
        """What `merge` takes, as plain values."""
        rules = {rule: [count, sorted(cases)] for rule, (count, cases) in self.rules.items()}
        return [self.cases, self.equal, rules, self.follows, self.unexplained]

    def lines(self) -> list[str]:
        """The table, a line each."""
        rows = [f"conformance: {self.cases} cases", f"  equal          {self.equal:>5} candidates"]
        for rule in sorted(self.rules, key=lambda r: int(r[1:])):
            count, cases = self.rules[rule]
            what = _BESIDE.get(rule, "candidates")
            rows.append(f"  {rule:<4} explains  {count:>5} {what} in {len(cases)} cases")
        rows.append(f"  kind of result {self.follows:>5} cases differ as their explained candidates do")
        rows.append(f"  unexplained    {len(self.unexplained):>5}")
        return rows


_BESIDE = {"V2": "candidates' gates", "V15": "command roots"}


def _verdict(pair: Pair) -> str:
    """`equal`, the one rule that explains the difference, or a sentence saying that there is not exactly one."""
    if agrees(pair):
        return EQUAL
    rules = rules_of(pair)
    if len(rules) == 1:
        return rules[0]
    return f"explained by each of {', '.join(rules)}" if rules else "explained by no rule"
