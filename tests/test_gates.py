"""`loop check`: every active gate evaluated, whoever brought it, and nothing it runs outlives its deadline (spec 40)."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from msd_host import MSD, Host, PredicateKind, PredicateVerdict, UsageError, first_party_from, hookimpl
from msd_host.loop.frontmatter import NoScalar, Scalar, is_equal, scalar_at
from msd_host.loop.gates import GateReport, GateResult
from msd_host.loop.predicates import EVALUATORS
from tests.cli import heard, is_gone, msd
from tests.planted import World, bare_product, boolean, gate, manifest

POINT = "plan:pre"  # where no first-party gate of MSD stands


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def command(line: object, **fields: Any) -> dict[str, Any]:
    return {"predicate": {"kind": "command-exit-zero", "command": line, **fields}}


def artifact(name: object = "AUDIT.md", field: object = "status", **fields: Any) -> dict[str, Any]:
    fields.setdefault("equals", "pass")
    return {"predicate": {"kind": "artifact-frontmatter-equals", "artifact": name, "field": field, **fields}}


def checked(world: World, check: dict[str, Any], *, phase_dir: Any = None, **fields: Any) -> GateResult:
    """The result of one gate of a global overlay with *check*."""
    world.add_global("acme", gates=[gate(POINT, check=check, **fields)])
    (result,) = world.host.check_gates(POINT, world.project, phase_dir=phase_dir).gates
    return result


class TestVocabulary:
    def test_the_product_names_exactly_what_has_an_evaluator(self) -> None:
        assert set(MSD.gate_kinds) == set(EVALUATORS)

    def test_every_first_party_predicate_has_an_evaluator(self) -> None:
        kinds = {
            g["check"]["predicate"]["kind"]
            for c in MSD.first_party.capabilities
            for g in c.gates
            if "predicate" in g["check"]
        }
        assert kinds
        assert kinds <= set(EVALUATORS)

    def test_no_first_party_gate_is_malformed(self, world: World) -> None:
        host = Host(MSD, home=world.home, discover_extensions=False)
        results = [g for point in MSD.contract.points for g in host.check_gates(point, world.project).gates]
        assert results
        assert not [g for g in results if g.failed]

    def test_a_kind_the_product_does_not_name_is_unknown_to_it(self, tmp_path: Path) -> None:
        world = World(tmp_path, bare_product(gate_kinds=("command-exit-zero",)))
        assert checked(world, artifact()).failed
        assert checked(world, command("true")).outcome == "passed"


class TestCommand:
    @pytest.mark.parametrize(
        ("line", "outcome", "words"),
        [
            ("true", "passed", "exit 0"),
            ("exit 3", "blocked", "exit 3"),
            ("echo no good; exit 1", "blocked", "exit 1: no good"),
            ("echo to stderr >&2; exit 1", "blocked", "exit 1: to stderr"),
            ("kill -9 $$", "blocked", "ended by SIGKILL"),
            ("no-such-program-anywhere", "blocked", "exit 127: "),
            ("-x true", "blocked", "exit 127: "),
            ("cat; test -f .planning/config.json || pwd", "passed", "exit 0: "),
        ],
    )
    def test_only_exit_zero_passes(self, world: World, line: str, outcome: str, words: str) -> None:
        result = checked(world, command(line))
        assert (result.outcome, words in result.message) == (outcome, True), result.message

    def test_it_runs_in_the_served_project_also_from_below_it(self, world: World) -> None:
        below = world.project / "src" / "deep"
        below.mkdir(parents=True)
        world.add_global("acme", gates=[gate(POINT, check=command("pwd -P"))])
        (result,) = world.host.check_gates(POINT, below).gates
        assert result.message == f"exit 0: {world.project}"

    def test_without_a_project_it_runs_where_the_caller_is(self, world: World) -> None:
        world.add_global("acme", gates=[gate(POINT, check=command("pwd -P"))])
        alone = world.root / "alone"
        alone.mkdir()
        (result,) = world.host.check_gates(POINT, alone).gates
        assert result.message == f"exit 0: {alone}"

    @pytest.mark.parametrize("line", [None, "", "  \n", 5, ["true"], "x" * 4097])
    def test_a_command_that_is_none_cannot_be_checked(self, world: World, line: object) -> None:
        result = checked(world, command(line))
        assert (result.failed, result.outcome) == (True, "blocked")

    @pytest.mark.parametrize("timeout", [0, -1, "5", True, None, [1]])
    def test_a_timeout_that_is_none_cannot_be_checked(self, world: World, timeout: object) -> None:
        assert checked(world, command("true", timeout=timeout)).failed

    @pytest.mark.parametrize("timeout", [1, 2.5, 1e308, 2**60])
    def test_any_positive_timeout_will_do(self, world: World, timeout: float) -> None:
        assert checked(world, command("true", timeout=timeout)).outcome == "passed"

    def test_a_command_of_the_longest_length_runs(self, world: World) -> None:
        assert checked(world, command("true #" + "x" * 4090)).outcome == "passed"

    def test_the_deadline_ends_it_and_everything_it_started(self, world: World) -> None:
        line = "(trap '' TERM; sh -c 'echo $$ > grandchild; sleep 60') & echo begun; trap '' TERM; sleep 60; sleep 60"
        result = checked(world, command(line, timeout=1))
        assert (result.outcome, result.failed) == ("blocked", False)
        assert "did not end within 1 s and was killed: begun" in result.message
        assert is_gone(world.project / "grandchild")

    def test_at_its_deadline_a_command_is_asked_before_it_is_killed(self, world: World) -> None:
        result = checked(
            world, command("trap 'echo tidied > tidied; exit 0' TERM; while :; do sleep 0.05; done", timeout=0.5)
        )
        assert result.outcome == "blocked", "its exit status comes too late to count"
        assert (world.project / "tidied").read_text() == "tidied\n"

    def test_a_command_that_ended_does_not_wait_for_what_holds_its_output(self, world: World) -> None:
        started = time.monotonic()
        result = checked(world, command("(sh -c 'echo $$ > left; exec sleep 60') & sleep 0.1; echo done", timeout=30))
        assert (result.outcome, result.message) == ("passed", "exit 0: done")
        assert time.monotonic() - started < 20, "it waited for the process that holds the pipe"
        assert is_gone(world.project / "left")

    def test_what_closed_its_output_is_still_waited_for(self, world: World) -> None:
        assert checked(world, command("exec >&- 2>&-; sleep 0.1; exit 4")).message == "exit 4"

    def test_a_flood_is_read_and_forgotten_but_for_its_end(self, world: World) -> None:
        result = checked(world, command("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo the end; exit 1"))
        assert result.message.endswith("x the end")
        assert len(result.message) <= 2020

    def test_an_endless_flood_ends_at_the_deadline(self, world: World) -> None:
        result = checked(world, command("yes", timeout=0.5))
        assert "was killed: …" in result.message
        assert len(result.message) <= 2100

    def test_control_and_invisible_characters_do_not_get_through(self, world: World) -> None:
        line = r"printf '\033[2Ja\007b\r\nc \342\200\256 \302\233 \377 `d`'; exit 1"
        message = checked(world, command(line)).message
        assert all(c.isprintable() for c in message)
        assert not set("\x1b\x07\r\n\u202e\x9b`") & set(message)

    def test_nothing_of_the_phase_is_put_into_the_command(self, world: World) -> None:
        """The placeholders are the shell's own variables, so that what they hold is never code."""
        folder = world.project / ".planning" / "phases" / "01-$(touch PWNED);touch PWNED"
        folder.mkdir(parents=True)
        line = 'printf "%s|%s|%s" "${PHASE_NUMBER}" "${PHASE_DIR}" "$PHASE_REQ_IDS"; test "$2" = "$PHASE_DIR"'
        world.add_global("acme", gates=[gate(POINT, check=command(line))])
        report = world.host.check_gates(
            POINT, world.project, phase_number="1.2", phase_dir=folder, phase_req_ids="R-1,R-2"
        )
        assert report.gates[0].message == f"exit 0: 1.2|{folder}|R-1,R-2"
        assert not (world.project / "PWNED").exists()

    def test_what_is_not_said_is_empty_whatever_the_environment_holds(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PHASE_NUMBER", "99")
        assert checked(world, command('test -z "$PHASE_NUMBER$PHASE_DIR$PHASE_REQ_IDS"')).outcome == "passed"

    @pytest.mark.parametrize(
        "fields",
        [
            {"phase_number": "1;x"},
            {"phase_number": "$(x)"},
            {"phase_number": "x" * 65},
            {"phase_req_ids": "R-1; rm"},
            {"phase_req_ids": ","},
            {"phase_dir": "nowhere"},
            {"phase_dir": ".."},
            {"phase_dir": "/"},
            {"phase_dir": "a\0b"},
            {"phase_dir": ".planning/config.json"},
            {"phase_dir": "link-out"},
        ],
    )
    def test_a_phase_without_meaning_is_an_error_of_the_caller(self, world: World, fields: dict[str, Any]) -> None:
        (world.project / ".planning" / "config.json").write_text("{}")
        (world.project / "link-out").symlink_to(world.home)
        with pytest.raises(UsageError):
            world.host.check_gates(POINT, world.project, **fields)

    def test_a_project_that_cannot_be_entered_is_no_verdict(self, world: World) -> None:
        from msd_host.limits import Limits
        from msd_host.loop.ground import Ground
        from msd_host.loop.predicates import Unanswerable, evaluate

        ground = Ground(world.host.files, Limits(), str(world.root / "gone"), ".planning/phases")
        with pytest.raises(Unanswerable, match="FileNotFoundError"):
            evaluate(command("true")["predicate"], EVALUATORS, ground)


class TestArtifact:
    def put(self, world: World, path: str, status: str = "status: pass") -> Path:
        file = world.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\n{status}\n---\n\nText\n")
        return file

    @pytest.mark.parametrize(
        "path", ["AUDIT.md", ".planning/phases/01-a/AUDIT.md", ".planning/phases/01-a/01-AUDIT.md"]
    )
    def test_found_in_the_project_and_in_its_phases(self, world: World, path: str) -> None:
        self.put(world, path)
        assert checked(world, artifact()).outcome == "passed"

    @pytest.mark.parametrize(
        "path", ["docs/AUDIT.md", ".planning/AUDIT.md", ".planning/phases/a/b/AUDIT.md", "audit.md"]
    )
    def test_not_found_elsewhere_and_missing_blocks(self, world: World, path: str) -> None:
        self.put(world, path)
        result = checked(world, artifact())
        assert (result.outcome, result.failed) == ("blocked", False)
        assert 'no file that ends in "AUDIT.md"' in result.message

    def test_with_a_phase_only_its_folder_counts(self, world: World) -> None:
        self.put(world, ".planning/phases/01-a/AUDIT.md")
        self.put(world, "AUDIT.md")
        second = world.project / ".planning" / "phases" / "02-b"
        second.mkdir()
        assert checked(world, artifact(), phase_dir=second).outcome == "blocked"
        self.put(world, ".planning/phases/02-b/02-AUDIT.md")
        assert checked(world, artifact(), phase_dir=second).outcome == "passed"

    def test_a_relative_phase_is_seen_from_where_the_caller_is(self, world: World, monkeypatch: Any) -> None:
        self.put(world, ".planning/phases/02-b/02-AUDIT.md")
        assert checked(world, artifact(), phase_dir=".planning/phases/02-b").outcome == "passed"
        world.add_global("acme", gates=[gate(POINT, check=artifact())])
        report = world.host.check_gates(POINT, world.project / ".planning", phase_dir="phases/02-b")
        assert report.passed

    def test_every_file_found_must_say_so(self, world: World) -> None:
        self.put(world, ".planning/phases/01-a/AUDIT.md")
        self.put(world, ".planning/phases/02-b/AUDIT.md", "status: fail")
        result = checked(world, artifact())
        assert result.outcome == "blocked"
        assert '.planning/phases/02-b/AUDIT.md says "status" is "fail", not "pass"' in result.message

    @pytest.mark.parametrize("how", ["file", "folder", "phases", "planning"])
    def test_no_link_is_followed(self, world: World, how: str) -> None:
        import shutil

        outside = world.root / "outside"
        outside.mkdir()
        self.put(world, ".planning/phases/01-a/AUDIT.md")
        moved = {
            "file": world.project / ".planning/phases/01-a/AUDIT.md",
            "folder": world.project / ".planning/phases/01-a",
            "phases": world.project / ".planning/phases",
            "planning": world.project / ".planning",
        }[how]
        shutil.move(moved, outside / "it")
        (world.project / ".git").mkdir()
        moved.symlink_to(outside / "it")
        result = checked(world, artifact(), on_error="skip")
        assert (result.outcome, result.failed) == ("blocked", False)

    @pytest.mark.parametrize("kind", ["fifo", "folder", "huge", "unreadable", "latin", "crowd"])
    def test_what_cannot_be_read_blocks_and_never_hangs(self, world: World, kind: str) -> None:
        path = world.project / "AUDIT.md"
        limit = MSD.limits.fragment_bytes
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "huge":
            path.write_text("---\nstatus: pass\n---\n" + "x" * limit)
        elif kind == "latin":
            path.write_bytes(b"---\nstatus: pass\nname: \xff\n---\n")
        elif kind == "crowd":
            few = attrs.evolve(world.host.product, limits=attrs.evolve(MSD.limits, bundle_entries=5))
            world = World(world.root, few)
            for i in range(6):
                (world.project / f"f{i}").write_text("")
            self.put(world, "AUDIT.md")
        else:
            self.put(world, "AUDIT.md").chmod(0)
        result = checked(world, artifact())
        if kind == "unreadable" and os.geteuid() == 0:
            assert result.outcome == "passed"
        else:
            assert (result.outcome, result.failed) == ("blocked", False), result.message

    @pytest.mark.parametrize(
        "check",
        [
            artifact(None),
            artifact(""),
            artifact("../AUDIT.md"),
            artifact("a\\b"),
            artifact("x" * 256),
            artifact(field=None),
            artifact(field=" "),
            artifact(equals=[1]),
            artifact(equals={}),
            {"predicate": {"kind": "artifact-frontmatter-equals", "artifact": "A", "field": "f"}},
        ],
        ids=str,
    )
    def test_a_malformed_payload_cannot_be_checked(self, world: World, check: dict[str, Any]) -> None:
        self.put(world, "AUDIT.md")
        assert checked(world, check).failed


def value(text: str, field: str = "f") -> Scalar | str:
    """The value of *field* in a frontmatter of *text*, or why there is none."""
    try:
        return scalar_at(f"---\n{text}\n---\n".encode(), field)
    except NoScalar as why:
        return str(why)


class TestFrontmatter:
    @pytest.mark.parametrize(
        ("line", "text"),
        [
            ("f: a", "a"),
            ("f:    a b  ", "a b"),
            ("f:\ta", "a"),
            ("f: a # not this", "a"),
            ("f: a#b", "a#b"),
            ("f: 'it''s' # c", "it's"),
            ('f: "a\\u0062 \\" c"', 'ab " c'),
            ('f: "null"', "null"),
            ("f: http://x/y", "http://x/y"),
            ("g: 1\nf: 2\nh: 3", "2"),
            ("g:\n  f: 1\nf: 2", "2"),
            ("f: a\r", "a"),
            ("f: \u2028", "\u2028"),
        ],
    )
    def test_plain_and_quoted_values(self, line: str, text: str) -> None:
        found = value(line)
        assert isinstance(found, Scalar)
        assert found.text == text

    @pytest.mark.parametrize(
        "line",
        [
            *("f:", "f: null", "f: ~", "f: NULL # x", "f: # nothing", "f:a", "F: a", "  f: a", "- f: a", "# f: a"),
            *("f: |\n  a", "f: >-", "f: [a]", "f: {a: b}", "f: &x a", "f: *x", "f: !!str a", "f: 'open", 'f: "open'),
            *("f: 'a' b", 'f: "a" b', 'f: "\\x41"', "f: a\nf: a", "g: 1"),
        ],
    )
    def test_everything_else_is_no_value(self, line: str) -> None:
        assert isinstance(value(line), str)

    @pytest.mark.parametrize("text", ["", "f: a", "---\nf: a", "\n---\nf: a\n---", "--- x\nf: a\n---\n", "---"])
    def test_a_file_without_a_closed_frontmatter_has_none(self, text: str) -> None:
        with pytest.raises(NoScalar):
            scalar_at(text.encode(), "f")

    def test_a_byte_order_mark_and_a_dotted_end_do_no_harm(self) -> None:
        assert scalar_at("\ufeff---\r\nf: a\r\n...\r\nf: b\n".encode(), "f").text == "a"

    @pytest.mark.parametrize(
        ("text", "wanted", "equal"),
        [
            *(("0", 0, True), ("0", "0", True), ("1.0", 1, True), ("1", 1.0, True), ("1e2", 100, True)),
            *(("1.10", "1.10", True), ("1.10", "1.1", False), ("true", True, True), ("True", True, False)),
            *(("false", False, True), ("1", True, False), ("0", False, False), ("pass", "pass", True)),
            *(("Pass", "pass", False), ("", "", True), ("null", None, False), ("", None, False)),
            *(("9" * 400, 10**18, False), ("nan", "nan", True), ("0x10", 16, False), ("1_0", 10, False)),
        ],
    )
    def test_equal_strictly_or_as_text_and_null_never(self, text: str, wanted: object, equal: bool) -> None:
        assert is_equal(Scalar(text), wanted) is equal

    @given(st.binary(max_size=200), st.text(max_size=5))
    def test_any_bytes_give_a_value_or_a_reason(self, data: bytes, field: str) -> None:
        for content in (data, b"---\n" + data + b"\n---\n"):
            try:
                assert isinstance(scalar_at(content, field), Scalar)
            except NoScalar as why:
                assert str(why)

    @given(st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=30))
    def test_any_text_can_be_said_in_double_quotes(self, text: str) -> None:
        assert value(f"f: {json.dumps(text)}") == Scalar(text, is_quoted=True)


class TestRouting:
    @pytest.mark.parametrize(
        ("blocking", "on_error", "check", "outcome", "passed"),
        [
            (True, "skip", command("false"), "blocked", False),
            (True, "halt", command("false"), "blocked", False),
            (False, "skip", command("false"), "advisory", True),
            (False, "halt", command("false"), "advisory", True),
            (True, "skip", command("true"), "passed", True),
            (True, "skip", {"predicate": {"kind": "future"}}, "error", True),
            (True, "halt", {"predicate": {"kind": "future"}}, "blocked", False),
            (False, "halt", {"predicate": {"kind": "future"}}, "blocked", False),
            (False, "skip", command(5), "error", True),
            (True, "halt", {"query": "is it done?"}, "unanswered", False),
            (False, "halt", {"query": "is it done?"}, "unanswered", True),
            (False, "skip", {"agentVerdict": "would you?"}, "unanswered", True),
        ],
    )
    def test_blocking_decides_a_no_and_on_error_what_cannot_be_checked(
        self, world: World, blocking: bool, on_error: str, check: dict[str, Any], outcome: str, passed: bool
    ) -> None:
        world.add_global("acme", gates=[gate(POINT, check=check, blocking=blocking, onError=on_error)])
        report = world.host.check_gates(POINT, world.project)
        (result,) = report.gates
        assert (result.outcome, report.passed) == (outcome, passed)
        assert [w["code"] for w in report.warnings] == (["gate-error"] if result.failed else [])

    def test_the_rest_is_evaluated_too_once_one_has_said_no(self, world: World) -> None:
        lines = [command("false"), command("true"), {"query": "q"}, command("exit 2")]
        world.add_global("acme", gates=[gate(POINT, check=c, blocking=True) for c in lines])
        report = world.host.check_gates(POINT, world.project)
        assert [g.outcome for g in report.gates] == ["blocked", "passed", "unanswered", "blocked"]

    def test_an_unanswered_question_comes_whole(self, world: World) -> None:
        question = "One?\nTwo? `three`"
        world.add_global("acme", gates=[gate(POINT, check={"agentVerdict": question}, blocking=False)])
        answer = world.host.check_gates(POINT, world.project).to_dict()
        assert answer["unanswered"] == [
            {"capId": "acme", "scope": "global", "kind": "agentVerdict", "blocking": False, "question": question}
        ]

    def test_a_gate_that_is_off_runs_nothing(self, world: World) -> None:
        world.add_global(
            "acme",
            config={"acme.on": boolean(default=False)},
            gates=[gate(POINT, check=command("touch ran"), when="acme.on")],
        )
        report = world.host.check_gates(POINT, world.project)
        assert report == GateReport(POINT, ())
        assert not (world.project / "ran").exists()

    def test_a_project_overlays_command_runs_only_once_agreed_to(self, world: World) -> None:
        world.add_project("acme", gates=[gate(POINT, check=command("touch ran"))])
        report = world.host.check_gates(POINT, world.project)
        assert (report.gates, [w["code"] for w in report.warnings]) == ((), ["unconsented"])
        assert not (world.project / "ran").exists()
        world.grant("acme")
        (result,) = world.host.check_gates(POINT, world.project).gates
        assert (result.scope, result.outcome) == ("project", "passed")
        assert (world.project / "ran").exists()

    def test_a_word_that_is_no_point(self, world: World) -> None:
        with pytest.raises(UsageError, match="plan:pre"):
            world.host.check_gates("plan:pree", world.project)


@pytest.mark.parametrize("line", ["true", "exit 7"])
@pytest.mark.parametrize("point", MSD.contract.points)
def test_a_gate_at_any_point_is_evaluated_alike_whoever_brings_it(tmp_path: Path, point: str, line: str) -> None:
    gates = [gate(point, check=command(line)), gate(point, check={"query": "q"}, blocking=False)]
    shipped = tmp_path / "set" / "capabilities" / "acme"
    shipped.mkdir(parents=True)
    (shipped / "capability.json").write_text(json.dumps(manifest("acme", gates=gates)))
    own = World(tmp_path / "own", attrs.evolve(bare_product(), first_party=first_party_from(tmp_path / "set")))
    everywhere = World(tmp_path / "global")
    everywhere.add_global("acme", gates=gates)
    there = World(tmp_path / "project")
    there.add_project("acme", gates=gates)
    there.grant("acme")
    reports = [w.host.check_gates(point, w.project) for w in (own, everywhere, there)]
    assert [[g.scope for g in r.gates] for r in reports] == [["first-party"] * 2, ["global"] * 2, ["project"] * 2]
    alike = [[attrs.evolve(g, scope="") for g in r.gates] for r in reports]
    assert alike[0] == alike[1] == alike[2]
    assert [r.passed for r in reports] == [line == "true"] * 3
    other = MSD.contract.points[MSD.contract.points.index(point) - 1]
    assert [w.host.check_gates(other, w.project).gates for w in (own, everywhere, there)] == [()] * 3


class TestExtensionKinds:
    def hosted(self, world: World, evaluate: Any, name: str = "moon-phase") -> Host:
        class Kinds:
            @hookimpl
            def msd_predicate_kinds(self) -> list[PredicateKind]:
                return [PredicateKind(name, evaluate)]

            @hookimpl
            def msd_observe(self, event: Any) -> None:
                if event.kind == "gate-checked":
                    heard.append(dict(event.data))

        self.heard = heard = []  # type: ignore[var-annotated]
        check = {"predicate": {"kind": name, "phase": "full"}}
        world.add_global("acme", gates=[gate(POINT, check=check, onError="skip")])
        return Host(bare_product(), home=world.home, extensions=[Kinds()])

    def test_a_kind_of_an_extension_is_evaluated_and_told(self, world: World) -> None:
        seen: list[Any] = []

        def evaluate(payload: Any, project: str | None) -> PredicateVerdict:
            seen.append((payload["phase"], project))
            return PredicateVerdict(False, "new moon \x1b[2J")

        (result,) = self.hosted(world, evaluate).check_gates(POINT, world.project).gates
        assert (result.outcome, result.message) == ("blocked", "new moon [2J")
        assert seen == [("full", str(world.project))]
        assert self.heard == [{"point": POINT, "id": "acme", "check": "moon-phase", "outcome": "blocked"}]

    @pytest.mark.parametrize("error", [ValueError("no sky"), SystemExit(0)])
    def test_one_that_fails_is_no_verdict(self, world: World, error: BaseException) -> None:
        def evaluate(payload: Any, project: str | None) -> PredicateVerdict:
            raise error

        report = self.hosted(world, evaluate).check_gates(POINT, world.project)
        assert (report.gates[0].outcome, report.gates[0].failed) == ("error", True)
        assert [w["code"] for w in report.warnings] == ["gate-error"]

    def test_the_hosts_own_kind_cannot_be_taken(self, world: World) -> None:
        host = self.hosted(world, lambda p, q: PredicateVerdict(True), "command-exit-zero")
        assert host.check_gates(POINT, world.project).gates[0].failed, "the payload is none for the host's evaluator"


class TestCommandLine:
    def test_pass_is_0_and_blocked_is_10_with_the_whole_answer_in_both(self, world: World) -> None:
        world.add_global("acme", gates=[gate(POINT, check=command("true"))])
        done = msd(world, "loop", "check", POINT, "--json")
        assert done.code == 0
        assert done.json() == {
            "point": POINT,
            "passed": True,
            "gates": [
                {
                    "capId": "acme",
                    "scope": "global",
                    "kind": "command-exit-zero",
                    "blocking": True,
                    "onError": "halt",
                    "outcome": "passed",
                    "message": "exit 0",
                }
            ],
            "unanswered": [],
            "warnings": [],
        }
        world.add_global("other", gates=[gate(POINT, check=command("echo why; exit 1"))])
        done = msd(world, "loop", "check", POINT, "--format", "json", "--verbose")
        answer = done.json()
        assert (done.code, answer["passed"], len(answer["gates"])) == (10, False, 2)
        assert all(isinstance(g["seconds"], float) for g in answer["gates"])
        told = msd(world, "loop", "check", POINT)
        assert told.code == 10
        assert "blocked     other (global, blocking) command-exit-zero: exit 1: why" in told.out
        assert told.out.endswith("plan:pre: blocked\n")

    def test_a_skipped_gate_is_loud_in_the_same_answer_and_no_pass(self, world: World) -> None:
        world.add_global("old", engines={"msd": ">=99"}, gates=[gate(POINT)])
        world.add_project("inert", gates=[gate(POINT)])
        done = msd(world, "loop", "check", POINT, "--json")
        assert done.code == 0
        assert [w["code"] for w in done.json()["warnings"]] == ["engines-unsatisfied", "unconsented"]
        assert done.json()["gates"] == []
        assert done.err.count("NOT in force") == 2
        told = msd(world, "loop", "check", POINT)
        assert told.out == "plan:pre: nothing blocks, but not every gate is in force\n"
        assert msd(world, "loop", "check", "plan:post", "--json").json()["warnings"] == []

    def test_blocked_comes_before_strict(self, world: World) -> None:
        world.add_project("inert", gates=[gate(POINT)])
        assert msd(world, "loop", "check", POINT, "--strict").code == 8
        world.add_global("acme", gates=[gate(POINT, check=command("false"))])
        done = msd(world, "loop", "check", POINT, "--strict", "--json")
        assert (done.code, done.json()["passed"]) == (10, False)

    def test_a_check_that_cannot_be_made_is_loud(self, world: World) -> None:
        world.add_global("acme", gates=[gate(POINT, check={"predicate": {"kind": "future"}}, onError="skip")])
        done = msd(world, "loop", "check", POINT, "--json")
        assert done.code == 0
        assert done.json()["gates"][0]["outcome"] == "error"
        assert '"future"; it is NOT in force this time (onError is skip)' in done.err

    def test_the_phase_reaches_the_command(self, world: World) -> None:
        (world.project / ".planning" / "phases" / "03-x").mkdir(parents=True)
        world.add_global("acme", gates=[gate(POINT, check=command('basename "$PHASE_DIR"; echo $PHASE_NUMBER'))])
        words = ("--phase-dir", ".planning/phases/03-x", "--phase-number", "3")
        done = msd(world, "loop", "check", POINT, "--json", *words)
        assert done.json()["gates"][0]["message"] == "exit 0: 03-x 3"
        assert msd(world, "loop", "check", POINT, "--phase-dir", "../..").code == 2

    def test_usage(self, world: World) -> None:
        assert msd(world, "loop", "check", "plan:pree").code == 2
        assert msd(world, "loop", "check").code == 2
        helped = msd(world, "loop", "check", "--help")
        assert helped.code == 0
        assert "with your rights" in helped.out
        assert "example:" in helped.out

    def test_an_interrupt_ends_the_command_too(self, world: World) -> None:
        import subprocess
        import sys

        from tests.cli import environment

        world.add_global("acme", gates=[gate(POINT, check=command("echo $$ > running; exec sleep 60"))])
        process = subprocess.Popen(
            [sys.executable, "-s", "-m", "msd_host", "loop", "check", POINT],
            cwd=world.project,
            env=environment(world.home),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=heard,
        )
        running = world.project / "running"
        while not (running.exists() and running.read_text().endswith("\n")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, b"Traceback" in err) == (130, False)
        assert is_gone(running)
