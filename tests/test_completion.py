"""`completion`: made from the verbs' own parsers, and tried in real shells (spec 60)."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from msd_host import MSD
from msd_host.cli.completion import described, table
from msd_host.cli.options import Options
from msd_host.cli.session import Session
from msd_host.cli.words import GROUPS
from tests.cli import environment, msd
from tests.planted import World
from tests.test_floors import loaded, within

SHELLS = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")
    for name in ("bash", "zsh", "fish")
}
EACH = [pytest.param(name, marks=mark) for name, mark in SHELLS.items()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, MSD)
    world.add_project("acme-rules")
    world.add_global("acme-global")
    for name in ("Bad Name", "$(touch pwned)", "-rf", ".hidden"):
        (world.project / ".msd" / "capabilities" / name).mkdir()
    bin = world.root / "bin"
    bin.mkdir()
    (bin / "msd").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -s -m msd_host "$@"\n')
    (bin / "msd").chmod(0o755)
    return world


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three scripts, as the verb prints them."""
    folder = tmp_path_factory.mktemp("scripts")
    world = World(folder / "world", MSD)
    for shell in SHELLS:
        (folder / shell).write_text(msd(world, "completion", shell).out)
    return folder


def env_of(world: World) -> dict[str, str]:
    env = environment(world.home, TERM="dumb", LC_ALL="C.UTF-8", HOME=str(world.home))
    return {**env, "PATH": f"{world.root / 'bin'}{os.pathsep}{env['PATH']}"}


def run(world: World, shell: str, script: str, cwd: Path | None = None) -> str:
    plain = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *plain, "-c", script],
        cwd=cwd or world.project,
        env=env_of(world),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


def in_bash(world: World, scripts: Path, line: str, cwd: Path | None = None) -> list[str]:
    """What bash offers at the end of *line*, cut into words as readline cuts it."""
    cut = line.replace(":", " : ").replace("=", " = ")
    words = cut.split(" ") if line.endswith(" ") else cut.split()
    words = [w for w in words[:-1] if w] + [words[-1]]
    array = " ".join(shlex.quote(w) for w in words)
    script = (
        f"source {scripts / 'bash'}; COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'; COMP_WORDS=({array});"
        f" COMP_CWORD={len(words) - 1}; _msd; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return run(world, "bash", script, cwd).split()


def in_fish(world: World, scripts: Path, line: str, cwd: Path | None = None) -> list[str]:
    script = f"source {scripts / 'fish'}; complete -C {shlex.quote(line)}"
    return [one.split("\t")[0] for one in run(world, "fish", script, cwd).splitlines()]


def on_terminal(world: World, shell: str, typed: str, expected: str) -> str:
    """What stands on a terminal after *typed* and the tab key, waited for until *expected* is there."""
    pid, fd = pty.fork()
    if pid == 0:  # pragma: no cover - the child becomes another program
        os.chdir(world.project)
        plain = {"bash": ["--norc", "-i"], "zsh": ["-f", "-i"]}[shell]
        os.execvpe(shell, [shell, *plain], {**env_of(world), "PS1": "> ", "TERM": "vt100"})
    before = {"bash": "", "zsh": "autoload -Uz compinit; compinit -u -d $HOME/.dump; "}[shell]
    seen = ""
    try:
        os.write(fd, f'{before}eval "$(msd completion {shell})"; echo re""ady\n'.encode())
        seen = _until(fd, "ready")
        assert "ready" in seen, seen
        os.write(fd, typed.encode() + b"\t\t\t")
        seen = _until(fd, expected)
    finally:
        os.write(fd, b"\x03exit\n")
        os.close(fd)
        os.waitpid(pid, 0)
    return seen


def _until(fd: int, expected: str) -> str:
    seen, deadline = "", time.monotonic() + 30
    while expected not in seen and time.monotonic() < deadline:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 65536).decode(errors="replace")
            except OSError:
                break
    return seen


LINES = [
    ("msd cap", {"capability"}),
    ("msd capability ", {"list", "show", "explain", "trust"}),
    ("msd capability trust ", {"show", "grant", "deny"}),
    ("msd capability show acme", {"acme-rules", "acme-global"}),
    ("msd capability trust show acme-r", {"acme-rules"}),
    ("msd --json capability sh", {"show"}),
    ("msd --home /nowhere capability show acme", {"acme-rules"}),
    ("msd capability list --scope pr", {"project"}),
    ("msd capability list --sc", {"--scope"}),
    ("msd --no-c", {"--no-color"}),
    ("msd registry graph --format s", {"svg"}),
    ("msd settings get workflow.", set[str]()),
    ("msd completion z", {"zsh"}),
    ("msd new obs", {"observer"}),
]


class TestBash:
    pytestmark = SHELLS["bash"]

    @pytest.mark.parametrize(("line", "expected"), LINES)
    def test_offers(self, world: World, scripts: Path, line: str, expected: set[str]) -> None:
        offered = set(in_bash(world, scripts, line))
        assert expected <= offered, offered
        last = line.rpartition(" ")[2]
        assert all(word.startswith(last) for word in offered)

    def test_points_are_completed_behind_their_colon(self, world: World, scripts: Path) -> None:
        assert {"plan:pre", "plan:post"} <= set(in_bash(world, scripts, "msd loop check pl"))
        assert in_bash(world, scripts, "msd loop check plan:p") == ["pre", "post"]
        assert in_bash(world, scripts, "msd loop check execute:wave:po") == ["post"]

    def test_values_behind_an_equals_sign(self, world: World, scripts: Path) -> None:
        assert in_bash(world, scripts, "msd capability list --scope=pr") == ["project"]

    def test_files_and_folders(self, world: World, scripts: Path) -> None:
        (world.project / "some-file").write_text("")
        (world.project / "some folder").mkdir()
        assert in_bash(world, scripts, "msd capability check some-f") == ["some-file"]
        assert "some-file" not in in_bash(world, scripts, "msd --home some")

    def test_another_home_is_asked_there(self, world: World, scripts: Path) -> None:
        assert "acme-global" not in in_bash(world, scripts, "msd --home /nowhere capability show acme")
        assert "acme-global" in in_bash(world, scripts, f"msd -C {world.project} capability show acme", cwd=world.root)
        assert "acme-rules" not in in_bash(world, scripts, "msd capability show acme", cwd=world.root)
        assert "acme-rules" in in_bash(world, scripts, f"msd -C {world.project} capability show acme", cwd=world.root)

    def test_names_of_folders_are_never_run(self, world: World, scripts: Path) -> None:
        assert set(in_bash(world, scripts, "msd capability remove ")) >= {"acme-rules"}
        assert not (world.project / "pwned").exists()
        assert not {"Bad", "-rf", ".hidden"} & set(in_bash(world, scripts, "msd capability remove "))

    @pytest.mark.parametrize(("typed", "expected"), [("msd capab", "ility"), ("msd loop check plan:", "post")])
    def test_with_the_tab_key(self, world: World, typed: str, expected: str) -> None:
        assert expected in on_terminal(world, "bash", typed, expected)


class TestZsh:
    pytestmark = SHELLS["zsh"]

    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            ("msd capab", "capability"),
            ("msd capability ", "every capability, where it comes from"),
            ("msd loop check plan:", "plan:p"),
            ("msd capability show acme-r", "acme-rules"),
            ("msd registry graph --format=s", "svg"),
            ("msd capability list --scope p", "project"),
        ],
    )
    def test_with_the_tab_key(self, world: World, typed: str, expected: str) -> None:
        assert expected in on_terminal(world, "zsh", typed, expected)


class TestFish:
    pytestmark = SHELLS["fish"]

    @pytest.mark.parametrize(("line", "expected"), LINES)
    def test_offers(self, world: World, scripts: Path, line: str, expected: set[str]) -> None:
        assert expected <= set(in_fish(world, scripts, line))

    def test_points_and_values(self, world: World, scripts: Path) -> None:
        assert set(in_fish(world, scripts, "msd loop check plan:p")) == {"plan:pre", "plan:post"}
        assert in_fish(world, scripts, "msd capability list --scope=pr") == ["--scope=project"]

    def test_descriptions(self, world: World) -> None:
        out = run(world, "fish", "msd completion fish | source; complete -C 'msd capability li'")
        assert out == "list\tevery capability, where it comes from and its state\n"


def verbs() -> Iterator[str]:
    yield from (f"{group} {verb}".strip() for group, (_, each) in GROUPS.items() for verb in each)


class TestTable:
    @pytest.fixture
    def made(self, world: World) -> dict[str, list[tuple[str, str]]]:
        return table(Session(MSD, Options(home=str(world.home), cwd=str(world.project))))

    def test_every_verb_is_there_with_all_its_options(
        self, world: World, made: dict[str, list[tuple[str, str]]]
    ) -> None:
        for verb in verbs():
            if f"sub {verb}" in made or verb == "x":
                continue
            helped = msd(world, *verb.split(), "--help").out
            offered = {word for word, _ in made[f"opts {verb}"]}
            told = {w.strip("[],") for w in helped.split() if w.strip("[],").startswith("--")}
            ours = {word for word, _ in made["opts "]} | {"--help"}
            assert {t for t in told if "=" not in t} - ours <= offered, verb

    def test_asking_what_a_verb_takes_does_nothing_else(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        from msd_host.cli import capability

        session = Session(MSD, Options(home=str(world.home), cwd=str(world.project)))
        before = sorted(world.root.rglob("*"))
        parser = described(session, capability.VERBS["remove"])
        assert parser is not None and parser.prog.endswith("capability remove")
        assert capsys.readouterr().out == "" and sorted(world.root.rglob("*")) == before

    def test_no_word_means_anything_to_a_shell(self, made: dict[str, list[tuple[str, str]]]) -> None:
        for words in made.values():
            for word, text in words:
                assert not set(word) & set(" \t\n'\"\\$`;|&<>(){}*?!~#"), word
                assert "\n" not in text


@pytest.mark.parametrize("shell", EACH)
def test_the_script_is_sound(world: World, shell: str) -> None:
    path = world.root / "script"
    path.write_text(msd(world, "completion", shell).out)
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


class TestVerb:
    def test_usage(self, world: World) -> None:
        assert msd(world, "completion").code == 2
        assert msd(world, "completion", "tcsh").code == 2

    def test_another_name(self, world: World) -> None:
        assert "complete -F _msd msd msd_run\n" in msd(world, "completion", "bash", "--also", "msd_run").out
        assert "complete -F _msd msd\n" in msd(world, "completion", "bash", "--also", "a;b").out

    def test_no_plugin_and_no_decoder_is_loaded(self, world: World) -> None:
        for words in (("completion", "--words", "ids"), ("completion", "--words", "keys")):
            modules = loaded(world, *words)
            assert not {m for m in modules if within(m, "cattrs", "importlib_metadata")}
        for words in (("completion", "bash"), ("completion", "--words", "ids")):
            assert not {m for m in loaded(world, *words) if within(m, "msd_host.extending.loading")}

    def test_ids_are_ids_only(self, world: World) -> None:
        words = msd(world, "completion", "--words", "ids").out.split()
        assert {"acme-rules", "acme-global", "research"} <= set(words)
        assert not {"Bad", "Name", "-rf", ".hidden"} & set(words) and words == sorted(set(words))
