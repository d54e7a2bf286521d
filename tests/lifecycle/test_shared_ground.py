"""What others do to the same ground: other homes, planted ledgers, other hands in the file; and who hears of changes."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msd_hookspecs import hookimpl

from msd_host import MSD, Host, Scope
from msd_host.errors import BusyError, MSDError
from msd_host.extending.values import EVENT_KINDS, Event
from msd_host.lifecycle import committing, recover
from msd_host.lifecycle.desk import Lifecycle
from msd_host.lifecycle.lock import held
from msd_host.lifecycle.shared import project as shared_files
from msd_host.lifecycle.values import Request
from tests.cli import msd
from tests.lifecycle.ground import Bench
from tests.lifecycle.killing import killed_at


@pytest.fixture
def project(tmp_path: Path) -> Bench:
    return Bench(tmp_path, Scope.PROJECT)


def planted(bench: Bench, id: str = "acme") -> Path:
    """A repository that brings a bundle, and a ledger that says where a newer one is."""
    source = bench.source(id, version="9.0.0")
    bench.add_project(id)
    entry = {"id": id, "version": "1.0.0", "source": str(source), "integrity": "", "files": [], "sharedEdits": []}
    (bench.project / ".msd-capabilities.json").write_text(json.dumps({"version": "1", "entries": {id: entry}}))
    return source


class TestTheLedgerIsHearsay:
    def test_no_source_is_asked_for_what_nobody_agreed_to_W8(self, project: Bench) -> None:
        planted(project)
        (row,) = msd(project, "capability", "outdated", "--json").json()
        assert (row["status"], row["latest"]) == ("unconsented", None)
        assert "capability trust show acme" in row["reason"]
        project.grant("acme")
        (row,) = msd(project, "capability", "outdated", "--json").json()
        assert (row["status"], row["latest"]) == ("outdated", "9.0.0")

    def test_update_all_leaves_what_nobody_agreed_to_W1(self, project: Bench) -> None:
        source = planted(project)
        before = project.project_folder("acme").joinpath("capability.json").read_bytes()
        done = msd(project, "capability", "update", "--all", "--scope", "project", "--yes", "--json")
        (row,) = done.json()["updated"]
        assert done.code == 6 and row["code"] == "consent-needed" and row["remedy"].endswith("trust show acme")
        assert project.project_folder("acme").joinpath("capability.json").read_bytes() == before
        assert not project.host.trust.records(project.project).grants
        # By name it is a first consent: off a terminal the exact bytes have to be said.
        done = msd(project, "capability", "update", "acme", "--scope", "project", "--yes")
        assert done.code == 4 and "--hash sha512-" in done.err and source.exists()

    def test_what_was_changed_since_is_left_too(self, project: Bench) -> None:
        project.install(project.source())
        project.source(version="2.0.0")
        (project.project_folder("acme") / "more").write_text("by hand")
        (row,) = msd(project, "capability", "outdated", "--json").json()
        assert row["status"] == "unconsented"


class TestEarlierConsent:
    def test_bytes_agreed_to_before_come_back_without_a_question_and_with_their_consent(self, project: Bench) -> None:
        source = project.source()
        project.install(source)
        (project.project_folder("acme") / "more").write_text("by hand")
        project.grant("acme")
        with project.lifecycle.updating("acme") as prepared:
            assert not prepared.needs_consent
            done = project.lifecycle.commit(prepared)
        (grant,) = project.host.trust.records(project.project).grants
        assert (grant.content_hash, grant.how) == (done.content_hash, "terminal")
        assert project.accepted() == {"acme"} and not project.leftovers()


class TestOneAcceptance:
    """What is let in together has to stand together (spec 30, law 3)."""

    def both(self, bench: Bench, version: str, **fields: Any) -> list[Path]:
        return [bench.source(id, version=version, **fields) for id in ("aa", "bb")]

    @pytest.mark.parametrize("scope", [Scope.GLOBAL, Scope.PROJECT], ids=lambda s: s.label)
    def test_two_prepared_side_by_side_that_shut_each_other_out(self, tmp_path: Path, scope: Scope) -> None:
        bench = Bench(tmp_path, scope)
        one, two = self.both(bench, "1.0.0", agents=["same-agent"])
        with (
            bench.lifecycle.preparing(str(one), scope=scope) as first,
            bench.lifecycle.preparing(str(two), scope=scope) as second,
        ):
            bench.lifecycle.commit(first, agreed="terminal")
            with pytest.raises(MSDError) as error:
                bench.lifecycle.commit(second, agreed="terminal")
        assert error.value.exit_code == 3 and '"aa"' in error.value.message
        assert bench.accepted() == {"aa"} and [*bench.ledger()] == ["aa"] and not bench.leftovers()

    def test_update_all_lets_in_only_what_stands_beside_the_others(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path)
        for source in self.both(bench, "1.0.0"):
            bench.install(source)
        self.both(bench, "2.0.0", agents=["same-agent"])
        done = msd(bench, "capability", "update", "--all", "--yes", "--json")
        told = {row["id"]: row["status"] for row in done.json()["updated"]}
        assert done.code == 6 and told == {"aa": "updated", "bb": "failed"}
        assert bench.accepted() == {"aa", "bb"}
        assert {id: entry["version"] for id, entry in bench.ledger().items()} == {"aa": "2.0.0", "bb": "1.0.0"}


class TestOtherHands:
    @pytest.mark.parametrize("number", ["1.50", "1e5", "1E-7", "-0.0", "10000000000000000", "0"])
    def test_other_rows_keep_their_numbers_letter_by_letter(self, project: Bench, number: str) -> None:
        path = project.project / ".msd-capabilities.json"
        other = f'{{"id": "other", "n": [{number}]}}'
        path.write_text(f'{{"version": "1", "entries": {{"other": {other}}}, "x": {number}}}')
        project.install(project.source())
        text = path.read_text()
        assert text.count(number) >= 2 and json.loads(text)["entries"]["other"]["n"] == [json.loads(number)]
        project.remove()
        assert f'"x": {number}' in path.read_text()

    def test_a_folder_another_home_replaced_lately_is_not_swept(
        self, project: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project.install(project.source())
        theirs = project.project_folder("acme").with_name(".old-acme-1-0123456789abcdef")
        theirs.mkdir()
        project.lifecycle.reconcile()
        assert theirs.exists(), "whoever is at it may need it to go back"
        now = time.time
        monkeypatch.setattr(recover.time, "time", lambda: now() + 2 * 3600)
        project.lifecycle.reconcile()
        assert not theirs.exists()

    def test_two_homes_take_turns_in_one_project(self, project: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(committing, "held", lambda home, ground, patience: held(home, ground, patience=0.0))
        source = project.source()
        other = Lifecycle(Host(MSD, home=project.root / "other-home", discover_extensions=False), project.project)
        with other.preparing(str(source), scope=Scope.PROJECT) as prepared:
            with held_by_another(project.project / ".msd" / "capabilities"), pytest.raises(BusyError) as busy:
                other.commit(prepared, agreed="terminal")
            assert busy.value.exit_code == 9 and "\n" not in busy.value.message
            assert other.commit(prepared, agreed="terminal").status == "installed"

    def test_a_tool_s_folder_that_somebody_keeps_locked_hangs_nothing(
        self, project: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shared_files, "_PATIENCE", 0.05)
        file = project.project / "tool" / "settings.json"
        file.parent.mkdir()
        file.write_text("{}")
        source = project.source(mcpServers={"docs": {"command": "docs"}})
        with held_by_another(file.parent):
            project.install(source, request=Request(shared_files=(str(file),)))
            assert "docs" in json.loads(file.read_text())["mcpServers"]
            project.remove()
        assert file.read_text() == "{}" and not project.leftovers()


@contextmanager
def held_by_another(folder: Path) -> Iterator[None]:
    """The lock on *folder*, as a process with another home would have it."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def cut_off_installs(root: Path) -> Iterator[Bench]:
    """A world for each point at which an install can be killed."""
    for number in range(1, 200):
        bench = Bench(root / str(number), Scope.PROJECT)
        source = bench.source()
        if not killed_at(number, lambda bench=bench, source=source: bench.install(source)):  # type: ignore[misc]
            return
        yield bench


def is_committed_without_consent(bench: Bench) -> bool:
    entry = bench.ledger().get("acme", {"_pending": True})
    return "_pending" not in entry and not bench.host.trust.records(bench.project).grants


class TestWhoHears:
    def test_events_have_the_fields_they_promise(self, tmp_path: Path) -> None:
        class Listening:
            def __init__(self) -> None:
                self.heard: list[Event] = []

            @hookimpl
            def msd_observe(self, event: Event) -> None:
                self.heard.append(event)

        listening = Listening()
        bench = Bench(tmp_path, Scope.PROJECT)
        bench.host = Host(MSD, home=bench.home, extensions=[listening])
        source = bench.source()
        bench.install(source)
        bench.source(version="2.0.0")
        bench.update()
        bench.remove()
        told: dict[str, Any] = {e.kind: dict(e.data) for e in listening.heard if e.kind.endswith("-committed")}
        assert [*told] == ["install-committed", "update-committed", "remove-committed"]
        for kind, data in told.items():
            assert set(data) == set(EVENT_KINDS[kind]), kind
        assert told["update-committed"]["version"] == "2.0.0" and told["update-committed"]["source"] == str(source)
        assert {"consent-granted", "consent-revoked"} <= {e.kind for e in listening.heard}


class TestBadGround:
    @pytest.mark.parametrize("what", ["home/.msd/locks", "home/.msd/intents"])
    def test_a_file_where_a_folder_of_ours_belongs_is_one_line_and_changes_nothing(
        self, project: Bench, what: str
    ) -> None:
        source = project.source()
        path = project.root / what
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("in the way")
        with pytest.raises(MSDError) as error:
            project.install(source)
        assert error.value.exit_code in (1, 7) and "\n" not in error.value.message
        assert project.ledger() == {} and not project.project_folder("acme").exists()
        assert path.read_text() == "in the way" and not project.host.trust.records(project.project).grants

    @pytest.mark.parametrize("store", ["consent", "store"])
    def test_where_no_consent_lasts_nothing_is_installed_W41(self, project: Bench, store: str) -> None:
        source = project.source()
        folder = project.home / ".msd" / store
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        with pytest.raises(MSDError) as error:
            project.install(source)
        assert error.value.exit_code == 7 and error.value.remedy == f"chmod go-w {folder}"
        assert project.ledger() == {} and not project.leftovers() and not (project.project / ".msd").exists()
        folder.chmod(0o700)
        project.install(source)

    def test_an_intent_that_cannot_be_ended_is_not_written_over_W29(self, tmp_path: Path) -> None:
        bench = next(filter(is_committed_without_consent, cut_off_installs(tmp_path)))
        (intents,) = (bench.home / ".msd" / "intents").iterdir()
        kept = {path.name: path.read_bytes() for path in intents.iterdir()}
        (bench.home / ".msd" / "store").mkdir(exist_ok=True)
        (bench.home / ".msd" / "store").chmod(0o777)
        for verb in (lambda: bench.install(bench.source(version="3.0.0")), bench.remove):
            with pytest.raises(MSDError) as error:
                verb()
            assert (error.value.code, error.value.exit_code) == ("pending", 7)
            assert {path.name: path.read_bytes() for path in intents.iterdir()} == kept
        (bench.home / ".msd" / "store").chmod(0o700)
        bench.lifecycle.reconcile()
        assert not bench.leftovers() and bench.accepted() == {"acme"}

    def test_looking_leaves_no_folder_behind(self, project: Bench) -> None:
        source = project.source()
        done = msd(project, "capability", "install", str(source), "--scope", "project", "--dry-run")
        assert done.code == 0 and not (project.project / ".msd").exists()
        project.install(source)
        project.remove()
        assert not (project.project / ".msd").exists()

    def test_a_lock_file_that_is_no_file(self, project: Bench) -> None:
        project.install(project.source())
        (lock,) = (project.home / ".msd" / "locks").glob("*.lock")
        lock.unlink()
        lock.mkdir()
        done = msd(project, "capability", "remove", "acme", "--scope", "project", "--yes")
        assert done.code in (1, 7) and "Traceback" not in done.err and "internal error" not in done.err
        assert project.project_folder("acme").exists()
