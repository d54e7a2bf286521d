"""Hypothesis strategies for JSON and for manifests, as plain dictionaries and lists.

The manifests are valid on their own: shape, contract (roles, `when`), no name twice, nothing consumed that the
loop has not made by then. Names are built from the id, so manifests with different ids never collide.
"""

from __future__ import annotations

import copy
import json
import string
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from msd_host.msd import LOOP, MSD

Path = tuple[str | int, ...]
Manifest = dict[str, Any]

POINTS = LOOP.points
ROLES = ("feature", "runtime", "reviewer")

_SOUND = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_NAME_TAIL = st.text(string.ascii_lowercase + string.digits + "-", max_size=12)
_TAKEN = frozenset(["con", "prn", "aux", "nul", "constructor", "prototype"]) | MSD.clusters.keys()

texts: SearchStrategy[str] = st.text(_SOUND, min_size=1, max_size=30)
any_text: SearchStrategy[str] = st.text(_SOUND, max_size=30)
integers: SearchStrategy[int] = st.integers(-(2**63), 2**63 - 1)
numbers: SearchStrategy[int | float] = integers | st.floats(allow_nan=False, allow_infinity=False)
scalars: SearchStrategy[Any] = st.none() | st.booleans() | numbers | any_text

#: Any value our JSON allows.
json_values: SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


def encode(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> bytes:
    """The bytes of *value* as JSON."""
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8")


def paths_in(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every value inside *value*, itself included."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths_in(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_in(item, (*path, index))


def value_at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def replaced(value: Any, path: Path, new: Any) -> Any:
    """A copy of *value* with *new* at *path*."""
    if not path:
        return new
    made = copy.deepcopy(value)
    value_at(made, path[:-1])[path[-1]] = new
    return made


def without(value: Any, path: Path) -> Any:
    """A copy of *value* without what is at *path*."""
    made = copy.deepcopy(value)
    del value_at(made, path[:-1])[path[-1]]
    return made


@st.composite
def ids(draw: DrawFn) -> str:
    """Capability ids nobody else has: not reserved, not a cluster's name."""
    id = draw(st.sampled_from(string.ascii_lowercase)) + draw(_NAME_TAIL)
    reserved = id in _TAKEN or id[:3] in ("com", "lpt") or id.startswith(MSD.reserved_prefixes)
    return f"x-{id}" if reserved else id


def _numbers() -> SearchStrategy[str]:
    return st.integers(0, 99).map(str)


@st.composite
def versions(draw: DrawFn) -> str:
    """Semantic versions."""
    core = ".".join(draw(st.tuples(_numbers(), _numbers(), _numbers())))
    tails = st.sampled_from(["", "", "-dev.0", "-rc.1", "-x-y.10", "+build.5", "-a.b+0.01"])
    return core + draw(tails)


@st.composite
def slices(draw: DrawFn) -> Manifest:
    """Configuration slices of the four types."""
    kind = draw(st.sampled_from(["boolean", "string", "number", "enum"]))
    made: Manifest = {"type": kind, "description": draw(texts)}
    if kind == "enum":
        made["values"] = draw(st.lists(any_text, min_size=1, max_size=3))
        made["default"] = draw(st.sampled_from(made["values"]))
    else:
        made["default"] = draw({"boolean": st.booleans(), "string": any_text, "number": numbers}[kind])
    return made


def _maybe(draw: DrawFn, target: Manifest, **optional: SearchStrategy[Any]) -> None:
    for name, values in optional.items():
        if draw(st.booleans()):
            target[name] = draw(values)


def _words(id: str, most: int = 3) -> SearchStrategy[list[str]]:
    """Distinct names made from *id*."""
    return st.integers(0, most).map(lambda n: [f"{id}-{i}" for i in range(n)])


def _servers() -> SearchStrategy[Manifest]:
    pairs = st.dictionaries(texts, any_text, max_size=2)
    command = st.fixed_dictionaries(
        {"command": texts}, optional={"args": st.lists(any_text, max_size=2), "env": pairs, "cwd": texts}
    )
    remote = st.fixed_dictionaries(
        {"type": st.sampled_from(["http", "sse"]), "url": texts}, optional={"headers": pairs}
    )
    return st.dictionaries(texts, command | remote, max_size=2)


@st.composite
def envelopes(draw: DrawFn, role: str, id: str | None = None) -> Manifest:
    """What manifests of all roles have."""
    made: Manifest = {
        "id": id if id is not None else draw(ids()),
        "role": role,
        "version": draw(versions()),
        "title": draw(texts),
        "description": draw(texts),
        "tier": draw(st.sampled_from(["core", "standard", "full"])),
        "requires": [],
    }
    _maybe(
        draw,
        made,
        engines=st.sampled_from([{}, {"msd": ">=0.0.1"}, {"msd": "*", "node": ">=18"}]),
        compatVersions=st.sampled_from([{}, {"1.0.0": ">=0.1 <3", "0.9.0-rc.1": "*"}]),
        integrity=st.just("sha512-" + "A" * 86 + "=="),
        provenance=st.fixed_dictionaries({"sourceRepo": texts, "commit": texts}),
        mcpServers=_servers(),
        author=json_values,
        keywords=json_values,
    )
    return made


def _artifacts_by(point: str) -> list[str]:
    at = LOOP.index[point]
    return [artifact for artifact, index in LOOP.available.items() if index <= at]


@st.composite
def _hooks(draw: DrawFn, made: Manifest, kind: str, number: int) -> Manifest:
    point = draw(st.sampled_from(POINTS))
    hook: Manifest = {"point": point}
    if made["config"]:
        _maybe(draw, hook, when=st.sampled_from(list(made["config"])))
    if kind != "gate":
        hook["produces"] = [f"{made['id']}-{kind}-{number}.md"] if draw(st.booleans()) else []
        hook["consumes"] = draw(st.lists(st.sampled_from(_artifacts_by(point) or ["none"]), max_size=1))
        hook["consumes"] = [] if hook["consumes"] == ["none"] else hook["consumes"]
    return hook


def _refs(made: Manifest) -> SearchStrategy[Manifest] | None:
    options = [{"skill": s} for s in made["skills"]] + [{"agent": a} for a in made["agents"]]
    options += [{"command": f"{c['family']} run"} for c in made.get("commands", [])]
    return st.sampled_from(options) if options else None


_ON_ERROR = st.sampled_from(["skip", "halt"])
_FRAGMENTS = st.fixed_dictionaries({"inline": texts})
_CHECKS = (
    st.fixed_dictionaries({"query": texts})
    | st.fixed_dictionaries({"agentVerdict": texts})
    | st.fixed_dictionaries({"predicate": st.fixed_dictionaries({"kind": texts}, optional={"artifact": json_values})})
)


def _steps(draw: DrawFn, made: Manifest) -> Iterator[Manifest]:
    refs = _refs(made)
    for number in range(draw(st.integers(0, 3)) if refs is not None else 0):
        assert refs is not None
        hook = {**draw(_hooks(made, "step", number)), "ref": draw(refs), "onError": draw(_ON_ERROR)}
        _maybe(draw, hook, fragment=_FRAGMENTS)
        yield hook


def _contributions(draw: DrawFn, made: Manifest) -> Iterator[Manifest]:
    for number in range(draw(st.integers(0, 2))):
        hook = {**draw(_hooks(made, "contribution", number)), "fragment": draw(_FRAGMENTS)}
        hook["into"] = draw(st.sampled_from(LOOP.roles[hook["point"]]))
        _maybe(draw, hook, onError=_ON_ERROR)
        if made["config"]:
            keys = st.sampled_from(list(made["config"]))
            _maybe(draw, hook, configValues=st.dictionaries(any_text, keys, max_size=2))
        yield hook


def _gates(draw: DrawFn, made: Manifest) -> Iterator[Manifest]:
    for number in range(draw(st.integers(0, 2))):
        check = draw(_CHECKS)
        blocking = "agentVerdict" not in check and draw(st.booleans())
        hook = draw(_hooks(made, "gate", number))
        yield {**hook, "check": check, "blocking": blocking, "onError": draw(_ON_ERROR)}


@st.composite
def feature_manifests(draw: DrawFn, id: str | None = None) -> Manifest:
    """Valid feature manifests; fragments are inline."""
    made = draw(envelopes("feature", id))
    own = made["id"]
    made["runtimeCompat"] = {"supported": ["*"], "unsupported": []}
    made["skills"] = draw(_words(own))
    made["agents"] = draw(_words(f"{own}-agent"))
    made["config"] = {f"{own}.k{i}": draw(slices()) for i in range(draw(st.integers(0, 3)))}
    families = draw(_words(own, 2))
    commands = [{"family": f, "module": f"m{i}.py", "router": "route"} for i, f in enumerate(families)]
    hook = st.fixed_dictionaries(
        {"event": texts, "script": st.sampled_from(["a.sh", "hooks/sub-dir/format_v2.sh", "./a.sh", "a//b"])},
        optional={"matcher": st.sampled_from(["Write|Edit", "é", " "])},
    )
    _maybe(draw, made, commands=st.just(commands), hooks=st.lists(hook, max_size=2))
    made["steps"] = list(_steps(draw, made))
    made["contributions"] = list(_contributions(draw, made))
    made["gates"] = list(_gates(draw, made))
    if made["config"]:
        _maybe(draw, made, activationKey=st.sampled_from(list(made["config"])))
    return made


_PROBES = (
    st.fixed_dictionaries({"kind": st.just("command-exists"), "binary": texts})
    | st.fixed_dictionaries(
        {"kind": st.just("command-capability"), "binary": texts, "needle": texts, "timeoutMs": st.just(9)}
    )
    | st.fixed_dictionaries(
        {"kind": st.just("http-reachable"), "hostConfigKey": texts, "path": texts, "timeoutMs": st.just(1)}
    )
)


def _spawns() -> SearchStrategy[Manifest]:
    shape: dict[str, SearchStrategy[Any]] = {
        "binary": texts,
        "args": st.lists(any_text, max_size=3),
        "promptChannel": st.sampled_from(["stdin", "argv", "argv-file-ref", "none"]),
        "modelArg": st.none() | texts,
        "effortChannel": st.sampled_from(["none", "argv", "env"]),
    }
    in_file = st.fixed_dictionaries({**shape, "outputChannel": st.just("file-arg"), "outputArg": texts})
    return in_file | st.fixed_dictionaries({**shape, "outputChannel": st.just("stdout")})


_POSTS = st.fixed_dictionaries(
    {
        "hostConfigKey": texts,
        "path": texts,
        "modelDiscovery": st.sampled_from(["none", "first-from-models-endpoint"]),
        "effortChannel": st.just("none"),
    },
    optional={"defaultHost": json_values, "fallbackModel": json_values},
)


@st.composite
def lanes(draw: DrawFn, id: str) -> Manifest:
    """Reviewer lanes whose names are made from *id*."""
    transport = draw(st.sampled_from(["spawn", "openai-http"]))
    keys = st.none() | st.just("review.some_key")
    made: Manifest = {
        "slug": id,
        "flags": [f"--{id}", *([f"--{id}-too"] if draw(st.booleans()) else [])],
        "transport": transport,
        "probe": draw(_PROBES),
        "invoke": draw(_spawns() if transport == "spawn" else _POSTS),
        "timeoutFloorMs": draw(st.integers(1, 2**31)),
        "emptyOutput": draw(st.sampled_from(["stub-with-stderr", "handler-owned"])),
        "reviewsSection": f"Section {id}",
        "evidenceClass": draw(st.sampled_from(["source-grounded", "diff-only"])),
        "requiresBinaries": draw(st.lists(texts, max_size=2)),
        "promptBudgetKey": draw(keys),
        "handler": draw(st.none() | st.sampled_from(["antigravity", "openai-compatible", "opencode"])),
    }
    _maybe(draw, made, modelConfigKey=keys)
    return made


@st.composite
def reviewer_manifests(draw: DrawFn, id: str | None = None) -> Manifest:
    """Valid reviewer manifests."""
    made = draw(envelopes("reviewer", id))
    made["reviewer"] = draw(lanes(made["id"]))
    _maybe(draw, made, config=st.dictionaries(st.just(f"{made['id']}.key"), slices(), max_size=1))
    return made


#: install surface -> (hook surfaces it goes with, its configuration format)
_SURFACES = {
    "settings-json": (["settings-json", "none"], "settings-json"),
    "codex-toml": (["codex-hooks-json"], "toml"),
    "copilot-instructions": (["copilot-inline"], "markdown"),
    "cline-rules": (["cline-rules"], "markdown-dir"),
    "cursor-hooks-json": (["cursor-hooks-json"], "none"),
    "profile-marker-only": (["none", "kimi-hooks-toml", "windsurf-hooks-json"], "none"),
    "none": (["none"], "none"),
}
_ANSWERS = st.sampled_from([True, False, "undocumented"])


@st.composite
def _homes(draw: DrawFn, deeper: bool = True) -> Manifest:
    kind = draw(st.sampled_from(["dot-home", "dot-home-nested", "xdg", "generic-agents-root", "none"]))
    made: Manifest = {"kind": kind, "env": draw(st.lists(any_text, max_size=2))}
    if kind != "none":
        made["name"] = draw(texts)
    if kind == "dot-home-nested":
        made["parent"] = draw(texts)
    _maybe(draw, made, probe=st.lists(any_text, max_size=2), probeExists=texts)
    if deeper:
        _maybe(draw, made, skillsHome=_homes(deeper=False))
    return made


def _artifacts(place: str) -> SearchStrategy[Manifest]:
    shape: dict[str, SearchStrategy[Any]] = {
        "kind": st.sampled_from(["commands", "agents", "skills", "kimi-agents"]),
        "destSubpath": st.sampled_from(["skills", "commands/msd", "agents"]),
        "nesting": st.sampled_from(["flat", "nested"]),
        "prefix": st.sampled_from(["", "msd-"]),
        "converter": st.none() | st.just("convertClaudeCommandToClaudeSkill"),
    }
    optional: dict[str, SearchStrategy[Any]] = {"recursive": st.booleans()}
    if place == "global":
        optional["home"] = texts
    return st.fixed_dictionaries(shape, optional=optional)


_DISPATCHES = st.fixed_dictionaries(
    {
        "namedDispatch": _ANSWERS,
        "nested": _ANSWERS,
        "maxDepth": st.integers(-1, 9) | st.just("undocumented"),
        "background": _ANSWERS,
        "backgroundDispatch": _ANSWERS,
        "subagentToolkit": st.sampled_from(["full", "read-only", "built-in-only", "undocumented"]),
    },
    optional={"isolation": st.sampled_from(["harness-worktree", "none", "undocumented"])},
)
_INTEGRATIONS = st.fixed_dictionaries(
    {
        "embeddingMode": st.sampled_from(["imperative", "declarative", "undocumented"]),
        "commandSurface": st.sampled_from(["slash-file", "palette", "prose-only"]),
        "dispatch": _DISPATCHES,
        "modelMode": st.sampled_from(["active", "passive"]),
        "hookBus": st.sampled_from(["host", "engine", "none"]),
        "stateIO": st.sampled_from(["filesystem", "session-log-append"]),
        "transport": st.sampled_from(["mcp", "native-extension"]),
        "runtime": st.sampled_from(["node", "python", "other"]),
    },
    optional={"effortSurface": st.sampled_from(["argv", "none", "undocumented"])},
)


@st.composite
def descriptors(draw: DrawFn) -> Manifest:
    """Runtime descriptors whose surfaces go together."""
    install = draw(st.sampled_from(sorted(_SURFACES)))
    hooks, form = _SURFACES[install]
    home = draw(_homes())
    made: Manifest = {
        "configHome": home,
        "localConfigDir": None if home["kind"] == "none" else draw(st.just(".x") | st.just(".x/y")),
        "configFormat": form,
        "artifactLayout": {place: draw(st.lists(_artifacts(place), max_size=2)) for place in ("global", "local")},
        "commandStyle": draw(st.sampled_from(["slash-hyphen", "shell-var"])),
        "hooksSurface": draw(st.sampled_from(hooks)),
        "sandboxTier": draw(st.sampled_from(["none", "codex-agent-sandbox"])),
        "supportTier": draw(st.sampled_from([1, 2])),
        "installSurface": install,
        "writesSharedSettings": draw(st.booleans()),
        "permissionWriter": draw(st.none() | st.sampled_from(["opencode", "kilo", "antigravity"])),
        "hostIntegration": draw(_INTEGRATIONS),
    }
    dialect = draw(st.sampled_from(["claude", "gemini", None]))
    if dialect is not None:
        made["hookEvents"] = dialect
    events = {"claude": ["Stop", "PreCompact"], "gemini": ["BeforeAgent"], None: []}[dialect]
    made["extendedHookEvents"] = events if draw(st.booleans()) else []
    execs = {"command": texts, "args": st.just(["x"]), "cwdFlag": st.none() | texts, "promptFlag": st.none()}
    _maybe(
        draw,
        made,
        extensionEvents=st.sampled_from(["opencode", "pi", "hermes", "kilo", "none"]),
        orchestratorExec=st.fixed_dictionaries(execs),
        harnessIsolationFlag=texts,
        hostBehaviors=json_values,
    )
    return made


@st.composite
def runtime_manifests(draw: DrawFn, id: str | None = None) -> Manifest:
    """Valid runtime manifests, some with a reviewer lane."""
    made = draw(envelopes("runtime", id))
    made["runtime"] = draw(descriptors())
    _maybe(draw, made, reviewer=lanes(made["id"]))
    return made


def manifests(id: str | None = None) -> SearchStrategy[Manifest]:
    """Valid manifests of any role."""
    return feature_manifests(id) | runtime_manifests(id) | reviewer_manifests(id)


@st.composite
def mutated(draw: DrawFn, source: SearchStrategy[Manifest] | None = None) -> Any:
    """A valid manifest with up to three values replaced, left out or added anywhere."""
    made: Any = draw(manifests() if source is None else source)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(list(paths_in(made))))
        what = draw(st.sampled_from(["replace", "drop", "add"]))
        if what == "add" and isinstance(value_at(made, path), dict):
            made = replaced(made, (*path, draw(any_text)), draw(json_values))
        elif what == "drop" and path:
            made = without(made, path)
        else:
            made = replaced(made, path, draw(json_values))
    return made
