"""The harness itself: what it must not explain. A rule that explains everything would hide every fault of ours."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from msd_host import Fault, Scope, Skip, SkipCode
from msd_host.model.frozen import FrozenDict
from tests.conformance.aspects import EQUAL, gates, view_faults
from tests.conformance.compare import SAME, Ours, Pair, agrees, pairs, says
from tests.conformance.rules import rules_of
from tests.conformance.trees import Case, cases, content_of, path_of, run, write
from tests.shared import needs_shared

pytestmark = needs_shared

THEMES = ("plain", "mutants-project", "confine", "many", "special-entries")


def first_of_each_theme() -> list[Case]:
    return list({case["theme"]: case for case in reversed(cases())}.values())


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    """Every candidate of a few cases of some themes, as both sides decided it."""
    found: list[Pair] = []
    for theme in THEMES:
        for case in [c for c in cases() if c["theme"] == theme][:6]:
            found.extend(pairs(run(case, tmp_path_factory.mktemp("tree").resolve())))
    return found


def recorded() -> Iterator[dict[str, Any]]:
    return (candidate for case in cases() for candidate in case["recorded"]["candidates"])


def test_every_recorded_class_of_reasons_has_codes_of_ours() -> None:
    assert {c["reasonClass"] for c in recorded() if "reasonClass" in c} == {*SAME, "cross-validation"}
    assert all(says(c) for c in recorded() if "reasonClass" in c)
    known = {code.value for code in SkipCode}
    assert {code for c in recorded() for code in says(c)} <= known


@pytest.mark.parametrize("case", first_of_each_theme(), ids=lambda case: case["theme"])
def test_a_tree_is_written_as_recorded(case: Case, tmp_path: Path) -> None:
    write(tmp_path, case["tree"])
    for entry in case["tree"]:
        path = path_of(tmp_path, entry)
        mode = os.lstat(path).st_mode
        kinds = {"regular": stat.S_ISREG, "dir": stat.S_ISDIR, "fifo": stat.S_ISFIFO, "symlink": stat.S_ISLNK}
        assert kinds[entry["kind"]](mode), path
        if entry["kind"] == "symlink":
            assert os.readlink(path) == entry["target"].replace("{{ROOT}}", str(tmp_path))
        else:
            assert stat.S_IMODE(mode) == int(entry["mode"], 8)
        if entry["kind"] == "regular":
            assert Path(path).read_bytes() == content_of(entry)


def skipped(pair: Pair, code: SkipCode, path: str = "", **details: object) -> Pair:
    """*pair* as if we had skipped it for one fault."""
    scope = Scope.PROJECT if pair.recorded["scope"] == "project" else Scope.GLOBAL
    fault = Fault(code, "it is wrong", path, details=FrozenDict(details))
    stage = "consent" if code is SkipCode.UNCONSENTED else "collision"
    skip = Skip(pair.id, scope, pair.folder, stage, code, "it is wrong", details=fault.details, faults=(fault,))
    return Pair(pair.run, pair.recorded, Ours("skipped", scope.label, skip))


def accepted_by_both(judged: list[Pair]) -> list[Pair]:
    found = [p for p in judged if agrees(p) and p.ours.decision == "accepted"]
    assert len(found) > 20
    return found


def first_slice(pair: Pair) -> str:
    """The path of the first slice of its configuration, or of one that is not there."""
    return f'$.config["{next(iter(pair.bundle.manifest.get("config", ())), "none")}"]'


FALSE_REJECTIONS: dict[str, Callable[[Pair], Pair]] = {
    "title": lambda p: skipped(p, SkipCode.MANIFEST_INVALID, "$.title"),
    "skill": lambda p: skipped(p, SkipCode.MANIFEST_INVALID, "$.skills[0]"),
    "command": lambda p: skipped(p, SkipCode.MANIFEST_INVALID, "$.steps[0].ref.command"),
    "slice": lambda p: skipped(p, SkipCode.MANIFEST_INVALID, first_slice(p)),
    "server": lambda p: skipped(p, SkipCode.MANIFEST_INVALID, "$.mcpServers.x"),
    "servers": lambda p: skipped(p, SkipCode.MANIFEST_INVALID, "$.mcpServers"),
    "parity": lambda p: skipped(p, SkipCode.MANIFEST_INVALID, "$.runtime.configFormat"),
    "json": lambda p: skipped(p, SkipCode.MANIFEST_INVALID, "$", json=True),
    "unreadable": lambda p: skipped(p, SkipCode.MANIFEST_UNREADABLE, "", read="symlink"),
    "too large": lambda p: skipped(p, SkipCode.MANIFEST_UNREADABLE, "", read="too-large"),
    "fragment": lambda p: skipped(p, SkipCode.FRAGMENT_INVALID, "$.steps[0].fragment", read="symlink"),
    "engines": lambda p: skipped(p, SkipCode.ENGINES_UNSATISFIED, range="*", host="1.10.0", verdict="unsatisfied"),
    "range": lambda p: skipped(p, SkipCode.ENGINES_INVALID, range=">=1.0.0", host="1.10.0", verdict="invalid_range"),
    "central": lambda p: skipped(p, SkipCode.CONFIG_COLLISION, name="its.own_key", other="x", central=True),
    "skill owner": lambda p: skipped(p, SkipCode.SKILL_COLLISION, claim="skill", name="x-y-z", owner="ui"),
    "requires": lambda p: skipped(p, SkipCode.REQUIRES, needs="ui", found=False),
    "consumes": lambda p: skipped(p, SkipCode.CONSUMES, artifact="X.md", point="plan:pre", kind="contribution"),
    "pending": lambda p: skipped(p, SkipCode.PENDING),
    "link": lambda p: skipped(p, SkipCode.BUNDLE_SYMLINK),
    "name": lambda p: skipped(p, SkipCode.INVALID_ID),
    "whole set": lambda p: skipped(p, SkipCode.WHOLE_SET),
    "consent": lambda p: skipped(p, SkipCode.UNCONSENTED),
    "lost": lambda p: Pair(p.run, p.recorded, Ours()),
    "other scope": lambda p: Pair(p.run, p.recorded, attrs.evolve(p.ours, scope="first-party")),
}


@pytest.mark.parametrize("name", FALSE_REJECTIONS)
def test_no_rule_explains_a_false_rejection(name: str, judged: list[Pair]) -> None:
    for pair in accepted_by_both(judged):
        doctored = FALSE_REJECTIONS[name](pair)
        assert not agrees(doctored)
        assert rules_of(doctored) == [], f"{doctored}"


def test_no_rule_explains_a_false_acceptance(judged: list[Pair]) -> None:
    refused = [p for p in judged if agrees(p) and p.decision == "skipped"]
    assert len({p.reason_class for p in refused}) > 8
    for pair in refused:
        doctored = Pair(pair.run, pair.recorded, Ours("accepted", pair.ours.scope))
        assert not agrees(doctored)
        assert rules_of(doctored) == [], f"{doctored}"


def test_no_rule_explains_a_skip_that_was_lost(judged: list[Pair]) -> None:
    for pair in [p for p in judged if agrees(p) and p.decision == "skipped"]:
        assert rules_of(Pair(pair.run, pair.recorded, Ours())) == []


def test_a_lost_gate_is_seen(judged: list[Pair]) -> None:
    loud = [p for p in judged if p.ours.skip is not None and p.ours.skip.gates and p.id != "*"]
    assert loud
    for pair in loud:
        assert gates(pair) in (EQUAL, "V2")
        skip = attrs.evolve(pair.ours.skip, gates=pair.ours.skip.gates[1:]) if pair.ours.skip is not None else None
        quiet = Pair(pair.run, pair.recorded, attrs.evolve(pair.ours, skip=skip))
        assert " " in gates(quiet) or pair.bundle.declared_gates is None


def test_names_that_differ_in_case_alone_are_one_rule(judged: list[Pair]) -> None:
    pair = accepted_by_both(judged)[0]
    owner = next(c for c in pair.run.registry.capabilities.values() if c.skills)
    name = owner.skills[0].upper()
    doctored = skipped(pair, SkipCode.SKILL_COLLISION, claim="skill", name=name, owner=owner.id)
    assert rules_of(doctored) == ["V11"]
    same = skipped(pair, SkipCode.SKILL_COLLISION, claim="skill", name=owner.skills[0], owner=owner.id)
    assert rules_of(same) == []


def test_a_changed_view_is_seen(judged: list[Pair]) -> None:
    both = accepted_by_both(judged)
    for case in {id(pair.run): pair.run for pair in both if pair.bundle.manifest.get("skills")}.values():
        ids = {pair.id for pair in both if pair.run is case}
        assert list(view_faults(case, ids)) == []
        registry = case.registry
        gone = next(stem for stem, owner in registry.by_skill.items() if owner in ids)
        fewer = FrozenDict({stem: owner for stem, owner in registry.by_skill.items() if stem != gone})
        points = {p: attrs.evolve(hooks, steps=hooks.steps[::-1]) for p, hooks in registry.by_loop_point.items()}
        for doctored in (
            attrs.evolve(registry, by_skill=fewer),
            attrs.evolve(registry, by_loop_point=FrozenDict(points)),
        ):
            assert list(view_faults(attrs.evolve(case, registry=doctored), ids))
