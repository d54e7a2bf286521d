"""How claims settle: who holds a name when an owner falls, whom a message blames, and hooks that wait for each other."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msd_host import Veto, hookimpl
from msd_host.reading.files import Files
from msd_host.rules.flow import Node, PointFlow, knotted
from tests.planted import World, gate, manifest, step


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class TestOneIdInTwoScopes:
    @pytest.mark.parametrize("fault", [{"requires": ["nobody"]}, {"role": "wat"}, {"engines": {"msd": ">=99"}}])
    def test_a_faulty_global_one_does_not_take_the_project_one_along(self, world: World, fault: dict[str, Any]) -> None:
        world.add_global("acme", **fault)
        world.add_project("acme", skills=["acme-skill"])
        world.grant("acme")
        overlay = world.load().overlay
        assert overlay is not None
        assert {id: scope.label for id, scope in overlay.accepted.items()} == {"acme": "project"}
        assert [(s.id, s.scope.label) for s in overlay.warnings] == [("acme", "global")]

    def test_a_sound_global_one_wins_and_the_message_says_which(self, world: World) -> None:
        world.add_global("acme")
        world.add_project("acme")
        world.grant("acme")
        skip = world.skips()["acme"]
        assert (skip.scope.label, skip.code.value) == ("project", "id-collision")
        assert 'is owned by the global "acme" already' in skip.reason

    def test_what_the_fallen_global_one_held_goes_to_the_next(self, world: World) -> None:
        world.add_global("acme", skills=["shared"], requires=["nobody"])
        world.add_project("acme")
        world.add_project("zeta", skills=["shared"])
        world.grant("acme")
        world.grant("zeta")
        assert world.accepted() == {"acme", "zeta"}
        assert world.load().by_skill["shared"] == "zeta"


class TestWhoIsBlamed:
    def test_first_party_is_called_so(self, tmp_path: Path) -> None:
        from msd_host import MSD

        world = World(tmp_path, MSD)
        skill = next(iter(world.host.baseline.by_skill))
        world.add_global("acme", skills=[skill])
        assert "(first-party)" in world.skips()["acme"].reason

    def test_a_requirement_that_waits_for_consent(self, world: World) -> None:
        world.add_global("needs", requires=["other"])
        world.add_project("other")
        skip = world.skips()["needs"]
        assert 'requires "other", which was skipped (unconsented)' in skip.reason
        assert skip.culprits == ("other",)

    def test_a_requirement_with_a_fault_of_its_own(self, world: World) -> None:
        world.add_global("needs", requires=["other"])
        world.add_global("other", role="wat")
        assert "which was skipped (manifest-invalid)" in world.skips()["needs"].reason

    def test_a_requirement_that_lost_a_claim_names_the_winner(self, world: World) -> None:
        world.add_global("aa", skills=["shared"])
        world.add_global("bb", skills=["shared"])
        world.add_global("cc", requires=["bb"])
        skip = world.skips()["cc"]
        assert 'requires "bb", which lost to "aa" (skill-collision)' in skip.reason
        assert skip.culprits == ("bb", "aa")

    def test_a_requirement_that_gets_its_claim_from_one_that_falls_is_there(self, world: World) -> None:
        world.add_global("aa", skills=["shared"], requires=["nobody"])
        world.add_global("bb", skills=["shared"])
        world.add_global("cc", requires=["bb"])
        assert world.accepted() == {"bb", "cc"}
        assert world.codes() == {"aa": "requires"}

    def test_a_requirement_that_was_vetoed(self, tmp_path: Path) -> None:
        class Policy:
            msd_hookspecs_version = "1"

            @hookimpl
            def msd_review(self, candidate: Any) -> Veto | None:
                return Veto("not here") if candidate.id == "other" else None

        world = World(tmp_path, extensions=[("policy", Policy())])
        world.add_global("needs", requires=["other"])
        world.add_global("other")
        skips = world.skips()
        assert skips["other"].code.value == "vetoed"
        assert "which was skipped (vetoed)" in skips["needs"].reason

    def test_a_producer_that_fell_is_named(self, world: World) -> None:
        world.add_global(
            "aa", skills=["s-aa"], requires=["nobody"], steps=[step(ref={"skill": "s-aa"}, produces=["X.md"])]
        )
        world.add_global("bb", skills=["s-bb"], steps=[step(ref={"skill": "s-bb"}, consumes=["X.md"])])
        skip = world.skips()["bb"]
        assert '"aa" would have produced (requires)' in skip.reason and skip.culprits == ("aa",)


def test_many_that_want_one_name_and_cannot_stand_fall_together(world: World) -> None:
    """One after the other they once cost a load the square of their number."""
    for number in range(300):
        world.add_global(f"c{number:03}", skills=["shared"], requires=["nobody"])
    world.add_global("zz", skills=["shared"])
    stages: list[str] = []
    real = world.host._stages.call
    world.host._stages.call = lambda stage, **values: stages.append(stage) or real(stage, **values)  # type: ignore[method-assign]
    assert world.accepted() == {"zz"}
    assert set(world.codes().values()) == {"requires"}
    assert stages.count("collision") <= 6


def test_a_chain_of_freed_names_is_told_as_one_round(world: World) -> None:
    for number in range(12):
        world.add_global(f"c{number:02}", skills=[f"s{number}", f"s{number + 1}"], requires=["nobody"])
    world.add_global("last", skills=["s12"])
    overlay = world.load().overlay
    assert overlay is not None and set(overlay.accepted) == {"last"}
    assert {s.code.value for s in overlay.warnings} == {"requires"}
    told = [(t.stage, t.kept, t.dropped) for t in overlay.trace if t.stage in ("collision", "cross_validation")]
    assert len(told) == 2 and told[-1][1] == 1 and sum(t[2] for t in told) == 12


class TestNothingKnown:
    """A failure before anybody is known silences who knows what: loud at every point, and a code for `check`."""

    class Failing(Files):
        def entries(self, folder: int) -> Any:
            raise ZeroDivisionError("unforeseen")

    def test_every_point_is_loud(self, tmp_path: Path) -> None:
        world = World(tmp_path, files=self.Failing())
        world.add_global("acme", gates=[gate()])
        registry = world.load()
        assert registry.overlay is not None
        points = world.host.product.contract.points
        assert {(g.cap_id, g.point) for g in registry.overlay.blocked_gates} == {("*", p) for p in points}

    def test_check_has_a_code(self, tmp_path: Path) -> None:
        world = World(tmp_path, files=self.Failing())
        folder = world.add_global("acme")
        verdict = world.host.check(folder, cwd=world.project)
        assert not verdict.ok and verdict.code is not None and verdict.code.value == "whole-set"
        assert "ZeroDivisionError" in verdict.faults[0].message


NAMES = [f"a{n}" for n in range(5)]


def _nodes(owner: str, drawn: list[tuple[int, list[str], list[str]]]) -> tuple[Node, ...]:
    return tuple(
        Node(owner, "step", n, f"p{rank}", rank, tuple(produces), tuple(consumes))
        for n, (rank, produces, consumes) in enumerate(drawn)
    )


def _cyclic(nodes: list[Node]) -> bool:
    """Whether a way through two or more nodes leads back to its beginning, tried from scratch."""
    left = dict(enumerate(nodes))
    while left:
        free = [
            i
            for i, n in left.items()
            if not any(m.rank == n.rank and set(m.produces) & set(n.consumes) for j, m in left.items() if j != i)
        ]
        if not free:
            return True
        for i in free:
            del left[i]
    return False


_FEW = st.lists(st.sampled_from(NAMES), max_size=2, unique=True)
_OVERLAY = st.lists(st.tuples(st.integers(0, 1), _FEW, _FEW), max_size=3)


@given(st.lists(_OVERLAY, max_size=6))
def test_a_knot_is_seen_exactly_when_there_is_a_cycle(drawn: list[Any]) -> None:
    overlays = [_nodes(f"o{n}", nodes) for n, nodes in enumerate(drawn)]
    overlays = [nodes for nodes in overlays if not _cyclic(list(nodes))]
    flow = PointFlow(knotted(itertools.chain(*overlays)))
    standing: list[Node] = []
    for nodes in overlays:
        knot = flow.knot(nodes)
        assert (knot is not None) == _cyclic([*standing, *nodes])
        if knot is None:
            standing.extend(nodes)
            flow.add(nodes)
        else:
            point, owners = knot
            assert nodes and nodes[0].owner in owners and len(owners) > 1
            assert all(any(n.owner == o and n.point == point for n in [*standing, *nodes]) for o in owners)


def test_long_chains_of_two_overlays_cost_no_more_than_their_length(world: World) -> None:
    """Each chain feeds the other's next link; what this cost once grew with the cube of the length."""

    def links(id: str, first: int) -> list[dict[str, Any]]:
        return [
            step(ref={"skill": f"s-{id}"}, produces=[f"A{n + 1}.md"], consumes=[f"A{n}.md"] if n else [])
            for n in range(first, 900, 2)
        ]

    world.add_global("aa", skills=["s-aa"], steps=links("aa", 0))
    world.add_global("bb", skills=["s-bb"], steps=links("bb", 1))
    assert world.accepted() == {"aa", "bb"}
    order = [s["capId"] for s in world.load().by_loop_point["plan:pre"].steps]
    assert order == ["aa", "bb"] * 450


def test_a_cycle_through_long_chains_is_named(world: World) -> None:
    ring = [step(ref={"skill": "s-aa"}, produces=[f"A{n + 1}.md"], consumes=[f"A{n}.md"]) for n in range(0, 600, 2)]
    back = [
        step(ref={"skill": "s-bb"}, produces=[f"A{(n + 1) % 600}.md"], consumes=[f"A{n}.md"]) for n in range(1, 600, 2)
    ]
    world.add_global("aa", skills=["s-aa"], steps=ring)
    world.add_global("bb", skills=["s-bb"], steps=back)
    everything = step("discuss:pre", ref={"skill": "s-zz"}, produces=[f"A{n}.md" for n in range(600)])
    world.add_global("zz", skills=["s-zz"], steps=[everything])
    skip = world.skips()["bb"]
    assert (skip.code.value, skip.culprits) == ("cycle", ("aa",))


def test_first_party_with_a_ring_of_hooks_is_refused(tmp_path: Path) -> None:
    from msd_host import first_party_from
    from msd_host.errors import ManifestError

    root = tmp_path / "set"
    world = World(tmp_path / "w")
    for id, made, used in (("aa", "X.md", "Y.md"), ("bb", "Y.md", "X.md")):
        hooks = [step(ref={"skill": f"s-{id}"}, produces=[made], consumes=[used])]
        world.plant(root / "capabilities" / id, manifest(id, skills=[f"s-{id}"], steps=hooks))
    with pytest.raises(ManifestError, match="wait for each other"):
        first_party_from(root).capabilities  # noqa: B018
