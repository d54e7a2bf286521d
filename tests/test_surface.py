"""Profiles, switches by name, and bringing skills and agents into coding tools (spec 40, Profiles and surface)."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat as st
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as some

from msd_host import MSD, FirstParty, Host, MSDError, NotFound, Refused
from msd_host.activation import tree as tree_module
from msd_host.activation.projection import Projected, marker_name, with_name
from msd_host.activation.site import index_name
from msd_host.activation.switches import WHOLE
from msd_host.cli.app import run
from msd_host.errors import DamagedState
from msd_host.model.capability import Capability
from msd_host.model.frozen import freeze
from tests.cli import environment, msd
from tests.planted import World, bare_product, boolean, contribution, gate, is_root, manifest, step

INDEX = index_name("msd")
RUNTIMES = ("claude", "codex", "cursor", "gemini", "opencode")
SKILL = "---\nname: whatever\ndescription: About it.\n---\n\nDo it.\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, MSD)


def skilled(world: World, id: str = "acme", *, project: bool = False, **fields: Any) -> Path:
    """An overlay with a skill of two files and an agent, granted where that is needed."""
    stem = f"{id}-skill"
    files = {
        f"skills/{stem}/SKILL.md": SKILL,
        f"skills/{stem}/more/notes.md": "notes",
        f"agents/{id}-agent.md": f"---\nname: {id}-agent\n---\nAgent.\n",
    }
    add = world.add_project if project else world.add_global
    folder = add(id, files=files, skills=[stem], agents=[f"{id}-agent"], **fields)
    if project:
        world.grant(id)
    return folder


def apply(world: World, base: Path | None = None, runtime: str = "claude", **fields: Any) -> Projected:
    composition = world.host.compose(world.project, trust=fields.pop("trust", None))
    config_dir = None if base is None else str(base)
    return world.host.surface.apply(composition, runtime, config_dir=config_dir, **fields)


def tree(base: Path) -> dict[str, str]:
    return {str(p.relative_to(base)): p.read_text() for p in sorted(base.rglob("*")) if p.is_file() and p.name != INDEX}


def choose(world: World, name: str, layer: str | None = None) -> None:
    world.host.surface.profile(world.host.compose(world.project), name, layer=layer)


def shown(world: World) -> Any:
    return world.host.surface.show(world.host.compose(world.project))


class TestProfiles:
    def test_a_profile_holds_its_tiers_and_all_they_lean_on_P4(self, world: World) -> None:
        world.add_global("low", tier="core", requires=["mid"])
        world.add_global("mid", tier="core")
        world.add_global("high", tier="full", gates=[gate("plan:pre")])
        choose(world, "core")
        seen = shown(world)
        assert {"low", "mid"} <= set(seen.on) and "high" not in seen.on
        assert seen.off["high"] == "the profile core leaves it out (its tier is full)"
        state = msd(world, "capability", "state", "high", "--json").json()["capabilities"][0]
        assert (state["installed"], state["enabled"], state["active"]) == (False, False, False)
        assert "high" not in msd(world, "loop", "render-hooks", "plan:pre").out
        choose(world, WHOLE)
        assert "high" in shown(world).on

    def test_what_a_project_says_wins_there_only(self, world: World) -> None:
        choose(world, "core", "user")
        choose(world, "full", "project")
        assert shown(world).profile == "full"
        other = world.root / "other"
        (other / ".planning").mkdir(parents=True)
        assert world.host.surface.show(world.host.compose(other)).profile == "core"

    def test_one_by_name_comes_in_whatever_the_profile_says(self, world: World) -> None:
        skilled(world, tier="full", requires=["base"])
        world.add_global("base", tier="standard")
        choose(world, "core")
        assert not {"acme", "base"} & set(shown(world).on)
        assert msd(world, "surface", "enable", "acme").code == 0
        assert {"acme", "base"} <= set(shown(world).on)
        assert msd(world, "surface", "disable", "acme").code == 0
        assert not {"acme", "base"} & set(shown(world).on)

    def test_a_skill_by_name_brings_its_capability_P9(self, world: World) -> None:
        skilled(world, tier="full")
        choose(world, "core")
        assert msd(world, "surface", "add", "msd-acme-skill").out == "acme-skill: seen\n"
        assert "acme-skill" in shown(world).skills and "acme" in shown(world).on

    def test_a_skill_taken_out_leaves_its_capability_on_P10(self, world: World) -> None:
        skilled(world, gates=[gate("plan:pre")])
        assert msd(world, "surface", "remove", "acme-skill", "--json").json() == {"stem": "acme-skill", "seen": False}
        assert "acme" in shown(world).on and "acme-skill" not in shown(world).skills
        msd(world, "surface", "add", "acme-skill")
        assert "acme-skill" in shown(world).skills

    def test_a_switched_off_owner_is_named(self, world: World) -> None:
        skilled(world)
        msd(world, "capability", "disable", "acme")
        done = msd(world, "surface", "add", "acme-skill")
        assert done.code == 3 and "surface enable acme" in done.err

    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (("profile", "stnadard"), 5, '"standard"'),
            (("add", "nothing-like-it"), 5, "surface show"),
            (("apply", "--runtime", "claud"), 5, '"claude"'),
            (("apply",), 2, "--runtime"),
            (("shw",), 2, '"show"'),
        ],
    )
    def test_words_that_mean_nothing(self, world: World, words: tuple[str, ...], code: int, says: str) -> None:
        done = msd(world, "surface", *words)
        assert done.code == code and says in done.err

    @pytest.mark.parametrize(
        "text", ["{", "[]", '{"profile": "x"}', '{"added": "a"}', '{"projects": {"p": {"removed": [1]}}}']
    )
    def test_a_damaged_file_is_said_and_never_overwritten_P6(self, world: World, text: str) -> None:
        path = world.home / ".msd" / "surface.json"
        path.parent.mkdir()
        path.write_text(text)
        assert shown(world).profile == WHOLE
        assert "surface.json" in msd(world, "capability", "state").err
        for words in (("profile", "core"), ("add", "research"), ("apply", "--runtime", "claude", "--config-dir", "x")):
            assert msd(world, "surface", *words).code == 7
        assert path.read_text() == text
        assert not (world.project / "x").exists()

    def test_a_repository_has_no_say(self, world: World) -> None:
        folder = world.project / ".msd"
        folder.mkdir()
        (folder / "surface.json").write_text('{"profile": "core"}')
        assert shown(world).profile == WHOLE


class TestApply:
    @pytest.mark.parametrize("runtime", RUNTIMES)
    def test_twice_is_once(self, world: World, runtime: str) -> None:
        skilled(world)
        skilled(world, "proj", project=True)
        base = world.root / "tool"
        first = apply(world, base, runtime)
        before = tree(base)
        assert before["skills/msd-acme-skill/SKILL.md"].startswith("---\nname: msd-acme-skill\n")
        assert before["skills/msd-proj-skill/more/notes.md"] == "notes"
        assert ("agents/acme-agent.md" in before) == (runtime in ("claude", "cursor"))
        again = apply(world, base, runtime)
        assert not any(p.writes or p.removes or p.kept for p in again.plans) and tree(base) == before
        assert sum(len(p.writes) for p in first.plans) == sum(len(p.same) for p in again.plans) == len(before)

    def test_a_dry_run_says_the_same_and_writes_nothing(self, world: World) -> None:
        skilled(world)
        base = world.root / "tool"
        plan = apply(world, base, dry_run=True)
        assert not base.exists()
        assert apply(world, base).plans == plan.plans

    def test_what_is_gone_goes_and_only_that_P17(self, world: World) -> None:
        skilled(world)
        base = world.root / "tool"
        apply(world, base)
        mine = base / "skills" / "msd-mine" / "SKILL.md"
        mine.parent.mkdir()
        mine.write_text("mine")
        (base / "skills" / "msd-acme-skill" / "own.txt").write_text("own")
        msd(world, "capability", "remove", "acme", "--yes")
        apply(world, base)
        left = tree(base)
        assert left["skills/msd-mine/SKILL.md"] == "mine" and left["skills/msd-acme-skill/own.txt"] == "own"
        assert "skills/msd-acme-skill/SKILL.md" not in left and "agents/acme-agent.md" not in left
        assert not (base / "skills" / "msd-acme-skill" / "more").exists()

    def test_a_file_of_somebody_else_stays(self, world: World) -> None:
        skilled(world)
        base = world.root / "tool"
        theirs = base / "skills" / "msd-acme-skill" / "SKILL.md"
        theirs.parent.mkdir(parents=True)
        theirs.write_text("theirs")
        done = msd(world, "surface", "apply", "--runtime", "claude", "--config-dir", str(base))
        assert done.code == 6 and "somebody else put it there" in done.out
        assert theirs.read_text() == "theirs"
        assert not (theirs.parent / "more").exists(), "a folder that is not ours gets nothing of ours"

    def test_an_edited_file_stays_also_when_it_is_no_longer_wanted(self, world: World) -> None:
        skilled(world)
        base = world.root / "tool"
        apply(world, base)
        edited = base / "skills" / "msd-acme-skill" / "SKILL.md"
        edited.write_text("edited")
        assert ("skills/msd-acme-skill/SKILL.md", "somebody edited it since") in apply(world, base).plans[0].kept
        msd(world, "capability", "disable", "acme")
        apply(world, base)
        assert edited.read_text() == "edited"

    def test_a_newer_version_takes_the_place_of_ours(self, world: World) -> None:
        folder = skilled(world)
        base = world.root / "tool"
        apply(world, base)
        (folder / "skills" / "acme-skill" / "SKILL.md").write_text(SKILL + "More.\n")
        (folder / "skills" / "acme-skill" / "more" / "notes.md").unlink()
        apply(world, base)
        assert tree(base)["skills/msd-acme-skill/SKILL.md"].endswith("More.\n")
        assert "skills/msd-acme-skill/more/notes.md" not in tree(base)

    def test_project_overlays_stay_out_of_the_user_s_own_folder(self, world: World) -> None:
        skilled(world)
        skilled(world, "proj", project=True)
        env = {"HOME": str(world.root / "os-home")}
        done = msd(world, "surface", "apply", "--runtime", "claude", **env)
        usual = world.root / "os-home" / ".claude"
        assert "msd-acme-skill" in os.listdir(usual / "skills") and "msd-proj-skill" not in os.listdir(usual / "skills")
        assert "left out: proj" in done.err and "--local" in done.err
        assert msd(world, "surface", "apply", "--runtime", "claude", "--local", **env).code == 0
        assert {"msd-acme-skill", "msd-proj-skill"} <= set(os.listdir(world.project / ".claude" / "skills"))

    @pytest.mark.parametrize(
        ("runtime", "env", "where"),
        [
            ("claude", {}, ".claude"),
            ("claude", {"CLAUDE_CONFIG_DIR": "{root}/elsewhere"}, "../elsewhere"),
            ("codex", {}, ".agents"),
            ("cursor", {}, ".cursor"),
            ("gemini", {}, ".gemini"),
            ("opencode", {}, ".config/opencode"),
            ("opencode", {"XDG_CONFIG_HOME": "{root}/xdg"}, "../xdg/opencode"),
            ("opencode", {"OPENCODE_CONFIG_DIR": "relative"}, ".config/opencode"),
        ],
    )
    def test_the_usual_places(self, world: World, runtime: str, env: dict[str, str], where: str) -> None:
        home = world.root / "os-home"
        home.mkdir()
        env = {name: value.format(root=world.root) for name, value in env.items()}
        done = msd(world, "surface", "apply", "--runtime", runtime, "--json", HOME=str(home), **env)
        assert [Path(f["base"]) for f in done.json()["folders"]] == [Path(os.path.normpath(home / where))]
        assert (home / where / "skills" / "msd-research" / "SKILL.md").is_file()

    def test_an_inactive_requirement_takes_its_dependents_along(self, world: World) -> None:
        skilled(world, requires=["base"])
        world.add_global("base", config={"base.on": boolean(False)}, activationKey="base.on")
        done = apply(world, world.root / "tool")
        assert not any("acme" in w.path for p in done.plans for w in p.writes)
        assert shown(world).off["acme"] == 'it requires "base", which is not active'

    def test_a_runtime_an_overlay_does_not_support_gets_nothing_of_it(self, world: World) -> None:
        skilled(world, runtimeCompat={"supported": ["codex"], "unsupported": []})
        assert ("acme", "its manifest does not support claude") in apply(world, world.root / "tool").left_out

    def test_a_skill_that_is_missing_is_left_out_and_named_P16(self, world: World) -> None:
        folder = skilled(world)
        (folder / "skills" / "acme-skill" / "SKILL.md").unlink()
        (folder / "agents" / "acme-agent.md").unlink()
        left = dict(apply(world, world.root / "tool").left_out)
        assert "missing" in left["acme: skill acme-skill"] and "missing" in left["acme: agent acme-agent"]

    def test_undeclared_skills_are_never_used_P14(self, world: World) -> None:
        folder = skilled(world)
        (folder / "skills" / "other").mkdir()
        (folder / "skills" / "other" / "SKILL.md").write_text(SKILL)
        assert "skills/msd-other/SKILL.md" not in tree(world.root / "tool") and apply(world, world.root / "tool")
        assert "skills/msd-other/SKILL.md" not in tree(world.root / "tool")

    def test_an_executable_stays_one(self, world: World) -> None:
        folder = skilled(world)
        script = folder / "skills" / "acme-skill" / "run.sh"
        script.write_text("#!/bin/sh\n")
        script.chmod(0o755)
        apply(world, world.root / "tool")
        assert os.access(world.root / "tool" / "skills" / "msd-acme-skill" / "run.sh", os.X_OK)
        assert not (world.root / "tool" / "skills" / "msd-acme-skill" / "SKILL.md").stat().st_mode & st.S_IXUSR

    def test_each_skill_says_where_it_came_from(self, world: World) -> None:
        folder = skilled(world)
        (folder / "skills" / "acme-skill" / marker_name("msd").upper()).write_text("other\n")
        done = apply(world, world.root / "tool")
        seen = tree(world.root / "tool")
        assert seen["skills/msd-acme-skill/.msd-capability-skill"] == "acme\n"
        assert seen["skills/msd-research/.msd-capability-skill"] == "research\n"
        assert any(".MSD-CAPABILITY-SKILL" in what for what, _ in done.left_out), "a bundle cannot say it for us"

    def test_agents_of_another_form_are_named(self, world: World) -> None:
        skilled(world)
        (told,) = [why for what, why in apply(world, world.root / "tool", "codex").left_out if what == "agents"]
        assert "acme-agent" in told and "form of its own" in told
        assert not [w for w, _ in apply(world, world.root / "tool", "cursor").left_out if w == "agents"]

    @pytest.mark.parametrize("stem", ["a.b", "a..b", "A_b", "x.", "0", "a" * 64, "SKILL.md", "msd-acme", "-.-"])
    def test_odd_names(self, world: World, stem: str) -> None:
        """A name the manifest may have makes one folder; another never gets to a file system (P18)."""
        world.add_global("acme", files={f"skills/{stem}/SKILL.md": SKILL}, skills=[stem])
        apply(world, world.root / "tool")
        made = {p for p in tree(world.root / "tool") if p.startswith(f"skills/msd-{stem}/")}
        assert len(made) == (2 if "acme" in world.accepted() else 0)
        assert (stem == "-.-") is not ("acme" in world.accepted())

    @pytest.mark.parametrize("stem", ["", "..", ".", "a/b", "/a", "a\0b", "../../out", "con", "é", "a\n", "a b", "🙂"])
    def test_names_no_manifest_may_have_P18(self, world: World, stem: str) -> None:
        world.add_global("acme", skills=[stem], agents=[stem])
        assert "acme" not in world.accepted()
        assert not any(w.owner == "acme" for p in apply(world, world.root / "tool").plans for w in p.writes)

    @pytest.mark.parametrize("skills", [["Deploy", "deploy"], ["deploy", "DEPLOY"]])
    def test_names_that_differ_in_case_alone_are_one(self, world: World, skills: list[str]) -> None:
        """On some file systems they are; so only one of them is ever written."""
        one, other = skills
        world.add_global("first", files={f"skills/{one}/SKILL.md": SKILL}, skills=[one])
        world.add_global("second", files={f"skills/{other}/SKILL.md": SKILL}, skills=[other])
        world.add_global(
            "both", files={f"skills/{s}x/SKILL.md": SKILL for s in skills}, skills=[f"{s}x" for s in skills]
        )
        apply(world, world.root / "tool")
        folders = [name.casefold() for name in os.listdir(world.root / "tool" / "skills")]
        assert len(folders) == len(set(folders)) and folders.count("msd-deploy") <= 1

    def test_files_that_differ_in_case_alone_are_one_and_named(self, world: World) -> None:
        folder = skilled(world)
        (folder / "skills" / "acme-skill" / "NOTES.md").write_text("A")
        (folder / "skills" / "acme-skill" / "notes.md").write_text("b")
        done = apply(world, world.root / "tool")
        assert any("notes.md" in what.lower() and "lies there" in why for what, why in done.left_out)
        names = [name.lower() for name in os.listdir(world.root / "tool" / "skills" / "msd-acme-skill")]
        assert names.count("notes.md") == 1 and apply(world, world.root / "tool").is_whole

    def test_bounds(self, world: World) -> None:
        skilled(world)
        base = world.root / "tool"
        for fields in ({"surface_bytes": 1000}, {"ledger_bytes": 500}):
            product = attrs.evolve(MSD, limits=attrs.evolve(MSD.limits, **fields))
            host = Host(product, home=world.home, discover_extensions=False)
            with pytest.raises(Refused, match="nothing was changed"):
                host.surface.apply(host.compose(world.project), "claude", config_dir=str(base))
            assert not tree(base) if base.exists() else True


class TestTrust:
    def test_project_bytes_come_from_the_copy_that_was_agreed_to(self, world: World) -> None:
        skilled(world, "proj", project=True)
        composition = world.host.compose(world.project)
        body = world.project_folder("proj") / "skills" / "proj-skill" / "SKILL.md"
        body.write_text("swapped after the look")
        world.host.surface.apply(composition, "claude", config_dir=str(world.root / "tool"))
        assert "swapped" not in tree(world.root / "tool")["skills/msd-proj-skill/SKILL.md"]
        apply(world, world.root / "tool")
        assert "skills/msd-proj-skill/SKILL.md" not in tree(world.root / "tool"), "it is not agreed to any more"

    def test_consent_for_one_run_makes_nothing_that_lasts(self, world: World) -> None:
        skilled(world, "proj", project=True)
        found = world.host.trust.show("proj", cwd=world.project).content_hash
        assert found is not None
        world.host.trust.revoke(world.project, "proj")
        with pytest.raises(Refused, match="this run alone"):
            apply(world, world.root / "tool", trust={"proj": [found]})
        assert not (world.root / "tool").exists()

    def test_a_global_folder_that_was_replaced_after_the_look_gives_nothing(self, world: World) -> None:
        folder = skilled(world)
        composition = world.host.compose(world.project)
        folder.rename(world.root / "aside")
        skilled(world)
        done = world.host.surface.apply(composition, "claude", config_dir=str(world.root / "tool"))
        assert any("replaced" in why for _, why in done.left_out)

    @pytest.mark.parametrize("part", ["skills", "skills/acme-skill", "skills/acme-skill/SKILL.md", "agents"])
    def test_a_link_in_a_bundle_is_not_followed(self, world: World, part: str) -> None:
        folder = skilled(world)
        secret = world.root / "secret"
        (secret / "acme-skill").mkdir(parents=True)
        for name in ("SKILL.md", "acme-agent.md", "acme-skill/SKILL.md"):
            (secret / name).write_text("LEAKED")
        (folder / part).rename(world.root / "aside")
        (folder / part).symlink_to(secret / "SKILL.md" if part.endswith(".md") else secret)
        apply(world, world.root / "tool")
        assert not any("LEAKED" in text for text in tree(world.root / "tool").values())


class TestHostileGround:
    @pytest.mark.parametrize("part", ["skills", "skills/msd-acme-skill", "skills/msd-acme-skill/SKILL.md", "agents"])
    def test_a_link_in_the_tool_s_folder_leads_nowhere(self, world: World, part: str) -> None:
        skilled(world)
        base, out = world.root / "tool", world.root / "out"
        (base / part).parent.mkdir(parents=True)
        out.mkdir()
        (base / part).symlink_to(out / "x" if part.endswith(".md") else out)
        done = apply(world, base)
        assert done.plans[0].kept and not list(out.rglob("*"))

    @pytest.mark.parametrize("part", [".claude", ".claude/skills"])
    def test_a_project_s_link_leads_nowhere(self, world: World, part: str) -> None:
        skilled(world)
        out = world.root / "out"
        out.mkdir()
        (world.project / part).parent.mkdir(parents=True, exist_ok=True)
        (world.project / part).symlink_to(out)
        done = msd(world, "surface", "apply", "--runtime", "claude", "--local")
        assert done.code in (6, 7) and not list(out.iterdir())

    def test_a_link_to_the_tool_s_folder_that_the_user_made_is_theirs(self, world: World) -> None:
        skilled(world)
        (world.root / "real").mkdir()
        (world.root / "tool").symlink_to(world.root / "real")
        apply(world, world.root / "tool")
        assert "skills/msd-acme-skill/SKILL.md" in tree(world.root / "real")

    @pytest.mark.parametrize(
        "path", ["../victim", "/victim", "skills/../../victim", "settings.json", "skills/other/SKILL.md", "skills", ""]
    )
    def test_a_forged_index_removes_nothing(self, world: World, path: str) -> None:
        from hashlib import sha256

        base = world.root / "tool"
        for victim in (world.root / "victim", base / "settings.json", base / "skills" / "other" / "SKILL.md"):
            victim.parent.mkdir(parents=True, exist_ok=True)
            victim.write_text("precious")
        entry = {"sha256": [sha256(b"precious").hexdigest()]}
        (base / INDEX).write_text(json.dumps({"schema": 1, "files": {path: entry}}))
        assert not apply(world, base).plans[0].removes
        assert (world.root / "victim").read_text() == "precious" == (base / "settings.json").read_text()
        assert (base / "skills" / "other" / "SKILL.md").read_text() == "precious"

    @pytest.mark.parametrize("text", ["{", "[]", '{"schema": 2, "files": {}}', '{"schema": 1, "files": []}'])
    def test_an_index_that_is_none_stops_everything(self, world: World, text: str) -> None:
        skilled(world)
        base = world.root / "tool"
        base.mkdir()
        (base / INDEX).write_text(text)
        with pytest.raises(DamagedState):
            apply(world, base)
        assert [p.name for p in base.iterdir()] == [INDEX] and (base / INDEX).read_text() == text

    @pytest.mark.parametrize("subpath", ["../out", "/out", "a/../../out"])
    def test_a_descriptor_that_leads_out_is_refused(self, world: World, subpath: str) -> None:
        own = dict(world.host.baseline.capabilities["claude"].raw)
        descriptor = json.loads(json.dumps(world.host.baseline.to_dict()["capabilities"]["claude"]["runtime"]))
        for entry in descriptor["artifactLayout"]["global"]:
            entry["destSubpath"] = subpath
        skilled(world)
        world.plant(
            world.global_folder("tool"),
            {**{k: own[k] for k in ("version", "title", "description", "tier")}}
            | {"id": "tool", "role": "runtime", "requires": [], "engines": {"msd": ">=1"}, "runtime": descriptor},
        )
        assert "tool" in world.accepted()
        with pytest.raises(Refused, match="leads out"):
            apply(world, world.root / "tool", "tool")

    @pytest.mark.skipif(is_root(), reason="root may write everywhere")
    def test_a_folder_nobody_may_write_in(self, world: World) -> None:
        base = world.root / "tool"
        base.mkdir(mode=0o500)
        with pytest.raises(DamagedState):
            apply(world, base)

    @pytest.mark.parametrize("name", ["mkdir", "link"])
    @pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
    def test_a_folder_that_takes_nothing(
        self, world: World, monkeypatch: pytest.MonkeyPatch, name: str, number: int
    ) -> None:
        """Whoever runs the tests; what was begun is ended when it can be."""
        skilled(world)
        base = world.root / "tool"
        base.mkdir()

        def refuse(*words: Any, **named: Any) -> None:
            raise OSError(number, os.strerror(number), words[0])

        with monkeypatch.context() as patch:
            patch.setattr(os, name, refuse)
            with pytest.raises(DamagedState, match=errno.errorcode[number]):
                apply(world, base)
        assert not [p for p in base.rglob("*") if ".tmp-" in p.name]
        assert apply(world, base).is_whole and apply(world, base).is_whole

    def test_a_file_system_without_links(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*words: Any, **named: Any) -> None:
            raise OSError(errno.EPERM, "no links here")

        skilled(world)
        monkeypatch.setattr(os, "link", refuse)
        assert apply(world, world.root / "tool").is_whole
        assert "skills/msd-acme-skill/SKILL.md" in tree(world.root / "tool")

    @pytest.mark.parametrize("links", [True, False])
    def test_what_a_person_writes_meanwhile_is_theirs(
        self, world: World, monkeypatch: pytest.MonkeyPatch, links: bool
    ) -> None:
        """New, changed and no longer wanted files, each edited after the look and before our turn."""
        skilled(world)
        gone = skilled(world, "gone")
        base, new = world.root / "tool", "skills/msd-late-skill/SKILL.md"
        apply(world, base)
        old, dropped = "skills/msd-acme-skill/SKILL.md", "skills/msd-gone-skill/SKILL.md"
        (world.global_folder("acme") / "skills" / "acme-skill" / "SKILL.md").write_text(SKILL + "New.\n")
        shutil.rmtree(gone)
        skilled(world, "late")
        real = tree_module.create_file

        def meddled(fd: int, name: str, data: bytes, mode: int) -> None:
            real(fd, name, data, mode)
            if name.startswith(f".{INDEX}"):
                for path in (new, old, dropped):
                    (base / path).parent.mkdir(exist_ok=True)
                    (base / path).write_text("a person's")

        def refuse(*words: Any, **named: Any) -> None:
            raise OSError(errno.EPERM, "no links here")

        monkeypatch.setattr(tree_module, "create_file", meddled)
        if not links:
            monkeypatch.setattr(os, "link", refuse)
        done = apply(world, base)
        late = {path for path, why in done.plans[0].kept if why == "somebody changed it meanwhile"}
        assert late == {new, old, dropped} and not done.is_whole
        assert all((base / path).read_text() == "a person's" for path in late)
        assert not late & {*(w.path for w in done.plans[0].writes), *done.plans[0].removes}

    @pytest.mark.parametrize("is_dry", [True, False])
    @pytest.mark.parametrize("path", [".claude", "../project/.claude", "{project}/.claude", "link/below"])
    def test_a_named_folder_in_the_project_is_reached_through_no_link(
        self, world: World, path: str, is_dry: bool
    ) -> None:
        skilled(world)
        out = world.root / "out"
        out.mkdir()
        (world.project / ".claude").symlink_to(out)
        (world.project / "link").symlink_to(out)
        words = ["--config-dir", path.format(project=world.project), *(["--dry-run"] if is_dry else [])]
        done = msd(world, "surface", "apply", "--runtime", "claude", *words)
        assert done.code == 7 and "link" in done.err and "Traceback" not in done.err
        assert not list(out.iterdir())

    def test_a_named_folder_in_the_project(self, world: World) -> None:
        skilled(world, project=True)
        for path in ("tool", "deep/er/tool", "."):
            assert msd(world, "surface", "apply", "--runtime", "claude", "--config-dir", path).code == 0
            assert (world.project / path / "skills" / "msd-acme-skill" / "SKILL.md").is_file()

    def test_a_file_in_place_of_the_folder(self, world: World) -> None:
        (world.root / "tool").write_text("a file")
        done = msd(world, "surface", "apply", "--runtime", "claude", "--config-dir", str(world.root / "tool"))
        assert done.code == 7 and "Traceback" not in done.err


class TestInterrupted:
    def test_killed_at_any_write_the_next_run_ends_it(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """Old, then new content, killed before each rename and unlink in turn."""
        folder = skilled(world)
        reference = world.root / "reference"

        class Killed(BaseException):
            pass

        def dying(at: int, call: Callable[..., Any]) -> Callable[..., Any]:
            def run(*words: Any, **named: Any) -> Any:
                count[0] += 1
                if count[0] == at:
                    raise Killed
                return call(*words, **named)

            return run

        at, count = 0, [0]
        while count[0] >= at:
            at += 1
            base = world.root / f"tool-{at}"
            (folder / "skills" / "acme-skill" / "SKILL.md").write_text(SKILL)
            apply(world, base)
            (folder / "skills" / "acme-skill" / "SKILL.md").write_text(SKILL + "New.\n")
            world.host.settings.change(world.host.compose(world.project), [_off("research")])
            count[0] = 0
            with monkeypatch.context() as patch:
                for name in ("rename", "rmdir", "unlink", "mkdir", "link"):
                    patch.setattr(os, name, dying(at, getattr(os, name)))
                patch.setattr(tree_module, "create_file", dying(at, tree_module.create_file))
                try:
                    apply(world, base)
                except Killed:
                    pass
            done = apply(world, base)
            assert done.is_whole, (at, done.plans)
            apply(world, reference)
            assert tree(base) == tree(reference), at
            world.host.settings.change(world.host.compose(world.project), [_off("research", on=True)])
        assert at > 8

    def test_two_at_once(self, world: World) -> None:
        for number in range(8):
            skilled(world, f"c{number}")
        base = world.root / "tool"
        argv = [sys.executable, "-s", "-m", "msd_host", "surface", "apply", "--runtime", "claude"]
        runs = [
            subprocess.Popen(
                [*argv, "--config-dir", str(base)],
                cwd=world.project,
                env=environment(world.home),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(6)
        ]
        assert [run.wait(60) for run in runs] == [0] * 6
        again = apply(world, base)
        assert again.is_whole and not again.plans[0].writes
        assert not [p for p in base.rglob("*") if ".tmp-" in p.name]


def _off(id: str, *, on: bool = False) -> Any:
    from msd_host.activation.change import Change

    return Change(id, on=on)


@given(some.binary(max_size=200), some.booleans(), some.sampled_from(["\n", "\r\n"]))
def test_only_the_name_in_the_frontmatter_changes(body: bytes, has_name: bool, newline: str) -> None:
    line = f"name: old{newline}" if has_name else ""
    head = f"---{newline}{line}description: x{newline}---{newline}"
    data = head.encode() + body
    named = with_name(data, "msd-x")
    assert named.endswith(body) and with_name(named, "msd-x") == named
    assert named.count(b"name: msd-x") >= 1 and b"name: old" not in named[: len(head) + 12]
    assert with_name(body, "msd-x") == body or body.lstrip(b"\xef\xbb\xbf").startswith(b"---")


@pytest.mark.parametrize(
    ("head", "left"),
    [
        ('"name": old', []),
        ("'name' : old", []),
        ("name : old", []),
        ("name: >-\n  folded\n\n  more", []),
        ("name:\n  old", []),
        ("description: x\nname: old # why", ["description: x"]),
        ("names: x", ["names: x"]),
        ("meta:\n  name: inner", ["meta:", "  name: inner"]),
        ("name: |\n  old\ndescription: x\nlicense: y", ["description: x", "license: y"]),
    ],
)
def test_a_name_is_replaced_whole_however_it_is_written(head: str, left: list[str]) -> None:
    lines = with_name(f"---\n{head}\n---\nname: body\n".encode(), "msd-x").decode().split("\n")
    assert [line for line in lines if line != "name: msd-x"] == ["---", *left, "---", "name: body", ""]
    assert lines.count("name: msd-x") == 1


POINTS = MSD.contract.points
FAILS = {"predicate": {"kind": "command-exit-zero", "command": "exit 1"}}
KINDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "step": lambda point: {"steps": [step(point, ref={"agent": "acme-agent"}, fragment={"inline": "Do it."})]},
    "contribution": lambda point: {
        "contributions": [
            contribution(point, into=next(s for s in MSD.contract.steps if point in s.points).agent_roles[0])
        ]
    },
    "gate": lambda point: {"gates": [gate(point, check=FAILS)]},
}


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_hook_kind_works_at_every_point_for_a_project_overlay_as_for_first_party(
    tmp_path: Path, kind: str, point: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line gives the same answers and exit codes; nothing differs but where it comes from."""
    fields = {"agents": ["acme-agent"], **KINDS[kind](point)}
    theirs = World(tmp_path / "theirs")
    theirs.add_project("acme", **fields)
    theirs.grant("acme")
    ours = World(tmp_path / "ours", attrs.evolve(bare_product(), first_party=_shipped(manifest("acme", **fields))))

    def told(world: World, *words: str) -> tuple[int, Any]:
        monkeypatch.chdir(world.project)
        code = run(world.host.product, ["--home", str(world.home), "--no-plugins", "loop", *words])
        return code, json.loads(capsys.readouterr().out.replace("project", "first-party"))

    for words in (("render-hooks", point), ("check", point, "--format", "json")):
        assert told(theirs, *words) == told(ours, *words)
    code, envelope = told(theirs, "render-hooks", point)
    assert code == 0 and [(h["capId"], h["kind"]) for h in envelope["activeHooks"]] == [("acme", kind)]
    code, checked = told(theirs, "check", point, "--format", "json")
    assert code == (10 if kind == "gate" else 0) and checked["passed"] is (kind != "gate")
    assert [g["outcome"] for g in checked["gates"]] == (["blocked"] if kind == "gate" else [])


def _shipped(document: dict[str, Any]) -> FirstParty:
    return FirstParty(lambda: (Capability(freeze(document)),))


VERBS = [
    "capability list",
    "capability state",
    "capability show acme",
    "capability explain acme",
    "loop render-hooks plan:pre",
    "loop check plan:pre",
    "surface show",
    "surface apply --runtime claude --config-dir tool",
    "surface profile standard",
    "settings list",
    "settings explain acme.on",
    "capability disable acme",
    "registry show",
    "registry digest",
    "capability trust status",
    "x acme",
]


@pytest.mark.parametrize("words", VERBS)
def test_one_process_composes_once(
    world: World, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from msd_host import host as host_module

    skilled(world, project=True, config={"acme.on": boolean()})
    calls: list[str] = []
    real = host_module.compose

    def counted(*args: Any, **named: Any) -> Any:
        calls.append(words)
        return real(*args, **named)

    monkeypatch.setattr(host_module, "compose", counted)
    monkeypatch.chdir(world.project)
    run(MSD, ["--home", str(world.home), "--no-plugins", *words.split()])
    capsys.readouterr()
    assert len(calls) == 1


def test_errors_have_codes(world: World) -> None:
    composition = world.host.compose(world.project)
    with pytest.raises(NotFound):
        world.host.surface.apply(composition, "nothing")
    with pytest.raises(MSDError) as caught:
        world.host.surface.apply(composition, "claude", config_dir="x", local=True)
    assert caught.value.code == "usage"
