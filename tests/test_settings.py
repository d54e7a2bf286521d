"""Configuration layers, settings, states and switches (spec 40). Names in brackets are rows of the reference's
tables A (activation), S (state) and W (writer), and field cases."""

from __future__ import annotations

import gc
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from msd_host import MSD, FirstParty, Host, NotFound, Refused, UsageError
from msd_host.activation import store
from msd_host.activation.change import Change
from msd_host.activation.config import Config, Layer, is_truthy, read_config
from msd_host.activation.documents import put, take
from msd_host.activation.state import Activation
from msd_host.activation.switches import project_name
from msd_host.cli.app import run
from msd_host.errors import BusyError, DamagedState
from msd_host.limits import Limits
from msd_host.loop.render import envelope
from msd_host.loop.resolve import resolve
from msd_host.model.capability import Capability
from msd_host.model.frozen import freeze
from msd_host.product import CentralSchema
from msd_host.reading.files import Files
from msd_host.registry.builder import build_registry
from tests.cli import environment, msd
from tests.planted import World, bare_product, boolean, contribution, gate, is_root, manifest

NUMBER = {"type": "number", "default": 3, "description": "How many."}
TEXT = {"type": "string", "default": "x", "description": "A word."}
DEPTH = {"type": "enum", "default": "quick", "values": ["quick", "normal", "deep"], "description": "How deep."}
CENTRAL = CentralSchema(
    lambda: (
        frozenset(["mode", "runtime", "workflow.workstream", "workflow.pace", "capabilities.required"]),
        (r"^agents\.[a-z]+\.model$",),
    )
)


class Bench(World):
    """A world with central keys, whose files are written and read in one word each."""

    def __init__(self, root: Path, **host: Any) -> None:
        super().__init__(root, attrs.evolve(bare_product(), central_schema=CENTRAL), env={}, **host)
        self.project_file = self.project / ".planning" / "config.json"
        self.user_file = self.home / ".msd" / "config.json"
        self.surface_file = self.home / ".msd" / "surface.json"

    def write(self, path: Path, document: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def put(self, project: object = None, user: object = None, workstream: object = None) -> None:
        places = [(self.project_file, project), (self.user_file, user), (self.workstream_file(), workstream)]
        for path, document in places:
            if document is not None:
                self.write(path, document)

    def workstream_file(self, name: str = "w1") -> Path:
        return self.project / ".planning" / "workstreams" / name / "config.json"

    def rehost(self, **fields: Any) -> Bench:
        self.host = Host(self.host.product, home=self.home, **{"env": {}, "discover_extensions": False, **fields})
        return self

    @property
    def now(self) -> Any:
        return self.host.compose(self.project)

    def activation(self) -> Activation:
        return self.host.activation(self.now)

    def envelope(self, point: str = "ship:pre") -> dict[str, Any]:
        composition = self.now
        return envelope(resolve(composition.registry, point, self.host.activation(composition)))

    def fires(self, id: str = "acme", point: str = "ship:pre") -> list[str]:
        return [h["kind"] for h in self.envelope(point)["activeHooks"] if h["capId"] == id]

    def value(self, key: str) -> tuple[Any, str]:
        setting = self.host.settings.get(self.now, key)
        return setting.value, setting.layer

    def set(self, key: str, value: Any, **where: Any) -> Any:
        return self.host.settings.set(self.now, key, value, **where)

    def change(self, *changes: Change, **where: Any) -> Any:
        return self.host.settings.change(self.now, changes, **where)

    def acme(self, **fields: Any) -> None:
        """An overlay with one contribution and a key of each kind."""
        base: dict[str, Any] = {
            "config": {"acme.on": boolean(), "acme.n": NUMBER, "acme.depth": DEPTH, "acme.text": TEXT},
            "contributions": [contribution("ship:pre", "orchestrator", when="acme.on")],
        }
        self.add_global("acme", **{**base, **fields})


@pytest.fixture
def world(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class Shell:
    """`msd WORDS` in this process: (exit code, stdout, stderr)."""

    def __init__(self, world: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        self.world, self.capsys = world, capsys
        self.product = world.host.product

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        where = ["--home", str(self.world.home), "-C", str(self.world.project), "--no-plugins"]
        code = run(self.product, [*where, *words])
        return (code, *self.capsys.readouterr())

    def json(self, *words: str) -> Any:
        code, out, err = self(*words, "--json")
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def shell(world: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    for name in [n for n in os.environ if n.startswith("MSD_")]:
        monkeypatch.delenv(name)
    yield Shell(world, capsys)
    gc.enable()  # a run of the command line switches it off


def tree(root: Path) -> dict[str, tuple[bytes | None, int]]:
    """Every path below *root* with its bytes and mode."""
    return {
        str(p.relative_to(root)): (p.read_bytes() if p.is_file() and not p.is_symlink() else None, p.lstat().st_mode)
        for p in sorted(root.rglob("*"))
    }


def activation_of(config: Config, *manifests: dict[str, Any]) -> Activation:
    registry = build_registry(tuple(Capability(freeze(m)) for m in manifests), MSD.contract)
    return Activation(registry, config)


TRUE: list[Any] = [True, 1, 2, -1, "false", "0", [], {}, [0]]


class TestTruth:
    @pytest.mark.parametrize(
        ("value", "truth"),
        [(False, False), (0, False), (0.0, False), ("", False), (None, False)] + [(v, True) for v in TRUE],
        ids=repr,
    )
    def test_of_json_values_A6(self, value: object, truth: bool) -> None:
        assert is_truthy(value) is truth


class TestActivation:
    @pytest.mark.parametrize("when", [{}, {"when": None}], ids=["A1-absent", "A1-null"])
    def test_no_key_is_always_on(self, when: dict[str, Any]) -> None:
        document = manifest("acme", contributions=[contribution(**when)])
        assert activation_of(Config(), document).hooks("acme")[0].active

    @pytest.mark.parametrize("when", ["", True, 42, {}], ids=lambda v: f"A2-{v!r}")
    def test_a_key_that_is_no_text_is_never_on_and_is_echoed_as_it_is_S9(self, when: object) -> None:
        document = manifest("acme", contributions=[contribution(when=when)])
        hook = activation_of(Config(), document).hooks("acme")[0]
        assert (hook.configured, hook.active, hook.to_dict()["when"]) == (False, False, when)

    @pytest.mark.parametrize("when", ["", True, 42, {}], ids=lambda v: f"A2-{v!r}")
    def test_such_a_manifest_never_gets_that_far(self, world: Bench, when: object) -> None:
        world.acme(contributions=[contribution("ship:pre", "orchestrator", when=when)])
        assert world.fires() == []

    @pytest.mark.parametrize(
        ("default", "project", "on"),
        [
            pytest.param(False, True, True, id="A3-true"),
            pytest.param(True, False, False, id="A3-false"),
            pytest.param(True, None, True, id="A4-default-true"),
            pytest.param(False, None, False, id="A4-default-false"),
            pytest.param(True, False, False, id="A5-false-against-default-true"),
        ],
    )
    def test_boolean_keys(self, world: Bench, default: bool, project: bool | None, on: bool) -> None:
        world.acme(config={"acme.on": boolean(default)})
        if project is not None:
            world.put(project={"acme": {"on": project}})
        assert world.fires() == (["contribution"] if on else [])

    def test_a_key_nobody_declares_is_off_A4(self) -> None:
        document = manifest("acme", contributions=[contribution(when="acme.none")])
        assert not activation_of(Config(), document).hooks("acme")[0].configured

    @pytest.mark.parametrize(("value", "on"), [(0, False), (2, True), (0.5, True)], ids=["A6-0", "A6-2", "A6-0.5"])
    def test_number_keys_keep_their_value(self, world: Bench, value: float, on: bool) -> None:
        hook = contribution("ship:pre", "orchestrator", when="acme.n", configValues={"n": "acme.n"})
        world.acme(contributions=[hook])
        world.put(project={"acme": {"n": value}})
        assert [h["configValues"] for h in world.envelope()["activeHooks"]] == ([{"n": value}] if on else [])

    def test_the_workstream_beats_the_project_and_the_default_A7(self, world: Bench) -> None:
        world.acme()
        world.put(project={"acme": {"on": False, "n": 1}}, workstream={"acme": {"on": True}})
        world.rehost(env={"MSD_WORKSTREAM": "w1"})
        assert world.value("acme.on") == (True, "workstream")
        assert world.fires() == ["contribution"]

    def test_what_the_workstream_does_not_say_the_project_says_A8(self, world: Bench) -> None:
        world.acme()
        world.put(project={"acme": {"n": 1}}, workstream={"acme": {"on": False}})
        world.rehost(env={"MSD_WORKSTREAM": "w1"})
        assert world.value("acme.n") == (1, "project")
        world.rehost(env={"MSD_WORKSTREAM": "elsewhere"})
        assert world.value("acme.on") == (True, "default")

    @pytest.mark.parametrize(
        "name", [".", "..", "../w1", "a/b", "/abs", "a\\b", "a\nb", "\x1b[31m", ".hidden", "x" * 129]
    )
    def test_a_workstream_is_one_plain_folder_name_A9(self, world: Bench, name: str) -> None:
        """With `.` and the like out of the way, no file is two layers at once."""
        world.acme()
        world.put(project={"acme": {"n": 1}})
        world.rehost(env={"MSD_WORKSTREAM": name})
        config = world.host.config(world.host.roots(world.project))
        assert [layer.name for layer in config.layers] == ["override", "project", "user"]
        assert any("workstream" in p and p.isprintable() for p in config.problems)
        assert world.envelope()["warnings"][0]["kind"] == "config"

    @pytest.mark.parametrize("where", ["project", "user"])
    def test_a_configuration_key_names_the_workstream_when_the_environment_does_not(
        self, world: Bench, where: str
    ) -> None:
        world.acme()
        world.put(workstream={"acme": {"n": 7}}, **{where: {"workflow": {"workstream": "w1"}}})
        assert world.value("acme.n") == (7, "workstream")
        world.rehost(env={"MSD_WORKSTREAM": "w2"})
        assert world.value("acme.n") == (3, "default")

    @pytest.mark.parametrize("text", ["{ damaged", "[]", "", '{"a": 1, "a": 2}', '{"a": NaN}'], ids=repr)
    def test_a_damaged_file_is_told_once_and_defaults_apply_A10(self, world: Bench, text: str) -> None:
        world.acme()
        world.put(project=text)
        answer = world.envelope()
        assert [h["kind"] for h in answer["activeHooks"]] == ["contribution"]
        assert [w["kind"] for w in answer["warnings"]] == ["config"]
        assert str(world.project_file) in answer["warnings"][0]["message"]

    @pytest.mark.parametrize(
        "key", ["a.__proto__.b", "constructor.x", "__proto__", "acme.__class__", "acme.on.__doc__"]
    )
    def test_names_of_machinery_are_just_unknown_A11(self, world: Bench, key: str) -> None:
        world.acme()
        document: dict[str, Any] = {}
        put(document, key, True)
        world.put(project=document)
        with pytest.raises(NotFound):
            world.host.settings.get(world.now, key)

    @pytest.mark.parametrize("value", ["false", None, [], {}, 0, "", 1], ids=lambda v: f"A12-{v!r}")
    def test_a_wrong_type_is_ignored_and_told_in_state_envelope_and_explain(
        self, world: Bench, shell: Shell, value: object
    ) -> None:
        world.acme()
        world.put(project={"acme": {"on": value}})
        answer = world.envelope()
        assert [h["kind"] for h in answer["activeHooks"]] == ["contribution"]
        said = shell.json("capability", "state")["warnings"]
        explained = shell.json("settings", "explain", "acme.on")
        (layer,) = [x for x in explained["layers"] if x["layer"] == "project"]
        assert [w["message"] for w in answer["warnings"]] == said == explained["problems"]
        assert "acme.on" in said[0] and "not a boolean" in said[0]
        assert layer == {**layer, "value": value, "wins": False, "problem": "is not a boolean"}
        assert (explained["value"], explained["layer"]) == (True, "default")

    @pytest.mark.parametrize("value", ["deepest", 1, None, "Deep"], ids=lambda v: f"A13-{v!r}")
    def test_an_enum_takes_its_members_only(self, world: Bench, value: object) -> None:
        world.acme()
        world.put(project={"acme": {"depth": value}})
        assert world.value("acme.depth") == ("quick", "default")
        world.put(project={"acme": {"depth": "deep"}})
        assert world.value("acme.depth") == ("deep", "project")

    def test_a_name_with_dots_is_not_a_path_A14(self, world: Bench, shell: Shell) -> None:
        world.acme()
        world.put(project={"acme.on": False, "other.thing": 1})
        assert world.fires() == ["contribution"]
        assert "one name with dots" in world.envelope()["warnings"][0]["message"]
        assert {"layer": "project", "key": "other.thing"} in shell.json("settings", "list")["unknown"]

    def test_a_value_where_an_object_belongs_hides_nothing_A15(self, world: Bench) -> None:
        world.acme()
        world.put(project={"acme": "x"}, user={"acme": {"n": 9}})
        assert world.value("acme.n") == (9, "user")
        assert "not an object" in world.envelope()["warnings"][0]["message"]

    def test_three_segments_A16(self, world: Bench) -> None:
        world.acme(config={"acme.deep.on": boolean()}, contributions=[])
        world.put(project={"acme": {"deep": {"on": False}}})
        assert world.value("acme.deep.on") == (False, "project")
        world.put(project={"acme": {"deep": {}}})
        assert world.value("acme.deep.on") == (True, "default")

    def test_an_overlay_cannot_bring_a_slice_for_a_central_key_A17(self, world: Bench) -> None:
        world.add_global("acme", config={"mode": TEXT})
        assert world.codes() == {"acme": "config-collision"}
        assert world.value("mode") == (None, "default")
        world.put(project={"mode": 5})
        assert world.value("mode") == (5, "project")

    def test_without_a_project_there_are_defaults_and_the_user_A18(self, world: Bench, tmp_path: Path) -> None:
        world.acme()
        world.put(project={"acme": {"n": 1}}, user={"acme": {"on": False}})
        lonely = tmp_path / "lonely"
        lonely.mkdir()
        composition = world.host.compose(lonely)
        assert world.host.settings.get(composition, "acme.n").value == 3
        assert world.host.settings.get(composition, "acme.on").layer == "user"
        assert world.host.settings.set(composition, "acme.n", 4).layer == "user"

    def test_the_calling_process_overrides_every_file_S10(self, world: Bench) -> None:
        world.acme(gates=[gate(when="acme.on")])
        world.put(project={"acme": {"on": True}}, user={"acme": {"on": True}})
        world.rehost(overrides={"acme.on": False, "mode": "fast"})
        assert world.value("acme.on") == (False, "override")
        assert world.value("mode") == ("fast", "override")
        assert world.fires() == []

    @pytest.mark.parametrize(
        "overrides", [{"": 1}, {"a..b": 1}, {5: 1}, {"a": 1, "a.b": 2}, {"a.b": 2, "a": 1}, {"a": {"b": 1}}], ids=repr
    )
    def test_overrides_are_dotted_keys_and_plain_values(self, world: Bench, overrides: dict[Any, Any]) -> None:
        with pytest.raises(UsageError):
            world.rehost(overrides=overrides)

    def test_of_an_overlays_gate_the_users_word_counts_most(self, world: Bench) -> None:
        world.acme(gates=[gate(when="acme.on")], contributions=[])
        world.put(project={"acme": {"on": False}}, workstream={"acme": {"on": False}}, user={"acme": {"on": True}})
        world.rehost(env={"MSD_WORKSTREAM": "w1"})
        assert world.fires() == ["gate"]
        assert world.host.settings.explain(world.now, "acme.on").users_first
        world.put(user={"acme": {"on": False}}, project={"acme": {"on": True}})
        assert world.fires() == []
        assert "warnings" not in world.envelope()

    @pytest.mark.parametrize("layer", ["project", "workstream"])
    def test_a_gate_that_only_the_repository_turns_off_is_named(self, world: Bench, layer: str) -> None:
        world.acme(gates=[gate(when="acme.on")], contributions=[])
        world.rehost(env={"MSD_WORKSTREAM": "w1"}).put(**{layer: {"acme": {"on": False}}})
        (warning,) = world.envelope()["warnings"]
        assert (warning["kind"], warning["id"]) == ("gate-off", "acme") and layer in warning["message"]

    def test_also_when_it_does_so_through_what_the_overlay_requires(self, world: Bench) -> None:
        world.add_global("base", config={"base.on": boolean()}, activationKey="base.on")
        world.add_global("acme", requires=["base"], gates=[gate()])
        world.put(project={"base": {"on": False}})
        assert [(w["kind"], w["id"]) for w in world.envelope()["warnings"]] == [("gate-off", "acme")]

    def test_a_gate_that_is_off_anyway_is_not(self, world: Bench) -> None:
        world.acme(config={"acme.on": boolean(False)}, gates=[gate(when="acme.on")], contributions=[])
        world.put(project={"acme": {"on": False}})
        assert "warnings" not in world.envelope()

    def test_first_party_gates_follow_the_usual_order(self, tmp_path: Path) -> None:
        own = Capability(freeze(manifest("own", config={"own.on": boolean()}, gates=[gate(when="own.on")])))
        world = Bench(tmp_path)
        world.host = Host(
            attrs.evolve(world.host.product, first_party=FirstParty(lambda: (own,))), home=world.home, env={}
        )
        world.put(project={"own": {"on": False}}, user={"own": {"on": True}})
        assert world.fires("own") == []

    def test_what_the_host_loads_or_demands_is_the_users_word_alone(self, world: Bench) -> None:
        world.put(project={"capabilities": {"required": ["acme"]}})
        assert world.value("capabilities.required") == (None, "default")
        assert "user's own" in world.host.settings.explain(world.now, "capabilities.required").setting.problems[0]
        assert world.set("capabilities.required", ["acme"]).layer == "user"
        assert world.value("capabilities.required") == (("acme",), "user")
        with pytest.raises(UsageError):
            world.set("capabilities.required", ["acme"], layer="project")

    def test_a_repository_cannot_move_the_home_field_case_25(self, world: Bench) -> None:
        world.acme()
        before = world.host.trust.store_path(world.project), world.host.roots(world.project)
        world.put(project={"runtime": "elsewhere", "home": "/elsewhere", "msd": {"home": "/elsewhere"}})
        assert (world.host.trust.store_path(world.project), world.host.roots(world.project)) == before
        assert world.activation().capability("acme").active
        unknown = dict((key, layer) for layer, key in world.host.settings.unknown(world.now))
        assert unknown == {"home": "project", "msd.home": "project"}

    def test_every_declared_first_party_key_has_a_reader_field_case_29(self) -> None:
        """A key is read by a hook's `when`, an activation key, a contribution's values or a fragment that names it."""
        for capability in MSD.first_party.capabilities:
            text = json.dumps({k: v for k, v in capability.raw.items() if k not in ("config", "description")})
            skills = (
                Path(sys.modules["msd_host"].__file__ or "").parent / "first_party" / "capabilities" / capability.id
            )
            text += "".join(p.read_text() for p in skills.rglob("*.md"))
            unread = [key for key in capability.config if key not in text]
            assert not unread, (capability.id, unread)

    def test_one_meaning_of_on_field_case_30(self, world: Bench, shell: Shell) -> None:
        world.acme(activationKey="acme.on", gates=[gate()])
        world.put(user={"acme": {"on": False}})
        assert world.fires() == []
        row = shell.json("capability", "state", "acme")["capabilities"][0]
        assert (row["enabled"], row["active"], row["reason"]) == (True, False, '"acme.on" is off (user)')
        assert not any(h["active"] for h in row["hooks"])
        assert shell.json("capability", "explain", "acme")["activation"]["reason"] == row["reason"]
        listed = {r["id"]: r for r in shell.json("capability", "list")}["acme"]
        assert (listed["active"], listed["inactive"]) == (False, row["reason"])
        assert shell("loop", "render-hooks", "ship:pre", "--active-cap", "acme")[1] == "false\n"


class TestState:
    def test_an_empty_registry_S1(self, world: Bench, shell: Shell) -> None:
        assert shell.json("capability", "state") == {"capabilities": [], "skipped": [], "warnings": []}

    def test_whatever_is_composed_is_installed_and_on_S2_S4(self, world: Bench) -> None:
        world.add_global("plain")
        state = world.activation().capability("plain")
        assert (state.installed, state.surfaced, state.enabled, state.active) == (True, True, True, True)

    def test_switched_off_with_a_true_key_S5(self, world: Bench) -> None:
        world.acme()
        world.change(Change("acme", on=False))
        hook = world.activation().hooks("acme")[0]
        assert (hook.configured, hook.active, hook.layer) == (True, False, "default")

    def test_an_activation_key_that_is_off_S6_S7(self, world: Bench) -> None:
        world.acme(config={"acme.on": boolean(False)}, activationKey="acme.on", contributions=[], gates=[gate()])
        activation = world.activation()
        state, hook = activation.capability("acme"), activation.hooks("acme")[0]
        assert (state.enabled, state.active, state.configured) == (True, False, False)
        assert (hook.configured, hook.active, hook.layer) == (True, False, None)

    def test_rows_are_sorted_and_the_same_twice_S8(self, world: Bench, shell: Shell) -> None:
        for id in ("zebra", "acme", "mid"):
            world.add_global(id)
        first = shell("capability", "state", "--json")
        assert [r["id"] for r in json.loads(first[1])["capabilities"]] == ["acme", "mid", "zebra"]
        assert shell("capability", "state", "--json") == first

    def test_resolving_touches_no_file_S8(self) -> None:
        layer = Layer("project", "/nowhere", freeze({"acme": {"on": False}}))
        document = manifest("acme", config={"acme.on": boolean()}, gates=[gate(when="acme.on")])
        assert activation_of(Config((layer,)), document).hooks("acme")[0].layer == "project"

    def test_the_row_S9(self, world: Bench, shell: Shell) -> None:
        world.acme()
        (row,) = shell.json("capability", "state", "acme")["capabilities"]
        assert row == {
            "id": "acme",
            "tier": "full",
            "scope": "global",
            "installed": True,
            "surfaced": True,
            "enabled": True,
            "active": True,
            "reason": None,
            "hooks": [
                {
                    "point": "ship:pre",
                    "kind": "contribution",
                    "when": "acme.on",
                    "configured": True,
                    "active": True,
                    "layer": "default",
                }
            ],
        }

    def test_an_unknown_id_S14(self, world: Bench, shell: Shell) -> None:
        world.acme()
        code, out, err = shell("capability", "state", "acmee")
        assert (code, out) == (5, "") and 'did you mean "acme"?' in err
        assert shell("loop", "render-hooks", "plan:pre", "--active-cap", "nope")[:2] == (0, "false\n")

    def test_warnings_cost_no_answer_S15(self, world: Bench, shell: Shell) -> None:
        world.acme()
        world.put(project="{ damaged", user={"acme": {"on": "no"}})
        code, out, err = shell("capability", "state", "--json")
        assert code == 0 and len(json.loads(out)["warnings"]) == 2
        assert err.count("warning: ") == 2

    def test_a_requirement_that_is_off_takes_its_dependents_along(self, world: Bench) -> None:
        world.add_global("base")
        world.add_global("mid", requires=["base"])
        world.add_global("acme", requires=["mid"], gates=[gate()])
        (done,) = world.change(Change("base", on=False))
        assert '"mid"' in done.notes[0]
        assert world.activation().capability("acme").reason == 'it requires "mid", which is not active'
        assert world.fires() == []

    def test_a_long_chain_of_requirements(self) -> None:
        chain = [manifest("c0")] + [manifest(f"c{i}", requires=[f"c{i - 1}"]) for i in range(1, 3000)]
        assert activation_of(Config(), *chain).capability("c2999").active

    def test_text_for_people(self, world: Bench, shell: Shell) -> None:
        world.acme()
        world.add_global("old", engines={"msd": ">=99"})
        out = shell("capability", "state")[1]
        assert out.splitlines()[0].split() == ["ID", "TIER", "SCOPE", "ENABLED", "ACTIVE", "WHY", "NOT"]
        assert "skipped: $.engines.msd: needs MSD" in out
        assert "fires, acme.on (default)" in shell("capability", "state", "acme")[1]


class TestSwitches:
    def test_off_and_on_again_W1(self, world: Bench) -> None:
        world.acme(gates=[gate()])
        (off,) = world.change(Change("acme", on=False))
        assert (off.changed, off.state.active, off.state.surfaced) == (True, False, False)
        assert world.fires() == []
        here = json.loads(world.surface_file.read_text())["projects"]
        assert here == {project_name(str(world.project)): {"disabled": ["acme"]}}
        (on,) = world.change(Change("acme", on=True))
        assert on.state.active and world.fires() == ["contribution", "gate"]

    def test_gates_outlive_being_off_W2(self, world: Bench) -> None:
        world.acme(gates=[gate()])
        world.change(Change("acme", gates={"acme.on": False}))
        world.change(Change("acme", on=False))
        world.change(Change("acme", on=True))
        assert world.value("acme.on") == (False, "project")
        assert world.fires() == ["gate"]

    @pytest.mark.parametrize(
        ("change", "error"),
        [
            (Change("acmee", on=False), NotFound),
            (Change("acme", gates={"acme.onn": True}), NotFound),
            (Change("acme", gates={"other.on": True}), NotFound),
            (Change("acme", gates={"acme.on": "yes"}), Refused),  # type: ignore[dict-item]
            (Change("acme", gates={"acme.depth": True}), Refused),
            (Change("acme"), UsageError),
        ],
        ids=["W3-id", "W3-gate", "W3-another-owner", "W3-no-boolean", "W15-enum", "nothing-said"],
    )
    def test_what_is_refused_changes_nothing_also_beside_what_is_fine_W4(
        self, world: Bench, change: Change, error: type[Exception]
    ) -> None:
        world.acme()
        world.add_global("other", config={"other.on": boolean()})
        before = tree(world.root)
        fine = Change("other", on=False, gates={"other.on": False})
        for changes in ([change], [fine, change], [change, fine]):
            with pytest.raises(error):
                world.change(*changes)
        assert tree(world.root) == before

    def test_a_batch_W5(self, world: Bench) -> None:
        world.add_global("one")
        world.add_global("two")
        world.change(Change("one", on=False), Change("two", on=False))
        assert not any(world.activation().capability(id).active for id in ("one", "two"))

    def test_one_without_skills_has_a_real_switch_W6(self, world: Bench) -> None:
        world.add_global("plain", gates=[gate()])
        (done,) = world.change(Change("plain", on=False))
        assert (done.state.enabled, done.notes) == (False, ())

    def test_on_and_silent_is_told_for_what_was_touched_W7(self, world: Bench) -> None:
        world.acme()
        world.add_global("dead", config={"dead.on": boolean(False)}, gates=[gate(when="dead.on")])
        (done,) = world.change(Change("acme", gates={"acme.on": False}))
        assert [n for n in done.notes if "present but dead" in n] and "dead.on" not in str(done.notes)
        (done,) = world.change(Change("acme", on=False))
        assert not done.notes

    @pytest.mark.parametrize("which", ["config", "surface"])
    def test_a_damaged_file_leaves_both_alone_W9(self, world: Bench, which: str) -> None:
        world.acme()
        world.write(world.project_file if which == "config" else world.surface_file, "{ damaged")
        before = tree(world.root)
        with pytest.raises(DamagedState):
            world.change(Change("acme", on=False, gates={"acme.on": False}))
        assert tree(world.root) == before

    def test_null_on_the_path_gives_way_W10(self, world: Bench) -> None:
        world.acme()
        world.put(project={"acme": None, "keep": 1})
        world.change(Change("acme", gates={"acme.on": False}))
        assert json.loads(world.project_file.read_text()) == {"acme": {"on": False}, "keep": 1}

    def test_overlays_of_both_scopes_and_what_ships_are_alike_W13(self, world: Bench) -> None:
        world.add_project("mine", config={"mine.on": boolean()}, gates=[gate(when="mine.on")])
        world.grant("mine")
        assert world.fires("mine") == ["gate"]
        (done,) = world.change(Change("mine", on=False, gates={"mine.on": False}))
        assert not done.state.active and world.value("mine.on") == (False, "project")

    @pytest.mark.parametrize(
        "words",
        [
            ["--on", "--off"],
            ["--gate", "acme.on"],
            ["--gate", "acme.on=maybe"],
            ["--gate", "acme.on=True"],
            ["--gate", "--raw"],
            ["--gate", "=true"],
            ["--gate", "acme.on=true", "--gate", "acme.on=false"],
            ["--user", "--project", "--on"],
            [],
        ],
        ids=lambda w: f"W14 {' '.join(w)}",
    )
    def test_usage(self, world: Bench, shell: Shell, words: list[str]) -> None:
        world.acme()
        before = tree(world.root)
        code, out, err = shell("capability", "set", "acme", *words)
        assert (code, out) == (2, "") and err
        assert tree(world.root) == before

    def test_errors_in_json_W16(self, world: Bench, shell: Shell) -> None:
        world.acme()
        for words in (["set", "acmee", "--on"], ["enable", "acmee"], ["disable", "acmee"]):
            code, out, err = shell("capability", *words, "--json")
            assert (code, out) == (5, "") and json.loads(err)["code"] == "not-found" and "acme" in err

    def test_everywhere_and_by_name_here(self, world: Bench) -> None:
        world.acme()
        world.change(Change("acme", on=False), layer="user")
        assert world.fires() == []
        (done,) = world.change(Change("acme", on=True))
        assert done.state.active and world.fires() == ["contribution"]
        (done,) = world.change(Change("acme", on=False), layer="user")
        assert not done.changed and "stays on here" in done.notes[0]
        other = world.root / "other"
        (other / ".git").mkdir(parents=True)
        assert not world.host.activation(world.host.compose(other)).capability("acme").active

    def test_switching_on_what_is_on_writes_nothing(self, world: Bench, shell: Shell) -> None:
        world.acme()
        assert shell("capability", "enable", "acme")[1] == "acme: nothing to change; active\n"
        assert not world.surface_file.exists()

    def test_a_repository_has_no_say(self, world: Bench) -> None:
        world.acme()
        world.write(world.project / ".msd" / "surface.json", {"disabled": ["acme"]})
        assert world.fires() == ["contribution"]
        world.change(Change("acme", on=False))
        world.write(world.project / ".msd" / "surface.json", {"projects": {}, "enabled": ["acme"]})
        world.put(project={"acme": {"on": True}, "capabilities": {"enabled": ["acme"]}})
        assert world.fires() == []

    @pytest.mark.parametrize(
        "document",
        ["{", [], {"schema": 2}, {"schema": True}, {"disabled": "acme"}, {"disabled": [1]}, {"projects": []}]
        + [{"projects": {"x": []}}, {"projects": {"x": {"enabled": {}}}}],
        ids=repr,
    )
    def test_a_surface_file_that_is_not_ours_is_told_and_left_alone(self, world: Bench, document: object) -> None:
        world.acme()
        world.write(world.surface_file, document)
        answer = world.envelope()
        assert [w["kind"] for w in answer["warnings"]] == ["config"] and "surface.json" in answer["warnings"][0][
            "message"
        ]
        before = tree(world.root)
        with pytest.raises(DamagedState):
            world.change(Change("acme", on=False))
        assert tree(world.root) == before

    def test_what_else_is_in_the_surface_file_stays_in_its_order(self, world: Bench) -> None:
        world.acme()
        world.write(
            world.surface_file, {"zeta": {"b": 1, "a": 2}, "disabled": ["zzz"], "projects": {"other": {"x": 1}}}
        )
        world.change(Change("acme", on=False), layer="user")
        text = json.loads(world.surface_file.read_text())
        assert list(text) == ["zeta", "disabled", "projects", "schema"]
        assert text["zeta"] == {"b": 1, "a": 2} and text["projects"] == {"other": {"x": 1}}
        assert text["disabled"] == ["acme", "zzz"]

    def test_one_that_went_away_can_be_taken_off_the_list(self, world: Bench) -> None:
        world.write(world.surface_file, {"schema": 1, "disabled": ["gone"]})
        world.change(Change("gone", on=True), layer="user")
        assert json.loads(world.surface_file.read_text())["disabled"] == []
        with pytest.raises(NotFound):
            world.change(Change("gone", on=True), layer="user")

    def test_the_second_file_failing_takes_the_first_back(self, world: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        world.acme()
        world.put(project={"acme": {"n": 1}})
        before, real = tree(world.root), os.rename

        def rename(source: str, target: str, **where: Any) -> None:
            if target == "surface.json":
                raise OSError(5, "Input/output error")
            real(source, target, **where)

        monkeypatch.setattr(os, "rename", rename)
        with pytest.raises(DamagedState):
            world.change(Change("acme", on=False, gates={"acme.on": False}))
        assert tree(world.root) == before


class TestMuting:
    def test_a_skipped_one_that_is_switched_off_warns_nowhere_and_is_on_record(
        self, world: Bench, shell: Shell
    ) -> None:
        world.add_global("old", engines={"msd": ">=99"}, gates=[gate()])
        world.add_project("inert", gates=[gate()])
        assert len(world.envelope()["warnings"]) == 2
        (done,) = world.change(Change("old", on=False))
        assert "muted" in done.notes[0]
        assert [w["id"] for w in world.envelope()["warnings"]] == ["inert"]
        world.change(Change("inert", on=False))
        assert list(world.envelope()) == ["point", "activeHooks", "rendered"]
        skipped = {s["id"]: s for s in shell.json("capability", "state")["skipped"]}
        assert all(s["muted"] and "switched it off" in s["reason"] for s in skipped.values())
        assert skipped["old"]["code"] == "engines-unsatisfied" and skipped["inert"]["gates"] == ["ship:pre"]
        assert "old" not in shell("capability", "list")[2]
        world.change(Change("old", on=True), Change("inert", on=True))
        assert len(world.envelope()["warnings"]) == 2

    def test_denied_ones_are_muted_as_before(self, world: Bench, shell: Shell) -> None:
        world.add_project("no", gates=[gate()])
        world.host.trust.deny(world.project, "no")
        (skip,) = shell.json("capability", "state")["skipped"]
        assert (skip["muted"], skip["code"], skip["enabled"]) == (True, "denied", True)

    def test_only_an_id_can_be_muted_never_all(self, world: Bench) -> None:
        world.add_global("old", engines={"msd": ">=99"}, gates=[gate()])
        world.write(world.surface_file, {"disabled": ["*", "Old", "ol*"]})
        assert [w["id"] for w in world.envelope()["warnings"]] == ["old"]

    def test_composition_and_consent_do_not_look_at_switches(self, world: Bench) -> None:
        world.add_global("old", engines={"msd": ">=99"}, gates=[gate()])
        before = world.load()
        world.change(Change("old", on=False))
        assert world.load() == before

    def test_gates_of_a_skipped_one_cannot_be_set(self, world: Bench) -> None:
        world.add_global("old", engines={"msd": ">=99"}, config={"old.on": boolean()})
        with pytest.raises(Refused, match="engines-unsatisfied"):
            world.change(Change("old", gates={"old.on": False}))


class TestHomeOnForeignGround:
    """The home lies below the served project: nothing in it is the user's word."""

    @pytest.fixture
    def inside(self, tmp_path: Path) -> Bench:
        world = Bench(tmp_path)
        world.home = world.project / "home"
        world.home.mkdir()
        world.user_file = world.home / ".msd" / "config.json"
        world.surface_file = world.home / ".msd" / "surface.json"
        return world.rehost()

    def test_neither_file_is_read(self, inside: Bench) -> None:
        inside.put(user={"mode": "fast"})
        inside.write(inside.surface_file, {"disabled": ["acme"]})
        config = inside.host.config(inside.host.roots(inside.project))
        assert [layer.name for layer in config.layers] == ["override", "project"]
        assert config.switches.why_off("acme") is None
        assert inside.value("mode") == (None, "default")

    def test_writing_is_refused_in_the_same_words(self, inside: Bench) -> None:
        inside.add_global("acme")
        inside.host.roots(inside.project)
        before = tree(inside.root)
        words = inside.host.roots(inside.project).store_refusal
        assert words
        writes: list[Callable[[], Any]] = [
            lambda: inside.set("mode", "fast", layer="user"),
            lambda: inside.change(Change("acme", on=False)),
            lambda: inside.change(Change("acme", on=False), layer="user"),
        ]
        for write in writes:
            with pytest.raises(DamagedState) as caught:
                write()
            assert words in caught.value.message and caught.value.exit_code == 7
        assert tree(inside.root) == before
        assert inside.set("mode", "fast").layer == "project"


class TestSettingsVerbs:
    @pytest.mark.parametrize(
        ("key", "text", "value"),
        [
            ("acme.on", "false", False),
            ("acme.n", "5", 5),
            ("acme.n", "-2.5e3", -2500.0),
            ("acme.depth", "deep", "deep"),
            ("acme.text", "true", "true"),
            ("acme.text", "5", "5"),
            ("acme.text", "", ""),
            ("mode", "fast", "fast"),
            ("mode", "true", True),
            ("mode", "12", 12),
            ("mode", '"12"', "12"),
            ("mode", '["a", 1]', ["a", 1]),
            ("mode", "[oops", "[oops"),
            ("agents.planner.model", "big", "big"),
        ],
    )
    def test_set_get_unset(self, world: Bench, shell: Shell, key: str, text: str, value: object) -> None:
        world.acme()
        done = shell.json("settings", "set", key, text)
        assert (done["changed"], done["value"], done["layer"]) == (True, value, "project")
        got = shell.json("settings", "get", key)
        assert (got["value"], type(got["value"])) == (value, type(value)) and got["layer"] == "project"
        plain = shell("settings", "get", key)[1]
        assert plain == (f"{value}\n" if isinstance(value, str) else f"{json.dumps(value)}\n")
        assert shell.json("settings", "set", key, text)["changed"] is False
        assert shell.json("settings", "unset", key)["changed"] is True
        assert json.loads(world.project_file.read_text()) == {}
        assert shell.json("settings", "unset", key)["changed"] is False

    @pytest.mark.parametrize(
        ("key", "text", "hint"),
        [
            ("acme.on", "ture", '"true"'),
            ("acme.on", "True", '"true"'),
            ("acme.on", "1", "true or false"),
            ("acme.on", "", "true or false"),
            ("acme.n", "many", "finite number"),
            ("acme.n", "NaN", "finite number"),
            ("acme.n", "Infinity", "finite number"),
            ("acme.n", "1e999", "finite number"),
            ("acme.n", "9" * 5000, "finite number"),
            ("acme.n", "9223372036854775808", "finite number"),
            ("acme.n", "true", "finite number"),
            ("acme.n", " 5", "finite number"),
            ("acme.n", "٣", "finite number"),
            ("acme.depth", "dep", '"deep"'),
            ("acme.text", "x" * 70_000, "read back"),
            ("acme.text", "\udc80", "read back"),
            ("mode", "null", "unset"),
            ("mode", '{"a": 1}', "plain value"),
            ("mode", "[[1]]", "plain value"),
            ("mode", "1e999", "read back"),
        ],
    )
    def test_a_value_that_does_not_fit_is_exit_3_and_writes_nothing(
        self, world: Bench, shell: Shell, key: str, text: str, hint: str
    ) -> None:
        world.acme()
        before = tree(world.root)
        code, out, err = shell("settings", "set", key, "--", text)
        assert (code, out) == (3, "") and hint in err and "Traceback" not in err
        assert tree(world.root) == before

    @pytest.mark.parametrize("verb", [["get"], ["explain"], ["set", "{}", "x"], ["unset"]], ids=lambda v: v[0])
    def test_an_unknown_key_is_exit_5_with_the_nearest_name(self, world: Bench, shell: Shell, verb: list[str]) -> None:
        world.acme()
        words = ["set", "acme.dept", "x"] if verb[0] == "set" else [verb[0], "acme.dept"]
        code, out, err = shell("settings", *words, "--json")
        assert (code, out) == (5, "")
        assert 'did you mean "acme.depth"?' in json.loads(err)["message"]
        assert "settings list" in json.loads(err)["remedy"]

    @pytest.mark.parametrize(
        "key", ["agents.planner.model\n", "agents..model", "agents.a.model.x", "acme", "acme.", "."]
    )
    def test_close_to_a_key_is_no_key(self, world: Bench, key: str) -> None:
        world.acme()
        with pytest.raises(NotFound):
            world.set(key, "x")

    def test_the_layer_is_the_projects_unless_the_user_says_otherwise(self, world: Bench, shell: Shell) -> None:
        world.acme()
        assert shell.json("settings", "set", "acme.n", "1")["path"] == str(world.project_file)
        done = shell.json("settings", "set", "acme.n", "2", "--user")
        assert (done["written"], done["path"], done["layer"], done["value"]) == (
            "user",
            str(world.user_file),
            "project",
            1,
        )
        assert "project layer decides" in done["notes"][0]
        assert shell("settings", "set", "acme.n", "2", "--user", "--project")[0] == 2

    def test_no_project_no_project_layer(self, world: Bench) -> None:
        world.acme()
        lonely = world.root / "lonely"
        lonely.mkdir()
        with pytest.raises(UsageError):
            world.host.settings.set(world.host.compose(lonely), "acme.n", 1, layer="project")

    def test_a_project_without_a_planning_folder_gets_one(self, world: Bench) -> None:
        other = world.root / "other"
        (other / ".git").mkdir(parents=True)
        world.host.settings.set(world.host.compose(other), "mode", "fast")
        assert json.loads((other / ".planning" / "config.json").read_text()) == {"mode": "fast"}

    def test_the_key_of_a_skipped_overlay_names_owner_and_reason(self, world: Bench, shell: Shell) -> None:
        world.add_global("old", engines={"msd": ">=99"}, config={"old.on": boolean()})
        code, _, err = shell("settings", "explain", "old.on", "--json")
        error = json.loads(err)
        assert code == 5 and '"old"' in error["message"] and "engines-unsatisfied" in error["message"]
        assert "capability remove old" in error["remedy"]

    @pytest.mark.parametrize("state", ["unconsented", "denied", "changed"])
    def test_the_key_of_an_unconsented_one_is_nobodys_business_field_case_1(
        self, world: Bench, shell: Shell, state: str
    ) -> None:
        folder = world.add_project("secret", config={"secret.on": boolean()}, gates=[gate(when="secret.on")])
        if state == "denied":
            world.host.trust.deny(world.project, "secret")
        if state == "changed":
            world.grant("secret")
            assert world.value("secret.on") == (True, "default")
            (folder / "more.txt").write_text("more")
        unheard = shell("settings", "get", "secret.off", "--json")[2].replace("secret.off", "secret.on")
        for verb in (["get", "secret.on"], ["explain", "secret.on"], ["set", "secret.on", "false"]):
            code, out, err = shell("settings", *verb, "--json")
            assert (code, out, err) == (5, "", unheard)
        assert "secret.on" not in "".join(shell("settings", "list")[1:])
        assert "secret.on" not in "".join(shell("capability", "state", "--json")[1:])

    def test_the_key_of_one_that_is_off_works_and_says_so(self, world: Bench, shell: Shell) -> None:
        world.acme()
        world.change(Change("acme", on=False))
        done = shell.json("settings", "set", "acme.n", "9")
        assert done["changed"] and "not active" in done["notes"][0]
        assert "switched it off" in shell.json("settings", "explain", "acme.n")["notes"][0]

    def test_explain_shows_every_layer_and_the_winner(self, world: Bench, shell: Shell) -> None:
        world.acme()
        world.put(project={"acme": {"n": 1}, "workflow": {"workstream": "w1"}}, user={"acme": {"n": "two"}})
        found = shell.json("settings", "explain", "acme.n")
        told = [(x["layer"], x["present"], x["value"], x["problem"], x["wins"]) for x in found["layers"]]
        assert told == [
            ("override", False, None, None, False),
            ("workstream", False, None, None, False),
            ("project", True, 1, None, True),
            ("user", True, "two", "is not a number", False),
        ]
        assert (found["owner"], found["type"], found["default"], found["value"]) == ("acme", "number", 3, 1)
        text = shell("settings", "explain", "acme.n")[1]
        assert "<- this one" in text and str(world.user_file) in text
        only = shell.json("settings", "explain", "acme.n", "--user")
        assert [x["layer"] for x in only["layers"]] == ["user"]

    def test_list_has_every_key_and_what_is_wrong(self, world: Bench, shell: Shell) -> None:
        world.acme()
        world.put(project={"acme": {"on": 5, "extra": 1}, "agents": {"a": {"model": "m"}}}, user="{")
        found = shell.json("settings", "list")
        rows = {r["key"]: (r["value"], r["layer"], r["owner"]) for r in found["settings"]}
        assert "acme.on" not in rows  # what is required is in the user's file, so no overlay counts without it
        assert rows["agents.a.model"] == ("m", "project", None)
        assert rows["mode"] == (None, "default", None)
        assert found["unknown"] == [{"layer": "project", "key": f"acme.{x}"} for x in ("on", "extra")]
        assert [str(world.user_file) in x for x in found["problems"]] == [True]
        layers = {x["layer"]: (x["there"], x["problem"] is None) for x in found["layers"]}
        assert layers == {"override": (False, True), "project": (True, True), "user": (True, False)}

    def test_a_stale_key_can_be_cleaned_up(self, world: Bench) -> None:
        world.put(project={"gone": {"on": True}, "keep": 1})
        assert world.host.settings.unset(world.now, "gone.on").changed
        assert json.loads(world.project_file.read_text()) == {"keep": 1}

    def test_hostile_names_in_a_projects_file_cannot_speak_to_the_terminal(self, world: Bench, shell: Shell) -> None:
        world.put(project={"\x1b[2Jevil\u202e": 1, "mode": "\x1b[31mred\x07"})
        for words in (["list"], ["get", "mode"], ["explain", "mode"]):
            _, out, err = shell("settings", *words)
            assert not set(out + err) & set("\x1b\x07\u202e")

    def test_each_verb_has_help_with_an_example(self, world: Bench) -> None:
        for verb in ("list", "get", "set", "unset", "explain"):
            assert "example: msd settings" in msd(world, "settings", verb, "--help").out

    def test_the_command_line_takes_the_workstream_from_the_environment(self, world: Bench) -> None:
        world.put(workstream={"research": {"depth": "deep"}})
        done = msd(world, "settings", "get", "research.depth", "--json", MSD_WORKSTREAM="w1")
        assert done.json() == {"key": "research.depth", "value": "deep", "layer": "workstream"}


class TestWriting:
    def test_order_and_everything_unknown_stay(self, world: Bench) -> None:
        world.acme()
        before = (
            '{\n    "zeta": [1, {"b": 2.50, "a": null}],\n    "acme": {"text": "ä", "on": true},\n    "alpha": {}\n}\n'
        )
        world.put(project=before)
        world.set("acme.n", 7)
        after = world.project_file.read_text()
        expected = json.loads(before)
        expected["acme"]["n"] = 7
        text = json.dumps(expected, indent=4, ensure_ascii=False).replace("2.5,", "2.50,")
        assert after == text + "\n"

    def test_modes(self, world: Bench) -> None:
        old = os.umask(0o022)
        try:
            world.acme()
            world.put(project={}, user={})
            world.project_file.chmod(0o664)
            world.user_file.chmod(0o644)
            world.set("acme.n", 1)
            world.set("acme.n", 1, layer="user")
            assert stat.S_IMODE(world.project_file.stat().st_mode) == 0o664
            assert stat.S_IMODE(world.user_file.stat().st_mode) == 0o600
            world.project_file.unlink()
            world.set("acme.n", 1)
            assert stat.S_IMODE(world.project_file.stat().st_mode) == 0o644
        finally:
            os.umask(old)

    def test_no_traces_beside_the_file_and_old_ones_are_swept(self, world: Bench) -> None:
        world.acme()
        leftover = world.project / ".planning" / ".config.json.tmp-1-dead"
        leftover.write_text("half")
        os.utime(leftover, (1, 1))
        world.set("acme.n", 1)
        assert [p.name for p in (world.project / ".planning").iterdir()] == ["config.json"]

    def damage_text(self, path: Path) -> None:
        path.write_text("{ damaged")

    def damage_list(self, path: Path) -> None:
        path.write_text("[]")

    def damage_empty(self, path: Path) -> None:
        path.write_text("")

    def damage_large(self, path: Path) -> None:
        path.write_text(json.dumps({"x": "y" * 60_000, **{f"k{i}": "z" * 60_000 for i in range(20)}}))

    def damage_link(self, path: Path) -> None:
        (path.parent / "real.json").write_text("{}")
        path.symlink_to("real.json")

    def damage_dangling(self, path: Path) -> None:
        path.symlink_to("nowhere.json")

    def damage_folder(self, path: Path) -> None:
        path.mkdir()

    def damage_fifo(self, path: Path) -> None:
        os.mkfifo(path)

    @pytest.mark.parametrize("kind", ["text", "list", "empty", "large", "link", "dangling", "folder", "fifo"])
    @pytest.mark.parametrize("layer", ["project", "user"])
    def test_what_cannot_be_changed_safely_is_exit_7_and_left_alone(
        self, world: Bench, shell: Shell, kind: str, layer: str
    ) -> None:
        world.acme()
        path = world.project_file if layer == "project" else world.user_file
        damage: Callable[[Path], None] = getattr(self, f"damage_{kind}")
        damage(path)
        before = tree(world.root)
        for words in (["set", "acme.n", "1"], ["unset", "acme.n"]):
            code, out, err = shell("settings", *words, f"--{layer}", "--json")
            assert (code, out) == (7, "") and json.loads(err)["code"] == "damaged-state"
            assert path.name in json.loads(err)["message"]
        assert tree(world.root) == before

    @pytest.mark.parametrize(
        "document",
        [{"acme": "x"}, {"acme": [1]}, {"acme": False}, {"acme": {"n": {"deep": 1}}}],
        ids=["text", "list", "false", "object-in-its-place"],
    )
    def test_what_lies_in_the_way_is_never_lost(self, world: Bench, document: dict[str, Any]) -> None:
        world.acme()
        world.put(project=document)
        before = tree(world.root)
        with pytest.raises(DamagedState, match="object"):
            world.set("acme.n", 1)
        with pytest.raises(DamagedState, match="object"):
            world.host.settings.unset(world.now, "acme.n")
        assert tree(world.root) == before

    def test_a_link_in_a_repository_cannot_move_the_pen(self, world: Bench) -> None:
        world.acme()
        outside = world.root / "outside"
        outside.mkdir()
        (world.project / ".planning").rmdir()
        (world.project / ".planning").symlink_to(outside)
        with pytest.raises(DamagedState, match="leads out of"):
            world.set("acme.n", 1)
        assert not any(outside.iterdir())
        (world.project / ".planning").unlink()
        (world.project / "docs").mkdir()
        (world.project / ".planning").symlink_to("docs")
        assert world.set("acme.n", 1).changed and (world.project / "docs" / "config.json").exists()

    @pytest.mark.skipif(is_root(), reason="root may write everywhere")
    def test_no_right_to_write(self, world: Bench) -> None:
        world.acme()
        (world.project / ".planning").chmod(0o555)
        try:
            with pytest.raises(DamagedState, match="EACCES"):
                world.set("acme.n", 1)
        finally:
            (world.project / ".planning").chmod(0o755)

    def test_another_editor_between_reading_and_writing_is_not_overrun(self, world: Bench) -> None:
        """An editor that takes no turns changes the file while ours is being prepared; both changes are there."""
        world.acme()
        world.put(project={"acme": {"n": 1}})
        interfered: list[int] = []

        class Nosy(Files):
            def fstat(self, fd: int) -> os.stat_result:
                drafts = [*world.project_file.parent.glob(".config.json.tmp-*")]
                if drafts and len(interfered) < 3:
                    interfered.append(1)
                    world.put(project={"acme": {"n": 1}, "theirs": len(interfered)})
                return super().fstat(fd)

        world.rehost(files=Nosy())
        world.set("acme.text", "ours")
        assert interfered == [1, 1, 1]
        assert json.loads(world.project_file.read_text()) == {"acme": {"n": 1, "text": "ours"}, "theirs": 3}

    def test_a_file_that_never_rests_is_exit_9(self, world: Bench) -> None:
        world.acme()
        world.put(project={})
        count = iter(range(10**9))

        class Restless(Files):
            def fstat(self, fd: int) -> os.stat_result:
                world.put(project={"theirs": next(count)})
                return super().fstat(fd)

        world.rehost(files=Restless())
        with pytest.raises(BusyError):
            world.set("acme.n", 1)
        assert [p.name for p in world.project_file.parent.iterdir()] == ["config.json"]

    def test_whoever_holds_the_lock_for_too_long_is_named_busy(self, tmp_path: Path) -> None:
        import fcntl

        fd = os.open(tmp_path, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            edit = store.Edit(str(tmp_path / "config.json"), lambda document: put(document, "a", 1))
            with pytest.raises(BusyError):
                store.apply(Files(), Limits(), [edit], patience=0.0)
            assert not any(tmp_path.iterdir())
        finally:
            os.close(fd)
        assert store.apply(Files(), Limits(), [edit]) == (True,)

    def test_two_threads_lose_nothing(self, world: Bench) -> None:
        path, failures = str(world.project_file), []

        def writer(name: str) -> None:
            try:
                for i in range(20):
                    store.apply(Files(), Limits(), [store.Edit(path, partial(put, key=f"{name}.k{i}", value=i))])
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=writer, args=(name,)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        document = json.loads(world.project_file.read_text())
        assert {name: len(document[name]) for name in document} == {"a": 20, "b": 20}

    def test_two_processes_lose_nothing(self, world: Bench) -> None:
        script = (
            "import sys\nfrom msd_host.activation import store\nfrom msd_host.activation.documents import put\n"
            "from msd_host.limits import Limits\nfrom msd_host.reading.files import Files\n"
            "path, name = sys.argv[1:]\nsys.stdin.readline()\n"
            "for i in range(25):\n"
            "    edit = store.Edit(path, lambda d: put(d, f'{name}.k{i}', i))\n"
            "    store.apply(Files(), Limits(), [edit])\n"
        )
        running = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(world.project_file), name],
                stdin=subprocess.PIPE,
                env=environment(world.home),
                text=True,
            )
            for name in ("a", "b")
        ]
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in running:
            process.communicate(timeout=60)
        assert [p.returncode for p in running] == [0, 0]
        document = json.loads(world.project_file.read_text())
        assert {name: len(document[name]) for name in document} == {"a": 25, "b": 25}


NAMES = st.sampled_from(["a", "b", "c", "dd", "e_1"])
KEYS = st.lists(NAMES, min_size=1, max_size=4).map(".".join)
PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text('ab"\\/é\n', max_size=4)
DOCUMENTS = st.dictionaries(
    NAMES,
    st.recursive(PLAIN, lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=2)),
    max_size=4,
)


def leaves(document: dict[str, Any], above: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """Every value that is no object, by path; as text, so that true and 1 differ."""
    found: dict[tuple[str, ...], str] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            found.update(leaves(value, (*above, name)))
        elif value is not None:
            found.update({(*above, name): json.dumps(value)})
    return found


class TestLaws:
    @settings(max_examples=150, deadline=None)
    @given(DOCUMENTS, KEYS, PLAIN.filter(lambda v: v is not None))
    def test_what_is_put_is_looked_up_and_nothing_else_moves(
        self, document: dict[str, Any], key: str, value: Any
    ) -> None:
        before = leaves(document)
        text = json.dumps(document)
        try:
            put(document, key, value)
        except DamagedState:
            blocked = json.loads(text)
            for segment in key.split("."):
                blocked = blocked.get(segment) if isinstance(blocked, dict) else blocked
            assert blocked is not None  # something really lay in the way
            return
        config = Config((Layer("project", "p", freeze(document)),))
        assert json.dumps(config.setting(key, None).value) == json.dumps(value)
        path = tuple(key.split("."))
        assert {k: v for k, v in leaves(document).items() if k != path} == {
            k: v for k, v in before.items() if k != path
        }
        assert take(document, key)
        assert leaves(document) == {k: v for k, v in before.items() if k != path}

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(DOCUMENTS, KEYS, st.booleans() | st.integers(-9, 9) | st.text("xy", max_size=3))
    def test_the_file_holds_what_the_document_holds(
        self, tmp_path: Path, document: dict[str, Any], key: str, value: Any
    ) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(document))
        before = path.read_bytes()
        edit = store.Edit(str(path), lambda d: put(d, key, value))
        try:
            store.apply(Files(), Limits(), [edit])
        except DamagedState:
            assert path.read_bytes() == before
            return
        put(document, key, value)
        assert json.dumps(json.loads(path.read_text())) == json.dumps(document)  # order too
        assert store.apply(Files(), Limits(), [edit]) == (False,)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.sampled_from([True, False, None, "no", 0]), min_size=4, max_size=4), st.booleans(), st.booleans()
    )
    def test_the_strongest_layer_that_fits_decides(self, values: list[Any], default: bool, users_first: bool) -> None:
        names = ["override", "workstream", "project", "user"]
        layers = tuple(Layer(n, n, freeze({"k": v} if v is not None else {})) for n, v in zip(names, values))
        setting = Config(layers).setting("k", {"type": "boolean", "default": default}, user_first=users_first)
        order = ["override", "user", "workstream", "project"] if users_first else names
        fitting = [(n, values[names.index(n)]) for n in order if isinstance(values[names.index(n)], bool)]
        assert (setting.layer, setting.value) == (fitting[0] if fitting else ("default", default))
        assert len(setting.problems) == sum(v is not None and not isinstance(v, bool) for v in values)


def test_reading_without_an_environment_names_no_workstream(world: Bench) -> None:
    config = read_config(Files(), world.host.product, world.host.roots(world.project))
    assert [layer.name for layer in config.layers] == ["override", "project", "user"]
