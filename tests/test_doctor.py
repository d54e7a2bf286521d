"""`doctor`: every fault has a code, a line, and a way out that works; nothing is changed unless asked (spec 60)."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msd_host import MSD, Host, Scope
from msd_host.doctor.installation import check as check_installation
from msd_host.doctor.run import THEMES, diagnose
from msd_host.doctor.values import Diagnosis, Finding, Ground
from tests.cli import environment, msd
from tests.lifecycle.ground import Bench
from tests.lifecycle.killing import killed_at
from tests.lifecycle.sweep import VERBS
from tests.planted import World, gate, is_root, ledger


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, MSD)


def found(world: World, *, fix: bool = False) -> dict[str, Finding]:
    return {f.code: f for f in world.host.doctor(world.project, fix=fix).findings}


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below *root* with its mode and content."""
    return {
        str(p.relative_to(root)): (p.lstat().st_mode, p.read_bytes() if p.is_file() and not p.is_symlink() else b"")
        for p in sorted(root.rglob("*"))
    }


def paste(world: World, command: str) -> int:
    """Run *command* as a user would paste it; yes to every question of `mv -i`."""
    line = (
        command.replace("msd ", f"{shlex.quote(sys.executable)} -s -m msd_host ", 1) if "msd " in command else command
    )
    done = subprocess.run(
        ["bash", "-c", line], cwd=world.project, env=environment(world.home, EDITOR="true"), input="y\n", text=True
    )
    return done.returncode


def test_a_sound_home_has_nothing_to_tell(world: World) -> None:
    world.add_project("acme", gates=[gate("plan:pre")])
    world.grant("acme")
    done = msd(world, "doctor")
    assert done.code == 0 and done.out.startswith("nothing to tell: home and stores, ")
    answer = msd(world, "doctor", "--json").json()
    assert answer == {"ok": True, "looked_at": list(THEMES), "findings": []}


def test_nothing_at_all_is_sound_too(tmp_path: Path) -> None:
    host = Host(MSD, home=tmp_path / "nowhere", discover_extensions=False)
    assert [f.code for f in host.doctor(tmp_path).findings] == ["home-absent"]


class TestHomes:
    @pytest.mark.parametrize("folder", [".msd", ".msd/consent", ".msd/consent/grants", ".msd/store"])
    def test_a_store_that_others_may_write_is_mended(self, world: World, folder: str) -> None:
        world.add_project("acme")
        world.grant("acme")
        (world.home / folder).chmod(0o777)
        before = found(world)
        assert before["folder-loose"].severity == "error" and before["folder-loose"].subject.endswith(folder)
        assert msd(world, "doctor").code == 7
        done = msd(world, "doctor", "--fix")
        assert done.code == 0 and "fixed: " in done.out
        assert (world.home / folder).stat().st_mode & 0o777 == 0o755
        assert "folder-loose" not in found(world)

    def test_the_command_does_what_the_fix_does(self, world: World) -> None:
        world.add_global("acme").chmod(0o777)
        one = found(world)["bundle-loose"]
        assert paste(world, one.command or "") == 0
        assert "bundle-loose" not in found(world)

    def test_what_a_fix_lays_open_is_looked_at_too(self, world: World) -> None:
        folder = world.add_project("acme")
        world.grant("acme")
        shutil.rmtree(folder)
        (world.home / ".msd").chmod(0o777)
        assert "grant-stale" not in found(world)  # a store that does not count is not read
        after = found(world, fix=True)
        assert after["folder-loose"].fixed and after["grant-stale"].fixed

    def test_a_linked_dot_folder_is_never_touched(self, world: World) -> None:
        elsewhere = world.root / "elsewhere"
        elsewhere.mkdir(mode=0o777)
        elsewhere.chmod(0o777)
        (world.home / ".msd").symlink_to(elsewhere)
        one = found(world, fix=True)["folder-linked"]
        assert one.severity == "error" and not one.fixed
        assert elsewhere.stat().st_mode & 0o777 == 0o777
        assert one.command is not None and paste(world, one.command) == 0
        assert not {"folder-linked", "folder-foreign"} & found(world).keys()

    def test_a_home_that_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "home").write_text("x")
        host = Host(MSD, home=tmp_path / "home", discover_extensions=False)
        assert "home-no-folder" in {f.code for f in host.doctor(tmp_path).findings}


class TestRoots:
    def test_escalation_is_explained(self, tmp_path: Path) -> None:
        world = World(tmp_path, MSD)
        host = Host(MSD, home=world.project, discover_extensions=False)
        codes = {f.code: f for f in host.doctor(world.project).findings}
        assert "the home is the served project" in codes["home-escalated"].message
        assert codes["store-refused"].severity == "warning"

    @pytest.mark.skipif(is_root(), reason="root looks into every folder")
    def test_a_root_that_cannot_be_looked_into(self, world: World) -> None:
        world.add_global("acme")
        (world.home / ".msd").chmod(0)
        try:
            assert {"root-unproven", "folder-unreadable"} & set(found(world))
        finally:
            (world.home / ".msd").chmod(0o700)


class TestLedgers:
    @pytest.mark.parametrize("text", ["{", "[]", '{"entries": 5}', "\x00", '{"entries": {}, "entries": {}}'])
    def test_damage_is_an_error_and_nothing_is_lost(self, world: World, text: str) -> None:
        path = world.home / ".msd-capabilities.json"
        path.write_text(text)
        one = found(world, fix=True)["ledger-damaged"]
        assert one.severity == "error" and path.read_text() == text
        assert msd(world, "doctor").code == 7
        assert paste(world, one.command or "") == 0
        assert "ledger-damaged" not in found(world)
        assert Path(f"{path}.damaged").read_text() == text

    def test_pending_missing_and_half_entries(self, world: World) -> None:
        for id in ("half", "whole"):
            world.add_global(id)
        ledger(world.home, half={"version": 5}, gone={}, whole={}, odd={})
        document = json.loads((world.home / ".msd-capabilities.json").read_text())
        document["entries"]["odd"] = "text"
        document["entries"]["Not An Id"] = {}
        (world.home / ".msd-capabilities.json").write_text(json.dumps(document))
        findings = world.host.doctor(world.project).findings
        seen = {(f.code, f.subject) for f in findings}
        assert ("ledger-entry-damaged", "global half") in seen
        assert ("bundle-missing", "global gone") in seen
        assert ("ledger-entry-damaged", 'global "odd"') in seen
        assert ("ledger-entry-damaged", "global Not An Id") in seen
        assert not any("whole" in subject for _, subject in seen)
        assert all(f.command for f in findings)

    def test_a_change_that_was_cut_off_is_ended(self, world: World) -> None:
        world.add_global("acme")
        ledger(world.home, acme={"_pending": {"op": "install"}})
        assert world.codes() == {"acme": "pending"}
        assert found(world)["pending"].command is not None
        diagnosis = world.host.doctor(world.project, fix=True)
        assert [f.code for f in diagnosis.findings if f.fixed] == ["pending"]
        assert world.accepted() == {"acme"}

    def test_pending(self, world: World) -> None:
        world.add_global("acme")
        ledger(world.home, acme={"_pending": {"op": "install"}})
        assert found(world)["pending"].subject == "global acme"

    def test_the_command_for_a_missing_bundle_works(self, world: World) -> None:
        ledger(world.home, gone={})
        one = found(world)["bundle-missing"]
        assert paste(world, one.command or "") == 0
        assert "bundle-missing" not in found(world)


class TestBundles:
    def test_an_unlisted_global_bundle_is_a_note(self, world: World) -> None:
        world.add_global("acme")
        one = found(world)["bundle-unlisted"]
        assert (one.severity, one.subject) == ("note", "global") and '"acme"' in one.message

    @pytest.mark.parametrize("name", [".old-acme-99999999-00", ".gone-acme-99999999-00", ".staging/99999999-00"])
    def test_what_a_killed_change_left_is_deleted(self, world: World, name: str) -> None:
        world.add_global("acme")
        dead = subprocess.Popen([sys.executable, "-c", ""])
        dead.wait()
        left = world.home / ".msd" / "capabilities" / name.replace("99999999", str(dead.pid))
        (left / "deep").mkdir(parents=True)
        (left / "deep" / "file").write_text("x")
        (left / "link").symlink_to(world.project)
        assert found(world)["leftover"].subject == str(left)
        assert found(world, fix=True)["leftover"].fixed
        assert not left.exists() and world.project.is_dir()

    @pytest.mark.parametrize("name", [".other", ".olden", ".Gone-acme-1-0"])
    def test_what_is_not_surely_ours_stays(self, world: World, name: str) -> None:
        world.add_global("acme")
        kept = world.home / ".msd" / "capabilities" / name
        kept.mkdir()
        assert "leftover" not in found(world, fix=True)
        assert kept.is_dir()

    def test_one_of_a_living_process_is_not_told(self, world: World) -> None:
        world.add_global("acme")
        kept = world.home / ".msd" / "capabilities" / f".old-acme-{os.getpid()}-00"
        kept.mkdir()
        assert "leftover" not in found(world, fix=True)
        assert kept.is_dir()


class TestChanges:
    @pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.PROJECT], ids=str)
    @pytest.mark.parametrize("verb", ["install", "update", "remove"])
    def test_a_change_that_was_killed_is_ended(self, tmp_path: Path, verb: str, scope: Scope) -> None:
        before, act = VERBS[verb]
        told = 0
        for number in range(2, 60, 9):
            bench = Bench(tmp_path / f"at-{number}", scope)
            before(bench)
            if not killed_at(number, lambda bench=bench: act(bench)):  # type: ignore[misc]
                break
            seen = {f.code for f in bench.host.doctor(bench.project).findings}
            told += bool({"pending", "leftover"} & seen)
            after = bench.host.doctor(bench.project, fix=True)
            left = {f.code for f in after.open}
            assert not {"pending", "leftover", "bundle-missing", "ledger-entry-damaged"} & left, (number, after.open)
            assert bench.lifecycle.pending() == ()
            assert not after.damaged
        assert told

    def test_a_damaged_intent_is_an_error_and_stays(self, world: World) -> None:
        world.add_global("acme")
        journal = world.host.lifecycle(world.project).journal(world.host.lifecycle(world.project).ground(Scope.GLOBAL))
        Path(journal.path).mkdir(parents=True, mode=0o700)
        for folder in (Path(journal.path), Path(journal.path).parent):
            folder.chmod(0o700)
        (Path(journal.path) / "x.json").write_text("{")
        one = found(world, fix=True)["intent-damaged"]
        assert one.severity == "error" and (Path(journal.path) / "x.json").exists()

    def test_the_printed_remedy_of_a_pending_skip_works(self, world: World) -> None:
        world.add_global("acme")
        ledger(world.home, acme={"_pending": {"op": "install"}})
        assert world.codes() == {"acme": "pending"}
        done = msd(world, "doctor", "--fix")
        assert done.code == 0 and "fixed: " in done.out
        assert world.accepted() == {"acme"}

    def test_a_mark_in_a_project_goes_and_consent_stays_what_it_was(self, world: World) -> None:
        world.add_project("acme")
        ledger(world.project, acme={"_pending": True})
        assert found(world, fix=True)["pending"].fixed
        assert world.codes() == {"acme": "unconsented"}


class TestConsent:
    def test_a_stale_grant_is_dropped(self, world: World) -> None:
        shutil.rmtree(self._granted(world, "acme"))
        one = found(world)["grant-stale"]
        assert (
            "acme" in one.message and one.command == f"msd --home {world.home} -C {world.project} capability trust gc"
        )
        assert found(world, fix=True)["grant-stale"].fixed
        assert world.host.trust.records(world.project).grants == ()

    def test_a_denial_of_a_project_that_is_gone(self, world: World) -> None:
        other = world.root / "other"
        (other / ".planning").mkdir(parents=True)
        world.host.trust.deny(other, "acme")
        shutil.rmtree(other)
        assert found(world, fix=True)["denial-stale"].fixed

    def test_a_live_denial_of_nothing_yet_stays(self, world: World) -> None:
        world.host.trust.deny(world.project, "acme")
        assert found(world, fix=True) == {}

    def test_a_damaged_record_is_an_error(self, world: World) -> None:
        self._granted(world, "acme")
        (record,) = (world.home / ".msd" / "consent" / "grants").glob("*/*.json")
        record.write_text("{")
        assert found(world)["record-damaged"].severity == "error"

    def test_a_damaged_copy_goes_and_a_new_grant_brings_it_back(self, world: World) -> None:
        self._granted(world, "acme")
        (copy,) = (world.home / ".msd" / "store").iterdir()
        (copy / "capability.json").chmod(0o600)
        (copy / "capability.json").write_text("{}")
        assert found(world)["copy-damaged"].severity == "error"
        after = found(world, fix=True)
        assert after["copy-damaged"].fixed and after["copy-missing"].severity == "warning"
        world.grant("acme")
        assert found(world) == {}

    def _granted(self, world: World, id: str) -> Path:
        folder = world.add_project(id)
        world.grant(id)
        return folder


class TestConfiguration:
    def test_the_users_file_is_damaged(self, world: World) -> None:
        from msd_host.activation.config import user_config_path

        path = Path(user_config_path(MSD, world.host.roots(world.project)) or "")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{")
        assert found(world)["config-damaged"].severity == "error"

    def test_the_projects_file_is_damaged(self, world: World) -> None:
        (world.project / ".planning" / "config.json").write_text("{")
        assert found(world)["config-damaged"].severity == "warning"

    def test_a_value_that_does_not_fit_its_key(self, world: World) -> None:
        (world.project / ".planning" / "config.json").write_text('{"audit": {"block_shipping": "maybe"}}')
        one = found(world)["config-problem"]
        assert one.severity == "warning" and "audit.block_shipping" in one.message and "not a boolean" in one.message
        assert msd(world, "doctor").code == 0


class TestComposition:
    def test_skips_are_counted_and_links_named(self, world: World) -> None:
        world.add_global("too-new", engines={"msd": ">=99.0.0"})
        target = world.plant(world.root / "target", {})
        (world.home / ".msd" / "capabilities" / "linked").symlink_to(target)
        seen = found(world)
        assert '"too-new"' in seen["skipped"].message
        assert seen["bundle-linked"].subject.endswith("linked")


def installed(site: Path, name: str, body: str, version: str = "1.0") -> None:
    module = name.replace("-", "_")
    (site / f"{module}.py").write_text(body)
    info = site / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[msd_host]\nmain = {module}:Ext\n")


class TestExtensions:
    def test_broken_slow_and_absent(self, world: World) -> None:
        site = world.root / "site"
        site.mkdir()
        installed(site, "broken-one", "import nothing_of_that_name\n")
        hook = "from msd_hookspecs import hookimpl\nclass E:\n    @hookimpl\n    def msd_observe(self, event): ...\nExt = E()\n"
        installed(site, "slow-one", f"import time\ntime.sleep(0.7)\n{hook}")
        installed(site, "fine-one", hook)
        places = environment(world.home)["PYTHONPATH"]
        answer = msd(world, "doctor", "--json", PYTHONPATH=f"{site}{os.pathsep}{places}").json()
        codes = {f["subject"]: f for f in answer["findings"]}
        assert codes["broken-one:main"]["code"] == "extension-broken"
        assert codes["slow-one:main"]["code"] == "extension-slow"
        assert "fine-one:main" not in codes
        off = msd(world, "--no-plugins", "doctor", "--json", PYTHONPATH=f"{site}{os.pathsep}{places}").json()
        assert not any(f["code"].startswith("extension-") for f in off["findings"])

    def test_none_is_imported_here(self, world: World) -> None:
        site = world.root / "site"
        site.mkdir()
        mark = world.root / "imported-by"
        installed(site, "marking", f"import os\nopen({str(mark)!r}, 'a').write(f'{{os.getpid()}} ')\nclass Ext: ...\n")
        script = (
            "import os, sys\nfrom msd_host.__main__ import main\nmain(['doctor'])\n"
            "sys.stdout.flush()\nprint('MODULES', 'marking' in sys.modules)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=world.project,
            env=environment(world.home, PYTHONPATH=f"{site}{os.pathsep}{environment(world.home)['PYTHONPATH']}"),
            capture_output=True,
            text=True,
        )
        assert mark.exists() and done.stdout.rstrip().endswith("MODULES False")


class TestInstallation:
    def looked(self, world: World, *path: Path) -> dict[str, Finding]:
        ground = Ground(world.host, world.project, plugins_off=True)
        return {f.code: f for f in check_installation(ground, [str(p) for p in path])}

    def test_a_second_package_on_the_path(self, world: World) -> None:
        (world.root / "other" / "msd_host").mkdir(parents=True)
        (world.root / "third").mkdir()
        (world.root / "third" / "msd_hookspecs.py").write_text("")
        assert "package-shadowed" in self.looked(world, world.root / "other")
        assert "package-shadowed" in self.looked(world, world.root / "third")

    def test_a_distribution_that_is_there_twice(self, world: World) -> None:
        for name in ("one", "two"):
            (world.root / name / "msd_host-1.0.dist-info").mkdir(parents=True)
        assert "distribution-twice" in self.looked(world, world.root / "one", world.root / "two")
        assert "distribution-twice" not in self.looked(world, world.root / "one", world.root / "one")

    def test_a_drifted_set(self, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        from msd_host.registry import generate

        assert "first-party-drift" not in self.looked(world)
        monkeypatch.setattr(generate, "drift", lambda text: "it is other")
        one = self.looked(world)["first-party-drift"]
        assert one.severity == "error" and (one.command or "").endswith("registry build")

    def test_a_contract_from_elsewhere(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        import msd_hookspecs

        monkeypatch.setattr(msd_hookspecs, "__file__", str(world.root / "x" / "msd_hookspecs" / "__init__.py"))
        assert self.looked(world)["contract-shadowed"].severity == "error"


class TestTotality:
    def test_law_looking_changes_nothing(self, world: World) -> None:
        wreck(world, random.Random(1))
        before = tree(world.root)
        world.host.doctor(world.project)
        msd(world, "doctor")
        assert tree(world.root) == before

    @pytest.mark.parametrize("seed", range(14))
    def test_law_whatever_lies_there_each_finding_has_a_way_out(self, tmp_path: Path, seed: int) -> None:
        world = World(tmp_path, MSD)
        wreck(world, random.Random(seed))
        for fix in (False, True):
            diagnosis = world.host.doctor(world.project, fix=fix)
            for one in diagnosis.findings:
                assert one.code != "check-failed", one
                assert one.fixed or one.fix or one.command or one.code == "home-absent", one
                assert "\n" not in one.message and "\x1b" not in one.message
                if one.command is not None:
                    assert "\n" not in one.command and "\x1b" not in one.command and one.command.isprintable()
                    sound = subprocess.run(["bash", "-n", "-c", one.command], capture_output=True, text=True)
                    assert (sound.returncode, sound.stderr) == (0, ""), one.command
            json.dumps(diagnosis.to_dict())

    @pytest.mark.parametrize(
        "odd", ["$(touch pwned)", "a b", "'; touch pwned; '", "\x1b[2J\n\u202e", "-rf", "`id`", "é\udcff"]
    )
    def test_commands_mean_exactly_what_lies_there(self, world: World, odd: str) -> None:
        world.add_project("acme")
        world.grant("acme")
        left = world.home / ".msd" / "store" / f".tmp-99999999-{odd}"
        left.mkdir()
        os.utime(left)
        beside = world.home / ".msd" / "store" / ".tmp-other"
        beside.mkdir()
        from msd_host.doctor.bundles import _leftover

        ground = Ground(world.host, world.project, plugins_off=True)
        later = pytest.MonkeyPatch()
        with later.context() as patch:
            patch.setattr("msd_host.doctor.bundles._STALE", -1.0)
            (one,) = _leftover(ground, str(left.parent), left.name)
        assert paste(world, one.command or "") == 0
        assert not os.path.lexists(left) and beside.is_dir()
        assert not (world.project / "pwned").exists()

    def test_a_check_that_fails_is_a_finding(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Ground, "places", property(lambda self: 1 / 0))
        diagnosis = diagnose(world.host, world.project, plugins_off=True)
        assert {f.subject for f in diagnosis.findings} == {"ledgers", "bundles"}
        assert {f.code for f in diagnosis.findings} == {"check-failed"}

    def test_a_fix_that_fails_says_so(self) -> None:
        def broken() -> None:
            raise PermissionError(1, "no right")

        from msd_host.doctor.run import _mended

        one = _mended(Finding("x", "error", "s", "it is so", "do it", None, broken))
        assert "could not be mended" in one.message and not one.fixed

    def test_findings_come_once_and_the_worst_first(self) -> None:
        made = [Finding("b", "note", "1", "m"), Finding("a", "error", "2", "m"), Finding("b", "note", "1", "m")]
        assert [f.code for f in Diagnosis.of(made, ()).findings] == ["a", "b"]


def wreck(world: World, dice: random.Random) -> None:
    """Something wrong in every place the host keeps anything, differently for each seed."""
    for id in ("one", "two"):
        world.add_project(id)
        world.grant(id)
        world.add_global(f"g-{id}")
    own = world.home / ".msd"
    spots: list[Any] = [
        world.home / ".msd-capabilities.json",
        world.project / ".msd-capabilities.json",
        own / "config.json",
        own / "store" / "x",
        own / "consent" / "grants" / "a\x1b[31m\u202e`b",
        own / "consent" / "denials" / "c.json",
        own / "consent" / "roots" / "d",
        own / "cache",
        own / "capabilities" / "Bad\nName",
        world.project / ".planning" / "config.json",
        *own.glob("consent/grants/*/*.json"),
        *own.glob("store/*/capability.json"),
        world.global_folder("g-one") / "capability.json",
    ]
    for spot in dice.sample(spots, 6):
        spot.parent.mkdir(parents=True, exist_ok=True)
        _ruin(spot, dice)
    for folder in dice.sample([own, own / "consent", own / "store", own / "capabilities"], 1):
        folder.chmod(dice.choice([0o777, 0o775, 0o700]))


def _ruin(spot: Path, dice: random.Random) -> None:
    if spot.exists() and not spot.is_dir():
        spot.chmod(0o600)
        spot.unlink()
    if spot.is_dir():
        return
    kind = dice.choice(["fifo", "link", "folder", "bytes", "json", "deep", "empty"])
    if kind == "fifo":
        os.mkfifo(spot)
    elif kind == "link":
        spot.symlink_to("/dev/zero")
    elif kind == "folder":
        spot.mkdir()
    else:
        data = {"bytes": b"\xff\x00\x1b[2J", "json": b'{"entries": {"x": [1], "\\u202e": {}}}', "deep": b"[" * 99999}
        spot.write_bytes(data.get(kind, b""))
