"""Every command and every piece of code in README and docs/ is run, and what it prints is what stands there.

A ```console block holds `$ ` commands and what each prints: `...` on a line of its own stands for any lines, `…` for any
piece of one. Behind a comment `% at a terminal: y` it runs on a terminal on which `y` is typed. A captioned
{code-block} is a file of that name. A ```python block goes on where the page's last one ended. ```text is not run.
"""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from attrs import define, field

from msd_host import SkipCode
from msd_host.cli.words import GROUPS
from tests.cli import environment, heard

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the docs are beside the sources only")
WRITTEN = [p for p in DOCS.rglob("*.md") if "_build" not in p.parts and p.parent.name != "reference"]
PAGES = sorted([*WRITTEN, *([ROOT / "README.md"] if DOCS.is_dir() else [])])
FENCE = re.compile(r"^```(.*)$")
MARK = "\x1e"


@define
class Block:
    """One fenced block: its language, the line it begins on, its text; the file it is, or what is typed at it."""

    language: str
    line: int
    text: str
    file: str | None = None
    typed: str | None = None


def blocks(path: Path) -> list[Block]:
    found: list[Block] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    number, typed = 0, None
    while number < len(lines):
        opened = FENCE.match(lines[number])
        if lines[number].startswith("% at a terminal: "):
            typed = lines[number].partition(": ")[2]
        if opened is None:
            number += 1
            continue
        end = next(i for i in range(number + 1, len(lines)) if lines[i] == "```")
        body, file = lines[number + 1 : end], None
        language = opened[1].removeprefix("{code-block} ")
        if body and body[0].startswith(":caption: "):
            file = body[0].removeprefix(":caption: ")
            body = body[2:] if len(body) > 1 and not body[1] else body[1:]
        found.append(Block(language, number + 1, "\n".join(body) + "\n", file, typed))
        number, typed = end + 1, None
    return found


def commands(text: str) -> list[tuple[str, str]]:
    """(command, what it should print) of a console block; `> ` continues a command."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> "):
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def fits(expected: str, printed: str) -> bool:
    """Whether *printed* is what stands there. Where nothing stands, anything may be printed."""
    if not expected.strip():
        return True
    parts = []
    for line in expected.rstrip().splitlines():
        whole = line.strip() == "..."
        parts.append(r"(?:.*\n)*" if whole else ".*".join(map(re.escape, line.rstrip().split("…"))) + r"[ ]*\n")
    return re.fullmatch("".join(parts), printed.rstrip() + "\n") is not None


@define
class Shell:
    """A reader at work: one folder, one home, the repository's examples beside."""

    root: Path
    code: str = ""
    env: dict[str, str] = field(init=False)

    def __attrs_post_init__(self) -> None:
        work, home, bin, site = (self.root / name for name in ("work", "home", "bin", "site"))
        for folder in (work, home, bin, site):
            folder.mkdir()
        for name in ("example_plugins", "examples"):
            shutil.copytree(ROOT / name, work / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        python = shlex.quote(sys.executable)
        install = f"exec {python} -m pip --disable-pip-version-check --no-cache-dir install -q --no-index --no-deps"
        into = f"--no-build-isolation --target {shlex.quote(str(site))}"
        for name, line in {
            "msd": f'exec {python} -s -m msd_host "$@"',
            "python": f'exec {python} "$@"',
            "pip": f'[ "$1" = install ] || exit 64; shift; [ "$1" = -e ] && shift; {install} {into} "$@"',
        }.items():
            (bin / name).write_text(f"#!/bin/sh\n{line}\n")
            (bin / name).chmod(0o755)
        (self.root / "cwd").write_text(str(work))
        ours = environment(
            home, HOME=str(home), LC_ALL="C.UTF-8", TERM="dumb", COLUMNS="120", MSD_SHELL_ROOT=str(self.root)
        )
        path = os.pathsep.join([str(bin), str(site / "bin"), ours.get("PATH", os.defpath)])
        self.env = {**ours, "PATH": path, "PYTHONPATH": os.pathsep.join([str(site), ours["PYTHONPATH"]])}

    def write(self, name: str, text: str) -> None:
        path = Path((self.root / "cwd").read_text().strip()) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, lines: list[str], typed: str | None) -> list[tuple[int, str]]:
        """(exit code, output) of each line, all in one shell that goes on where the last one ended."""
        script = ['cd "$(cat "$MSD_SHELL_ROOT/cwd")"']
        script += [f"{line}\nprintf '\\n{MARK}%s\\n' \"$?\"" for line in lines]
        script.append('pwd > "$MSD_SHELL_ROOT/cwd"')
        argv = ["bash", "-c", "\n".join(script)]
        if typed is None:
            done = subprocess.run(
                argv, env=self.env, stdin=subprocess.DEVNULL, stdout=-1, stderr=-2, text=True, timeout=120, check=False
            )
            said = done.stdout
        else:
            said = on_terminal(argv, self.env, typed)
        parts = re.split(rf"\n{MARK}(\d+)\n", said)
        return [(int(code), text) for text, code in zip(parts[::2], parts[1::2])]

    def python(self, text: str) -> None:
        self.code += text
        self.write("page.py", self.code)
        ((code, said),) = self.run(["python page.py"], None)
        assert code == 0, said


def on_terminal(argv: list[str], env: dict[str, str], typed: str) -> str:
    pid, fd = pty.fork()
    if pid == 0:  # pragma: no cover - the child becomes another program
        heard()
        os.execvpe(argv[0], argv, env)
    said, answered, deadline = b"", False, time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            said += data
        if not answered and b"[y/N]" in said:
            answered = True
            os.write(fd, f"{typed}\n".encode())
    else:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(fd)
    return said.decode().replace("\r\n", "\n")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pip") is None or find_spec("hatchling") is None, reason="pip or hatchling is missing")
@pytest.mark.parametrize("path", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_what_stands_there_is_what_happens(path: Path, tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for block in blocks(path):
        where = f"{path.name}:{block.line}"
        if block.file is not None:
            shell.write(block.file, block.text)
        elif block.language == "console":
            wanted = commands(block.text)
            done = shell.run([command for command, _ in wanted], block.typed)
            assert len(done) == len(wanted), where
            for (command, expected), (code, said) in zip(wanted, done):
                assert code == 0, f"{where}: {command}: exit {code}\n{said}"
                assert fits(expected, said), f"{where}: {command} printed\n{said}\nand not\n{expected}"
        elif block.language == "python":
            shell.python(block.text)


@pytest.mark.parametrize("path", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
class TestWriting:
    def test_nothing_that_could_be_run_escapes_being_run(self, path: Path) -> None:
        """`sh` is README's alone: `make demo` and `make test` are what a build runs first."""
        for block in blocks(path):
            allowed = {"console", "python", "text", "{toctree}"} | ({"sh"} if path.name == "README.md" else set())
            assert block.file is not None or block.language in allowed, (path.name, block.line, block.language)

    def test_every_verb_that_is_named_is_there(self, path: Path) -> None:
        for group, verb in re.findall(r"`msd ([a-z]+)(?: ([a-z-]+))?", path.read_text(encoding="utf-8")):
            assert group in GROUPS, group
            assert "" in GROUPS[group][1] or not verb or verb in GROUPS[group][1], (group, verb)

    def test_links_lead_somewhere(self, path: Path) -> None:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            made = target.startswith(("reference/", "../reference/")) and Path(target).name in reference().PAGES
            assert made or (path.parent / target).exists(), target


def reference() -> ModuleType:
    spec = spec_from_file_location("reference_pages", DOCS / "reference_pages.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestReference:
    def test_every_verb_code_field_hook_and_name(self, tmp_path: Path) -> None:
        from msd_hookspecs import observers, predicates, reviews, stages

        import msd_host

        reference().write_pages(tmp_path)
        pages = {p.name: p.read_text() for p in tmp_path.iterdir()}
        for group, (_, verbs) in GROUPS.items():
            for verb in verbs:
                heading = f"### {group} {verb}" if verb else f"## {group}"
                assert re.search(rf"^{heading}\n\n.*\n\n```text\nusage:\s+msd ", pages["cli.md"], re.M), heading
        assert all(f"| `{code.value}` |" in pages["codes.md"] for code in SkipCode)
        assert all(f"\n## {name}\n" in pages["api.md"] for name in msd_host.__all__)
        for module in (observers, predicates, reviews, stages):
            assert all(f"### {n}" in pages["hookspecs.md"] for n in module.__all__ if n.startswith("msd_"))
        for one in ("`activationKey`", "`requires`", "`runtimeCompat`", "`predicate`"):
            assert f"| {one} |" in pages["manifest.md"]

    def test_the_same_twice(self, tmp_path: Path) -> None:
        made = reference()
        made.write_pages(tmp_path)
        before = {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
        made.write_pages(tmp_path)
        assert {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()} == before


class TestTheTestItself:
    @pytest.mark.parametrize(
        ("expected", "printed", "same"),
        [
            ("a\n", "a\n", True),
            ("a\n", "b\n", False),
            ("a\n...\n", "a\nb\nc\n", True),
            ("a\n...\nd\n", "a\nb\nc\n", False),
            ("sha512-…\n", "sha512-abc\n", True),
            ("a (…)\n", "a [1]\n", False),
            ("", "whatever", True),
        ],
    )
    def test_fits(self, expected: str, printed: str, same: bool) -> None:
        assert fits(expected, printed) is same
