"""Settings files of coding tools: only those named, byte for byte back, and hooks that ask for consent each time (spec 30)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from msd_host import MSD, Limits, Scope
from msd_host.errors import LifecycleError
from msd_host.lifecycle.shared.entries import Entries
from msd_host.lifecycle.shared.splice import checked, spliced, unspliced
from msd_host.lifecycle.values import Request
from tests.cli import environment, msd
from tests.lifecycle.ground import Bench, tree

MARK = MSD.marker_key
HOOKS = [
    {"event": "Stop", "script": "run.sh"},
    {"event": "Stop", "script": "tool.py", "matcher": "Bash"},
]
SERVERS = {
    "docs": {"command": sys.executable, "args": ["-c", "print('served')"], "env": {"A": "1"}},
    "web": {"type": "http", "url": "https://docs.example.org/mcp"},
}
ENTRIES = Entries(
    "acme",
    (
        ("Stop", {"hooks": [{"type": "command", "command": "x"}]}),
        ("Stop", {"hooks": [], "matcher": "y"}),
        ("Pre", {"hooks": []}),
    ),
    (("docs", {"command": "msd"}),),
)


@pytest.fixture(params=[Scope.GLOBAL, Scope.PROJECT], ids=lambda s: s.label)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path, request.param)


def source(bench: Bench, **fields: Any) -> Path:
    fields = {"hooks": HOOKS, "mcpServers": SERVERS, **fields}
    folder = bench.source(**fields)
    (folder / "run.sh").write_text(f'#!/bin/sh\necho "ran $MSD_EVENT"; cat; touch {bench.root}/ran\nexit 3\n')
    (folder / "run.sh").chmod(0o755)
    (folder / "tool.py").write_text("print('python')\n")
    return folder


def install(bench: Bench, file: Path | None, **fields: Any) -> Path:
    shared = () if file is None else (str(file),)
    bench.install(source(bench, **fields), request=Request(shared_files=shared))
    return bench.folder_of("acme")  # type: ignore[no-any-return]


def settings_file(bench: Bench, text: str | None = '{\n  "theme": "dark"\n}\n') -> Path:
    file = bench.project / ".claude" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    if text is not None:
        file.write_bytes(text.encode())
    return file


def hook(bench: Bench, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-s", "-m", "msd_host", *words],
        cwd=bench.project,
        env=environment(bench.home),
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


RUN = ("hook", "run", "acme", "Stop", "run.sh")


class TestFiles:
    def test_in_and_out_again_is_the_same_byte_for_byte_R3(self, bench: Bench) -> None:
        file = settings_file(bench, '{"theme":"dark",   "hooks": {"Other": [ ] },\r\n "n": 1.50}')
        before = file.read_bytes()
        file.chmod(0o640)
        install(bench, file)
        document = json.loads(file.read_text())
        assert [g[MARK] for g in document["hooks"]["Stop"]] == ["acme", "acme"]
        assert document["hooks"]["Stop"][0]["hooks"][0]["command"] == "msd hook run acme Stop run.sh"
        assert document["mcpServers"]["docs"] == {
            "command": "msd",
            "args": ["hook", "serve", "acme", "docs"],
            MARK: "acme",
        }
        assert document["mcpServers"]["web"] == {**SERVERS["web"], MARK: "acme"}
        bench.remove()
        assert file.read_bytes() == before and file.stat().st_mode & 0o777 == 0o640
        assert not bench.leftovers() and not list((bench.home / ".msd" / "shared").glob("*"))

    def test_a_file_that_was_made_goes_again(self, bench: Bench) -> None:
        file = settings_file(bench, None)
        install(bench, file)
        assert json.loads(file.read_text())["hooks"]
        bench.remove()
        assert not file.exists()

    def test_nothing_machine_specific_stands_in_it_W36(self, bench: Bench) -> None:
        file = settings_file(bench)
        install(bench, file)
        assert str(bench.root) not in file.read_text() and sys.executable not in file.read_text()

    def test_what_a_person_wrote_between_stays_R3(self, bench: Bench) -> None:
        file = settings_file(bench)
        install(bench, file)
        document = json.loads(file.read_text())
        document["hooks"]["Stop"].insert(1, {"hooks": [{"type": "command", "command": "mine"}]})
        document["mcpServers"]["mine"] = {"command": "mine"}
        document["more"] = [1, 2]
        file.write_text(json.dumps(document))
        bench.remove()
        assert json.loads(file.read_text()) == {
            "theme": "dark",
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]},
            "mcpServers": {"mine": {"command": "mine"}},
            "more": [1, 2],
        }

    def test_a_server_of_the_same_name_is_the_user_s_X8(self, bench: Bench) -> None:
        file = settings_file(bench, '{"mcpServers": {"docs": {"command": "mine"}}}')
        before = file.read_bytes()
        install(bench, file)
        assert json.loads(file.read_text())["mcpServers"]["docs"] == {"command": "mine"}
        bench.remove()
        assert file.read_bytes() == before

    def test_an_update_remembers_the_files_W25(self, bench: Bench) -> None:
        file = settings_file(bench)
        install(bench, file)
        folder = source(bench, version="1.1.0", hooks=[{"event": "Pre", "script": "tool.py"}], mcpServers={})
        assert folder.exists()
        bench.update()
        document = json.loads(file.read_text())
        assert [*document["hooks"]] == ["Pre"] and "mcpServers" not in document

    @pytest.mark.parametrize(
        "text",
        [
            "{ // a comment\n}",
            '{"a": 1,}',
            "\ufeff{}",
            '{"a": 1, "a": 2}',
            "[]",
            '{"hooks": []}',
            '{"hooks": {"Stop": 1}}',
            "",
        ],
    )
    def test_what_is_no_strict_json_stops_everything_W5(self, bench: Bench, text: str) -> None:
        file = settings_file(bench, text)
        before = tree(bench.root)
        with pytest.raises(LifecycleError) as caught:
            bench.install(source(bench), request=Request(shared_files=(str(file),)))
        assert caught.value.code == "settings-not-json" and file.read_bytes() == text.encode()
        assert bench.accepted() == set()
        assert {p for p in tree(bench.project)} == {
            p[len("project/") :] for p in before if p.startswith("project/")
        } | set([p for p in tree(bench.project) if p.startswith(".msd")])

    @pytest.mark.parametrize("part", ["folder", "file", "parent"])
    def test_a_link_is_not_followed_out_of_the_project_W4(self, bench: Bench, part: str) -> None:
        out = bench.root / "out"
        out.mkdir()
        (out / "settings.json").write_text("{}")
        file = bench.project / ".claude" / "settings.json"
        if part == "file":
            file.parent.mkdir()
            file.symlink_to(out / "settings.json")
        elif part == "folder":
            file.parent.symlink_to(out)
        else:
            (bench.project / "link").symlink_to(out)
            file = bench.project / "link" / "newdir" / "x.json"
        with pytest.raises(LifecycleError):
            install(bench, file)
        assert (out / "settings.json").read_text() == "{}" and [p.name for p in out.iterdir()] == ["settings.json"]

    def test_a_forged_ledger_names_no_file_W6(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        install(bench, None)
        victim = settings_file(bench, json.dumps({"hooks": {"Stop": [{MARK: "acme", "hooks": []}]}}))
        path = bench.project / ".msd-capabilities.json"
        document = json.loads(path.read_text())
        document["entries"]["acme"]["sharedEdits"] = [{"file": str(victim), "marker": "acme"}]
        path.write_text(json.dumps(document))
        before = victim.read_bytes()
        source(bench, version="1.1.0")
        bench.update()
        bench.remove()
        assert victim.read_bytes() == before

    def test_a_folder_that_became_a_link_is_left_alone(self, bench: Bench) -> None:
        file = settings_file(bench)
        install(bench, file)
        out = bench.root / "out"
        file.parent.rename(out)
        file.parent.symlink_to(out)
        before = (out / "settings.json").read_bytes()
        bench.remove()
        assert (out / "settings.json").read_bytes() == before

    def test_what_somebody_writes_meanwhile_is_not_lost_W47(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from msd_host.lifecycle.shared import project

        file = settings_file(bench)
        real, done = project.create_file, []

        def interfering(*args: Any) -> None:
            if not done:
                done.append(1)
                file.write_text('{"theme": "light", "theirs": true}')
            real(*args)

        monkeypatch.setattr(project, "create_file", interfering)
        install(bench, file)
        document = json.loads(file.read_text())
        assert document["theirs"] is True and document["theme"] == "light" and document["hooks"]["Stop"]

    def test_too_many_files_X5(self, bench: Bench) -> None:
        done = msd(
            bench,
            "capability",
            "install",
            str(source(bench)),
            *(w for n in range(300) for w in ("--shared-file", f"f{n}")),
        )
        assert done.code == 2 and not (bench.home / ".msd" / "capabilities" / "acme").exists()


class TestHooks:
    def test_a_hook_runs_with_input_event_and_exit_status(self, bench: Bench) -> None:
        install(bench, settings_file(bench))
        done = hook(bench, *RUN, typed="told")
        assert (done.returncode, done.stdout) == (3, "ran Stop\ntold")

    def test_by_its_ending_where_it_is_not_executable_E4(self, bench: Bench) -> None:
        install(bench, None)
        assert hook(bench, "hook", "run", "acme", "Stop", "tool.py").stdout == "python\n"

    def test_a_server_is_started_by_the_launcher(self, bench: Bench) -> None:
        install(bench, None)
        assert hook(bench, "hook", "serve", "acme", "docs").stdout == "served\n"

    @pytest.mark.parametrize("how", ["revoke", "deny", "change", "disable", "remove", "pending", "no ledger"])
    def test_it_is_silent_at_once_W3(self, tmp_path: Path, how: str) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        folder = install(bench, settings_file(bench))
        ledger = bench.project / ".msd-capabilities.json"
        if how == "revoke":
            bench.host.trust.revoke(bench.project, "acme")
        elif how == "deny":
            bench.host.trust.deny(bench.project, "acme")
        elif how == "change":
            (folder / "more.txt").write_text("x")
        elif how == "disable":
            assert msd(bench, "capability", "disable", "acme").code == 0
        elif how == "remove":
            bench.remove()
        elif how == "pending":
            document = json.loads(ledger.read_text())
            document["entries"]["acme"]["_pending"] = {"kind": "update"}
            ledger.write_text(json.dumps(document))
        else:
            ledger.unlink()
        done = hook(bench, *RUN)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert not (bench.root / "ran").exists()
        assert "not started" in hook(bench, "-v", *RUN).stderr
        assert hook(bench, "hook", "serve", "acme", "docs").returncode == 3

    @pytest.mark.parametrize(
        "words",
        [
            ("acme", "Stop", "other.sh"),
            ("acme", "Pre", "run.sh"),
            ("acme", "Stop", "../../x"),
            ("nobody", "Stop", "run.sh"),
            ("research", "Stop", "run.sh"),
        ],
    )
    def test_only_what_the_manifest_declares(self, bench: Bench, words: tuple[str, ...]) -> None:
        install(bench, None)
        assert hook(bench, "hook", "run", *words).returncode == 0
        assert not (bench.root / "ran").exists()

    def test_project_scripts_run_from_the_copy_that_was_agreed_to(self, tmp_path: Path) -> None:
        bench = Bench(tmp_path, Scope.PROJECT)
        source_folder = source(bench, hooks=[{"event": "Stop", "script": "where.py"}])
        (source_folder / "where.py").write_text("import os, sys\nprint(os.path.dirname(os.path.abspath(__file__)))\n")
        bench.install(source_folder)
        where = hook(bench, "hook", "run", "acme", "Stop", "where.py").stdout.strip()
        assert where.startswith(str(bench.home / ".msd" / "store"))
        assert not list(Path(where).rglob("__pycache__"))
        assert bench.accepted() == {"acme"}


TEXT = some.text(some.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


class TestText:
    SCALARS = some.one_of(some.none(), some.booleans(), some.integers(-9, 9), TEXT)
    VALUES = some.recursive(
        SCALARS,
        lambda c: some.lists(c, max_size=3) | some.dictionaries(TEXT, c, max_size=3),
        max_leaves=6,
    )
    DOCUMENTS = some.fixed_dictionaries(
        {},
        optional={
            "a": VALUES,
            "hooks": some.dictionaries(some.sampled_from(["Stop", "Pre", "Other"]), some.lists(VALUES, max_size=2)),
            "mcpServers": some.dictionaries(some.sampled_from(["docs", "mine"]), VALUES, max_size=2),
            "z": VALUES,
        },
    )

    @settings(max_examples=300)
    @given(
        DOCUMENTS,
        some.sampled_from([None, 0, 1, 2, 4, "\t"]),
        some.sampled_from(["\n", "\r\n"]),
        some.booleans(),
        some.sampled_from(["", "\n", " \n "]),
    )
    def test_out_again_is_byte_for_byte(self, document: Any, indent: Any, newline: str, ascii: bool, tail: str) -> None:
        text = json.dumps(document, indent=indent, ensure_ascii=ascii).replace("\n", newline) + tail
        checked(text.encode(), "x", Limits())
        with_ours, made = spliced(text, ENTRIES, MARK)
        assert unspliced(with_ours, "acme", MARK, made) == text
        assert spliced(unspliced(with_ours, "acme", MARK, made), ENTRIES, MARK) == (with_ours, made)
        parsed = json.loads(with_ours)
        for name in document:
            if name not in ("hooks", "mcpServers"):
                assert parsed[name] == document[name]
        assert sum(1 for g in parsed["hooks"]["Stop"] if isinstance(g, dict) and g.get(MARK) == "acme") == 2

    @given(some.binary(max_size=80))
    def test_any_bytes_are_checked_and_nothing_else_raised(self, data: bytes) -> None:
        try:
            assert isinstance(checked(data, "x", Limits()), str)
        except LifecycleError as error:
            assert error.code == "settings-not-json"


def test_the_sweep_with_shared_files_ends_in_old_or_new(tmp_path: Path) -> None:
    """Killed at each step of a change with a shared file: no hook of a dead version, and no mark without an overlay."""
    from tests.lifecycle.killing import killed_at

    number = 0
    while True:
        number += 2
        bench = Bench(tmp_path / str(number), Scope.PROJECT)
        file = settings_file(bench)
        before = file.read_bytes()
        folder = source(bench)

        def act(bench: Bench = bench, folder: Path = folder, file: Path = file) -> None:
            bench.install(folder, request=Request(shared_files=(str(file),)))

        died = killed_at(number, act)
        bench.lifecycle.reconcile()
        marked = MARK in file.read_text()
        assert marked == ("acme" in bench.accepted()), number
        if not marked:
            assert file.read_bytes() == before
        bench.remove() if marked else None
        assert file.read_bytes() == before and not bench.leftovers()
        if not died:
            assert number > 40
            return
