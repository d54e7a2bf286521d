"""The body of a runtime: how a coding agent's host is laid out (reference, section 1.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from attrs import frozen

from ..model.frozen import FrozenDict
from ..text import joined, quoted
from .schema import Finding, Json, OrNull, Wrong, misplaced
from .schema_envelope import Envelope, McpServer, RuntimeCompat, Slice
from .schema_reviewer import FEATURE_ONLY, Lane
from .schema_words import PROTOTYPE_NAMES, ConfigKey, Depth, DotName, Text

__all__ = [
    "CONVERTERS",
    "ArtifactLayout",
    "ConfigHome",
    "Descriptor",
    "Dispatch",
    "HostIntegration",
    "OrchestratorExec",
    "Runtime",
    "unknown_converters",
]

#: Converters that runtimes of today name. Another name is accepted and noted: it may be a newer host's.
CONVERTERS = frozenset(
    f"convertClaude{word}"
    for word in (
        "AgentToAntigravityAgent AgentToAugmentAgent AgentToCodebuddyAgent AgentToCopilotAgent"
        " AgentToCursorAgent AgentToQwenAgent AgentToTraeAgent AgentToWindsurfAgent"
        " CommandToAntigravitySkill CommandToAugmentSkill CommandToClaudeSkill CommandToClineSkill"
        " CommandToCodebuddyCommand CommandToCodebuddySkill CommandToCodexSkill CommandToCopilotSkill"
        " CommandToCursorSkill CommandToKiloSkill CommandToKimiCodeSkill CommandToKimiSkill"
        " CommandToOpencodeSkill CommandToTraeSkill CommandToWindsurfWorkflow ToAugmentMarkdown"
    ).split()
)

#: Which hook surfaces, and which configuration format, an install surface can go with.
_SURFACES = {
    "settings-json": (("settings-json", "none"), "settings-json"),
    "codex-toml": (("codex-hooks-json",), "toml"),
    "copilot-instructions": (("copilot-inline",), "markdown"),
    "cline-rules": (("cline-rules",), "markdown-dir"),
    "cursor-hooks-json": (("cursor-hooks-json",), "none"),
    "profile-marker-only": (("none", "kimi-hooks-toml", "windsurf-hooks-json"), "none"),
    "none": (("none",), "none"),
}

#: Which dialect of hook events an extended event belongs to.
_DIALECTS = {
    **dict.fromkeys(("BeforeAgent", "AfterAgent", "BeforeModel"), "gemini"),
    **dict.fromkeys(("SubagentStop", "Stop", "PreCompact", "FileChanged", "SubagentStart"), "claude"),
}


def _prototype_keys(raw: Json) -> Iterator[Wrong]:
    for name in raw.keys() & PROTOTYPE_NAMES:
        yield Wrong("is a reserved name", name)


@frozen(kw_only=True, eq=False, repr=False)
class ConfigHome:
    """Where a runtime keeps its configuration; `skills_home` is a second such place."""

    kind: Literal["dot-home", "dot-home-nested", "xdg", "generic-agents-root", "none"]
    env: tuple[str, ...]
    name: Text | None = None
    parent: Text | None = None
    probe: tuple[str, ...] | None = None
    probe_exists: Text | None = None
    skills_home: ConfigHome | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        if "name" not in raw and raw.get("kind") != "none":
            yield Wrong("is required", "name")
        if "parent" not in raw and raw.get("kind") == "dot-home-nested":
            yield Wrong("is required for a nested home", "parent")


@frozen(kw_only=True, eq=False, repr=False)
class Artifact:
    kind: Literal["commands", "agents", "skills", "kimi-agents"]
    dest_subpath: Text
    nesting: Literal["flat", "nested"]
    prefix: str
    converter_: OrNull[str]  # cattrs has a parameter of that name
    recursive: bool | None = None


@frozen(kw_only=True, eq=False, repr=False)
class GlobalArtifact(Artifact):
    home: Text | None = None


@frozen(kw_only=True, eq=False, repr=False)
class LocalArtifact(Artifact):
    MISPLACED: ClassVar[tuple[str, ...]] = ("home",)

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        if "home" in raw:
            yield Wrong('belongs to entries of "global"', "home")


@frozen(kw_only=True, eq=False, repr=False)
class ArtifactLayout:
    global_: tuple[GlobalArtifact, ...]
    local: tuple[LocalArtifact, ...]


Answer = Literal[True, False, "undocumented"]


@frozen(kw_only=True, eq=False, repr=False)
class Dispatch:
    named_dispatch: Answer
    nested: Answer
    max_depth: Depth
    background: Answer
    background_dispatch: Answer
    subagent_toolkit: Literal["full", "read-only", "built-in-only", "undocumented"]
    isolation: Literal["harness-worktree", "orchestrator-worktree", "none", "undocumented"] | None = None
    built_in_subagents: Any = None  # carried by a runtime of today, looked at by nobody

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        return _prototype_keys(raw)


@frozen(kw_only=True, eq=False, repr=False)
class HostIntegration:
    embedding_mode: Literal["imperative", "declarative", "undocumented"]
    command_surface: Literal["slash-file", "slash-programmatic", "slash-toml", "palette", "prose-only", "undocumented"]
    dispatch: Dispatch
    model_mode: Literal["active", "passive", "undocumented"]
    hook_bus: Literal["host", "engine", "none", "undocumented"]
    state_io: Literal["filesystem", "sandboxed-storage", "session-log-append", "undocumented"]
    transport: Literal["mcp", "native-extension", "undocumented"]
    runtime: Literal["node", "bun", "sandboxed-web", "python", "go", "rust", "electron", "other", "undocumented"]
    effort_surface: Literal["argv", "none", "undocumented"] | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        return _prototype_keys(raw)


@frozen(kw_only=True, eq=False, repr=False)
class OrchestratorExec:
    command: Text
    args: tuple[str, ...]
    cwd_flag: OrNull[str]
    prompt_flag: OrNull[str]


@frozen(kw_only=True, eq=False, repr=False)
class Descriptor:
    """`host_behaviors` is an open bag that is never looked at."""

    config_home: ConfigHome
    local_config_dir: OrNull[DotName] = None
    config_format: Literal["settings-json", "toml", "markdown", "markdown-dir", "none"]
    artifact_layout: ArtifactLayout
    command_style: Literal["slash-hyphen", "shell-var"]
    hooks_surface: Literal[
        "settings-json",
        "codex-hooks-json",
        "cursor-hooks-json",
        "copilot-inline",
        "cline-rules",
        "kimi-hooks-toml",
        "windsurf-hooks-json",
        "none",
    ]
    hook_events: Literal["claude", "gemini"] | None = None
    extension_events: Literal["opencode", "pi", "hermes", "kilo", "none"] | None = None
    sandbox_tier: Literal["none", "codex-agent-sandbox"]
    support_tier: Literal[1, 2]
    install_surface: Literal[
        "settings-json",
        "codex-toml",
        "copilot-instructions",
        "cline-rules",
        "cursor-hooks-json",
        "profile-marker-only",
        "none",
    ]
    writes_shared_settings: bool
    permission_writer: OrNull[Literal["opencode", "kilo", "antigravity"]]
    extended_hook_events: tuple[
        Literal[
            "SubagentStop",
            "Stop",
            "PreCompact",
            "FileChanged",
            "BeforeAgent",
            "AfterAgent",
            "BeforeModel",
            "SubagentStart",
        ],
        ...,
    ]
    host_integration: HostIntegration
    orchestrator_exec: OrchestratorExec | None = None
    harness_isolation_flag: Text | None = None
    host_behaviors: Any = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        yield from _local_dir_faults(raw)
        yield from _surface_faults(raw)
        yield from _dialect_faults(raw)


def _local_dir_faults(raw: Json) -> Iterator[Wrong]:
    home, folder = raw.get("configHome"), raw.get("localConfigDir")
    if type(home) is not FrozenDict:
        return
    if home.get("kind") == "none" and folder is not None:
        yield Wrong("must be null where the configuration home is of kind none", "localConfigDir")
    elif home.get("kind") != "none" and folder is None:
        yield Wrong("is required", "localConfigDir")


def _surface_faults(raw: Json) -> Iterator[Wrong]:
    install = raw.get("installSurface")
    if type(install) is not str or install not in _SURFACES:
        return
    allowed, expected = _SURFACES[install]
    hooks, form = raw.get("hooksSurface"), raw.get("configFormat")
    if type(hooks) is str and hooks not in allowed:
        yield Wrong(f"{quoted(hooks)} does not go with the install surface {quoted(install)}", "hooksSurface")
    if type(form) is str and form != expected:
        message = f"must be {quoted(expected)} with the install surface {quoted(install)}, not {quoted(form)}"
        yield Wrong(message, "configFormat")


def _dialect_faults(raw: Json) -> Iterator[Wrong]:
    events, spoken = raw.get("extendedHookEvents"), raw.get("hookEvents")
    if type(events) is not tuple:
        return
    for dialect in ("gemini", "claude"):
        needing = [e for e in events if type(e) is str and _DIALECTS.get(e) == dialect]
        if needing and spoken != dialect:
            message = f'{joined(needing)} need "hookEvents" to be {quoted(dialect)}'
            yield Wrong(message, "extendedHookEvents")


@frozen(kw_only=True, eq=False, repr=False)
class Runtime(Envelope):
    MISPLACED: ClassVar[tuple[str, ...]] = FEATURE_ONLY

    runtime: Descriptor
    reviewer: Lane | None = None
    config: Mapping[ConfigKey, Slice] | None = None
    runtime_compat: RuntimeCompat | None = None
    mcp_servers: Mapping[Text, McpServer] | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        return misplaced(raw, Runtime.MISPLACED, "runtime")


def unknown_converters(raw: Json) -> Iterator[Finding]:
    """A note for each converter that a well-formed descriptor names and this host does not know."""
    for place in ("global", "local"):
        for i, entry in enumerate(raw["runtime"]["artifactLayout"][place]):
            name = entry["converter"]
            if name is not None and name not in CONVERTERS:
                path = ("runtime", "artifactLayout", place, i, "converter")
                yield Finding(path, f"{quoted(name)} is not a converter this host knows", "unknown-converter")
