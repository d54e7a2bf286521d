"""Whole manifests of each role, and the rows of the reference's section 9 as far as one document goes.

Where spec 10 is stricter than the reference, the rows follow spec 10. A row changes values of a whole, valid
manifest and names the path of every fault that must be found, no more and no fewer.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from msd_host.reading.positions import shown
from tests.strategies import replaced, without

DROP = object()

FEATURE: dict[str, Any] = {
    "id": "acme",
    "role": "feature",
    "version": "1.2.3",
    "title": "Acme",
    "description": "About acme.",
    "tier": "full",
    "requires": ["research"],
    "engines": {"msd": ">=1.0.0"},
    "compatVersions": {"1.0.0": ">=1.0.0"},
    "integrity": "sha512-" + "A" * 86 + "==",
    "provenance": {"sourceRepo": "https://example.org/acme", "commit": "abc"},
    "runtimeCompat": {"supported": ["claude", "codex"], "unsupported": ["kimi"], "notes": {"claude": "well"}},
    "skills": ["acme-plan", "acme-review"],
    "agents": ["acme-agent"],
    "commands": [{"family": "acme", "module": "acme_router.py", "router": "route_acme", "subcommands": ["run"]}],
    "hooks": [{"event": "PreToolUse", "script": "hooks/check.sh", "matcher": "Write|Edit"}],
    "config": {
        "on": {"type": "boolean", "default": True, "description": "Whether."},
        "depth": {"type": "enum", "values": ["quick", "deep"], "default": "deep", "description": "How."},
        "limit": {"type": "number", "default": 3, "description": "How much."},
        "name": {"type": "string", "default": "", "description": "Which."},
    },
    "activationKey": "on",
    "steps": [
        {
            "point": "plan:pre",
            "ref": {"skill": "acme-plan"},
            "produces": ["ACME.md"],
            "consumes": ["CONTEXT.md"],
            "onError": "skip",
            "when": "on",
            "fragment": {"inline": "text"},
        },
        {
            "point": "plan:post",
            "ref": {"agent": "acme-agent"},
            "produces": [],
            "consumes": [],
            "onError": "halt",
        },
        {
            "point": "ship:pre",
            "ref": {"command": "acme run"},
            "produces": [],
            "consumes": [],
            "onError": "skip",
        },
    ],
    "contributions": [
        {
            "point": "plan:pre",
            "into": "planner",
            "fragment": {"path": "fragments/plan.md"},
            "produces": ["NOTES.md"],
            "consumes": ["CONTEXT.md"],
            "when": "on",
            "onError": "skip",
            "configValues": {"depth": "depth"},
        }
    ],
    "gates": [
        {
            "point": "ship:pre",
            "check": {"query": "acme.gate"},
            "blocking": True,
            "onError": "halt",
            "when": "on",
        },
        {"point": "plan:post", "check": {"agentVerdict": "is it good"}, "blocking": False, "onError": "skip"},
        {
            "point": "verify:pre",
            "check": {"predicate": {"kind": "command-exit-zero", "command": "true"}},
            "blocking": True,
            "onError": "halt",
        },
    ],
    "mcpServers": {
        "tool": {"command": "tool", "args": ["-x"], "env": {"A": "b"}, "cwd": "sub"},
        "far": {"type": "http", "url": "https://example.org/mcp", "headers": {"X": "y"}},
    },
}

RUNTIME: dict[str, Any] = {
    "id": "acme",
    "role": "runtime",
    "version": "1.2.3",
    "title": "Acme",
    "description": "A runtime.",
    "tier": "core",
    "requires": [],
    "runtime": {
        "configHome": {
            "kind": "dot-home-nested",
            "name": "acme",
            "parent": ".config",
            "env": ["ACME_DIR"],
            "probe": ["a"],
            "probeExists": "skills",
            "skillsHome": {"kind": "dot-home", "name": ".acme", "env": []},
        },
        "localConfigDir": ".acme",
        "configFormat": "settings-json",
        "artifactLayout": {
            "global": [
                {
                    "kind": "skills",
                    "destSubpath": "skills",
                    "prefix": "msd-",
                    "nesting": "flat",
                    "recursive": False,
                    "converter": "convertClaudeCommandToClaudeSkill",
                    "home": ".agents",
                }
            ],
            "local": [
                {
                    "kind": "agents",
                    "destSubpath": "agents",
                    "prefix": "",
                    "nesting": "nested",
                    "converter": None,
                }
            ],
        },
        "commandStyle": "slash-hyphen",
        "hooksSurface": "settings-json",
        "hookEvents": "claude",
        "extensionEvents": "none",
        "sandboxTier": "none",
        "supportTier": 2,
        "installSurface": "settings-json",
        "writesSharedSettings": True,
        "permissionWriter": None,
        "extendedHookEvents": ["Stop"],
        "hostIntegration": {
            "embeddingMode": "imperative",
            "commandSurface": "slash-file",
            "dispatch": {
                "namedDispatch": True,
                "nested": False,
                "maxDepth": 2,
                "background": True,
                "subagentToolkit": "full",
                "backgroundDispatch": False,
                "isolation": "none",
            },
            "modelMode": "passive",
            "hookBus": "host",
            "stateIO": "filesystem",
            "transport": "mcp",
            "runtime": "node",
            "effortSurface": "argv",
        },
        "orchestratorExec": {"command": "acme", "args": ["exec"], "cwdFlag": "--cd", "promptFlag": None},
        "harnessIsolationFlag": "--worktree",
    },
}

SPAWN: dict[str, Any] = {
    "slug": "acme",
    "flags": ["--acme", "--ac"],
    "transport": "spawn",
    "probe": {"kind": "command-exists", "binary": "acme"},
    "invoke": {
        "binary": "acme",
        "args": ["{{model}}", "-p"],
        "promptChannel": "stdin",
        "outputChannel": "file-arg",
        "outputArg": "-o",
        "modelArg": "--model",
        "effortChannel": "argv",
    },
    "timeoutFloorMs": 1000,
    "emptyOutput": "stub-with-stderr",
    "reviewsSection": "Acme",
    "evidenceClass": "diff-only",
    "requiresBinaries": ["jq"],
    "promptBudgetKey": None,
    "modelConfigKey": "review.models.acme",
    "handler": None,
}
REVIEWER: dict[str, Any] = {**RUNTIME, "role": "reviewer", "reviewer": SPAWN}
del REVIEWER["runtime"]

HTTP_PROBE = {
    "kind": "http-reachable",
    "hostConfigKey": "review.host",
    "path": "/v1/models",
    "timeoutMs": 2000,
}
HTTP: dict[str, Any] = {
    **SPAWN,
    "transport": "openai-http",
    "probe": HTTP_PROBE,
    "invoke": {
        "hostConfigKey": "review.host",
        "defaultHost": "http://localhost",
        "path": "/v1/chat",
        "modelDiscovery": "none",
        "effortChannel": "none",
    },
}
CAPABILITY_PROBE = {"kind": "command-capability", "binary": "acme", "needle": "--json", "timeoutMs": 5}

BASES = {
    "feature": FEATURE,
    "runtime": {**RUNTIME, "reviewer": SPAWN},
    "reviewer": REVIEWER,
    "http": {**REVIEWER, "reviewer": HTTP},
}
LOOP_FIELDS = ("skills", "agents", "steps", "contributions", "gates", "hooks", "activationKey")


def steps_of(path: str) -> tuple[str | int, ...]:
    """`steps[0].ref` as ("steps", 0, "ref")."""
    return tuple(int(i) if i else name for i, name in re.findall(r"\[(\d+)\]|([^.\[\]]+)", path))


def changed(base: str, changes: dict[str, Any]) -> dict[str, Any]:
    made: Any = copy.deepcopy(BASES[base])
    for path, value in changes.items():
        made = without(made, steps_of(path)) if value is DROP else replaced(made, steps_of(path), value)
    assert isinstance(made, dict)
    return made


def each(row: str, base: str, path: str, values: list[Any], *faults: str) -> list[Any]:
    """One case per value at *path*; without *faults* the path itself is at fault."""
    expected = sorted(faults) or [f"$.{path}"]
    return [
        pytest.param(base, {path: value}, expected, id=f"{row}-{path}-{'DROP' if value is DROP else repr(value)[:24]}")
        for value in values
    ]


def fine(row: str, base: str, path: str, values: list[Any]) -> list[Any]:
    return [
        pytest.param(base, {path: value}, [], id=f"{row}-{path}-{'DROP' if value is DROP else repr(value)[:24]}")
        for value in values
    ]


def row(row: str, base: str, changes: dict[str, Any], *faults: str) -> list[Any]:
    return [pytest.param(base, changes, sorted(faults), id=f"{row}-{'-'.join(changes)[:50]}")]


ENVELOPE_ROWS = [
    *each("V2", "feature", "id", [DROP, "Foo", "lm_studio", "1a", "", 5, None, "a" * 65, "a\n", "ä"]),
    *each("V5", "feature", "role", ["wat", "Feature", 1, None, DROP]),
    *row("V5", "feature", {"role": "wat", "skills": 5, "steps": None}, "$.role"),
    *each("V6", "feature", "title", [DROP, "", 5, None]),
    *each("V6", "runtime", "description", [DROP, "", []]),
    *fine("V6", "feature", "title", [" ", "é\nü"]),
    *each("V7", "reviewer", "tier", ["gold", "Core", DROP, None, 1]),
    *each("V8", "feature", "requires", [DROP, {}, "research", None]),
    *each("V8", "feature", "requires", [[5], [None], [["a"]]], "$.requires[0]"),
    *each("V9", "feature", "version", [DROP, "", "   ", 123, None, ["1.0.0"]]),
    *each("V10", "feature", "version", ["1.0", "v1.0.0", "1.0.0.0", "1", "latest", "1.x", "1.0.0 ", "01.2.3"]),
    *each("V11", "feature", "version", ["1.2.3-01", "1.2.3-..", "1.2.3-", "1.2.3+", " 1.2.3", "1.2.3$(x)"]),
    *each(
        "V11",
        "feature",
        "version",
        ["1.2.3`x`", "1.2.3-😀", "1.2.3\n", "१.२.३", "1.2.3+a b", "1.2.3-" + "1" * 300],
    ),
    *fine(
        "V12",
        "feature",
        "version",
        ["0.0.1", "1.2.3-dev.0", "1.2.3-rc.1", "1.2.3+build.5", "1.0.0--x.00a+00"],
    ),
    *fine("V13", "feature", "engines", [DROP, {}, {"node": ">=18"}, {"node": 5}]),
    *each("V14", "feature", "engines", ["x", 5, [], None]),
    *each("V15", "feature", "engines.msd", [123, {}, None, [], True]),
    # The text of a range is judged by its parser alone, with a code of its own (spec 10, Manifest).
    *fine("V15", "feature", "engines.msd", ["", "  ", "abcx", "()x", "not a range!!", ">=1.0.0; rm -rf"]),
    *fine(
        "V16",
        "feature",
        "engines.msd",
        ["^1.0.0", "~1.2.0", "1.x", "*", "X", "1", ">=1 <3", ">=1.6.0 || >=2.0.0"],
    ),
    *each("V17", "feature", "compatVersions", ["x", None, [], 5]),
    *each(
        "V17",
        "feature",
        "compatVersions",
        [{"1.0.0": 5}, {"1.0.0": "abc"}, {"1.0.0": ""}],
        '$.compatVersions["1.0.0"]',
    ),
    *each("V17", "feature", "compatVersions", [{"not-semver": "*"}], "$.compatVersions.not-semver"),
    *fine("V17", "feature", "compatVersions", [{"1.0.0": "==1.2,!=1.3", "1.0.0-rc.1": " * "}]),
    *each("V18", "feature", "integrity", ["sha256-" + "A" * 86 + "==", "sha512-abc", "sha512-" + "A" * 40, ""]),
    *each("V18", "feature", "integrity", ["sha512-" + "A" * 86 + "==x", "sha512-" + "A" * 86 + "==\n", None, 5]),
    *fine("V18", "feature", "integrity", ["sha512-" + "z/+9" * 21 + "zz=="]),
    *each("V19", "feature", "provenance.commit", [DROP, 5, "", None]),
    *each("V19", "feature", "provenance.sourceRepo", [DROP, 5, ""]),
    *each("V19", "feature", "provenance", ["x", None, []]),
    *fine("V20", "feature", "author", [5, None, {"name": []}]),
    *fine("V20", "feature", "keywords", ["x", {}]),
    *row(
        "V21",
        "feature",
        {"id": 1, "title": "", "description": 2, "tier": "x", "requires": 3, "version": "x", "engines": 4}
        | {"compatVersions": 5, "integrity": 6, "provenance": 7},
        *(f"$.{name}" for name in ("id", "title", "description", "tier", "requires", "version", "engines")),
        *("$.compatVersions", "$.integrity", "$.provenance"),
    ),
]

HOOK_ROWS = [
    *each("F1", "feature", "runtimeCompat", [DROP, None, [], "x"]),
    *each("F2", "feature", "runtimeCompat.supported", [[], DROP, "*", None]),
    *each("F3", "feature", "runtimeCompat.supported", [["*", "claude"], ["claude", "*"], ["*", "*"]]),
    *fine("F3", "feature", "runtimeCompat.supported", [["*"]]),
    *each(
        "F3",
        "feature",
        "runtimeCompat.supported",
        [["Claude"], ["constructor"], [5]],
        "$.runtimeCompat.supported[0]",
    ),
    *each("F4", "feature", "runtimeCompat.unsupported", [DROP, "x", None]),
    *each("F4", "feature", "runtimeCompat.unsupported", [["*"], ["A"], [None]], "$.runtimeCompat.unsupported[0]"),
    *each(
        "F5",
        "feature",
        "runtimeCompat.notes",
        [{"claude": ""}, {"claude": 5}],
        "$.runtimeCompat.notes.claude",
    ),
    *each("F5", "feature", "runtimeCompat.notes", [{"C": "x"}], "$.runtimeCompat.notes.C"),
    *each("F5", "feature", "runtimeCompat.notes", ["x", None]),
    *fine("F5", "feature", "runtimeCompat.notes", [{"*": "all"}, {}, DROP]),
    *fine("F6", "feature", "runtimeCompat", [{"supported": ["claude", "claude"], "unsupported": ["claude"]}]),
    *each(
        "F7",
        "feature",
        "agents",
        [["acme-agent", name] for name in ("__proto__", "constructor", "prototype")],
        "$.agents[1]",
    ),
    *each(
        "F8",
        "feature",
        "skills",
        [["acme-plan", bad] for bad in ("", "../x", "a/b", ".a", "-a", "ä", "a b", 5, None)],
        "$.skills[1]",
    ),
    *fine("F9", "feature", "skills", [["acme-plan", "acme-plan"]]),
    *each("F10", "feature", "skills", [DROP, {}, "acme-plan", None]),
    *fine("F10", "feature", "hooks", [DROP, []]),
    *each("F10", "feature", "steps", [DROP, {}, None, "x"]),
    *each("F10", "feature", "contributions", [DROP, {}, None]),
    *each("F10", "feature", "gates", [DROP, {}, None, True]),
    *each("F11", "feature", "hooks", [42, None, {}, "x"]),
    *each("F11", "feature", "hooks[0].event", [DROP, "", 5]),
    *each("F11", "feature", "hooks[0].script", [DROP, "", 5]),
    *each(
        "F12",
        "feature",
        "hooks[0].script",
        [f"a{c}b" for c in "; `|\n&*>'\"\\$"] + ["$(x)", "a/-rf", "-x.sh", "ä"],
    ),
    *each("F13", "feature", "hooks[0].script", ["/abs.sh", "../../x", "a/../b", ".."]),
    *fine("F13", "feature", "hooks[0].script", ["hooks/sub-dir/format_v2.sh", "./a.sh", "a//b.sh", "..a/b..sh"]),
    *fine("F14", "feature", "hooks[0].matcher", [DROP, "Write|Edit", "é"]),
    *each("F14", "feature", "hooks[0].matcher", ["", 5, "a\tb", "a\x7f", None]),
    *each("F15", "feature", "steps[0].point", ["plan:mid", "PLAN:PRE", "", 5, DROP, None]),
    *each("F15", "feature", "gates[1].point", ["plan", ["plan:pre"]]),
    *each("F16", "feature", "steps[0].ref", [DROP, [], {}, None, "acme-plan", {"name": "x"}]),
    *each("F17", "feature", "steps[0].ref", [{"skill": "acme-plan", "agent": "acme-agent"}]),
    *each("F18", "feature", "steps[0].ref.skill", ["msd-ui", "MSD-ui"]),
    *each("F19", "feature", "steps[0].ref.skill", ["other", "ACME-PLAN", "", 5, None]),
    *each("F19", "feature", "steps[1].ref.agent", ["acme-plan", ""]),
    *row("F20", "feature", {"skills": "acme-plan", "steps[0].ref": {"skill": "anything"}}, "$.skills"),
    *each("F21", "feature", "steps[2].ref.command", ["intel x", "", " ", "acmex", "ACME run", 5]),
    *fine("F21", "feature", "steps[2].ref.command", ["acme", "acme  run --now", "\tacme"]),
    *row("F21", "feature", {"commands": DROP}, "$.steps[2].ref.command"),
    *row("F21", "feature", {"commands": 5}, "$.commands"),
    *each("F22", "feature", "steps[0].produces", [DROP, "x", {}, None]),
    *each("F22", "feature", "steps[0].consumes", [[5], [None]], "$.steps[0].consumes[0]"),
    *each("F22", "feature", "contributions[0].produces", [DROP, "x"]),
    *each("F22", "feature", "contributions[0].consumes", [DROP, 5]),
    *each("F23", "feature", "steps[0].onError", [DROP, "retry", None, True]),
    *fine("F24", "feature", "contributions[0].onError", [DROP, "halt"]),
    *each("F24", "feature", "contributions[0].onError", ["boom", None]),
    *each("F25", "feature", "contributions[0].into", [5, None, DROP, ["planner"]]),
    *fine("F25", "feature", "contributions[0].into", ["somebody"]),
    *each("F26", "feature", "contributions[0].fragment", [DROP, [], None, "text"]),
    *each("F27", "feature", "contributions[0].fragment", [{}, {"text": "x"}]),
    *each(
        "F28",
        "feature",
        "contributions[0].fragment",
        [{"inline": x} for x in ("", 5, None)],
        "$.contributions[0].fragment.inline",
    ),
    *each(
        "F29",
        "feature",
        "contributions[0].fragment.path",
        ["../x", "a/../../x", "a\\..\\x", "/etc/x", "\\x", "C:\\x", "", 5, ".."],
    ),
    *fine("F29", "feature", "contributions[0].fragment.path", ["a/b.md", "./a.md", "..a.md", "a..b"]),
    *fine("F30", "feature", "contributions[0].fragment", [{"path": "missing.md", "inline": "kept"}]),
    *each(
        "F34",
        "feature",
        "gates[0].check",
        [{}, {"query": "a", "predicate": {"kind": "b"}}, [], None, "x", DROP, {"x": 1}],
    ),
    *row("F35", "feature", {"gates[1].blocking": True}, "$.gates[1].blocking"),
    *fine("F35", "feature", "gates[1].blocking", [False]),
    *each("F36", "feature", "gates[0].blocking", [DROP, "yes", "false", 0, 1, None]),
    *each("F36", "feature", "gates[0].onError", [DROP, "retry"]),
    *each("F37", "feature", "steps", [[None], ["x"], [[]], [5]], "$.steps[0]"),
    *each("F37", "feature", "gates", [[None], [True]], "$.gates[0]"),
    *each("F37", "feature", "contributions", [[None], [1.5]], "$.contributions[0]"),
    *row(
        "F38",
        "feature",
        {"gates": [{"point": "execute:wave:post"}]},
        *(f"$.gates[0].{name}" for name in ("check", "blocking", "onError")),
    ),
    *fine("F39", "feature", "activationKey", [DROP, "limit"]),
    *each("F39", "feature", "activationKey", ["unknown", "", 5, None, "__proto__"]),
    *(case for f in (*LOOP_FIELDS, "commands") for case in each("F40", "runtime", f, [[], None, "on"])),
    *(case for f in (*LOOP_FIELDS, "commands", "runtime") for case in each("F40", "reviewer", f, [[], None])),
    *each("F41", "feature", "reviewer", [SPAWN, None, {}]),
    *each("F41", "feature", "runtime", [RUNTIME["runtime"], None]),
    *each("F42", "feature", "commands", [None, {}, "x"], "$.commands"),
    *each("F42", "feature", "commands[0].family", [5, None], "$.commands[0].family", "$.steps[2].ref.command"),
    *each("F42", "feature", "commands[0].module", [DROP, 5]),
    *each("F42", "feature", "commands[0].router", [DROP, 5, "", "a.b", "1a", "a-b", "é"]),
    *each(
        "F43",
        "feature",
        "commands[0].module",
        ["../e.py", "/abs/e.py", "lib/e.py", "e.js", ".py", "E.py", "e.py\n", "a-b.py"],
    ),
    *fine("F43", "feature", "commands[0].module", ["_x1.py"]),
    *each("F44", "feature", "commands[0].subcommands", ["x", None]),
    *each("F44", "feature", "commands[0].subcommands", [[5], [""]], "$.commands[0].subcommands[0]"),
    *each(
        "F45",
        "feature",
        "commands[0].family",
        ["../x y;", "", "Acme", "a_b", "1a", "a" * 65],
        *("$.commands[0].family", "$.steps[2].ref.command"),
    ),
    *each(
        "F45",
        "feature",
        "contributions[0].configValues",
        [{"a": "other"}, {"a": 5}],
        "$.contributions[0].configValues.a",
    ),
    *each("F45", "feature", "contributions[0].configValues", ["on", None]),
    *each("F45", "feature", "steps[0].when", [5, None]),
]

BAD_KEYS = ["", "__proto__", "constructor", "A", "a..b", ".a", "a.", "1a", "a b", "a.b.c.d.e.f.g.h.i", "a.B"]
BAD_KEYS += ["a.__proto__.b", "a.prototype.b", "é", "a.1", "on\n"]


def _with_key(name: str, key: str) -> list[Any]:
    config = {**FEATURE["config"], key: FEATURE["config"]["on"]}
    return row(f"{name}-{key!r}", "feature", {"config": config}, f"$.config{shown((key,))[1:]}")


CONFIG_ROWS = [
    *row("C1", "feature", {"config": DROP}, "$.config"),
    *each("C1", "feature", "config", [[], None, "abc"]),
    *(case for key in BAD_KEYS for case in _with_key("C2", key)),
    *each("C3", "feature", "config.name", [None, "x", 5, []]),
    *each(
        "C4",
        "feature",
        "config.name",
        [{}],
        *(f"$.config.name.{f}" for f in ("type", "default", "description")),
    ),
    *each("C4", "feature", "config.name.type", ["", DROP, 5]),
    *each("C5", "feature", "config.name.type", ["xml", "String"]),
    *each("C6", "feature", "config.on.default", [DROP, "true", 1, None]),
    *each("C6", "feature", "config.limit.default", [DROP, True, "3", None]),
    *each("C6", "feature", "config.name.default", [DROP, 5, None]),
    *fine("C6", "feature", "config.limit.default", [-1, 0.5, 1e300]),
    *each("C7", "feature", "config.depth.values", [DROP, [], "deep", None]),
    *each("C7", "feature", "config.depth.values", [["deep", 5]], "$.config.depth.values[1]"),
    *each("C7", "feature", "config.depth.default", ["slow", 5, DROP]),
    *each("C8", "feature", "config.on.description", [DROP, "", 5]),
    *fine("C8", "feature", "config.on.description", [" "]),
    *each(
        "C10",
        "runtime",
        "config",
        [{"k": {"type": "xml", "default": 1, "description": "d"}}],
        "$.config.k.type",
    ),
    *fine("C10", "runtime", "config", [{"k": FEATURE["config"]["on"]}, {}]),
    *fine("C11", "feature", "config.name.values", [["any"], 5]),
    *each("C12", "reviewer", "config", ["abc", None, []]),
]

_IN_SKILLS_HOME = ("$.runtime.configHome.skillsHome.kind",)
_UNDER_CODEX = ("$.runtime.configFormat", "$.runtime.hooksSurface")
_NO_HOME: dict[str, Any] = {
    "runtime.configHome": {"kind": "none", "env": []},
    "runtime.localConfigDir": None,
    "runtime.installSurface": "none",
    "runtime.hooksSurface": "none",
    "runtime.configFormat": "none",
}
_LANE_FIELDS = (
    "slug flags transport probe invoke timeoutFloorMs emptyOutput reviewsSection evidenceClass requiresBinaries"
    " promptBudgetKey handler"
).split()
_SPAWN_FIELDS = "binary args promptChannel outputChannel modelArg effortChannel".split()

RUNTIME_ROWS = [
    *each("R2", "runtime", "runtime", [DROP, None, [], "x"]),
    *each("R3", "runtime", "runtime.configHome", ["x", None, [], DROP]),
    *each("R3", "runtime", "runtime.configHome.parent", [DROP, "", 5]),
    *each("R3", "runtime", "runtime.configHome.name", [DROP, "", 5]),
    *each("R3", "runtime", "runtime.configHome.env", [DROP, None, "x"]),
    *fine("R3", "runtime", "runtime.configHome.env", [[]]),
    *each("R3", "runtime", "runtime.configHome.kind", ["home", 5, None]),
    *each("R4", "runtime", "runtime.configHome.probeExists", ["", 42, None]),
    *fine("R4", "runtime", "runtime.configHome.probeExists", [DROP]),
    *each("R5", "runtime", "runtime.configHome.skillsHome.kind", ["x", DROP], *_IN_SKILLS_HOME),
    *each("R5", "runtime", "runtime.configHome.skillsHome.env", [DROP]),
    *each("R6", "runtime", "runtime.artifactLayout", [[], None, DROP]),
    *each("R6", "runtime", "runtime.artifactLayout.global", [DROP, {}, None]),
    *each("R6", "runtime", "runtime.artifactLayout.local", [DROP, "x"]),
    *each("R6", "runtime", "runtime.artifactLayout.local[0].kind", ["hooks", DROP]),
    *each("R6", "runtime", "runtime.artifactLayout.global[0].nesting", ["deep", DROP, None]),
    *each("R6", "runtime", "runtime.artifactLayout.global[0].destSubpath", ["", DROP, 5]),
    *each("R7", "runtime", "runtime.artifactLayout.global[0].recursive", ["yes", 1, None]),
    *each("R7", "runtime", "runtime.artifactLayout.global[0].prefix", [42, DROP, None]),
    *each("R7", "runtime", "runtime.artifactLayout.global[0].converter", [123, DROP, False]),
    *fine("R7", "runtime", "runtime.artifactLayout.global[0].converter", [None]),
    *each("R8", "runtime", "runtime.artifactLayout.local[0].home", [".agents", None]),
    *each("R9", "runtime", "runtime.supportTier", [3, 0, "1", True, 1.0, None]),
    *row(
        "R10",
        "runtime",
        {"runtime.installSurface": "profile-marker-only", "runtime.configFormat": "none"},
        "$.runtime.hooksSurface",
    ),
    *each("R10", "runtime", "runtime.hooksSurface", ["codex-hooks-json", "kimi-hooks-toml"]),
    *each("R10", "runtime", "runtime.configFormat", ["toml", "none"]),
    *each("R10", "runtime", "runtime.installSurface", ["codex-toml"], *_UNDER_CODEX),
    *row("R11", "runtime", {"runtime.extendedHookEvents": ["BeforeAgent"]}, "$.runtime.extendedHookEvents"),
    *row("R11", "runtime", {"runtime.hookEvents": "gemini"}, "$.runtime.extendedHookEvents"),
    *row("R11", "runtime", {"runtime.hookEvents": DROP}, "$.runtime.extendedHookEvents"),
    *fine("R11", "runtime", "runtime.extendedHookEvents", [[]]),
    *each("R11", "runtime", "runtime.extendedHookEvents", [["Start"]], "$.runtime.extendedHookEvents[0]"),
    *row("R12", "runtime", {**_NO_HOME}),
    *row("R12", "runtime", {**_NO_HOME, "runtime.localConfigDir": DROP}),
    *row("R12", "runtime", {**_NO_HOME, "runtime.localConfigDir": ".x"}, "$.runtime.localConfigDir"),
    *row(
        "R12",
        "runtime",
        {**_NO_HOME, "runtime.configHome": {"kind": "none", "name": "", "env": []}},
        "$.runtime.configHome.name",
    ),
    *each("R12", "runtime", "runtime.localConfigDir", [None, DROP, "", "acme", 5]),
    *fine("R13", "runtime", "runtime.hostIntegration.effortSurface", [DROP, "undocumented"]),
    *each("R13", "runtime", "runtime.hostIntegration.effortSurface", ["x", None]),
    *fine("R13", "runtime", "runtime.hostIntegration.dispatch.isolation", [DROP, "undocumented"]),
    *each("R13", "runtime", "runtime.hostIntegration.dispatch.isolation", ["x", None]),
    *each("R13", "runtime", "runtime.hostIntegration.dispatch.backgroundDispatch", [DROP, "yes", 0, 1, None]),
    *each("R13", "runtime", "runtime.hostIntegration.dispatch.maxDepth", [DROP, -2, 1.5, "5", True, None]),
    *fine("R13", "runtime", "runtime.hostIntegration.dispatch.maxDepth", [-1, 0, "undocumented"]),
    *each("R13", "runtime", "runtime.hostIntegration.stateIO", ["disk", DROP]),
    *each("R13", "runtime", "runtime.hostIntegration.__proto__", [{}]),
    *each("R13", "runtime", "runtime.hostIntegration.dispatch.constructor", [1]),
    *each("R13", "runtime", "runtime.orchestratorExec.cwdFlag", [DROP, 5]),
    *each("R13", "runtime", "runtime.orchestratorExec.command", [DROP, "", 5]),
    *each("R13", "runtime", "runtime.permissionWriter", [DROP, "vim", False]),
    *each("R13", "runtime", "runtime.writesSharedSettings", [DROP, 1, "true", None]),
    *fine("R13", "runtime", "runtime.hostBehaviors", [None, [], {"reviewerCli": True}, "x"]),
]

LANE_ROWS = [
    *fine("L1", "runtime", "reviewer", [DROP]),
    *each("L2", "runtime", "reviewer", [None, False, 0, "x", []]),
    *each("L3", "runtime", "reviewer", [{}], *(f"$.reviewer.{name}" for name in _LANE_FIELDS)),
    *each("L4", "reviewer", "reviewer", [DROP]),
    *each("L6", "reviewer", "reviewer.probe", [{**SPAWN["probe"], "x": 1}], "$.reviewer.probe.x"),
    *each("L6", "reviewer", "reviewer.probe", [None, [], "x"]),
    *each("L6", "reviewer", "reviewer.probe.kind", ["ping", DROP, 5]),
    *each("L6", "reviewer", "reviewer.probe.binary", ["", DROP, 5]),
    *each("L6", "reviewer", "reviewer.probe", [{**CAPABILITY_PROBE, "needle": ""}], "$.reviewer.probe.needle"),
    *fine("L6", "reviewer", "reviewer.probe", [CAPABILITY_PROBE, HTTP_PROBE]),
    *each("L6", "http", "reviewer.probe.binary", ["x"]),
    *(
        case
        for f in ("hostConfigKey", "path", "modelDiscovery")
        for case in each("L7", "reviewer", f"reviewer.invoke.{f}", ["x"])
    ),
    *(
        case
        for f in ("binary", "args", "outputChannel")
        for case in each("L7", "http", f"reviewer.invoke.{f}", ["x", None])
    ),
    *each("L7", "http", "reviewer.invoke.modelDiscovery", [DROP, "guess"]),
    *each("L7", "reviewer", "reviewer.invoke", [{}], *(f"$.reviewer.invoke.{name}" for name in _SPAWN_FIELDS)),
    *each("L7", "reviewer", "reviewer.transport", ["x", None], "$.reviewer.transport"),
    *each("L8", "reviewer", "reviewer.invoke.outputArg", [DROP, "", None]),
    *each("L8", "reviewer", "reviewer.invoke.outputChannel", ["stdout"], "$.reviewer.invoke.outputArg"),
    *row("L8", "reviewer", {"reviewer.invoke.outputChannel": "stdout", "reviewer.invoke.outputArg": DROP}),
    *fine("L9", "reviewer", "reviewer.invoke.modelArg", [None]),
    *each("L9", "reviewer", "reviewer.invoke.modelArg", ["", DROP, 5]),
    *each("L10", "http", "reviewer.invoke.effortChannel", ["argv", DROP]),
    *each("L11", "reviewer", "reviewer.timeoutFloorMs", [0, -1, 1.5, "5", True, None, DROP]),
    *fine("L11", "reviewer", "reviewer.timeoutFloorMs", [1]),
    *each("L11", "http", "reviewer.probe.timeoutMs", [0, DROP, "5"]),
    *each("L11", "reviewer", "reviewer.probe.timeoutMs", [5]),
    *fine("L12", "reviewer", "reviewer.slug", ["lm_studio", "4o-mini"]),
    *each("L12", "reviewer", "reviewer.slug", ["A", "a b", "--x", "", "constructor", 5]),
    *each("L13", "reviewer", "reviewer.flags", [DROP, [], "--a", None]),
    *each(
        "L13",
        "reviewer",
        "reviewer.flags",
        [["--a", "-x"], ["--a", "--A"], ["--a", 5]],
        "$.reviewer.flags[1]",
    ),
    *each("L13", "reviewer", "reviewer.flags", [["--a", "--b", "--a"]], "$.reviewer.flags[2]"),
    *fine("L13", "reviewer", "reviewer.flags", [["--a", "--b"]]),
    *fine("L14", "reviewer", "reviewer.modelConfigKey", [DROP, None]),
    *each("L14", "reviewer", "reviewer.modelConfigKey", ["", 5, "a..b"]),
    *each("L14", "reviewer", "reviewer.promptBudgetKey", ["", DROP, "a b"]),
    *each("L15", "reviewer", "reviewer.handler", ["../evil", "other", "", DROP, False]),
    *fine("L15", "reviewer", "reviewer.handler", ["opencode"]),
]

_ON_SERVERS = "$.mcpServers.tool"
SERVER_ROWS = [
    *each("mcp", "feature", "mcpServers", [[], None, "x"]),
    *each("mcp", "feature", "mcpServers", [{"": {"command": "x"}}], '$.mcpServers[""]'),
    *each("mcp", "feature", "mcpServers.tool", [None, "x", [], {}, {"args": []}, {"command": "x", "url": "y"}]),
    *each("mcp", "feature", "mcpServers.tool.command", ["", 5, None]),
    *each("mcp", "feature", "mcpServers.tool.type", ["http", 5]),
    *each("mcp", "feature", "mcpServers.tool.args", ["-x", None]),
    *each("mcp", "feature", "mcpServers.tool.env", [{"A": 5}], "$.mcpServers.tool.env.A"),
    *each("mcp", "feature", "mcpServers.tool.cwd", ["", 5]),
    *fine("mcp", "feature", "mcpServers.tool", [{"command": "x"}, {"command": "x", "type": "stdio"}]),
    *each("mcp", "feature", "mcpServers.far.type", ["ws", DROP, None]),
    *each("mcp", "feature", "mcpServers.far.url", ["", DROP, 5]),
    *each("mcp", "feature", "mcpServers.far.headers", [{"A": None}], "$.mcpServers.far.headers.A"),
    *each("mcp", "runtime", "mcpServers", [5]),
    *each("mcp", "reviewer", "mcpServers", [5]),
    *each("gate", "feature", "gates[0].check.query", [5, None, {}]),
    *each("gate", "feature", "gates[1].check.agentVerdict", [5, None]),
    *each("gate", "feature", "gates[2].check.predicate", [None, "x", []]),
    *each("gate", "feature", "gates[2].check.predicate.kind", [DROP, "", 5]),
    *fine("gate", "feature", "gates[2].check.predicate", [{"kind": "of-somebody", "any": [{"x": None}]}]),
]


ROWS = [*ENVELOPE_ROWS, *HOOK_ROWS, *CONFIG_ROWS, *RUNTIME_ROWS, *LANE_ROWS, *SERVER_ROWS]
