"""A run on bad ground: a folder that is gone, streams nobody reads, a store that does not count, paths that bite."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msd_host import MSD, Host, UsageError
from msd_host.host import parse_trust
from msd_host.reading.files import Files
from msd_host.text import clean, shell_word
from tests.cli import Done, environment, is_gone, msd
from tests.planted import World, boolean, gate, is_root

SCRIPT = Path(__file__).parents[1] / "bin" / "msd"
HASH = "sha512-" + "A" * 86 + "=="


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, MSD)


def shell(world: World, line: str, **env: str) -> Done:
    """A line of bash with `$MSD` as the program, in the project."""
    program = f"{shlex.quote(sys.executable)} -s -m msd_host"
    done = subprocess.run(
        ["bash", "-c", line.replace("$MSD", program)],
        cwd=world.project,
        env=environment(world.home, **env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


class TestFolderThatIsGone:
    @pytest.mark.parametrize(
        ("words", "code"),
        [
            ("--version", 0),
            ("--help", 0),
            ("capability list", 0),
            ("-C . capability list", 0),
            ("loop render-hooks plan:pre", 0),
            ("capability check .", 5),
            ("capability trust deny acme", 2),
            ("capability trust status", 0),
            ("settings list", 0),
        ],
    )
    def test_every_verb_ends_cleanly(self, world: World, words: str, code: int) -> None:
        done = shell(world, f'mkdir gone && cd gone && rmdir "$PWD" && $MSD {words}; exit $?')
        assert "Traceback" not in done.err and "internal error" not in done.err
        assert done.code == code or (code == 2 and done.code == 0), done
        assert done.out or done.err

    @pytest.mark.skipif(not SCRIPT.exists(), reason="the script is beside the sources only")
    def test_the_script_too(self, world: World) -> None:
        line = f'mkdir gone && cd gone && rmdir "$PWD" && {shlex.quote(sys.executable)} {SCRIPT} --version'
        assert shell(world, line).out.startswith("msd ")

    def test_through_the_api(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        gone = world.root / "gone"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        monkeypatch.setenv("PWD", str(world.project))
        assert world.host.load(cwd=".") == world.load()
        assert Host(MSD, home="x", discover_extensions=False).load() is not None


class TestStreams:
    @pytest.mark.parametrize("words", ["--version", "--help", "capability list", "loop points --json"])
    def test_a_closed_stdout_is_said_in_one_line(self, world: World, words: str) -> None:
        done = shell(world, f"$MSD {words} >&-")
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert "nowhere to answer" in done.err

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
    @pytest.mark.parametrize("words", ["--version", "--help", "capability list", "loop points --json"])
    def test_a_full_stdout_is_said_in_one_line(self, world: World, words: str) -> None:
        done = shell(world, f"$MSD {words} >/dev/full")
        assert (done.code, done.err.count("\n")) == (1, 1), done
        assert "cannot be written" in done.err

    @pytest.mark.parametrize("words", ["--help", "registry show", "capability list --json"])
    def test_a_reader_that_goes_away_is_silent(self, world: World, words: str) -> None:
        done = shell(world, f"$MSD {words} | true; exit ${{PIPESTATUS[0]}}")
        assert (done.code, done.err) == (0, "")

    @pytest.mark.parametrize("end", ["2>&-", "2>/dev/full"])
    def test_talk_that_cannot_be_written_does_not_cost_the_answer(self, world: World, end: str) -> None:
        world.add_project("acme", gates=[gate("plan:pre")])
        done = shell(world, f"$MSD loop render-hooks plan:pre {end}")
        assert done.code == 0 and json.loads(done.out)["warnings"]

    @pytest.mark.parametrize("end", ["2>&-", "2>/dev/full"])
    @pytest.mark.parametrize(("words", "code"), [("nope", 2), ("capability trust show nope", 5)])
    def test_nor_the_exit_code(self, world: World, words: str, code: int, end: str) -> None:
        for form in ("", " --json"):
            assert shell(world, f"$MSD {words}{form} {end}") == Done(code, "", "")

    def test_a_memo_too(self, world: World) -> None:
        (world.home / ".msd").mkdir(exist_ok=True)
        for _ in range(2):
            done = shell(world, "$MSD loop render-hooks plan:pre >/dev/full")
            assert (done.code, done.err.count("\n")) == (1, 1)
        assert shell(world, "$MSD loop render-hooks plan:pre | true; exit ${PIPESTATUS[0]}") == Done(0, "", "")


class TestToldToEnd:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    def test_the_command_of_a_gate_goes_along(self, world: World, number: signal.Signals) -> None:
        note = world.root / "pid"
        line = f"echo $$ > {note}; sleep 60"
        check = {"predicate": {"kind": "command-exit-zero", "command": line, "timeoutMs": 60000}}
        world.add_global("acme", gates=[gate("plan:pre", check=check)])
        before = signal.signal(number, signal.SIG_DFL)  # what the runner of the tests ignores is not handed on
        try:
            process = subprocess.Popen(
                [sys.executable, "-s", "-m", "msd_host", "loop", "check", "plan:pre"],
                cwd=world.project,
                env=environment(world.home),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        finally:
            signal.signal(number, before)
        deadline = time.monotonic() + 30
        while not (note.exists() and note.read_text().strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(30) == (130 if number == signal.SIGINT else 128 + number)
        assert is_gone(note)


class TestStoreThatDoesNotCount:
    def spoil(self, world: World, how: str) -> None:
        store = world.home / ".msd"
        if how == "no home":
            world.home.rmdir()
            world.home.write_text("no folder")
        elif how == "file":
            store.write_text("no folder")
        else:
            (store / "consent").mkdir(parents=True)
            (store if how == "loose" else store / "consent").chmod(0o777)

    def linked(self, world: World, *, marked: bool) -> Path:
        kept = world.root / "settings" / "msd"
        kept.mkdir(parents=True)
        if marked:
            (kept.parent / ".git").mkdir()
        else:
            kept.parent.chmod(0o777)
        (world.home / ".msd").symlink_to(kept)
        return kept

    def give_away(self, world: World) -> None:
        (world.home / ".msd").mkdir()
        try:
            os.chown(world.home / ".msd", 12345, -1)
        except PermissionError:
            pytest.skip("only root gives folders away")

    def move_in(self, world: World) -> None:
        world.home = world.project / "home"
        world.home.mkdir()

    @pytest.mark.parametrize(
        "how", ["sound", "loose", "file", "no home", "foreign", "below", "linked loosely", "linked in"]
    )
    def test_every_remedy_that_is_printed_ends_with_the_overlay_active(self, world: World, how: str) -> None:
        """Followed as a user does: what `list`, `show` and a refused `grant` print, pasted one after the other."""
        world.add_project("acme", gates=[gate("plan:pre")])
        {
            "sound": lambda: None,
            "foreign": lambda: self.give_away(world),
            "below": lambda: self.move_in(world),
            "linked loosely": lambda: self.linked(world, marked=False),
            "linked in": lambda: self.linked(world, marked=True),
        }.get(how, lambda: self.spoil(world, how))()
        is_lasting = how in ("sound", "loose", "linked loosely")
        offered = self.row(world)["remedy"]
        if how in ("loose", "linked loosely"):
            assert offered.startswith("chmod go-w ")
            assert shell(world, offered).code == 0
            offered = self.row(world)["remedy"]
        shown = shell(world, offered.replace("msd ", "$MSD ", 1))
        assert shown.code == 0
        last = next(line for line in shown.out.splitlines() if ("in a script" if is_lasting else "for one run") in line)
        done = shell(world, last.partition(":")[2].strip().replace("msd ", "$MSD ", 1))
        assert done.code == 0
        if is_lasting:
            assert self.row(world)["state"] == "active"
            return
        assert self.is_active(done)
        refused = msd(world, "capability", "trust", "grant", "acme", "--yes", "--hash", self.hash(world))
        assert refused.code == 7 and refused.err.count("try: ") == 1
        assert self.is_active(shell(world, refused.err.partition("try: ")[2].strip().replace("msd ", "$MSD ", 1)))

    def row(self, world: World) -> Any:
        return next(r for r in msd(world, "capability", "list", "--json").json() if r["id"] == "acme")

    def is_active(self, done: Done) -> bool:
        return any(line.split()[0] == "acme" and " active " in line for line in done.out.splitlines())

    def test_settings_kept_elsewhere_and_linked_into_the_home_keep_decisions_too(self, world: World) -> None:
        world.add_project("acme", gates=[gate("plan:pre")])
        kept = world.root / "settings"
        kept.mkdir(mode=0o700)
        (world.home / ".msd").symlink_to("../settings")
        word = self.hash(world)
        assert msd(world, "capability", "trust", "grant", "acme", "--yes", "--hash", word).code == 0
        assert self.row(world)["state"] == "active" and (kept / "consent").is_dir()
        assert msd(world, "doctor").code == 0
        (world.project / "mine").mkdir()
        (world.home / ".msd").unlink()
        (world.home / ".msd").symlink_to(world.project / "mine")
        assert self.row(world)["state"] == "skipped"

    @pytest.mark.parametrize("how", ["loose", "loose inside", "file", "no home"])
    def test_the_skip_says_so(self, world: World, how: str) -> None:
        world.add_project("acme", gates=[gate("plan:pre")])
        self.spoil(world, how)
        skip = world.skips()["acme"]
        assert skip.code.value == "unconsented"
        assert "no agreement counts: the consent store is not used" in skip.reason
        if how.startswith("loose"):
            assert skip.remedy is not None and skip.remedy.startswith("chmod go-w ")
            subprocess.run(["bash", "-c", skip.remedy], check=True)
            world.grant("acme")
            assert "acme" in world.accepted()

    def test_the_same_words_wherever_it_is_asked(self, world: World) -> None:
        world.add_project("acme", gates=[gate("plan:pre")])
        self.spoil(world, "loose")
        fix = "chmod go-w"
        assert fix in msd(world, "loop", "render-hooks", "plan:pre").err
        assert fix in msd(world, "capability", "trust", "status").out
        assert fix in msd(world, "capability", "trust", "grant", "acme", "--yes", "--hash", self.hash(world)).err
        assert fix in msd(world, "capability", "explain", "acme").out

    def hash(self, world: World) -> str:
        found = world.host.trust.show("acme", cwd=world.project).content_hash
        assert found is not None
        return found

    def test_show_offers_the_way_for_one_run(self, world: World) -> None:
        world.add_project("acme", gates=[gate("plan:pre")])
        inside = world.project / "home"
        inside.mkdir()
        shown = msd(world, "--home", str(inside), "capability", "trust", "show", "acme").out
        word = next(line.split()[-3] for line in shown.splitlines() if "for one run" in line)
        assert "grant acme" not in shown
        done = msd(world, "--home", str(inside), "--trust", word, "capability", "list", "--json")
        assert next(row for row in done.json() if row["id"] == "acme")["state"] == "active"


class TestRootThatCannotBeRead:
    def test_a_loop_of_links_is_no_overlay_that_waits_for_consent(self, world: World) -> None:
        root = world.project / ".msd"
        root.mkdir()
        (root / "capabilities").symlink_to(root / "capabilities")
        registry = world.load()
        assert registry.overlay is not None
        (skip,) = registry.overlay.warnings
        assert (skip.id, skip.code.value) == ("*", "manifest-unreadable")
        assert skip.reason == "the capability folder is a loop of links"
        assert skip.remedy is not None and skip.remedy.endswith("doctor")
        assert {g.point for g in registry.overlay.blocked_gates} == set(MSD.contract.points)
        assert "*" not in {s.id for s in world.host.trust.status(world.project)}

    @pytest.mark.parametrize("code", [errno.EACCES, errno.EIO])
    @pytest.mark.parametrize("whose", ["home", "project"])
    def test_nor_is_one_nobody_may_look_into(self, tmp_path: Path, whose: str, code: int) -> None:
        class Closed(Files):
            def open_folder(self, name: str, dir_fd: int | None = None, *, follow: bool = False) -> int:
                if name.endswith(f"{whose}/.msd/capabilities"):
                    raise OSError(code, "closed")
                return super().open_folder(name, dir_fd, follow=follow)

        world = World(tmp_path, MSD, files=Closed())
        world.add_project("ours", gates=[gate()])
        world.add_global("mine", gates=[gate()])
        registry = world.load()
        assert registry.overlay is not None
        (skip,) = [s for s in registry.overlay.warnings if s.id == "*"]
        assert (skip.code.value, skip.scope.label) == (
            "manifest-unreadable",
            "project" if whose == "project" else "global",
        )
        assert errno.errorcode[code] in skip.reason and skip.remedy is not None
        assert {g.point for g in registry.overlay.blocked_gates if g.cap_id == "*"} == set(MSD.contract.points)
        assert {s.id for s in world.host.trust.status(world.project)} & {"ours", "mine", "*"} == (
            {"mine"} if whose == "project" else {"ours"}
        )


class TestWhatIsRequired:
    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ('{"capabilities": {"required": ["ui"]}}', 0),
            ('{"capabilities": {"required": ["absent"]}}', 8),
            ('{"capabilities": {"required": "ui"}}', 7),
            ('{"capabilities": {"required": [1]}}', 7),
            ('{"capabilities": []}', 7),
            ('{"capabilities": {"required": ["ui"]', 7),
            ("[]", 7),
        ],
    )
    def test_a_typing_error_does_not_switch_it_off(self, world: World, text: str, code: int) -> None:
        first = next(iter(world.host.baseline.capabilities))
        (world.home / ".msd").mkdir()
        (world.home / ".msd" / "config.json").write_text(text.replace('"ui"', f'"{first}"'))
        for words in (("capability", "list"), ("loop", "render-hooks", "plan:pre"), ("registry", "digest")):
            done = msd(world, *words)
            assert done.code == code, done
            assert done.out and (code == 0 or "required" in done.err)

    @pytest.mark.parametrize(
        ("plugins", "code"),
        [
            ('{"required": []}', 0),
            ('{"required": ["org-policy"]}', 8),
            ('{"required": "org-policy"}', 7),
            ('{"required": {"org-policy": true}}', 7),
            ('{"required": null}', 7),
            ('["org-policy"]', 7),
            ('{"required": ["org-policy"', 7),
        ],
    )
    def test_nor_a_required_extension(self, world: World, plugins: str, code: int) -> None:
        world.add_global("acme")
        (world.home / ".msd" / "config.json").write_text(f'{{"plugins": {plugins}}}')
        for words in (("capability", "list", "--json"), ("loop", "check", "plan:pre"), ("plugins", "check")):
            done = msd(world, *words)
            assert done.code == code, done
            assert (code == 0) is (not done.err)
        row = next(r for r in msd(world, "capability", "list", "--json").json() if r["id"] == "acme")
        assert row["state"] == ("active" if code == 0 else "skipped")

    @pytest.mark.parametrize(
        "text",
        [
            '{"plugins": {"deny": ["x"]',
            '{"plugins": []}',
            *(
                f'{{"plugins": {{"{name}": {value}}}}}'
                for name in ("allow", "deny")
                for value in ("1", '"x"', "null", "[1]")
            ),
        ],
    )
    def test_no_extension_is_loaded_where_the_lists_cannot_be_read(self, world: World, text: str) -> None:
        from msd_host.extending.gathering import controls_of

        (world.home / ".msd").mkdir()
        (world.home / ".msd" / "config.json").write_text(text)
        controls = controls_of(MSD, world.host.files, world.host.roots(world.project), {}, off=False)
        assert not controls.allows(["dist", "dist:entry"]) and controls.problems


class TestWhatMakesNoSense:
    @pytest.mark.parametrize("path", ["", b"/tmp", b"", "/a\0b", Path("/a\0b"), 5, ["/tmp"], object()])
    def test_a_path_that_is_none(self, world: World, path: Any) -> None:
        with pytest.raises(UsageError):
            Host(MSD, home=path)
        if path == "":
            return  # as a working folder it is the current one, for the system as for us
        host = world.host
        for call in (
            host.load,
            host.check,
            host.doctor,
            lambda p: host.explain("a", p),
            lambda p: host.trust.deny(p, "a"),
        ):
            with pytest.raises(UsageError):
                call(path)

    def test_a_relative_home_starts_at_the_current_folder(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(world.root)
        host = Host(MSD, home="home", discover_extensions=False)
        monkeypatch.chdir("/")
        assert host.roots().home.given == str(world.home)

    @pytest.mark.parametrize(
        "word",
        ["acme", "@" + HASH, "acme@", "acme@sha512-xyz", "Acme@" + HASH, "acme@sha256-" + "A" * 86, "../x@" + HASH],
    )
    def test_a_word_for_trust_that_names_no_bytes(self, world: World, word: str) -> None:
        with pytest.raises(UsageError):
            parse_trust([word])
        assert msd(world, "--trust", word, "capability", "list").code == 2
        assert parse_trust(["acme@" + HASH]) == {"acme": frozenset([HASH])}

    @pytest.mark.parametrize(
        ("words", "code", "says"),
        [
            (("capability", "trust", "grant", "--all", "--scope", "global"), 2, "one ID"),
            (("capability", "trust", "grant", "nobody", "--scope", "global"), 5, "not denied"),
            (("capability", "trust", "deny", "{first}"), 3, "ships with the host"),
            (("capability", "trust", "shw", "acme"), 2, "try: msd"),
            (("--debug", "nope"), 2, "nope"),
        ],
    )
    def test_verbs_say_what_they_cannot_do(self, world: World, words: tuple[str, ...], code: int, says: str) -> None:
        first = next(iter(world.host.baseline.capabilities))
        done = msd(world, *(w.format(first=first) for w in words))
        assert done.code == code and says in done.err and "Traceback" not in done.err, done

    def test_outside_a_project_the_place_is_named(self, world: World) -> None:
        (world.root / "nowhere").mkdir()
        done = msd(world, "capability", "trust", "deny", "acme", cwd=world.root / "nowhere")
        assert done.code == 2 and str(world.root / "nowhere") in done.err

    def test_show_knows_what_this_run_trusts(self, world: World) -> None:
        world.add_project("acme")
        word = f"acme@{world.host.trust.show('acme', cwd=world.project).content_hash}"
        state = msd(world, "--trust", word, "capability", "trust", "show", "acme", "--json").json()
        assert (state["state"], state["runOnly"]) == ("granted", True)
        assert msd(world, "capability", "trust", "show", "acme", "--json", MSD_TRUST=word).json()["runOnly"]


def test_what_the_user_switched_off_is_not_talked_of(world: World) -> None:
    world.add_global("acme", role="wat", gates=[gate()])
    assert "acme" in msd(world, "registry", "digest").err
    assert msd(world, "capability", "disable", "acme").code == 0
    assert "acme" not in msd(world, "registry", "digest").err


def test_explain_takes_what_load_takes(world: World) -> None:
    world.add_global("acme", engines={"msd": ">=9"})
    assert world.host.explain("acme", cwd=world.project).state == "skipped"
    assert world.host.explain("acme", cwd=world.project, host_version="9.1.0").state == "active"


class TestPathsInRemedies:
    NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=12).filter(
        lambda t: len(t.encode()) < 200
    )

    @given(
        st.one_of(
            NAMES,
            st.binary(min_size=1, max_size=8).map(lambda b: b.replace(b"\0", b"x").decode("utf-8", "surrogateescape")),
        )
    )
    def test_every_word_is_printable_and_means_itself(self, name: str) -> None:
        word = shell_word(name)
        assert clean(word, len(word) + 1) == word
        if name.isascii() and "$'" not in word:
            assert shlex.split(word) == [name]

    @pytest.mark.skipif(is_root() and sys.platform != "linux", reason="file names must be bytes")
    @pytest.mark.parametrize(
        "name", ["a b", "it's", "\x1b[31mred", "new\nline", "a  b", "\u202egnp", "\udcff", "`id`", "$(id)", "ü"]
    )
    def test_a_remedy_for_a_strange_place_works_when_pasted(self, tmp_path: Path, name: str) -> None:
        world = World(tmp_path / name, MSD)
        world.add_global("acme", config={"acme.on": boolean()}, role="wat")
        skip = world.skips()["acme"]
        assert skip.see
        for command in (skip.remedy or "", *skip.see):
            assert clean(command, 5000) == command
        done = shell(world, os.fsencode(skip.see[0].replace("msd ", "$MSD ", 1)).decode("utf-8", "surrogateescape"))
        assert done.code == 3 and "manifest-invalid" in done.out
