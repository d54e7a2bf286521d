"""Install, update, rollback and remove from folders: what they make, what they refuse, and that nothing runs (spec 30)."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from msd_host import MSD, MSDError, Scope
from msd_host.errors import BusyError, ConsentNeeded, DamagedState, LifecycleError, NotFound, UsageError
from msd_host.lifecycle.values import Request
from tests.cli import environment, msd, msd_on_terminal
from tests.lifecycle.ground import Bench, tree
from tests.planted import World, gate, ledger, manifest

SCOPES = [Scope.GLOBAL, Scope.PROJECT]


@pytest.fixture(params=SCOPES, ids=lambda s: s.label)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path, request.param)


@pytest.fixture
def world(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


OWNER = ["-c", "user.name=a", "-c", "user.email=a@example.org"]


class TestTheWholeWay:
    def test_install_update_rollback_remove(self, bench: Bench) -> None:
        source = bench.source()
        done = bench.install(source)
        assert (done.status, done.version, done.from_version) == ("installed", "1.0.0", None)
        assert bench.accepted() == {"acme"} and not bench.leftovers()
        bench.source(version="1.1.0", text="two")
        done = bench.update()
        assert (done.status, done.version, done.from_version) == ("updated", "1.1.0", "1.0.0")
        assert b"two" in bench.state()["files"]["skills/acme-skill/SKILL.md"]
        with bench.lifecycle.rolling_back("acme", scope=bench.scope) as prepared:
            done = bench.lifecycle.commit(prepared, agreed="terminal")
        assert (done.status, done.version) == ("rolled-back", "1.0.0")
        assert b"one" in bench.state()["files"]["skills/acme-skill/SKILL.md"]
        assert bench.accepted() == {"acme"}
        bench.remove()
        assert bench.state() == {"files": {}, "entries": {}, "grants": [], "accepted": False}
        assert not bench.leftovers()

    def test_the_entry_says_all_there_is_to_say(self, bench: Bench) -> None:
        source = bench.source()
        done = bench.install(source)
        entry = bench.ledger()["acme"]
        assert entry["source"] == str(source) and entry["contentHash"] == done.content_hash
        assert entry["gates"] == ["plan:pre"] and entry["files"] == [".msd/capabilities/acme"]
        assert entry["installedBy"] == f"msd {MSD.version}"

    def test_exactly_one_consent_after_each_change_I17_U9(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        first = bench.install(bench.source())
        bench.source(version="1.1.0", text="two")
        second = bench.update()
        assert first.content_hash != second.content_hash
        assert [g[2] for g in bench.state()["grants"]] == [second.content_hash]

    def test_global_installs_record_no_consent_I19(self, world: Bench) -> None:
        world.install(world.source())
        assert world.state()["grants"] == []

    def test_the_same_again_is_nothing_to_do_W26(self, bench: Bench) -> None:
        source = bench.source()
        bench.install(source)
        before = tree(bench.root)
        with bench.lifecycle.preparing(str(source), scope=bench.scope) as prepared:
            assert prepared.same
            assert bench.lifecycle.commit(prepared).status == "unchanged"
        assert tree(bench.root) == before

    def test_a_lower_version_needs_a_word_W26(self, bench: Bench) -> None:
        bench.install(bench.source(version="2.0.0"))
        bench.source(version="1.0.0", text="older")
        with pytest.raises(LifecycleError) as caught:
            bench.update()
        assert caught.value.code == "downgrade" and "--allow-downgrade" in (caught.value.remedy or "")
        assert bench.update(request=Request(allow_downgrade=True)).version == "1.0.0"

    def test_nothing_of_a_capability_runs(self, bench: Bench) -> None:
        source = bench.source(
            hooks=[{"event": "Stop", "script": "run.sh"}],
            commands=[{"family": "acme", "module": "acme.py", "router": "route"}],
        )
        (source / "run.sh").write_text(f"#!/bin/sh\ntouch {bench.root}/ran\n")
        (source / "run.sh").chmod(0o755)
        (source / "acme.py").write_text(f"open({str(bench.root / 'ran')!r}, 'w')\n")
        bench.install(source)
        bench.source(version="1.1.0")
        bench.update()
        bench.remove()
        assert not (bench.root / "ran").exists()

    def test_other_entries_stay_letter_by_letter(self, bench: Bench) -> None:
        path = bench.owner / ".msd-capabilities.json"
        path.write_text('{"version": "1", "more": {"kept": 1}, "entries": {"other": {"id": "other", "x": [1, "a"]}}}')
        path.chmod(0o600)
        bench.install(bench.source())
        bench.remove()
        document = json.loads(path.read_text())
        assert document["more"] == {"kept": 1} and document["entries"] == {"other": {"id": "other", "x": [1, "a"]}}
        assert path.stat().st_mode & 0o777 == 0o600

    def test_data_stays_unless_it_is_to_go(self, bench: Bench) -> None:
        data = bench.owner / ".msd" / "capability-data" / "acme"
        for purge in (False, True):
            bench.install(bench.source())
            data.mkdir(parents=True, exist_ok=True)
            (data / "notes").write_text("mine")
            assert bench.remove(purge=purge)["dataRemoved"] is purge
            assert data.exists() is not purge


class TestRefused:
    def codes(self, bench: Bench, spec: Path, **fields: Any) -> str:
        before = tree(bench.root)
        with pytest.raises(MSDError) as caught:
            bench.install(spec, **fields)
        after = tree(bench.root)
        made = {p for p in after if p not in before and not p.startswith(("home/.msd", "project/.msd"))}
        assert not made and bench.accepted() == set() and not bench.leftovers()
        return caught.value.code

    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({"role": "wat"}, "manifest-invalid"),
            ({"engines": {"msd": ">=9"}}, "engines-unsatisfied"),
            ({"requires": ["nobody"]}, "requires"),
            ({"gates": [gate("no:point")]}, "manifest-invalid"),
            ({"agents": ["msd-planner"]}, "agent-collision"),
        ],
    )
    def test_what_a_load_would_refuse(self, bench: Bench, fields: dict[str, Any], code: str) -> None:
        assert self.codes(bench, bench.source(**fields)) == code

    def test_a_first_party_id_X3(self, bench: Bench) -> None:
        id = next(iter(bench.host.baseline.capabilities))
        assert self.codes(bench, bench.source(id)) == "id-collision"

    def test_what_first_party_has_may_be_leaned_on_W23(self, bench: Bench) -> None:
        bench.install(bench.source(requires=[next(iter(bench.host.baseline.capabilities))]))
        assert bench.accepted() == {"acme"}

    @pytest.mark.parametrize("id", ["aa", "zz"])
    def test_collisions_with_other_overlays_are_seen_W23(self, bench: Bench, id: str) -> None:
        """Whoever has the earlier name in the order of candidates: what is in place stays in place."""
        config = {"shared.key": {"type": "string", "default": "", "description": "x"}}
        bench.install(bench.source("mm", config=config))
        with pytest.raises(LifecycleError) as caught:
            bench.install(bench.source(id, config=config))
        assert caught.value.code == "config-collision" and '"mm"' in caught.value.message
        assert bench.accepted() == {"mm"}

    def test_a_project_overlay_satisfies_no_global_install_and_the_message_says_so(self, world: Bench) -> None:
        world.add_project("base")
        world.grant("base")
        with pytest.raises(LifecycleError, match="cannot satisfy one for every project"):
            world.install(world.source(requires=["base"]))
        world.scope = Scope.PROJECT
        world.install(world.source(requires=["base"]))

    def test_links_and_special_files_S22_S50(self, bench: Bench) -> None:
        source = bench.source()
        (source / "link").symlink_to("/etc/passwd")
        assert self.codes(bench, source) == "bundle-refused"
        (source / "link").unlink()
        os.mkfifo(source / "pipe")
        assert self.codes(bench, source) == "bundle-refused"

    def test_a_source_that_holds_another_id_now_X11(self, bench: Bench) -> None:
        source = bench.source()
        bench.install(source)
        before = bench.state()
        (source / "capability.json").write_text(json.dumps(manifest("other")))
        with pytest.raises(LifecycleError) as caught:
            bench.update()
        assert caught.value.code == "other-id" and bench.state() == before

    def test_a_folder_nobody_installed_is_not_replaced_W28(self, bench: Bench) -> None:
        folder: Path = bench.folder_of("acme")
        folder.mkdir(parents=True)
        (folder / "mine.txt").write_text("mine")
        with pytest.raises(LifecycleError) as caught:
            bench.install(bench.source())
        assert caught.value.code == "in-the-way" and (folder / "mine.txt").read_text() == "mine"

    def test_other_bytes_than_those_named(self, bench: Bench) -> None:
        with pytest.raises(LifecycleError) as caught:
            bench.lifecycle.install(str(bench.source()), scope=bench.scope, content_hash="sha512-" + "A" * 86 + "==")
        assert caught.value.code == "other-bytes"
        with pytest.raises(ConsentNeeded):
            bench.lifecycle.install(str(bench.source()), scope=bench.scope)

    def test_what_changed_since_it_was_shown(self, bench: Bench) -> None:
        with bench.lifecycle.preparing(str(bench.source()), scope=bench.scope) as prepared:
            bench.install(bench.source(text="another"))
            with pytest.raises(LifecycleError) as caught:
                bench.lifecycle.commit(prepared, agreed="terminal")
        assert caught.value.code == "changed-meanwhile"
        assert b"another" in bench.state()["files"]["skills/acme-skill/SKILL.md"]

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"entries": []}', '{"version": "2", "entries": {}}'])
    def test_a_damaged_ledger_is_left_alone_L17_X15(self, bench: Bench, text: str) -> None:
        path = bench.owner / ".msd-capabilities.json"
        path.write_text(text)
        for act in (lambda: bench.install(bench.source()), bench.update, bench.remove):
            with pytest.raises((DamagedState, NotFound)):
                act()
            assert path.read_text() == text
        assert msd(bench, "capability", "install", str(bench.source()), "--scope", bench.scope.label).code == 7
        assert not (bench.owner / ".msd" / "capabilities" / "acme").exists()

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda p: os.symlink("nowhere", p)])
    def test_a_ledger_that_is_no_file_L35_L36_L37(self, bench: Bench, make: Any) -> None:
        make(bench.owner / ".msd-capabilities.json")
        with pytest.raises(DamagedState):
            bench.install(bench.source())

    @pytest.mark.parametrize(
        "spec", ["", "nothing-like-this", "ftp://x/y.tgz", "git+ext::sh -c x", "npm:;x", "oci://x/y:z"]
    )
    def test_what_is_no_source(self, world: Bench, spec: str) -> None:
        with pytest.raises((UsageError, LifecycleError)):
            world.install(spec)
        assert msd(world, "capability", "install", spec or " ").code in (2, 3)


class TestTrust:
    def test_a_planted_ledger_and_bundle_launder_nothing_W1(self, tmp_path: Path) -> None:
        """A repository ships a bundle, a ledger that names its own source, and waits for `update --all`."""
        bench = Bench(tmp_path, Scope.PROJECT)
        inside = bench.plant(bench.project / "vendor", manifest("acme", version="1.1.0", gates=[gate("plan:pre")]))
        bench.add_project("acme", version="1.0.0", gates=[gate("plan:pre")])
        ledger(bench.project, acme={"source": str(inside)})
        for words in (("--all",), ("--all", "--yes"), ("acme", "--yes"), ("acme",)):
            done = msd(bench, "capability", "update", *words, "--scope", "project")
            assert done.code in (4, 6), (words, done)
        assert bench.accepted() == set() and bench.state()["grants"] == []

    def test_a_change_under_the_same_name_asks_again_W2(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        bench.install(bench.source())
        bench.source(text="swapped")
        done = msd(bench, "capability", "update", "acme")
        assert done.code == 4 and "swapped" in done.err and "changed since you last agreed" in done.err

    def test_consent_for_other_bytes_shows_no_difference(self, tmp_path: Path) -> None:
        """What lies there was never agreed to, so there is nothing old to compare with (law 7)."""
        bench = Bench(tmp_path, Scope.PROJECT)
        bench.install(bench.source())
        (bench.project_folder("acme") / "edited").write_text("x")
        bench.source(version="1.1.0")
        with bench.lifecycle.updating("acme", scope=Scope.PROJECT) as prepared:
            assert prepared.changes is None and prepared.needs_consent

    @pytest.mark.parametrize("path", ["src", ".git", "../outside", "/etc/passwd", ".msd/capabilities/other"])
    def test_a_forged_ledger_deletes_nothing_else_W6(self, tmp_path: Path, path: str) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        for victim in ("src", ".git", "../outside", ".msd/capabilities/other"):
            (bench.project / victim).mkdir(parents=True, exist_ok=True)
            (bench.project / victim / "precious").write_text("x")
        bench.add_project("acme")
        ledger(bench.project, acme={"files": [path], "sharedEdits": [{"file": path, "marker": "acme"}]})
        bench.remove()
        for victim in ("src", ".git", "../outside", ".msd/capabilities/other"):
            assert (bench.project / victim / "precious").read_text() == "x"
        assert not bench.project_folder("acme").exists()

    @pytest.mark.parametrize(
        "mark", [{"kind": "install", "backupName": None}, {"kind": "upgrade", "backupName": "src"}, 1, True]
    )
    def test_a_forged_mark_makes_nothing_happen_but_its_end_K8(self, tmp_path: Path, mark: object) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        bench.add_project("acme")
        (bench.project / "src").mkdir()
        before = tree(bench.project_folder("acme"))
        ledger(bench.project, acme={"_pending": mark})
        (done,) = bench.lifecycle.reconcile(Scope.PROJECT)
        assert (done.id, done.outcome) == ("acme", "ended")
        assert tree(bench.project_folder("acme")) == before and (bench.project / "src").is_dir()
        assert "_pending" not in bench.ledger()["acme"]
        assert bench.codes() == {"acme": "unconsented"}

    @pytest.mark.parametrize("part", [".msd", ".msd/capabilities"])
    def test_a_link_out_of_the_project_gets_nothing(self, tmp_path: Path, part: str) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        out = bench.root / "out"
        out.mkdir()
        (bench.project / part).parent.mkdir(parents=True, exist_ok=True)
        (bench.project / part).symlink_to(out)
        with pytest.raises(MSDError):
            bench.install(bench.source())
        assert list(out.iterdir()) == []

    def test_a_planted_staging_link_gets_nothing(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        out = bench.root / "out"
        out.mkdir()
        (bench.project / ".msd" / "capabilities").mkdir(parents=True)
        (bench.project / ".msd" / "capabilities" / ".staging").symlink_to(out)
        with pytest.raises(MSDError):
            bench.install(bench.source())
        assert list(out.iterdir()) == []

    def test_a_home_in_the_project_takes_no_global_install(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        inside = bench.project / "home"
        inside.mkdir()
        done = msd(bench, "--home", str(inside), "capability", "install", str(bench.source()), "--yes")
        assert done.code == 3 and "cannot be used for every project" in done.err


class TestCommandLine:
    def test_off_a_terminal_the_exact_command_is_told_and_works(self, bench: Bench) -> None:
        spec = str(bench.source())
        done = msd(bench, "capability", "install", spec, "--scope", bench.scope.label)
        assert done.code == 4 and bench.accepted() == set()
        command = done.err.rpartition("try: msd ")[2].split()
        assert "--hash" in command
        assert msd(bench, *command).code == 0
        assert bench.accepted() == {"acme"}

    def test_a_dry_run_changes_nothing_and_prints_the_plan(self, bench: Bench) -> None:
        spec = str(bench.source())
        before = tree(bench.root)
        done = msd(bench, "capability", "install", spec, "--scope", bench.scope.label, "--dry-run", "--json")
        plan = done.json()
        assert (plan["id"], plan["kind"], plan["needsConsent"], plan["same"]) == ("acme", "install", True, False)
        assert {p: b for p, b in tree(bench.root).items() if b is not None} == {
            p: b for p, b in before.items() if b is not None
        }
        text = msd(bench, "capability", "install", spec, "--scope", bench.scope.label, "--dry-run").out
        assert f"--hash {plan['contentHash']}" in text

    def test_a_person_is_asked_and_no_is_the_default(self, bench: Bench) -> None:
        words = ("capability", "install", str(bench.source()), "--scope", bench.scope.label)
        done = msd_on_terminal(bench, *words, typed="\n")
        assert done.code == 4 and bench.accepted() == set()
        done = msd_on_terminal(bench, *words, typed="y\n")
        assert done.code == 0 and "acme: installed 1.0.0" in done.out and bench.accepted() == {"acme"}

    def test_yes_is_enough_for_the_user_s_own_place_alone(self, bench: Bench) -> None:
        done = msd(bench, "capability", "install", str(bench.source()), "--scope", bench.scope.label, "--yes")
        assert done.code == (0 if bench.scope is Scope.GLOBAL else 4)

    def test_update_all_has_a_row_for_each_X12_X13_X14(self, world: Bench) -> None:
        assert msd(world, "capability", "update", "--all", "--json").json() == {"updated": []}
        for id in ("aa", "bb", "cc"):
            world.install(world.source(id))
        world.source("aa", version="1.1.0")
        (world.root / "sources" / "bb" / "capability.json").write_text("{")
        done = msd(world, "capability", "update", "--all", "--yes", "--json")
        rows = {row["id"]: row for row in done.json()["updated"]}
        assert done.code == 6
        assert {id: row["status"] for id, row in rows.items()} == {"aa": "updated", "bb": "failed", "cc": "unchanged"}
        assert rows["bb"]["code"] == "manifest-invalid" and rows["bb"]["fromVersion"] is None

    def test_outdated_tells_and_changes_nothing_X22(self, bench: Bench) -> None:
        assert msd(bench, "capability", "outdated", "--json").json() == []
        bench.install(bench.source())
        bench.source(version="1.2.0")
        (row,) = msd(bench, "capability", "outdated", "--json").json()
        assert (row["current"], row["latest"], row["status"], row["scope"]) == (
            "1.0.0",
            "1.2.0",
            "outdated",
            bench.scope.label,
        )
        assert bench.ledger()["acme"]["version"] == "1.0.0"

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (("install",), 2),
            (("install", "./x", "--scope", "nowhere"), 2),
            (("install", "./not-there"), 3),
            (("update",), 2),
            (("update", "acme", "--all"), 2),
            (("update", "nobody"), 5),
            (("rollback", "nobody"), 5),
            (("update", "research"), 5),
            (("outdated", "--scope", "x"), 2),
        ],
    )
    def test_exit_codes(self, world: Bench, words: tuple[str, ...], code: int) -> None:
        done = msd(world, "capability", *words)
        assert done.code == code and "Traceback" not in done.err

    def test_a_relative_source_means_the_same_from_anywhere_W27(self, bench: Bench) -> None:
        bench.source()
        done = msd(
            bench, "capability", "install", "../sources/acme", "--scope", bench.scope.label, "--dry-run", "--json"
        )
        assert done.json()["source"] == str(bench.root / "sources" / "acme")

    def test_rollback_without_an_earlier_version(self, bench: Bench) -> None:
        bench.install(bench.source())
        done = msd(bench, "capability", "rollback", "acme")
        assert done.code == 3 and "no earlier version" in done.err

    @pytest.mark.parametrize("how", ["dry-run", "asked"])
    def test_the_command_it_prints_does_what_this_run_would(self, world: Bench, how: str) -> None:
        """With every option of this run, however odd the names are."""
        subprocess.run(["git", "init", "-q", "re po"], cwd=world.root, check=True)
        folder = world.root / "re po"
        (folder / "acme").mkdir()
        hooks = [{"event": "Stop", "script": "h.py"}]
        (folder / "acme" / "capability.json").write_text(json.dumps(manifest("acme", hooks=hooks)))
        (folder / "acme" / "h.py").write_text("")
        subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
        subprocess.run(["git", *OWNER, "commit", "-qm", "one"], cwd=folder, check=True)
        words = [f"git+file://{folder}".replace(" ", "%20"), "--scope", "project", "--allow-insecure-loopback"]
        words += ["--shared-file", "its settings.json", *(["--dry-run"] if how == "dry-run" else [])]
        done = msd(world, "capability", "install", *words)
        said = done.out if how == "dry-run" else done.err
        assert str(world.project / "its settings.json") in said
        line = next(x for x in reversed(said.splitlines()) if "capability install" in x)
        command = shlex.split(line[line.index("capability install") :])
        assert msd(world, *command).code == 0
        assert world.accepted() == {"acme"}
        assert "hook run acme Stop" in (world.project / "its settings.json").read_text()


class TestAtTheSameTime:
    def test_the_lock_is_the_kernel_s_and_says_who(self, bench: Bench) -> None:
        from msd_host.lifecycle.lock import held

        ground = bench.lifecycle.ground(bench.scope)
        with held(str(bench.home), ground):
            with pytest.raises(BusyError, match=f"pid {os.getpid()}"), held(str(bench.home), ground):
                pass
            done = msd(
                bench,
                "capability",
                "install",
                str(bench.source()),
                "--scope",
                bench.scope.label,
                "--yes",
                "--hash",
                "x",
            )
            assert done.code in (3, 9)
        with held(str(bench.home), ground):
            pass

    def test_sixteen_at_work_leave_exactly_what_they_said(self, bench: Bench) -> None:
        """Each process installs and removes its own, again and again; the last word of each decides."""
        script = (
            "import sys\n"
            "from pathlib import Path\n"
            "from msd_host import Scope\n"
            "from tests.lifecycle.ground import Bench\n"
            "bench = Bench(Path(sys.argv[1]), Scope.PROJECT if sys.argv[2] == 'project' else Scope.GLOBAL)\n"
            "id = sys.argv[3]\n"
            "from msd_host.errors import BusyError\n"
            "def insist(act):\n"
            "    for _ in range(50):\n"
            "        try:\n"
            "            return act()\n"
            "        except BusyError:\n"
            "            pass\n"
            "    raise SystemExit(9)\n"
            "source = bench.source(id)\n"
            "for _ in range(4):\n"
            "    insist(lambda: bench.install(source))\n"
            "    insist(lambda: bench.remove(id))\n"
            "if int(id[1:]) % 2:\n"
            "    insist(lambda: bench.install(source))\n"
        )
        root = str(Path(__file__).parents[2])
        env = {**environment(bench.home), "PYTHONPATH": os.pathsep.join([root, str(Path(root) / "hookspecs")])}
        runs = [
            subprocess.Popen(
                [sys.executable, "-c", script, str(bench.root), bench.scope.label, f"c{n:02}"],
                cwd=bench.project,
                env=env,
                stderr=subprocess.PIPE,
            )
            for n in range(16)
        ]
        for run in runs:
            _, told = run.communicate(timeout=240)
            assert run.returncode == 0, told.decode()
        expected = {f"c{n:02}" for n in range(1, 16, 2)}
        assert set(bench.ledger()) == expected == bench.accepted()
        assert not bench.leftovers()
        if bench.scope is Scope.PROJECT:
            assert {g[0] for g in bench.state()["grants"]} == expected


class TestDiskThatFails:
    @pytest.mark.parametrize("call", ["rename", "fsync", "write", "mkdir"])
    @pytest.mark.parametrize("after", [0, 3, 8, 15])
    def test_a_full_disk_leaves_old_or_new(
        self, bench: Bench, call: str, after: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import errno

        bench.install(bench.source())
        old = bench.state()
        bench.source(version="1.1.0", text="two")
        real, count = getattr(os, call), [0]

        def failing(*args: Any, **named: Any) -> Any:
            count[0] += 1
            if count[0] > after:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*args, **named)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, failing)
            try:
                bench.update()
            except (MSDError, OSError):
                pass
        bench.lifecycle.reconcile()
        now = bench.state()
        assert now == old or now["entries"]["acme"]["version"] == "1.1.0" and now["accepted"]
        assert not bench.leftovers()


class TestOneAcceptance:
    """check, install --dry-run, install and load agree (law 3), over sets nobody wrote by hand."""

    FIELDS = some.fixed_dictionaries(
        {},
        optional={
            "requires": some.lists(
                some.sampled_from(["aa", "bb", "cc", "ui-contract", "nobody"]), max_size=2, unique=True
            ),
            "tier": some.sampled_from(["core", "standard", "full"]),
            "agents": some.lists(some.sampled_from(["a-one", "a-two", "msd-planner"]), max_size=2, unique=True),
            "gates": some.lists(some.sampled_from([gate(), gate("no:where"), gate("plan:pre")]), max_size=2),
            "engines": some.sampled_from([{"msd": ">=1"}, {"msd": ">=9"}, {"msd": "wat"}, {}]),
            "config": some.sampled_from([{}, {"k.one": {"type": "string", "default": "", "description": "d"}}]),
            "role": some.sampled_from(["feature", "wat"]),
        },
    )

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        some.dictionaries(some.sampled_from(["aa", "bb", "cc"]), FIELDS, max_size=3), FIELDS, some.sampled_from(SCOPES)
    )
    def test_whatever_is_there(
        self, tmp_path_factory: pytest.TempPathFactory, others: dict[str, Any], fields: Any, scope: Scope
    ) -> None:
        bench = Bench(tmp_path_factory.mktemp("one"), scope)
        for id, more in others.items():
            bench.plant(bench.folder_of(id), manifest(id, **more))
            if scope is Scope.PROJECT:
                try:
                    bench.grant(id)
                except MSDError:
                    pass
        folder = bench.plant(bench.root / "src" / "zz", manifest("zz", **fields))
        verdict = bench.host.check(folder, cwd=bench.project, scope=scope)
        try:
            with bench.lifecycle.preparing(str(folder), scope=scope):
                dry = None
        except LifecycleError as error:
            dry = error.code
        try:
            bench.install(folder)
            done = None
        except LifecycleError as error:
            done = error.code
        code = None if verdict.code is None else verdict.code.value
        assert code == dry == done
        if done is None:
            assert "zz" in bench.accepted()
        else:
            bench.plant(bench.folder_of("zz"), manifest("zz", **fields))
            found = bench.host.compose(
                bench.project,
                alone=scope is Scope.GLOBAL,
                trust={"zz": [_hash(bench)]} if scope is Scope.PROJECT else None,
            ).registry.overlay
            assert found is not None
            loaded = {s.id: s.code.value for s in found.warnings}
            pushed = [f.culprits[0] for f in verdict.faults if "push out" in f.message]
            assert loaded.get("zz") == code or (pushed and loaded[pushed[0]] == code)


def _hash(bench: World) -> str:
    found = bench.host.trust.show("zz", cwd=bench.project).content_hash
    assert found is not None
    return found
