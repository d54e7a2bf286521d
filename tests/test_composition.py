"""Composition through the public API: what is accepted, what is skipped with which code, and what stays loud."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

from msd_host import MSD, Host, Registry, load_registry
from tests.planted import World, bare_product, boolean, contribution, gate, ledger, manifest, step


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_first_party_is_the_same_object_every_time(tmp_path: Path) -> None:
    assert load_registry() is load_registry()
    host = Host(MSD, home=tmp_path)
    assert host.load(cwd=tmp_path) is load_registry()
    assert load_registry().overlay is None
    assert "_overlay" not in load_registry().to_dict()


def test_a_global_overlay_is_in_every_view_like_a_first_party_one(world: World) -> None:
    world.add_global(
        "acme",
        skills=["acme-plan"],
        agents=["acme-agent"],
        config={"acme.on": boolean()},
        steps=[step(ref={"skill": "acme-plan"}, produces=["ACME.md"])],
        contributions=[contribution(fragment={"path": "f.md"})],
        gates=[gate()],
        commands=[{"family": "acme", "module": "acme.py", "router": "route"}],
        files={"f.md": "fragment text", "acme.py": "raise SystemExit('must never run')"},
    )
    registry = world.load()
    assert registry.capabilities["acme"].version == "1.0.0"
    assert registry.by_skill["acme-plan"] == registry.by_agent["acme-agent"] == "acme"
    assert registry.config_keys["acme.on"] == "acme"
    assert registry.config_schema["acme.on"]["owner"] == "acme"
    assert registry.command_families["acme"]["capId"] == "acme"
    assert registry.clusters["acme"] == ("acme-plan",)
    assert registry.profiles["acme"]["profiles"] == ("full",)
    assert registry.by_loop_point["plan:pre"].steps[0]["capId"] == "acme"
    assert registry.by_loop_point["plan:pre"].contributions[0]["fragment"]["inline"] == "fragment text"
    assert registry.by_loop_point["ship:pre"].gates[0]["blocking"] is True
    assert registry.overlay is not None and not registry.overlay.warnings


def test_a_project_overlay_is_inert_until_these_bytes_are_agreed_to(world: World) -> None:
    folder = world.add_project("acme", gates=[gate()], files={"notes.txt": "one"})
    skip = world.skips()["acme"]
    assert (skip.code.value, skip.stage, skip.gates) == ("unconsented", "consent", ("ship:pre",))
    assert "trust show acme" in (skip.remedy or "")
    world.grant("acme")
    assert world.accepted() == {"acme"}
    (folder / "notes.txt").write_text("two")
    assert world.codes() == {"acme": "consent-changed"}
    (folder / "notes.txt").write_text("one")
    assert world.accepted() == {"acme"}
    world.host.trust.revoke(world.project, "acme")
    assert world.codes() == {"acme": "unconsented"}


def test_a_denial_survives_an_edit_and_is_quiet_but_recorded(world: World) -> None:
    folder = world.add_project("acme", gates=[gate()])
    world.host.trust.deny(world.project, "acme")
    (folder / "more.txt").write_text("x")
    overlay = world.load().overlay
    assert overlay is not None
    assert [(s.code.value, s.muted) for s in overlay.warnings] == [("denied", True)]
    assert [(g.point, g.muted) for g in overlay.blocked_gates] == [("ship:pre", True)]
    world.grant("acme")
    assert world.accepted() == {"acme"}


def test_nothing_of_an_unconsented_manifest_but_its_gate_points_is_told(world: World) -> None:
    world.add_project(
        "acme", title="SECRET-TITLE", description="SECRET", version="6.6.6", skills=["secret-skill"], gates=[gate()]
    )
    registry = world.load()
    told = json.dumps(registry.to_dict()) + json.dumps(world.host.explain("acme", world.project).to_dict())
    for word in ("SECRET", "6.6.6", "secret-skill"):
        assert word not in told
    assert "ship:pre" in told


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"id": "other"}, "id-mismatch"),
        ({"role": "wat"}, "manifest-invalid"),
        ({"engines": {"msd": ">=99"}}, "engines-unsatisfied"),
        ({"engines": {"msd": ">=01.2.0"}}, "engines-invalid"),
        ({"contributions": [contribution(into="executor")]}, "contract"),
        ({"gates": [gate(when="nowhere")]}, "contract"),
        ({"contributions": [contribution(fragment={"path": "gone.md"})]}, "fragment-invalid"),
        ({"requires": ["nobody"]}, "requires"),
        ({"requires": ["acme"]}, "cycle"),
        ({"agents": ["a"], "steps": [step(consumes=["NOTHING.md"])]}, "consumes"),
        ({"agents": ["a"], "steps": [step(consumes=["PLAN.md"])]}, "consumes"),
        ({"skills": ["s", "S"]}, "skill-collision"),
        ({"agents": ["a", "a"]}, "agent-collision"),
        ({"commands": [{"family": "loop", "module": "m.py", "router": "r"}]}, "family-collision"),
        ({"runtimeCompat": {"supported": ["nowhere"], "unsupported": []}}, "runtime-compat"),
        (
            {"agents": ["a"], "steps": [step(produces=["X.md"]), step(produces=["X.md"])]},
            "produces-collision",
        ),
        (
            {
                "agents": ["a"],
                "steps": [step(produces=["X.md"], consumes=["Y.md"]), step(produces=["Y.md"], consumes=["X.md"])],
            },
            "cycle",
        ),
    ],
)
def test_each_fault_has_its_code_and_silences_no_gate(world: World, fields: dict[str, object], code: str) -> None:
    gates = [*fields.get("gates", []), gate("verify:pre")]  # type: ignore[misc]
    world.plant(world.global_folder("acme"), {**manifest("acme"), **fields, "gates": gates})
    world.add_global("good")
    registry = world.load()
    assert registry.overlay is not None
    assert set(registry.overlay.accepted) == {"good"}
    (skip,) = registry.overlay.warnings
    assert (skip.id, skip.code.value) == ("acme", code)
    assert "verify:pre" in {g.point for g in registry.overlay.blocked_gates}
    assert skip.reason and skip.remedy == f"{skip.remedy}"


def test_first_party_always_wins_and_its_views_are_untouched(tmp_path: Path) -> None:
    world = World(tmp_path, MSD)
    theirs = next(iter(load_registry().by_skill))
    owner = load_registry().by_skill[theirs]
    world.add_global("thief", skills=[theirs.upper()])
    world.add_global(owner)
    world.add_global("msd-security")
    world.add_global("docs")
    assert world.codes() == {
        "thief": "skill-collision",
        owner: "id-collision",
        "msd-security": "reserved-id",
        "docs": "id-collision",
    }
    assert world.skips()["thief"].culprits == (owner,)
    registry = world.load()
    assert registry.by_skill is load_registry().by_skill


def test_the_earlier_wins_and_global_comes_before_project(world: World) -> None:
    world.add_global("zeta", skills=["shared"])
    world.add_project("alpha", skills=["shared"])
    world.grant("alpha")
    assert world.accepted() == {"zeta"}
    skip = world.skips()["alpha"]
    assert (skip.code.value, skip.culprits) == ("skill-collision", ("zeta",))


def test_one_that_fell_holds_no_claim(world: World) -> None:
    world.add_global("aa", skills=["shared"], requires=["bb"])
    world.add_global("bb", requires=["nobody"])
    world.add_global("cc", skills=["shared"])
    assert world.accepted() == {"cc"}
    assert world.codes() == {"aa": "requires", "bb": "requires"}
    assert world.skips()["aa"].culprits == ("bb",)


def test_requires_among_overlays_does_not_depend_on_names(world: World) -> None:
    world.add_global("aa", requires=["zz"])
    world.add_global("zz")
    assert world.accepted() == {"aa", "zz"}
    world.add_global("c1", requires=["c2"])
    world.add_global("c2", requires=["c3"])
    world.add_global("c3", requires=["c1"])
    assert world.codes() == {"c1": "cycle", "c2": "cycle", "c3": "cycle"}
    assert set(world.skips()["c1"].culprits) == {"c2", "c3"}


def test_tiers_only_lean_downwards(world: World) -> None:
    world.add_global("base", tier="full")
    world.add_global("core-one", tier="core", requires=["base"])
    assert world.codes() == {"core-one": "tier"}


def test_a_contribution_feeds_no_step_at_its_own_point(world: World) -> None:
    world.add_global("feeder", contributions=[contribution(produces=["F.md"])])
    world.add_global("eater", agents=["a"], steps=[step(consumes=["F.md"])])
    world.add_global("later", agents=["b"], steps=[step("plan:post", ref={"agent": "b"}, consumes=["F.md"])])
    assert world.codes() == {"eater": "consumes"}
    assert world.accepted() == {"feeder", "later"}


def test_a_pending_one_is_deferred_and_loud(world: World) -> None:
    world.add_global("acme", gates=[gate()])
    ledger(world.home, acme={"_pending": {"since": "now"}})
    skip = world.skips()["acme"]
    assert (skip.code.value, skip.remedy) == ("pending", f"msd --home {world.home} -C {world.project} doctor --fix")
    assert skip.gates == ("ship:pre",)


def test_a_gate_does_not_vanish_with_its_bundle(world: World) -> None:
    import shutil

    world.add_project("acme", gates=[gate()])
    world.grant("acme")
    shutil.rmtree(world.project_folder("acme"))
    assert world.codes() == {"acme": "bundle-missing"}
    ledger(world.home, gone={"gates": ["verify:pre", "nonsense"]})
    overlay = world.load().overlay
    assert overlay is not None
    assert {(g.cap_id, g.point) for g in overlay.blocked_gates} == {("acme", "ship:pre"), ("gone", "verify:pre")}


def test_command_roots_need_a_committed_entry_and_project_ones_lie_in_the_store(world: World) -> None:
    command = [{"family": "acme", "module": "acme.py", "router": "r"}]
    world.add_global("acme", commands=command, files={"acme.py": ""})
    world.add_project("proj", commands=[{**command[0], "family": "proj"}], files={"acme.py": ""})
    world.grant("proj")
    overlay = world.load().overlay
    assert overlay is not None and not overlay.command_roots
    ledger(world.home, acme={})
    ledger(world.project, proj={})
    overlay = world.load().overlay
    assert overlay is not None
    assert overlay.command_roots["acme"] == str(world.global_folder("acme"))
    root = overlay.command_roots["proj"]
    assert root.startswith(str(world.home / ".msd" / "store")) and os.path.isfile(os.path.join(root, "acme.py"))


def test_a_set_that_does_not_build_falls_back_and_names_the_culprit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from msd_host.stages import build

    world = World(tmp_path)
    world.add_global("good", gates=[gate()])
    world.add_global("poison", commands=[{"family": "poison", "module": "m.py", "router": "r"}])
    ledger(world.home, poison={})
    real = build.build_registry

    def fussy(capabilities, *rest):  # type: ignore[no-untyped-def]
        if any(c.id == "poison" for c in capabilities):
            raise ValueError("cannot build with poison")
        return real(capabilities, *rest)

    monkeypatch.setattr(build, "build_registry", fussy)
    registry = world.load()
    assert registry.capabilities == world.host.baseline.capabilities
    assert registry.overlay is not None and not registry.overlay.command_roots
    whole, *each = registry.overlay.warnings
    assert (whole.id, whole.code.value, whole.culprits) == ("*", "whole-set", ("poison",))
    assert {s.id for s in each} == {"good", "poison"}
    assert all("remove poison" in (s.remedy or "") for s in registry.overlay.warnings)
    assert [(g.cap_id, g.point) for g in registry.overlay.blocked_gates] == [("good", "ship:pre")]


def test_a_broken_seal_is_seen_before_anything_is_composed(world: World) -> None:
    world.add_global("acme", gates=[gate()])
    hook = world.host._stages._hooks["msd_stage_consent"]
    hook.get_hookimpls()[0].function = lambda **_: None
    overlay = world.load().overlay
    assert overlay is not None and not overlay.accepted
    assert overlay.warnings[0].code.value == "whole-set"


def test_registries_pickle_compare_and_cannot_be_changed(world: World) -> None:
    world.add_global("acme", config={"acme.on": boolean()}, gates=[gate()])
    world.add_global("bad", role="wat")
    registry = world.load()
    again: Registry = pickle.loads(pickle.dumps(registry))
    assert again == registry == world.load()
    with pytest.raises(TypeError):
        registry.config_schema["acme.on"]["default"] = False
    with pytest.raises(TypeError):
        registry.by_skill.update(x="y")
    with pytest.raises(AttributeError):
        registry.by_skill = {}  # type: ignore[misc,assignment]


def test_two_hosts_of_two_products_live_side_by_side(tmp_path: Path) -> None:
    one = World(tmp_path / "one")
    two = World(tmp_path / "two", bare_product(name="rel", title="Rel"))
    one.add_global("acme")
    two.plant(two.home / ".rel" / "capabilities" / "acme", manifest("acme", engines={"rel": ">=1"}))
    assert one.accepted() == two.accepted() == {"acme"}


def test_remedies_reach_the_same_home_and_project_when_pasted(world: World) -> None:
    world.add_project("acme")
    assert world.skips()["acme"].remedy == (f"msd --home {world.home} -C {world.project} capability trust show acme")


def test_what_nobody_foresaw_about_one_bundle_is_that_ones_fault_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from msd_host.reading import codec

    world.add_global("good")
    world.add_global("odd")
    real = codec.Codec.decode

    def breaks(self: codec.Codec, data: bytes, folder_id: str | None) -> codec.Decoded:
        if folder_id == "odd":
            raise ZeroDivisionError("surprise")
        return real(self, data, folder_id)

    monkeypatch.setattr(codec.Codec, "decode", breaks)
    assert world.accepted() == {"good"}
    assert world.codes() == {"odd": "internal-error"}


def test_a_last_stage_that_fails_leaves_first_party_and_a_loud_fact(tmp_path: Path) -> None:
    from msd_host.stages.marker import stage
    from tests.laws.worlds import candidate, compose, stages

    class Broken:
        @staticmethod
        @stage
        def msd_stage_fallback(attempt: object, trace: object, context: object) -> object:
            raise RuntimeError("even this")

    registry, _ = compose([candidate(manifest("acme", gates=[gate()]))], sealed=stages(fallback=Broken))
    assert registry.overlay is not None
    assert [s.code.value for s in registry.overlay.warnings] == ["whole-set"]
    assert "ship:pre" in {g.point for g in registry.overlay.blocked_gates}


def test_a_global_overlay_can_be_denied_and_let_in_again(world: World) -> None:
    from msd_host import Scope

    world.add_global("acme", gates=[gate()])
    world.host.trust.deny(world.project, "acme", scope=Scope.GLOBAL)
    skip = world.skips()["acme"]
    assert (skip.code.value, skip.muted) == ("denied", True)
    assert (skip.remedy or "").endswith("capability trust grant acme --scope global")
    world.host.trust.lift_denial(world.project, "acme", scope=Scope.GLOBAL)
    assert world.accepted() == {"acme"}


def test_every_word_of_the_command_line_is_reserved() -> None:
    from msd_host.cli.words import GROUPS

    assert set(GROUPS) <= MSD.reserved_families
