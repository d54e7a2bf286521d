"""Commands that capabilities bring: run from verified bytes only, and never mistaken for the host's own (spec 20, 40)."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import re
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from msd_host import MSD, Host, NotFound, Refused, UsageError, first_party_from, hookimpl
from msd_host.cli.words import GROUPS
from msd_host.dispatch import CommandContext, CommandFailed
from msd_host.model.frozen import FrozenDict
from msd_host.reading.files import Files
from tests.cli import msd
from tests.planted import World, bare_product, boolean, ledger, manifest

ECHO = "def run(args, context):\n    print('ran', *args)\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What must not run would leave its mark in the current folder."""
    monkeypatch.chdir(tmp_path)


def commands(family: str = "acme", module: str = "main.py", router: str = "run") -> list[dict[str, str]]:
    return [{"family": family, "module": module, "router": router}]


def install_global(world: World, source: str = ECHO, id: str = "acme", **fields: Any) -> Path:
    fields = {"commands": commands(id), **fields}
    folder = world.add_global(id, files={"main.py": source}, **fields)
    ledger(world.home, **{p.name: {} for p in folder.parent.iterdir()})
    return folder


def install_project(world: World, source: str = ECHO, id: str = "acme", *, grant: bool = True) -> Path:
    folder = world.add_project(id, files={"main.py": source}, commands=commands(id))
    ledger(world.project, **{p.name: {} for p in folder.parent.iterdir()})
    if grant:
        world.grant(id)
    return folder


def run(world: World, *args: str, **fields: Any) -> int:
    return world.host.dispatch(args, world.project, **fields)


def stored(world: World) -> Path:
    """The one module in the bundle store."""
    (path,) = (world.home / ".msd" / "store").glob("*/main.py")
    return path


def overwrite(path: Path, text: str) -> None:
    path.chmod(0o600)
    path.write_text(text)


class TestWhoMayRun:
    def test_a_global_one_that_was_installed(self, world: World, capsys: Any) -> None:
        install_global(world)
        assert run(world, "acme", "build", "--fast") == 0
        assert capsys.readouterr().out == "ran acme build --fast\n"

    def test_a_project_one_that_was_agreed_to(self, world: World, capsys: Any) -> None:
        install_project(world, grant=False)
        with pytest.raises(NotFound, match="nobody on this machine has agreed") as caught:
            run(world, "acme")
        assert caught.value.remedy is not None
        assert "trust show acme" in caught.value.remedy
        world.grant("acme")
        assert run(world, "acme") == 0
        assert capsys.readouterr().out == "ran acme\n"
        world.host.trust.deny(world.project, "acme")
        with pytest.raises(NotFound):
            run(world, "acme")

    @pytest.mark.parametrize("scope", ["global", "project"])
    def test_what_was_only_dropped_there_never_runs(self, world: World, scope: str) -> None:
        add = world.add_global if scope == "global" else world.add_project
        add("acme", files={"main.py": "open('PWNED', 'w')"}, commands=commands())
        if scope == "project":
            world.grant("acme")
        for entry in (None, {"_pending": None}, {"_pending": {"op": "install"}}):
            if entry is not None:
                ledger(world.home if scope == "global" else world.project, acme=entry)
            with pytest.raises((Refused, NotFound)):
                run(world, "acme")
        assert not Path("PWNED").exists()

    def test_one_that_is_switched_off_does_not_run(self, world: World) -> None:
        install_global(world, config={"acme.on": boolean(default=False)}, activationKey="acme.on")
        with pytest.raises(Refused, match="is not active"):
            run(world, "acme")
        (world.home / ".msd" / "config.json").write_text('{"acme": {"on": true}}')
        assert run(world, "acme") == 0

    @pytest.mark.parametrize("family", ["nobody", "", "__proto__", "constructor", "../acme", "toString", "acme "])
    def test_a_family_nobody_has(self, world: World, family: str) -> None:
        install_global(world)
        with pytest.raises(NotFound):
            run(world, family)

    def test_no_words_at_all(self, world: World) -> None:
        for args in ((), "acme"):
            with pytest.raises(UsageError):
                world.host.dispatch(args, world.project)

    def test_no_overlay_can_have_a_word_of_the_host(self, world: World) -> None:
        assert set(GROUPS) <= MSD.reserved_families
        for word in GROUPS:
            world.add_global(f"take-{word}", files={"main.py": ECHO}, commands=commands(word))
        assert set(world.codes().values()) == {"family-collision"}

    def test_a_set_that_fell_back_runs_nothing(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        from msd_host.stages import build

        install_global(world)
        monkeypatch.setattr(build, "build_registry", lambda *_: 1 / 0)
        with pytest.raises(NotFound):
            run(world, "acme")


class TestTheBytes:
    def test_the_stored_copy_runs_whatever_the_project_holds_by_then(self, world: World, capsys: Any) -> None:
        """The repository's file is swapped between composing and running."""
        folder = install_project(world)
        composition = world.host.compose(world.project)
        (folder / "main.py").write_text("def run(args, context): raise SystemExit('swapped')")
        from msd_host.dispatch import dispatch

        assert dispatch(world.host, composition, ["acme"], str(world.project)) == 0
        assert capsys.readouterr().out == "ran acme\n"
        with pytest.raises(NotFound, match="content changed"):
            run(world, "acme")

    @pytest.mark.parametrize("how", ["edited", "gone", "link", "added", "writable"])
    def test_a_swapped_store_entry_runs_nothing_until_it_is_agreed_to_again(self, world: World, how: str) -> None:
        install_project(world)
        module = stored(world)
        if how == "edited":
            overwrite(module, "def run(args, context): open('PWNED', 'w')")
        elif how == "gone":
            module.parent.chmod(0o700)
            module.unlink()
        elif how == "link":
            target = world.root / "evil.py"
            target.write_text(module.read_text())
            module.unlink()
            module.symlink_to(target)
        elif how == "added":
            (module.parent / "more.py").write_text("")
        else:
            module.parent.parent.chmod(0o777)
        with pytest.raises(Refused, match="stored copy is damaged") as caught:
            run(world, "acme")
        assert "trust show acme" in (caught.value.remedy or "")
        assert not Path("PWNED").exists()
        if how == "writable":
            module.parent.parent.chmod(0o700)
        world.grant("acme")
        assert run(world, "acme") == 0

    def test_for_one_run_the_bytes_named_run_and_nothing_is_kept(self, world: World, capsys: Any) -> None:
        install_project(world)
        content_hash = world.host.trust.status(world.project)[0].content_hash
        world.host.trust.revoke(world.project, "acme")
        import shutil

        shutil.rmtree(world.home / ".msd")
        assert content_hash is not None
        trust = {"acme": [content_hash]}
        assert run(world, "acme", trust=trust) == 0
        assert capsys.readouterr().out == "ran acme\n"
        assert not (world.home / ".msd").exists()

    def test_for_one_run_bytes_that_changed_meanwhile_do_not_run(self, world: World) -> None:
        """Swapped after composition read them, by every file system call later than that."""
        folder = install_project(world)
        content_hash = world.host.trust.status(world.project)[0].content_hash
        assert content_hash is not None
        world.host.trust.revoke(world.project, "acme")
        composition = world.host.compose(world.project, trust={"acme": [content_hash]})
        (folder / "main.py").write_text("def run(args, context): open('PWNED', 'w')")
        from msd_host.dispatch import dispatch

        with pytest.raises(Refused, match="changed since it was composed"):
            dispatch(world.host, composition, ["acme"], str(world.project))
        assert not Path("PWNED").exists()

    def test_swapping_the_file_at_any_moment_runs_the_agreed_bytes_or_nothing(self, tmp_path: Path) -> None:
        evil = "def run(args, context): return 66\n"
        good = "def run(args, context): return 7\n"
        outcomes = set()
        for moment in range(0, 40, 3):
            world = World(tmp_path / str(moment))
            folder = install_project(world, good)

            class Swapping(Files):
                opened = 0

                def open_file(self, name: str, dir_fd: int | None = None) -> int:
                    self.opened += 1
                    if self.opened == moment:
                        (folder / "main.py").write_text(evil)
                    return super().open_file(name, dir_fd)

            host = Host(bare_product(), home=world.home, discover_extensions=False, files=Swapping())
            try:
                outcomes.add(host.dispatch(["acme"], world.project))
            except (NotFound, Refused) as refused:
                outcomes.add(type(refused).__name__)
        assert outcomes == {7, "NotFound"}

    @pytest.mark.parametrize("scope", ["global", "project"])
    def test_planted_bytecode_is_neither_read_nor_written(self, world: World, scope: str, capsys: Any) -> None:
        folder = (install_global if scope == "global" else install_project)(world)
        source = folder / "main.py"
        places = [source] if scope == "global" else [source, stored(world)]
        for place in places:
            plant_bytecode(place)
        assert run(world, "acme") == 0
        assert capsys.readouterr().out == "ran acme\n"
        overlay = world.load().overlay
        assert overlay is not None
        assert set(overlay.accepted) == {"acme"}

    def test_running_leaves_no_trace_in_a_bundle(self, world: World) -> None:
        folder = install_global(world)
        before = sorted(p.name for p in folder.rglob("*"))
        run(world, "acme")
        assert sorted(p.name for p in folder.rglob("*")) == before

    @pytest.mark.parametrize("how", ["link", "fifo", "folder", "missing", "huge"])
    def test_a_global_module_that_is_no_plain_file_is_refused(self, world: World, how: str) -> None:
        module = install_global(world) / "main.py"
        module.unlink()
        if how == "link":
            (world.root / "evil.py").write_text(ECHO)
            module.symlink_to(world.root / "evil.py")
        elif how == "fifo":
            os.mkfifo(module)
        elif how == "folder":
            module.mkdir()
        elif how == "huge":
            module.write_bytes(b"#" * (MSD.limits.bundle_bytes + 1))
        with pytest.raises(Refused):
            run(world, "acme")

    def test_a_global_folder_replaced_meanwhile_is_refused(self, world: World) -> None:
        folder = install_global(world)
        composition = world.host.compose(world.project)
        folder.rename(world.root / "old")
        world.plant(folder, manifest("acme"), {"main.py": "def run(args, context): open('PWNED', 'w')"})
        from msd_host.dispatch import dispatch

        with pytest.raises(Refused, match="was replaced"):
            dispatch(world.host, composition, ["acme"], str(world.project))
        assert not Path("PWNED").exists()

    @pytest.mark.parametrize("module", ["../../evil.py", "main", "main.js", "/etc/x.py", "Main.py", "a.b.py"])
    def test_a_module_that_is_no_name_in_the_bundle_is_never_composed(self, world: World, module: str) -> None:
        world.add_global("acme", commands=commands(module=module))
        ledger(world.home, acme={})
        assert world.codes() == {"acme": "manifest-invalid"}
        with pytest.raises(NotFound):
            run(world, "acme")


def plant_bytecode(source: Path) -> None:
    """Compiled code of something else, with a header that fits *source*."""
    cache = Path(importlib.util.cache_from_source(str(source)))
    mode = source.parent.stat().st_mode
    source.parent.chmod(0o700)
    cache.parent.mkdir()
    info, text = source.stat(), source.read_text()
    evil = "def run(args, context):\n    raise SystemExit('planted')\n".ljust(len(text), "#")
    other = source.parent.parent / "evil.py"
    other.write_text(evil)
    os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
    py_compile.compile(str(other), str(cache))
    other.unlink()
    source.parent.chmod(mode)
    assert cache.exists()


class TestTheModule:
    def test_two_modules_of_one_name_never_meet(self, world: World) -> None:
        install_global(world, "VALUE = 3\ndef run(args, context): return VALUE", "one")
        install_global(world, "VALUE = 4\ndef run(args, context): return VALUE", "two")
        before = set(sys.modules)
        assert [run(world, "one"), run(world, "two"), run(world, "one")] == [3, 4, 3]
        assert not {name for name in set(sys.modules) - before if "main" in name}

    def test_every_run_starts_afresh(self, world: World) -> None:
        install_global(world, "seen = []\ndef run(args, context):\n    seen.append(1)\n    return len(seen)")
        assert [run(world, "acme"), run(world, "acme")] == [1, 1]

    def test_nothing_of_the_bundle_or_the_project_can_be_imported(self, world: World, monkeypatch: Any) -> None:
        monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(world.project))])
        folder = install_global(world, "import zz_util\ndef run(args, context): return 0")
        (folder / "zz_util.py").write_text("")
        (world.project / "zz_util.py").write_text("")
        path = list(sys.path)
        with pytest.raises(CommandFailed, match="No module named 'zz_util'"):
            run(world, "acme")
        assert sys.path == path

    def test_dataclasses_with_lazy_annotations_work(self, world: World) -> None:
        source = (
            "from __future__ import annotations\nfrom dataclasses import dataclass, KW_ONLY\n"
            "@dataclass\nclass A:\n    a: int\n    _: KW_ONLY\n    b: list[A] | None = None\n"
            "def run(args, context): return A(5).a\n"
        )
        install_global(world, source)
        assert run(world, "acme") == 5

    def test_the_hosts_own_future_does_not_leak_in(self, world: World) -> None:
        install_global(
            world, "def f(a: int): ...\ndef run(args, context): return f.__annotations__ == {'a': int} and 3 or 4"
        )
        assert run(world, "acme") == 3

    def test_a_declared_encoding_counts(self, world: World) -> None:
        folder = install_global(world)
        (folder / "main.py").write_bytes(b"# -*- coding: latin-1 -*-\ndef run(args, context): return ord('\xe9')\n")
        assert run(world, "acme") == 0xE9

    @pytest.mark.parametrize("scope", ["global", "project"])
    def test_what_a_router_is_told(self, world: World, scope: str, capsys: Any) -> None:
        source = "import json\ndef run(args, context):\n    print(context)\n    context.id = 'other'"
        (install_global if scope == "global" else install_project)(world, source)
        with pytest.raises(CommandFailed, match="FrozenInstanceError"):
            run(world, "acme")
        owner = world.home if scope == "global" else world.project
        project = str(world.project)
        data = str(owner / ".msd" / "capability-data" / "acme")
        told = CommandContext(project, project, "msd", "acme", "1.0.0", data)
        assert capsys.readouterr().out == f"{told}\n"
        assert not Path(data).exists()

    def test_a_router_gets_words_of_its_own(self, world: World) -> None:
        install_global(world, "def run(args, context):\n    args.clear()")
        words = ["acme", "a"]
        world.host.dispatch(words, world.project)
        assert words == ["acme", "a"]

    @pytest.mark.parametrize(("answer", "code"), [("None", 0), ("0", 0), ("3", 3), ("255", 255)])
    def test_its_answer_is_the_exit_status(self, world: World, answer: str, code: int) -> None:
        install_global(world, f"def run(args, context): return {answer}")
        assert run(world, "acme") == code

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            ("def run(args, context): raise ValueError('no \\x1b[2J good')", "ValueError: no [2J good"),
            ("def run(args, context): raise SystemExit(0)", "SystemExit: 0"),
            ("import sys\nsys.exit()", "SystemExit"),
            ("def run(args, context): raise GeneratorExit", "GeneratorExit"),
            ("class Own(BaseException): ...\ndef run(args, context): raise Own", "Own"),
            (
                "class Mute(Exception):\n    def __str__(self): raise KeyError\ndef run(args, context): raise Mute",
                "Mute",
            ),
            ("def run(args, context): return run(args, context)", "RecursionError"),
            ("def run(): ...", "TypeError"),
            ("def other(args, context): ...", 'it has no "run"'),
            ("run = None", 'it has no "run"'),
            ("run = 5", '"run" is not callable'),
            ("async def run(args, context): ...", "must be synchronous"),
            ("class W:\n    def __await__(self): yield\ndef run(args, context): return W()", "must be synchronous"),
            ("def run(args, context): return 'done'", "answered with str"),
            ("def run(args, context): return True", "answered with bool"),
            ("def run(args, context): return 256", "0 to 255"),
            ("def run(args, context): return -1", "0 to 255"),
            ("def run(args, context): return 10 ** 9999", "ValueError|0 to 255"),
            ("def run(args, context:", "SyntaxError"),
            ("\0", "Error"),
            ("import no_such_module_at_all", "ModuleNotFoundError"),
            ("from . import util", "ImportError"),
        ],
    )
    def test_whatever_it_does_wrong_carries_its_name(self, world: World, source: str, words: str) -> None:
        install_global(world, source)
        with pytest.raises(CommandFailed, match="failed in main.py") as caught:
            run(world, "acme")
        error = caught.value
        assert (error.id, error.module, error.exit_code) == ("acme", "main.py", 1)
        assert '"acme"' in error.message
        assert re.search(words if "|" in words else re.escape(words), error.message), error.message
        assert error.message.isprintable()
        assert not [name for name in sys.modules if "acme" in name]

    @pytest.mark.parametrize("name", ["__class__", "__dir__", "__reduce__", "__loader__"])
    def test_only_what_it_defines_itself_is_a_router(self, world: World, name: str) -> None:
        world.add_global("acme", files={"main.py": ""}, commands=commands(router=name))
        ledger(world.home, acme={})
        with pytest.raises(CommandFailed, match="it has no"):
            run(world, "acme")

    def test_an_interrupt_stays_one(self, world: World) -> None:
        install_global(world, "def run(args, context): raise KeyboardInterrupt")
        with pytest.raises(KeyboardInterrupt):
            run(world, "acme")
        assert not [name for name in sys.modules if "acme" in name]

    def test_observers_hear_of_it(self, world: World) -> None:
        heard: list[Any] = []

        class Listening:
            @hookimpl
            def msd_observe(self, event: Any) -> None:
                heard.append((event.kind, event.data))

        install_global(world, "def run(args, context): return 4")
        host = Host(bare_product(), home=world.home, extensions=[Listening()])
        assert host.dispatch(["acme"], world.project) == 4
        assert heard[-1] == ("command-dispatched", FrozenDict({"family": "acme", "id": "acme", "exit": 4}))


class TestWhatShips:
    def product(self, tmp_path: Path, source: str | None, folder: bool = True) -> Any:
        shipped = tmp_path / "set" / "capabilities" / "tool"
        shipped.mkdir(parents=True)
        (shipped / "capability.json").write_text(json.dumps(manifest("tool", commands=commands("tool"))))
        if source is not None:
            (shipped / "main.py").write_text(source)
        where = str(shipped.parent) if folder else ""
        return attrs.evolve(bare_product(), first_party=first_party_from(tmp_path / "set"), first_party_folder=where)

    def test_a_first_party_family_runs_the_same_way(self, tmp_path: Path, capsys: Any) -> None:
        world = World(tmp_path, self.product(tmp_path, ECHO))
        assert run(world, "tool", "x") == 0
        assert capsys.readouterr().out == "ran tool x\n"

    @pytest.mark.parametrize("folder", [True, False])
    def test_a_module_that_is_not_there_is_said(self, tmp_path: Path, folder: bool) -> None:
        world = World(tmp_path, self.product(tmp_path, None, folder))
        with pytest.raises(Refused):
            run(world, "tool")

    def test_every_family_that_ships_has_its_module(self) -> None:
        for capability in MSD.first_party.capabilities:
            for command in capability.commands:
                assert Path(MSD.first_party_folder, capability.id, command["module"]).is_file()
        assert Path(MSD.first_party_folder, "research", "capability.json").is_file()


class TestCommandLine:
    def test_both_forms_hand_every_word_behind_the_family_on(self, world: World) -> None:
        install_global(world)
        words = ("acme", "build", "--json", "-v", "--home", "--", "--help", "--debug")
        for first in ((), ("x",), ("-q", "x"), ("x", "--no-color"), ("--home", str(world.home), "x"), ("x", "--")):
            done = msd(world, *first, *words)
            assert (done.code, done.out, done.err) == (0, "ran acme build --json -v --home -- --help --debug\n", "")

    def test_the_routers_answer_is_the_exit_code(self, world: World) -> None:
        install_global(world, "def run(args, context): return int(args[1])")
        assert [msd(world, "acme", n).code for n in ("0", "42")] == [0, 42]

    def test_host_options_stand_before_the_family(self, world: World) -> None:
        install_project(world, "def run(args, context): print(context.project)", grant=False)
        shown = msd(world, "capability", "trust", "show", "acme", "--json").json()["contentHash"]
        trust = ("--trust", f"acme@{shown}")
        for words in ((*trust, "acme"), (*trust, "x", "acme"), ("x", *trust, "acme")):
            done = msd(world, "-C", str(world.project), *words, cwd=world.root)
            assert (done.code, done.out) == (0, f"{world.project}\n"), done.err
        assert msd(world, "acme", *trust).code == 2

    def test_a_failure_is_one_line_and_exit_1(self, world: World) -> None:
        install_global(world, "def run(args, context):\n    print('begun')\n    raise ValueError('bad')")
        done = msd(world, "acme")
        assert (done.code, done.out) == (1, "begun\n")
        assert done.err == 'msd: the command of "acme" failed in main.py: ValueError: bad\n'
        error = msd(world, "--json", "x", "acme").error()
        assert error["code"] == "command-failed"
        traceback = msd(world, "--debug", "acme")
        assert traceback.code == 1
        assert 'File "<acme/main.py>", line 3, in run' in traceback.err

    def test_an_interrupt_is_130(self, world: World) -> None:
        install_global(world, "def run(args, context): raise KeyboardInterrupt")
        done = msd(world, "acme")
        assert (done.code, "Traceback" in done.err) == (130, False)

    def test_a_reader_that_leaves_is_no_error(self, world: World) -> None:
        import shlex
        import subprocess

        from tests.cli import environment

        install_global(world, "def run(args, context):\n    for i in range(100000): print(i)")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", f"{shlex.quote(sys.executable)} -m msd_host acme | head -n 1"],
            cwd=world.project,
            env=environment(world.home),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")

    def test_a_broken_pipe_of_its_own_is_its_failure(self, world: World) -> None:
        install_global(world, "def run(args, context): raise BrokenPipeError('theirs')")
        done = msd(world, "acme")
        assert (done.code, "BrokenPipeError: theirs" in done.err) == (1, True)

    @pytest.mark.parametrize("word", ["lop", "capabilty", "setings", "docter", "Loop", "../x", "a b", "--nope"])
    def test_a_word_near_a_host_verb_or_no_family_costs_no_load(self, word: str, monkeypatch: Any, capsys: Any) -> None:
        from msd_host.cli.app import run as run_line

        def never(*_: Any, **__: Any) -> None:
            raise AssertionError("the registry was loaded")

        monkeypatch.setattr(Host, "compose", never)
        assert run_line(MSD, [word]) == 2
        assert "unknown command" in capsys.readouterr().err

    def test_unknown_families(self, world: World) -> None:
        install_global(world)
        bare, sure = msd(world, "acmee"), msd(world, "x", "acmee")
        assert (bare.code, sure.code) == (2, 5)
        assert 'unknown command "acmee"; did you mean "acme"?' in bare.err
        assert 'no command family "acmee"; did you mean "acme"?' in sure.err
        assert msd(world, "acmee", "--json").error()["code"] == "usage"

    def test_one_close_to_a_host_verb_needs_the_sure_form(self, world: World) -> None:
        world.add_global("acme", files={"main.py": ECHO}, commands=commands("loops"))
        ledger(world.home, acme={})
        assert msd(world, "loops").code == 2
        assert msd(world, "x", "loops").out == "ran loops\n"

    def test_refusals_have_their_exit_code(self, world: World) -> None:
        world.add_global("acme", files={"main.py": ECHO}, commands=commands())
        done = msd(world, "acme")
        assert done.code == 3
        assert "no completed installation" in done.err
        assert "capability explain acme" in done.err

    def test_strict_is_8_once_the_command_is_done(self, world: World) -> None:
        install_global(world)
        world.add_project("inert")
        done = msd(world, "--strict", "acme")
        assert (done.code, done.out) == (8, "ran acme\n")

    def test_help(self, world: World) -> None:
        helped = msd(world, "x", "--help")
        assert helped.code == 0
        assert "with your rights" in helped.out
        assert msd(world, "x").code == 2
