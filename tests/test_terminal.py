"""What a person sees: tables that fit, colours where they are wanted, letters that the locale has (spec 60)."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msd_host import MSD
from msd_host.cli.table import cut, laid_out, width, wrapped
from msd_host.cli.words import GROUPS
from tests.cli import environment, msd
from tests.planted import World, gate

WIDTHS = (60, 80, 120)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, MSD)
    world.add_project("acme", gates=[gate("plan:pre")])
    world.add_project("needs-a-newer-host", engines={"msd": ">=99.0.0"})
    world.grant("needs-a-newer-host")
    world.add_global("a-global-one")
    world.add_global("engines-too-new", engines={"msd": ">=99.0.0"})
    world.host.trust.deny(world.project, "unwanted")
    return world


def seen(world: World, columns: int, *words: str, **env: str) -> list[str]:
    """The lines that `msd WORDS` puts on a terminal of so many *columns*, as they were written."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-s", "-m", "msd_host", *words],
        cwd=world.project,
        env={**environment(world.home, TERM="xterm", LC_ALL="C.UTF-8"), **env},
        stdin=subprocess.DEVNULL,
        stdout=side,
        stderr=subprocess.DEVNULL,
    )
    os.close(side)
    data, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([main], [], [], 0.2)[0]:
            continue
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        data += part
    child.wait(60)
    os.close(main)
    return data.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize(
    "words",
    ["capability list", "capability state", "capability trust status", "capability trust list", "settings list"]
    + ["loop points", "plugins list"],
)
def test_no_line_of_a_table_is_wider_than_the_terminal(world: World, words: str, columns: int) -> None:
    lines = seen(world, columns, *words.split())
    assert len(lines) > 1 or "plugins" in words
    for line in lines:
        whole = line.startswith(("    ", "store: ", "no extension"))  # commands, reasons and places are never cut
        assert whole or width(line) <= columns, line


@pytest.mark.parametrize("columns", WIDTHS)
def test_state_and_code_survive_a_narrow_terminal(world: World, columns: int) -> None:
    head, *rows = (line.split() for line in seen(world, columns, "capability", "list", NO_COLOR="1"))
    assert {"ID", "STATE", "CODE"} <= set(head)
    of = {row[0]: dict(zip(head, row)) for row in rows}
    assert (of["acme"]["STATE"], of["acme"]["CODE"]) == ("skipped", "unconsented")
    assert of["engines-too-new"]["CODE"] == "engines-unsatisfied"
    assert of["a-global-one"]["STATE"] == "active"


def test_overlays_come_before_what_ships(world: World) -> None:
    shown = [line.split()[0] for line in msd(world, "capability", "list").out.splitlines()[1:]]
    own = set(world.host.baseline.capabilities)
    assert {id in own for id in shown[:4]} == {False} and all(id in own for id in shown[4:])
    state = [line.split()[0] for line in msd(world, "capability", "state").out.splitlines()[1:]]
    first = next(i for i, id in enumerate(state) if id in own)
    assert all(id in own for id in state[first:])


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_next_command_is_whole(world: World, columns: int) -> None:
    text = "\n".join(seen(world, columns, "capability", "trust", "status"))
    assert "msd capability trust show acme" in text


class TestColours:
    def test_on_a_terminal_only(self, world: World) -> None:
        assert "\x1b[" in "".join(seen(world, 80, "capability", "explain", "acme"))
        assert "\x1b[" not in msd(world, "capability", "explain", "acme", TERM="xterm").out

    @pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_never_against_the_users_word(self, world: World, env: dict[str, str]) -> None:
        assert "\x1b[" not in "".join(seen(world, 80, "capability", "explain", "acme", **env))

    def test_never_with_the_option(self, world: World) -> None:
        assert "\x1b[" not in "".join(seen(world, 80, "capability", "trust", "status", "--no-color"))

    def test_columns_stay_aligned_below_styled_cells(self, world: World) -> None:
        styled = seen(world, 120, "capability", "trust", "status")
        plain = seen(world, 120, "capability", "trust", "status", NO_COLOR="1")
        assert [width(line) for line in styled] == [len(line) for line in plain]


def test_a_pipe_gets_every_cell_whole(world: World) -> None:
    lines = msd(world, "capability", "list", COLUMNS="40").out.splitlines()
    assert lines[0].split() == ["ID", "VERSION", "ROLE", "TIER", "SCOPE", "STATE", "CODE", "SOURCE"]
    assert not any("…" in line for line in lines)


@pytest.mark.parametrize("words", [("--help",), ("capability", "list"), ("loop", "points"), ("demo", "--help")])
def test_a_locale_without_the_letters_is_no_error(world: World, words: tuple[str, ...]) -> None:
    done = msd(world, *words, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii")
    assert done.code == 0 and "Traceback" not in done.err
    assert done.out.isascii()


def test_a_terminal_without_the_letters_cuts_with_what_it_has(world: World) -> None:
    lines = seen(world, 40, "loop", "points", PYTHONIOENCODING="ascii")
    assert "\\u2026" not in "".join(lines)
    assert all(width(line) <= 40 for line in lines if not line.startswith("    "))


class TestHelp:
    @pytest.mark.parametrize("group", [g for g, (_, verbs) in GROUPS.items() if "" not in verbs])
    def test_help_of_a_group_by_either_name(self, world: World, group: str) -> None:
        first, second = msd(world, "help", group), msd(world, group, "--help")
        assert first.out == second.out and (first.code, second.code) == (0, 0)
        assert all(f"msd {group} {verb}" in first.out for verb in GROUPS[group][1])
        assert "example:" in first.out

    @pytest.mark.parametrize(
        "verb", [f"{g} {v}".strip() for g, (_, verbs) in GROUPS.items() for v in verbs if (g, v) != ("x", "")]
    )
    def test_every_verb_has_help_with_an_example(self, world: World, verb: str) -> None:
        done = msd(world, "help", *verb.split())
        assert done.code == 0 and "example:" in done.out, done

    def test_trust_says_what_each_verb_does(self, world: World) -> None:
        done = msd(world, "help", "capability", "trust")
        assert done.code == 0 and "msd capability trust grant" in done.out and "example:" in done.out
        wrong = msd(world, "capability", "trust", "nope")
        assert wrong.code == 2 and "  try: msd capability trust --help" in wrong.err

    @pytest.mark.parametrize("words", ["--debug nope", "--debug help nope", "--debug capability nope", "nope --debug"])
    def test_a_wrong_word_is_usage_also_under_debug(self, world: World, words: str) -> None:
        done = msd(world, *words.split())
        assert done.code == 2 and "Traceback" not in done.err and "try: " in done.err


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=30)


@given(st.lists(st.tuples(texts, texts, texts), max_size=6), st.integers(20, 130), st.booleans())
def test_law_a_table_fits_and_loses_no_row(rows: list[tuple[str, str, str]], room: int, below: bool) -> None:
    lines = list(laid_out(["ONE", "TWO", "THREE"], rows, room, less=["TWO", "ONE"], below=below))
    apart = [line for line in lines if width(line) > room]
    assert all(below and line.startswith("    ") for line in apart)
    assert len(lines) >= len(rows) + 1
    if not below:
        assert len(lines) == len(rows) + 1


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("words", ["capability explain acme", "capability show audit", "doctor"])
def test_prose_is_broken_at_blanks_only(world: World, words: str, columns: int) -> None:
    shown = seen(world, columns, *words.split(), NO_COLOR="1")
    told = msd(world, *words.split()).out
    assert " ".join(" ".join(shown).split()) == " ".join(told.split())
    for line in shown:
        assert width(line) <= columns or " " not in line.strip() or "msd " in line or "/" in line, line


@given(st.lists(texts.filter(lambda t: t and " " not in t)), st.integers(0, 6), st.integers(10, 60))
def test_law_wrapping_loses_nothing_and_fits_where_a_word_does(words: list[str], indent: int, room: int) -> None:
    text = " " * indent + " ".join(words)
    lines = list(wrapped(text, room))
    assert " ".join(lines).split() == text.split()
    longest = max((width(word) for word in words), default=0)
    assert all(width(line) <= max(room, longest + indent + 2) for line in lines)


@given(texts, st.integers(1, 40))
def test_law_a_cut_text_fits(text: str, room: int) -> None:
    assert width(cut(text, room)) <= room
    assert cut(text, width(text)) == text
