"""Downstream packages can veto or observe, and nothing else (spec 50)."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from msd_host import Event, ExtensionRefused, Host, PredicateKind, PredicateVerdict, ReviewCandidate, Veto, hookimpl
from msd_host.extending import manager
from msd_host.extending.values import EVENT_KINDS
from msd_host.reading.files import Files
from tests.cli import environment, msd
from tests.planted import World, bare_product, boolean, gate


class Picky:
    """Vetoes by id."""

    def __init__(self, *ids: str) -> None:
        self.ids = ids
        self.asked: list[ReviewCandidate] = []

    @hookimpl
    def msd_review(self, candidate: ReviewCandidate) -> Veto | None:
        self.asked.append(candidate)
        return Veto("not on my list") if candidate.id in self.ids else None


class Listening:
    def __init__(self) -> None:
        self.heard: list[Event] = []

    @hookimpl
    def msd_observe(self, event: Event) -> None:
        self.heard.append(event)


def hosted(world: World, *extensions: object) -> Host:
    return Host(bare_product(), home=world.home, extensions=extensions)


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    found.add_global("aa", gates=[gate()])
    found.add_global("bb", requires=["aa"], gates=[gate("verify:pre")])
    found.add_project("cc", gates=[gate("plan:pre")])
    found.grant("cc")
    return found


class TestReview:
    def test_a_veto_takes_one_out_and_what_leaned_on_it(self, world: World) -> None:
        picky = Picky("aa")
        overlay = hosted(world, ("org:policy", picky)).load(cwd=world.project).overlay
        assert overlay is not None and set(overlay.accepted) == {"cc"}
        codes = {s.id: (s.code.value, s.by, s.stage) for s in overlay.warnings}
        assert codes["aa"] == ("vetoed", "given:org:policy", "review")
        assert codes["bb"][0] == "requires"
        assert {g.cap_id for g in overlay.blocked_gates} == {"aa", "bb"}
        assert overlay.extensions == ("given:org:policy",)
        assert any(t.stage == "given:org:policy" and t.dropped == 1 for t in overlay.trace)

    def test_it_sees_values_and_can_change_none(self, world: World) -> None:
        picky = Picky()
        host = hosted(world, picky)
        before = world.load()
        after = host.load(cwd=world.project)
        assert after.capabilities == before.capabilities
        seen = {c.id: c for c in picky.asked}
        assert set(seen) == {"aa", "bb", "cc"}
        assert seen["cc"].content_hash is not None and seen["cc"].scope == "project"
        assert seen["cc"].source_trusted is False and seen["aa"].source_trusted is True
        with pytest.raises(TypeError):
            seen["aa"].manifest["id"] = "x"
        with pytest.raises(AttributeError):
            seen["aa"].id = "x"  # type: ignore[misc]

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (lambda: True, "answered with bool"),
            (lambda: "no", "answered with str"),
            (lambda: (_ for _ in ()).throw(ValueError("broken")), "raised ValueError: broken"),
            (lambda: sys.exit(3), "raised SystemExit"),
            (lambda: (_ for _ in ()).throw(KeyboardInterrupt()), "raised KeyboardInterrupt"),
            (lambda: type("Veto", (Veto,), {})("sub"), "answered with Veto, which is neither"),
        ],
    )
    def test_anything_else_vetoes_that_one_and_names_who(self, world: World, answer: Any, words: str) -> None:
        class Odd:
            @hookimpl
            def msd_review(self, candidate: ReviewCandidate) -> Any:
                return answer() if candidate.id == "cc" else None

        overlay = hosted(world, ("odd", Odd())).load(cwd=world.project).overlay
        assert overlay is not None and set(overlay.accepted) == {"aa", "bb"}
        (skip,) = overlay.warnings
        assert skip.code.value == "stage-error" and skip.by == "given:odd" and words in skip.reason

    def test_one_that_hangs_is_asked_no_more(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(manager, "REVIEW_SECONDS", 0.2)

        class Hanging:
            calls = 0

            @hookimpl
            def msd_review(self, candidate: ReviewCandidate) -> None:
                Hanging.calls += 1
                time.sleep(5)

        overlay = hosted(world, Hanging(), Picky("cc")).load(cwd=world.project).overlay
        assert overlay is not None and not overlay.accepted
        assert Hanging.calls == 1
        assert {s.code.value for s in overlay.warnings} == {"stage-error", "vetoed"}
        both = next(s for s in overlay.warnings if s.id == "cc")
        assert both.code.value == "vetoed" and "Hanging" in both.by and "Picky" in both.by

    def test_explain_names_the_extension(self, world: World) -> None:
        found = hosted(world, ("org", Picky("aa"))).explain("aa", world.project).to_dict()
        verdicts = found["found"][0]["verdicts"]
        assert verdicts[-1]["by"] == "given:org" and verdicts[-1]["code"] == "vetoed"

    def test_unloading_restores_the_exact_earlier_result(self, world: World) -> None:
        before = world.load()
        hosted(world, Picky("aa")).load(cwd=world.project)
        assert world.load() == before

    def test_no_extension_no_manager(self, world: World) -> None:
        assert world.host.open_hooks(world.host.roots(world.project)) is None


names = st.sampled_from(["aa", "bb", "cc"])


@st.composite
def reviewers(draw: st.DrawFn) -> list[tuple[str, object]]:
    """Extensions that veto, lie, crash and try to write, under names of their own."""
    found: list[tuple[str, object]] = []
    for number in range(draw(st.integers(1, 3))):
        ids = frozenset(draw(st.lists(names, max_size=2)))
        how = draw(st.sampled_from(["veto", "lie", "crash", "mutate"]))

        found.append((f"r{number}", _made(ids, how)))
    return found


def _made(ids: frozenset[str], how: str) -> object:
    class Reviewer:
        @hookimpl
        def msd_review(self, candidate: Any) -> Any:
            if candidate.id not in ids:
                return None
            if how == "veto":
                return Veto("no")
            if how == "crash":
                raise RuntimeError("boom")
            if how == "mutate":
                candidate.manifest["skills"] = ()
            return 42

    return Reviewer()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(reviewers())
def test_laws_subset_sub_map_permutation_and_loudness(world: World, extensions: list[tuple[str, object]]) -> None:
    without = world.load()
    assert without.overlay is not None
    results = [
        hosted(world, *order).load(cwd=world.project)
        for order in itertools.islice(itertools.permutations(extensions), 6)
    ]
    first = results[0]
    assert all(r == first for r in results)
    assert first.overlay is not None
    assert set(first.overlay.accepted) <= set(without.overlay.accepted)
    for view in ("by_skill", "config_keys", "clusters"):
        assert getattr(first, view).items() <= getattr(without, view).items()
    lost = set(without.overlay.accepted) - set(first.overlay.accepted)
    silenced = {(g.cap_id, g.point) for g in first.overlay.blocked_gates}
    for id in lost:
        for g in without.capabilities[id].gates:
            assert (id, g["point"]) in silenced


class TestObserve:
    def test_it_hears_the_whole_load_in_order_with_the_fields_of_each_kind(self, world: World) -> None:
        world.add_project("inert", gates=[gate("plan:pre")])
        listening = Listening()
        hosted(world, listening).load(cwd=world.project)
        kinds = [e.kind for e in listening.heard]
        assert kinds[0] == "load-started" and kinds[-1] == "load-finished"
        for event in listening.heard:
            assert set(event.data) == set(EVENT_KINDS[event.kind]), event.kind
            json.dumps(event.to_dict())
        finished = [e.data["stage"] for e in listening.heard if e.kind == "stage-finished"]
        assert finished == ["discover", "scope_dedupe", "consent", "collision", "cross_validation", "build"]
        assert {e.data["id"] for e in listening.heard if e.kind == "candidate-accepted"} == {"aa", "bb", "cc"}
        assert [e.data["id"] for e in listening.heard if e.kind == "consent-used"] == ["cc"]
        assert [(e.data["id"], e.data["point"]) for e in listening.heard if e.kind == "gate-silenced"] == [
            ("inert", "plan:pre")
        ]

    def test_it_hears_decisions_made_through_the_same_host(self, world: World) -> None:
        listening = Listening()
        host = hosted(world, listening)
        host.trust.revoke(world.project, "cc")
        host.trust.deny(world.project, "cc")
        host.trust.grant(world.project, "cc")
        kinds = [e.kind for e in listening.heard if e.kind.startswith("consent-")]
        assert kinds == ["consent-revoked", "consent-denied", "consent-granted"]

    def test_it_hears_settings_and_removals_made_through_the_same_host(self, world: World) -> None:
        from msd_host.lifecycle.remove import plan_removal, remove_overlay

        world.add_global("dd", config={"dd.on": boolean()})
        listening = Listening()
        host = hosted(world, listening)
        host.settings.set(host.compose(world.project), "dd.on", False)
        remove_overlay(host, plan_removal(host, world.project, "dd", None))
        told = [(e.kind, e.data.get("key") or e.data.get("id")) for e in listening.heard]
        assert ("setting-changed", "dd.on") in told and ("remove-committed", "dd") in told

    def test_a_failing_or_slow_one_changes_nothing_and_is_told_once(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(manager, "NOTICE_SECONDS", 0.1)

        class Failing:
            @hookimpl
            def msd_observe(self, event: Event) -> None:
                raise SystemExit("bye")

        class Slow:
            calls = 0

            @hookimpl
            def msd_observe(self, event: Event) -> None:
                Slow.calls += 1
                time.sleep(3)

        after = Listening()
        composition = hosted(world, Failing(), Slow(), after).compose(world.project)
        assert composition.registry.capabilities == world.load().capabilities
        told = composition.advisories
        assert len(told) == 2 and Slow.calls == 1
        assert any("SystemExit" in t for t in told) and any("hears no more" in t for t in told)
        assert [e.kind for e in after.heard][-1] == "load-finished"


class TestAdmission:
    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (lambda: hookimpl(wrapper=True), "wrappers are not available"),
            (lambda: hookimpl(hookwrapper=True), "wrappers are not available"),
            (lambda: hookimpl(tryfirst=True), "tryfirst is not available"),
            (lambda: hookimpl(trylast=True), "trylast is not available"),
            (lambda: hookimpl(optionalhook=True), "optionalhook is not available"),
            (lambda: hookimpl(specname="msd_review"), "specname is not available"),
        ],
    )
    def test_options_that_would_give_it_power(self, make: Any, words: str) -> None:
        def msd_review(candidate: Any) -> Iterator[None]:
            yield

        plugin = type("P", (), {"msd_review": staticmethod(make()(msd_review))})()
        with pytest.raises(ExtensionRefused, match=words):
            Host(bare_product(), extensions=[plugin])

    @pytest.mark.parametrize(
        ("function", "name", "words"),
        [
            (lambda candidate, registry: None, "msd_review", "unknown argument registry"),
            (lambda *candidate: None, "msd_review", "name the arguments"),
            (lambda **candidate: None, "msd_review", "name the arguments"),
            (lambda candidate: None, "msd_reviw", "did you mean msd_review"),
            (lambda cohort, context: None, "msd_stage_build", "sealed"),
        ],
    )
    def test_what_it_asks_for(self, function: Any, name: str, words: str) -> None:
        plugin = type("P", (), {name: staticmethod(hookimpl(function))})()
        with pytest.raises(ExtensionRefused, match=words):
            Host(bare_product(), extensions=[plugin])

    def test_async_and_generators(self) -> None:
        async def coroutine(candidate: Any) -> None: ...

        async def stream(candidate: Any) -> Any:
            yield

        def generator(candidate: Any) -> Any:
            yield

        for function in (coroutine, stream, generator):
            plugin = type("P", (), {"msd_review": staticmethod(hookimpl(function))})()
            with pytest.raises(ExtensionRefused, match="async|generator"):
                Host(bare_product(), extensions=[plugin])

    def test_one_bad_hook_refuses_the_whole_object(self) -> None:
        listening = Listening()
        listening.msd_stage_consent = hookimpl(lambda cohort: None)  # type: ignore[attr-defined]
        with pytest.raises(ExtensionRefused):
            Host(bare_product(), extensions=[listening])

    def test_nothing_of_the_host_in_it(self) -> None:
        class Unmarked:
            def msd_review(self, candidate: Any) -> None: ...

        with pytest.raises(ExtensionRefused, match="missing its @hookimpl"):
            Host(bare_product(), extensions=[Unmarked()])

    def test_a_forged_mark_of_the_sealed_stages_reaches_nothing(self, world: World) -> None:
        from msd_host.stages.marker import stage

        class Forger(Picky):
            @stage
            def msd_stage_build(self, cohort: Any, context: Any) -> Any:
                raise AssertionError("must never run")

        overlay = hosted(world, Forger()).load(cwd=world.project).overlay
        assert overlay is not None and set(overlay.accepted) == {"aa", "bb", "cc"}


def test_predicate_kinds_come_from_one_package_each(world: World) -> None:
    def kind(name: str) -> PredicateKind:
        return PredicateKind(name, lambda payload, project: PredicateVerdict(True, str(payload["kind"])))

    class Kinds:
        def __init__(self, *names: str) -> None:
            self.names = names

        @hookimpl
        def msd_predicate_kinds(self) -> list[PredicateKind]:
            return [kind(n) for n in self.names]

    host = hosted(world, Kinds("one", "both", "command-exit-zero"), Kinds("two", "both"))
    hooks = host.open_hooks(host.roots(world.project))
    assert hooks is not None
    kinds = hooks.predicate_kinds(host.product.gate_kinds)
    assert sorted(kinds) == ["one", "two"]
    assert kinds["one"].evaluate({"kind": "one"}, None) == PredicateVerdict(True, "one")
    assert len(hooks.advisories) == 2


class Installed:
    """Distributions on an import path of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, name: str, code: str | None, entry: str = "main", raw: str | None = None) -> None:
        module = name.replace("-", "_")
        info = self.folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(raw or f"[other]\nx = y\n\n[msd_host]\n{entry} = {module}\n")
        if code is not None:
            (self.folder / f"{module}.py").write_text(textwrap.dedent(code))

    def run(self, world: World, *words: str, **env: str) -> Any:
        reach = environment(world.home)["PYTHONPATH"]
        return msd(world, *words, PYTHONPATH=f"{self.folder}{os.pathsep}{reach}", **env)


VETO = """
from msd_host import hookimpl, Veto
@hookimpl
def msd_review(candidate):
    return Veto("not allowed here") if candidate.id == "aa" else None
"""

MARK = "import pathlib\npathlib.Path(__file__).with_suffix('.imported').touch()\n"


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path / "site")


class TestInstalled:
    def test_installed_is_enabled_and_explain_names_it(self, world: World, installed: Installed) -> None:
        installed.add("org-policy", VETO)
        rows = {r["id"]: r for r in installed.run(world, "capability", "list", "--json").json()}
        assert rows["aa"]["code"] == "vetoed"
        assert "org-policy:main" in installed.run(world, "capability", "explain", "aa").out

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("raise ImportError('gone')", "ImportError: gone"),
            ("raise SystemExit(3)", "SystemExit"),
            ("raise KeyboardInterrupt", "KeyboardInterrupt"),
            (None, "ModuleNotFoundError"),
            ("x = 1", "implements no hook"),
            ("def msd_review(candidate): pass", "missing its @hookimpl"),
        ],
    )
    def test_a_broken_one_is_one_warning_and_stops_nothing(
        self, world: World, installed: Installed, code: str | None, words: str
    ) -> None:
        installed.add("broken", code)
        installed.add("org-policy", VETO)
        done = installed.run(world, "capability", "list", "--json")
        assert done.code == 0
        assert {r["id"]: r["code"] for r in done.json()}["aa"] == "vetoed"
        told = [line for line in done.err.splitlines() if "broken:main" in line]
        assert len(told) == 1 and words in told[0]
        for verb in (["--help"], ["--version"], ["capability", "trust", "status"]):
            assert installed.run(world, *verb).err == ""

    def test_one_in_an_endless_loop_is_left_behind(
        self, world: World, installed: Installed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from msd_host.extending import loading
        from msd_host.extending.controls import Controls
        from msd_host.extending.discovery import scan

        monkeypatch.setattr(loading, "IMPORT_SECONDS", 0.3)
        installed.add("loops", "import time\nwhile True: time.sleep(0.01)\n")
        found, _ = scan("msd_host", None, Files(), [str(installed.folder)])
        monkeypatch.syspath_prepend(str(installed.folder))
        (state,) = loading.load_found(found, Controls())
        assert state.state == "failed" and "longer than" in state.reason

    @pytest.mark.parametrize(
        ("words", "env", "config", "loaded"),
        [
            ([], {}, {}, True),
            (["--no-plugins"], {}, {}, False),
            ([], {"MSD_PLUGINS": "off"}, {}, False),
            ([], {"MSD_PLUGINS": "other"}, {}, False),
            ([], {"MSD_PLUGINS": "other, org-policy"}, {}, True),
            ([], {}, {"allow": []}, False),
            ([], {}, {"allow": ["Org-Policy"]}, True),
            ([], {}, {"allow": ["org-policy"], "deny": ["main"]}, False),
            ([], {}, {"deny": ["org-policy:main"]}, False),
            ([], {}, {"deny": "org-policy"}, False),
            ([], {}, {"allow": "org-policy"}, False),
        ],
    )
    def test_controls_are_the_users_and_denial_wins(
        self,
        world: World,
        installed: Installed,
        words: list[str],
        env: dict[str, str],
        config: dict[str, object],
        loaded: bool,
    ) -> None:
        installed.add("org-policy", MARK + VETO)
        (world.home / ".msd").mkdir(exist_ok=True, mode=0o700)
        (world.home / ".msd" / "config.json").write_text(json.dumps({"plugins": config}))
        (world.project / ".planning" / "config.json").write_text(json.dumps({"plugins": {"deny": ["org-policy"]}}))
        rows = {r["id"]: r for r in installed.run(world, *words, "capability", "list", "--json", **env).json()}
        assert (rows["aa"]["code"] == "vetoed") is loaded
        assert (installed.folder / "org_policy.imported").exists() is loaded, "what is off is not even imported"

    @pytest.mark.parametrize("how", ["absent", "broken", "off"])
    def test_a_required_one_that_is_not_there_lets_no_overlay_in(
        self, world: World, installed: Installed, how: str
    ) -> None:
        (world.home / ".msd").mkdir(exist_ok=True, mode=0o700)
        (world.home / ".msd" / "config.json").write_text('{"plugins": {"required": ["org-policy"]}}')
        if how != "absent":
            installed.add("org-policy", "raise ValueError" if how == "broken" else VETO)
        words = ["--no-plugins"] if how == "off" else []
        rows = {r["id"]: r for r in installed.run(world, *words, "capability", "list", "--json").json()}
        assert {rows[i]["code"] for i in ("aa", "bb", "cc")} == {"plugins-required"}
        assert rows["research"]["state"] == "first-party"
        answer = installed.run(world, *words, "loop", "render-hooks", "ship:pre").json()
        assert any(w["code"] == "plugins-required" for w in answer["warnings"])

    def test_a_distribution_inside_the_project_is_no_source(self, world: World) -> None:
        planted = Installed(world.project / "vendor")
        planted.add("planted", MARK + VETO)
        reach = environment(world.home)["PYTHONPATH"]
        env = environment(world.home)
        env["PYTHONPATH"] = f"{planted.folder}{os.pathsep}{reach}"
        script = (
            "from msd_host import MSD, Host\n"
            f"c = Host(MSD, home={str(world.home)!r}).compose({str(world.project)!r})\n"
            "print(sorted(c.registry.overlay.accepted), c.advisories)\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, cwd="/")
        assert "['aa', 'bb', 'cc']" in done.stdout and "inside the project" in done.stdout, done.stderr
        assert not (planted.folder / "planted.imported").exists()

    def test_two_hundred_distributions_are_scanned_once_in_a_process(
        self, world: World, installed: Installed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from msd_host.extending import discovery

        for number in range(200):
            installed.add(f"dist-{number}", None, raw="[console_scripts]\nx = y\n")
        monkeypatch.syspath_prepend(str(installed.folder))
        looked: list[str] = []
        real = discovery._distributions
        monkeypatch.setattr(discovery, "_distributions", lambda files, at: looked.append(at) or real(files, at))
        product = bare_product()
        for _ in range(3):
            host = Host(product, home=world.home)
            host.load(cwd=world.project)
            assert host.open_hooks(host.roots(world.project)) is None, "nothing of ours is installed, so no manager"
        assert looked.count(str(installed.folder)) == 1

    def test_bad_metadata_is_one_warning_and_the_others_load(self, world: World, installed: Installed) -> None:
        installed.add("org-policy", VETO)
        installed.add("twice", None, raw="[msd_host]\na = x\na = y\n")
        installed.add("odd", None, raw="[msd_host]\nthis is no entry\n")
        (installed.folder / "nameless-1.0.dist-info").mkdir()
        done = installed.run(world, "capability", "list", "--json")
        assert {r["id"]: r["code"] for r in done.json()}["aa"] == "vetoed"
        assert "there twice" in done.err and "is no entry" in done.err

    def test_the_same_distribution_twice_on_the_path_loads_once(self, installed: Installed, tmp_path: Path) -> None:
        from msd_host.extending.discovery import scan

        installed.add("org-policy", VETO)
        other = Installed(tmp_path / "again")
        other.add("Org_Policy", VETO)
        found, _ = scan("msd_host", None, Files(), [str(installed.folder), str(other.folder), str(installed.folder)])
        assert [f.name for f in found] == ["org-policy:main"]
        assert found[0].where.startswith(str(installed.folder))


class TestVerbs:
    def test_list_shows_what_is_installed_and_imports_nothing(self, world: World, installed: Installed) -> None:
        installed.add("org-policy", MARK + VETO)
        installed.add("broken", MARK + "raise ValueError")
        egg = installed.folder / "old_style.egg-info"
        egg.mkdir()
        (egg / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: old-style\nVersion: 2.0\n")
        (egg / "entry_points.txt").write_text("[msd_host]\nmain = old_style\n")
        done = installed.run(world, "plugins", "list", "--json")
        rows = {r["name"]: r["state"] for r in done.json()}
        assert rows == {"org-policy:main": "on", "broken:main": "on", "old-style:main": "missed"}
        assert not list(installed.folder.glob("*.imported"))

    def test_disable_and_enable_by_any_name(self, world: World, installed: Installed) -> None:
        installed.add("org-policy", MARK + VETO)
        for name in ("org-policy", "main", "ORG-POLICY:MAIN"):
            assert installed.run(world, "plugins", "disable", name).code == 0
            rows = {r["id"]: r for r in installed.run(world, "capability", "list", "--json").json()}
            assert rows["aa"]["state"] == "active"
            assert not list(installed.folder.glob("*.imported"))
            assert installed.run(world, "plugins", "enable", name).code == 0
            assert installed.run(world, "plugins", "list", "--json").json()[0]["state"] == "on"

    def test_an_ambiguous_name_is_an_error_and_an_unknown_one_too(self, world: World, installed: Installed) -> None:
        installed.add("one", VETO)
        installed.add("two", VETO)
        done = installed.run(world, "plugins", "disable", "main")
        assert done.code == 2 and "one:main, two:main" in done.err
        done = installed.run(world, "plugins", "enable", "onee")
        assert done.code == 5 and '"one"' in done.err

    @pytest.mark.parametrize(
        ("code", "ok", "words"),
        [
            (VETO, True, "msd_review"),
            ("import os; os._exit(3)", False, "ended with exit 3"),
            ("raise SystemExit", False, "SystemExit"),
            ("print('noise'); x = 1", False, "implements no hook"),
        ],
    )
    def test_check_looks_in_a_child_process(
        self, world: World, installed: Installed, code: str, ok: bool, words: str
    ) -> None:
        installed.add("tried", code)
        done = installed.run(world, "plugins", "check", "--json")
        (row,) = done.json()
        assert row["ok"] is ok and words in (row["reason"] + " ".join(row["hooks"]))
        assert done.code == (0 if ok else 3)

    def test_a_damaged_configuration_is_left_alone(self, world: World, installed: Installed) -> None:
        installed.add("org-policy", VETO)
        (world.home / ".msd").mkdir(exist_ok=True, mode=0o700)
        path = world.home / ".msd" / "config.json"
        for text in ("{ damaged", '{"plugins": {"deny": "x"}}', '{"plugins": []}'):
            path.write_text(text)
            assert installed.run(world, "plugins", "disable", "org-policy").code == 7
            assert path.read_text() == text
