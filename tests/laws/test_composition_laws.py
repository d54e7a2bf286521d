"""The laws of composition (spec 80, Laws), over generated worlds through the real pipeline."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from msd_host import Capability, Scope, SkipCode
from msd_host.model.candidate import Candidate
from msd_host.model.cohort import Coherent, Cohort, Consented, Deduped, Distinct, Reviewed, Skip
from msd_host.model.frozen import freeze
from msd_host.rules.cross import Supply, prune
from msd_host.rules.flow import nodes_of
from msd_host.stages.marker import stage
from tests.laws.worlds import IDS, accepted, candidate, cohorts, compose, documents, fell_back, product_of, stages
from tests.planted import bare_product, gate, manifest

CONTRACT = bare_product().contract


@given(cohorts())
def test_conservation_each_candidate_is_accepted_or_skipped_and_never_both(found: list[Candidate]) -> None:
    registry, _ = compose(found)
    assert not fell_back(registry)
    skipped = [s.id for s in registry.overlay.warnings] if registry.overlay else []
    assert sorted([*accepted(registry), *skipped]) == sorted(c.id for c in found)


@given(cohorts(), st.randoms())
def test_permutation_invariance_of_everything_there_is_to_say(found: list[Candidate], random: Any) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    assert compose(shuffled)[0] == compose(found)[0]


@given(cohorts())
def test_loudness_every_gate_of_a_skipped_one_is_recorded(found: list[Candidate]) -> None:
    registry, _ = compose(found)
    if registry.overlay is None:
        return
    by_id = {c.id: c for c in found}
    expected = {(s.id, p) for s in registry.overlay.warnings for p in by_id[s.id].gates}
    assert {(g.cap_id, g.point) for g in registry.overlay.blocked_gates} == expected
    assert set(registry.overlay.incompatible_gate_cap_ids) == {id for id, _ in expected}


@given(cohorts())
def test_one_owner_per_claim_whatever_the_case_of_its_letters(found: list[Candidate]) -> None:
    registry, _ = compose(found)
    skills = [s.casefold() for c in registry.capabilities.values() for s in c.skills]
    assert len(skills) == len(set(skills))
    keys = [k for c in registry.capabilities.values() for k in c.config]
    for one, other in itertools.permutations(keys, 2):
        same_owner = registry.config_keys[one] == registry.config_keys[other]
        assert same_owner or not other.startswith(one + ".")


@given(cohorts())
def test_who_lost_a_claim_lost_it_to_one_that_stands(found: list[Candidate]) -> None:
    registry, _ = compose(found)
    for skip in registry.overlay.warnings if registry.overlay else ():
        if skip.code in (SkipCode.SKILL_COLLISION, SkipCode.CONFIG_COLLISION, SkipCode.PRODUCES_COLLISION):
            assert set(skip.culprits) <= set(registry.capabilities), skip


@st.composite
def first_party_and_overlays(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[Candidate]]:
    own_ids = draw(st.lists(st.sampled_from(IDS), unique=True, max_size=3))
    own = [draw(documents(id)) for id in own_ids]
    # what ships is clean on its own; keep of the draw what is
    registry, _ = compose([candidate(m) for m in own])
    kept = [m for m in own if m["id"] in accepted(registry)]
    return kept, draw(cohorts())


@given(first_party_and_overlays())
def test_first_party_is_a_sub_map_and_keeps_the_order_it_has_alone(
    drawn: tuple[list[dict[str, Any]], list[Candidate]],
) -> None:
    own, found = drawn
    product = product_of(own)
    alone, _ = compose([], product)
    composed, _ = compose(found, product)
    assert not fell_back(composed)
    for view in ("capabilities", "by_skill", "by_agent", "config_keys", "config_schema", "clusters", "profiles"):
        assert getattr(alone, view).items() <= getattr(composed, view).items()
    own_ids = {m["id"] for m in own}
    for point, hooks in alone.by_loop_point.items():
        for kind in ("steps", "contributions", "gates"):
            left = tuple(h for h in getattr(composed.by_loop_point[point], kind) if h["capId"] in own_ids)
            assert left == getattr(hooks, kind)
    assert not own_ids & accepted(composed)


@given(cohorts(), st.sampled_from(IDS))
def test_adding_an_overlay_and_removing_it_again_is_identity(found: list[Candidate], id: str) -> None:
    without = [c for c in found if c.id != id]
    before, _ = compose(without)
    compose([*without, candidate(manifest(id, skills=["s1"]))])
    assert compose(without)[0] == before


@st.composite
def vetoes(draw: st.DrawFn) -> tuple[list[Candidate], frozenset[str]]:
    return draw(cohorts()), frozenset(draw(st.lists(st.sampled_from(IDS), unique=True)))


def veto_of(names: frozenset[str]) -> Any:
    def review(cohort: Coherent, context: Any) -> tuple[Reviewed, tuple[()]]:
        kept = tuple(c for c in cohort.candidates if c.id not in names)
        said = tuple(
            Skip(c.id, c.scope, c.where, "review", SkipCode.VETOED, "no", by="t:e", gates=c.gates, sighting=c.key)
            for c in cohort.candidates
            if c.id in names
        )
        return Reviewed(kept, cohort.skips + said, cohort.sightings, cohort.diagnostics), ()

    return review


@given(vetoes())
def test_a_veto_only_subtracts(drawn: tuple[list[Candidate], frozenset[str]]) -> None:
    found, names = drawn
    with_vetoes, _ = compose(found, review=veto_of(names))
    without, _ = compose(found)
    assert not fell_back(with_vetoes)
    assert accepted(with_vetoes) <= accepted(without) - names


def test_a_veto_only_subtracts_in_every_world_of_three_overlays() -> None:
    """Random worlds mostly keep little, so the small ones are enumerated: stems, one requires edge each, vetoes."""
    trios = itertools.product(["", "s1", "s2"], repeat=3)
    seen = kept = 0
    for stems in trios:
        for needs in itertools.product(["", "aa", "bb", "cc"], repeat=3):
            found = [
                candidate(manifest(id, skills=[s] if s else [], requires=[n] if n else []))
                for id, s, n in zip(("aa", "bb", "cc"), stems, needs)
            ]
            without = accepted(compose(found)[0])
            for names in ({"aa"}, {"bb"}, {"aa", "cc"}):
                result = accepted(compose(found, review=veto_of(frozenset(names)))[0])
                assert result <= without - names
                seen += 1
                kept += bool(result)
    assert seen == 27 * 64 * 3 and kept > 500


def from_scratch(capabilities: list[Capability]) -> set[str]:
    """An independent, naive judge of cross-validation: recompute everything until nothing falls."""
    left = list(capabilities)
    while True:
        ids = {c.id: c for c in left}
        fallen = {c.id for c in left if not _stands(c, ids)}
        if not fallen:
            return set(ids)
        left = [c for c in left if c.id not in fallen]


def _stands(capability: Capability, ids: dict[str, Capability]) -> bool:
    rank = {"core": 0, "standard": 1, "full": 2}
    if any(r not in ids or rank[ids[r].tier] > rank[capability.tier] for r in capability.requires):
        return False
    seen: set[str] = set()
    queue = list(capability.requires)
    while queue:
        at = queue.pop()
        if at == capability.id:
            return False
        if at not in seen and at in ids:
            seen.add(at)
            queue.extend(ids[at].requires)
    everybody = [n for c in ids.values() for n in nodes_of(c, CONTRACT)]
    for node in nodes_of(capability, CONTRACT):
        for artifact in node.consumes:
            host = CONTRACT.available.get(artifact)
            if host is not None and host <= CONTRACT.index[node.point]:
                continue
            late = {"step": 0, "contribution": 1}
            at = (CONTRACT.index[node.point], late[node.kind])
            if not any(
                artifact in n.produces and (CONTRACT.index[n.point], late[n.kind]) <= at and n != node
                for n in everybody
            ):
                return False
    return True


@given(st.lists(st.sampled_from(IDS), unique=True, min_size=1).flatmap(lambda ids: st.tuples(*map(documents, ids))))
def test_the_incremental_verdict_is_the_verdict_from_scratch(drawn: tuple[dict[str, Any], ...]) -> None:
    capabilities = [Capability(freeze(m)) for m in drawn]
    gone = prune(capabilities, Supply((), CONTRACT))
    assert {c.id for c in capabilities} - set(gone) == from_scratch(capabilities)


def ghost(cohort: Cohort) -> Cohort:
    return Consented((*cohort.candidates, candidate(manifest("ghost"))), cohort.skips)


def loser(cohort: Cohort) -> Cohort:
    return Consented(cohort.candidates[1:], cohort.skips)


def rewriter(cohort: Cohort) -> Cohort:
    changed = evolve(cohort.candidates[0], capability=Capability(freeze(manifest("aa", title="Other"))))
    return Consented((changed, *cohort.candidates[1:]), cohort.skips)


def loosener(cohort: Cohort) -> Cohort:
    return Consented(tuple(evolve(c, scope=Scope.FIRST_PARTY) for c in cohort.candidates), cohort.skips)


def wrong_state(cohort: Cohort) -> Cohort:
    return Distinct(cohort.candidates, cohort.skips)


def crasher(cohort: Cohort) -> Cohort:
    raise RecursionError("deep")


@pytest.mark.parametrize("breach", [ghost, loser, rewriter, loosener, wrong_state, crasher])
def test_a_stage_that_breaks_the_law_of_narrowing_falls_back_loudly(breach: Any) -> None:
    class Broken:
        @staticmethod
        @stage
        def msd_stage_consent(cohort: Deduped, context: Any) -> Any:
            return breach(cohort)

    found = [candidate(manifest("aa", gates=[gate()])), candidate(manifest("bb"))]
    registry, _ = compose(found, sealed=stages(consent=Broken))
    assert fell_back(registry) and not accepted(registry)
    assert registry.overlay is not None
    assert {s.code for s in registry.overlay.warnings} == {SkipCode.WHOLE_SET}
    assert [g.cap_id for g in registry.overlay.blocked_gates] == ["aa"]


@settings(max_examples=30)
@given(cohorts(), st.sets(st.sampled_from(IDS), min_size=1, max_size=2))
def test_fallback_is_exactly_first_party_and_loses_no_gate(found: list[Candidate], poison: set[str]) -> None:
    class Fussy:
        @staticmethod
        @stage
        def msd_stage_build(cohort: Coherent, context: Any) -> Any:
            if poison <= {c.id for c in cohort.candidates}:
                raise ValueError("these do not go together")
            from msd_host.stages.build import msd_stage_build

            return msd_stage_build(cohort, context)

    product = product_of([manifest("own")])
    normal, _ = compose(found, product)
    registry, _ = compose(found, product, sealed=stages(build=Fussy))
    if not poison <= accepted(normal):
        assert registry == normal
        return
    assert registry.capabilities is compose([], product)[0].capabilities
    assert registry.overlay is not None
    assert set(registry.overlay.warnings[len(normal.overlay.warnings if normal.overlay else ())].culprits) == poison
    by_id = {c.id: c for c in found}
    expected = {(s.id, p) for s in registry.overlay.warnings if s.id != "*" for p in by_id[s.id].gates}
    assert {(g.cap_id, g.point) for g in registry.overlay.blocked_gates} == expected
