"""What changed since the user said yes (spec 20, Disclosure; field cases 2 and 101)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from msd_host.model.capability import Capability
from msd_host.model.frozen import EMPTY, freeze
from msd_host.model.scope import Scope
from msd_host.trust.consent import Grant
from msd_host.trust.diff import BundleDiff, compare
from msd_host.trust.disclosure import Disclosure, disclose
from msd_host.trust.snapshot import Snapshot
from msd_host.trust.unified import Budget, unified

#: A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

Content = dict[str, "bytes | str | None"]
Compared = Callable[..., BundleDiff]

MANIFEST: dict[str, Any] = {
    "id": "demo",
    "role": "feature",
    "version": "1.0.0",
    "title": "Demo",
    "description": "A demo",
    "tier": "full",
    "requires": [],
}


def disclosed(**fields: Any) -> Disclosure:
    capability = Capability(freeze({**MANIFEST, **fields}))
    return disclose(capability, content_hash=None, scope=Scope.PROJECT, folder="/x")


def granted(snapshot: Snapshot, disclosure: Any = EMPTY, *, files: bool = True) -> Grant:
    return Grant(
        root="/p",
        id="demo",
        content_hash=snapshot.content_hash,
        disclosure=disclosure,
        files=snapshot.digests() if files else EMPTY,
    )


@pytest.fixture
def compared(bundle: Callable[..., Path], take: Callable[..., Snapshot]) -> Compared:
    """Compare two bundles: `compared(old, new)`; `kept` whether the store has the old bytes."""

    def make(old: Content, new: Content, *, kept: bool = True, files: bool = True) -> BundleDiff:
        before, after = take(bundle(old, "old")), take(bundle(new, "new"))
        return compare(granted(before, files=files), before if kept else None, after)

    return make


class TestFiles:
    @pytest.mark.parametrize("kept", [True, False])
    def test_added_removed_changed(self, compared: Compared, kept: bool) -> None:
        found = compared(
            {"same": "x", "gone": "12", "edited": "a\nb\nc\n"},
            {"same": "x", "new": "one\ntwo\n", "edited": "a\nB\nc\n"},
            kept=kept,
        )
        assert [(f.path, f.change) for f in found.files] == [
            ("edited", "changed"),
            ("gone", "removed"),
            ("new", "added"),
        ]
        edited, gone, new = found.files
        assert edited.diff == (("@@ -1,3 +1,3 @@", " a", "-b", "+B", " c") if kept else ())
        assert (gone.old_size, gone.new_size) == (2, None)
        assert new.diff == ("@@ -0,0 +1,2 @@", "+one", "+two")
        assert any("not in the store any more" in note for note in found.notes) is not kept

    def test_the_lines_a_person_reads(self, compared: Compared) -> None:
        found = compared(
            {"edited": "a\n", "gone": "12", "same size": "1"},
            {"edited": "a\nb\n", "new": "n", "same size": "2"},
        )
        lines = found.lines()
        assert lines[0].startswith("Agreed to: sha512-")
        assert lines[1].startswith("There now: sha512-")
        assert "Files (4):" in lines
        assert "  ~ edited (2 -> 4 bytes)" in lines
        assert "  - gone (2 bytes)" in lines
        assert "  + new (1 bytes)" in lines
        assert "  ~ same size" in lines
        assert "      +b" in lines

    def test_nothing_changed(self, compared: Compared) -> None:
        found = compared({"a": "x"}, {"a": "x"})
        assert (found.files, found.surfaces, found.notes) == ((), (), ())
        assert found.lines() == ["Nothing changed since you agreed to it."]
        assert not found.line_endings_only

    @pytest.mark.parametrize("kept", [True, False])
    def test_case_101_line_endings_only(self, compared: Compared, kept: bool) -> None:
        lf: Content = {"a.md": "one\ntwo\n", "b": "x"}
        crlf: Content = {"a.md": "one\r\ntwo\r\n", "b": "x"}
        for old, new in ((lf, crlf), (crlf, lf)):
            found = compared(old, new, kept=kept)
            assert [(f.path, f.line_endings_only, f.diff) for f in found.files] == [("a.md", True, ())]
            assert found.line_endings_only
            assert any("line endings only" in line for line in found.lines())

    @pytest.mark.parametrize("kept", [True, False])
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b"one\ntwo\n", b"one\rtwo\r"),  # a lone CR is content
            (b"one\ntwo\n", b"one\r\ntwo\r\n "),
            (b"one\ntwo\n", b"one\n\ntwo\n"),
            (b"one\r\n", b"one\r\r\n"),
            (b"\0one\n", b"\0one\r\n"),  # not text
        ],
    )
    def test_case_101_everything_else_is_a_difference(
        self, compared: Compared, old: bytes, new: bytes, kept: bool
    ) -> None:
        found = compared({"a": old}, {"a": new}, kept=kept)
        assert [f.line_endings_only for f in found.files] == [False]
        assert not found.line_endings_only

    def test_mixed_endings_are_recognised_with_the_bytes_of_then(self, compared: Compared) -> None:
        assert compared({"a": "x\r\ny\n"}, {"a": "x\ny\r\n"}).line_endings_only

    def test_line_endings_beside_another_change(self, compared: Compared) -> None:
        assert not compared({"a": "x\n", "b": "1"}, {"a": "x\r\n", "b": "2"}).line_endings_only
        assert not compared({"a": "x\n"}, {"a*": "x\r\n"}).line_endings_only

    def test_a_lone_carriage_return_is_seen(self, compared: Compared) -> None:
        (change,) = compared({"a": "one\ntwo\n"}, {"a": "one\rtwo\n"}).files
        assert "+one\\rtwo" in change.diff

    def test_execute_bits(self, compared: Compared) -> None:
        on = compared({"a": "x"}, {"a*": "x"}).files[0]
        off = compared({"b*": "x"}, {"b": "x"}, kept=False)
        assert (on.change, on.execute, on.diff) == ("changed", "+x", ())
        assert {f.path: f.execute for f in off.files}["b"] == "-x"
        assert "now executable" in on.lines()[0]
        assert "no longer executable" in "\n".join(off.lines())
        assert compared({}, {"new*": "x"}).files[-1].execute == "+x"

    def test_binary_files_are_named_and_not_shown(self, compared: Compared) -> None:
        found = compared({"a": b"\0\x01", "b": b"\xff"}, {"a": b"\0\x02", "b": b"\xfe"})
        assert [(f.diff, f.note) for f in found.files] == [((), "not text"), ((), "not text")]
        assert "  ~ a (not text)" in found.lines()

    def test_text_is_spelled_out(self, compared: Compared) -> None:
        found = compared({"a": "x\n"}, {"a": "\x1b[31m\u202e\n", "b\n\x1b": "y"})
        assert all(line.isprintable() for line in found.lines())
        assert "+\\x1b[31m\\u202e" in found.files[0].diff

    def test_folders_only(self, compared: Compared) -> None:
        found = compared({"a": "x"}, {"a": "x", "empty": None})
        assert found.files == ()
        assert found.notes == ("only folders differ",)

    def test_no_list_and_no_bytes(self, compared: Compared) -> None:
        found = compared({"a": "x"}, {"a": "y"}, kept=False, files=False)
        assert [f.change for f in found.files] == ["added"]
        assert any("every file is shown as added" in note for note in found.notes)

    def test_the_bytes_make_up_for_a_missing_list(self, compared: Compared) -> None:
        found = compared({"a": "x"}, {"a": "y"}, kept=True, files=False)
        assert [f.change for f in found.files] == ["changed"]
        assert found.notes == ()

    def test_bytes_of_something_else_are_not_taken_for_those_of_then(
        self, bundle: Callable[..., Path], take: Callable[..., Snapshot]
    ) -> None:
        old, new, other = (take(bundle({"a": name}, name)) for name in ("old", "new", "other"))
        found = compare(granted(old), other, new)
        assert found.files[0].diff == ()
        assert any("not in the store any more" in note for note in found.notes)

    def test_the_json_shape(self, compared: Compared) -> None:
        found = json.loads(json.dumps(compared({"a": "x\n"}, {"a": "y\n"}).to_dict()))
        assert found["id"] == "demo"
        assert found["files"][0]["diff"] == ["@@ -1,1 +1,1 @@", "-x", "+y"]
        assert found["lineEndingsOnly"] is False
        assert found["surfaces"] == []


class TestSurfaces:
    @pytest.fixture
    def changes(
        self, bundle: Callable[..., Path], take: Callable[..., Snapshot]
    ) -> Callable[[Any, Disclosure], BundleDiff]:
        def make(old: Any, new: Disclosure) -> BundleDiff:
            before, after = take(bundle({"a": "1"}, "old")), take(bundle({"a": "2"}, "new"))
            recorded = old.to_dict() if isinstance(old, Disclosure) else old
            return compare(granted(before, json.loads(json.dumps(recorded))), before, after, new)

        return make

    def test_added_removed_changed(self, changes: Any) -> None:
        old = disclosed(skills=["kept", "gone"], mcpServers={"docs": {"command": "a", "env": {"K": "1"}}})
        new = disclosed(skills=["kept", "new"], mcpServers={"docs": {"command": "a", "env": {"K": "2"}}})
        found = changes(old, new)
        assert {(s.kind, s.name, s.change) for s in found.surfaces} == {
            ("mcp", "docs", "changed"),
            ("skill", "gone", "removed"),
            ("skill", "new", "added"),
        }
        (server,) = [s for s in found.surfaces if s.kind == "mcp"]
        assert server.details == ("- env K: 1", "+ env K: 2")
        assert "  ~ mcp docs" in found.lines()
        assert found.to_dict()["surfaces"][0] == {
            "kind": "mcp",
            "name": "docs",
            "change": "changed",
            "details": ["- env K: 1", "+ env K: 2"],
        }

    def test_a_fact_that_went(self, changes: Any) -> None:
        old = disclosed(mcpServers={"docs": {"command": "a", "cwd": "/x"}})
        new = disclosed(mcpServers={"docs": {"command": "a"}})
        assert changes(old, new).surfaces[0].details == ("- cwd: /x",)

    @pytest.mark.parametrize("field", ["cwd", "futureKey", "url"])
    def test_case_2_any_field_is_a_change(self, changes: Any, field: str) -> None:
        old = disclosed(mcpServers={"docs": {"command": "a"}})
        new = disclosed(mcpServers={"docs": {"command": "a", field: "evil"}})
        (change,) = changes(old, new).surfaces
        assert any("evil" in line for line in change.details)

    def test_a_change_beyond_what_is_shown(self, changes: Any) -> None:
        old, new = (disclosed(mcpServers={"d": {"command": "a", "env": {"K": "v" * 99 + end}}}) for end in "ab")
        assert changes(old, new).surfaces[0].details == ("differs in a part that is not shown",)

    def test_two_of_one_name(self, changes: Any) -> None:
        gate = {"point": "p", "check": {"query": "q"}, "blocking": True, "onError": "halt"}
        found = changes(disclosed(gates=[gate]), disclosed(gates=[gate, {**gate, "blocking": False}]))
        assert [(s.name, s.change) for s in found.surfaces] == [("p: query", "added")]

    @pytest.mark.parametrize(
        "record", [{}, {"surfaces": None}, {"surfaces": [1, "x"]}, {"surfaces": {"a": 1}}, {"surfaces": 5}]
    )
    def test_a_record_without_surfaces_says_so(self, changes: Any, record: Any) -> None:
        found = changes(record, disclosed(skills=["s"]))
        assert found.surfaces == ()
        assert any("no record of the surfaces" in note for note in found.notes)

    @settings(CALM, max_examples=60)
    @given(
        some.lists(
            some.dictionaries(
                some.sampled_from(["kind", "name", "digest", "facts"]),
                some.none()
                | some.text(max_size=3)
                | some.integers()
                | some.dictionaries(some.text(max_size=2), some.integers()),
            ),
            min_size=1,
            max_size=3,
        )
    )
    def test_law_of_totality_over_records(self, rows: list[dict[str, Any]]) -> None:
        old = Snapshot("sha512-old", EMPTY, (), 0)
        new = Snapshot("sha512-new", EMPTY, (), 0)
        found = compare(granted(old, {"surfaces": rows}), old, new, disclosed(skills=["s"]))
        assert all(line.isprintable() for line in found.lines())

    def test_odd_rows_are_no_fault(self, changes: Any) -> None:
        new = disclosed(mcpServers={"docs": {"command": "a"}})
        found = changes({"surfaces": [{"kind": "mcp", "name": "docs", "digest": 5, "facts": []}]}, new)
        assert [s.change for s in found.surfaces] == ["changed"]


def patched(old: list[str], diff: tuple[str, ...]) -> list[str]:
    """Apply a unified diff, checking every line that it claims to find."""
    out: list[str] = []
    at = 0
    for line in diff:
        if line.startswith("@@"):
            span = line.split()[1]
            start, count = (int(part) for part in span[1:].split(","))
            begin = start - 1 if count else start
            assert begin >= at
            out += old[at:begin]
            at = begin
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            if line[0] == " ":
                out.append(line[1:])
    return out + old[at:]


LINES = some.lists(some.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=30)


@settings(CALM, max_examples=300)
@given(LINES, LINES)
def test_law_a_diff_turns_the_old_text_into_the_new(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines).encode() for lines in (old, new))
    diff, note = unified(before, after, Budget())
    assert note == ""
    assert patched(old, diff) == new
    assert bool(diff) is (old != new)


@settings(CALM, max_examples=100)
@given(LINES)
def test_law_unchanged_lines_far_away_are_not_shown(lines: list[str]) -> None:
    old = [f"{n}" for n in range(40)]
    new = old[:20] + lines + old[20:]
    text = "".join(f"{line}\n" for line in old).encode(), "".join(f"{line}\n" for line in new).encode()
    diff, _ = unified(*text, Budget())
    assert len([line for line in diff if line.startswith("+")]) == len(lines)
    assert len([line for line in diff if line.startswith(" ")]) <= 6
    assert not [line for line in diff if line.startswith("-")]


def test_moved_lines_are_found_by_what_is_unique() -> None:
    old = "start\n" + "".join(f"line {n}\n" for n in range(20)) + "end\n"
    new = old.replace("line 3\n", "line three\n").replace("line 15\n", "")
    diff, _ = unified(old.encode(), new.encode(), Budget())
    assert [line for line in diff if line[0] in "+-"] == ["-line 3", "+line three", "-line 15"]
    assert len([line for line in diff if line.startswith("@@")]) == 2


def test_a_missing_line_end_is_said() -> None:
    diff, _ = unified(b"a\nb", b"a\nb\n", Budget())
    assert diff == ("@@ -1,2 +1,2 @@", " a", "-b", "\\ no line end at the end of the file", "+b")


def test_what_is_not_shown_is_counted() -> None:
    diff, note = unified(b"", b"x\n" * 5000, Budget())
    assert len(diff) == 2000
    assert note == "3001 more lines of difference are not shown"
    budget = Budget(lines=10)
    first, _ = unified(b"", b"x\n" * 8, budget)
    second, note = unified(b"", b"x\n" * 8, budget)
    assert (len(first), len(second), note) == (9, 1, "8 more lines of difference are not shown")


def test_a_long_line_is_cut_and_counted() -> None:
    diff, _ = unified(b"", b"x" * 5000, Budget())
    assert diff[1].endswith("… (5000 characters)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"x\n" * 30_000, b"x\n" * 29_999 + b"y\n"),
        (
            b"".join(b"%d\n" % (n % 90) for n in range(30_000)),
            b"".join(b"%d\n" % (n % 89) for n in range(30_000)),
        ),
        (
            b"".join(b"%d\n" % n for n in range(30_000)),
            b"".join(b"%d\n" % n for n in reversed(range(30_000))),
        ),
        (b"a\nb\n" * 15_000, b"b\na\n" * 15_000),
    ],
    ids=["one line repeated", "cycles", "reversed", "alternating"],
)
def test_no_text_takes_long(old: bytes, new: bytes) -> None:
    """A quadratic comparison of these would not end within the patience of whoever runs the tests."""
    diff, note = unified(old, new, Budget())
    assert len(diff) <= 2000
    assert bool(note) is (len(diff) == 2000)
