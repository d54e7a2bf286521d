"""A reviewer's lane: how another model is asked for a review (reference, section 1.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from attrs import frozen

from .schema import Json, OrNull, Wrong, misplaced, one_of
from .schema_envelope import Envelope, McpServer, RuntimeCompat, Slice
from .schema_words import ConfigKey, DottedKey, Flag, Positive, Slug, Text

__all__ = ["FEATURE_ONLY", "HttpLane", "Invoke", "Lane", "Probe", "Reviewer", "SpawnLane"]

#: Fields that only a feature may have.
FEATURE_ONLY = ("skills", "agents", "steps", "contributions", "gates", "hooks", "commands", "activationKey")


class Probe:
    """How to find out whether a lane can be used. Fields nobody knows are faults here."""

    CLOSED: ClassVar[bool] = True

    @staticmethod
    def pick(raw: Json) -> type[Probe]:
        kind = raw.get("kind")
        if "kind" not in raw:
            raise Wrong("is required", "kind")
        if type(kind) is not str or kind not in _PROBES:
            wrong = one_of(tuple(_PROBES), kind)
            raise Wrong(wrong.message, "kind")
        return _PROBES[kind]


@frozen(kw_only=True, eq=False, repr=False)
class CommandExists(Probe):
    kind: Literal["command-exists"]
    binary: Text


@frozen(kw_only=True, eq=False, repr=False)
class CommandCapability(Probe):
    kind: Literal["command-capability"]
    binary: Text
    needle: Text
    timeout_ms: Positive


@frozen(kw_only=True, eq=False, repr=False)
class HttpReachable(Probe):
    kind: Literal["http-reachable"]
    host_config_key: Text
    path: Text
    timeout_ms: Positive


_PROBES: dict[str, type[Probe]] = {
    "command-exists": CommandExists,
    "command-capability": CommandCapability,
    "http-reachable": HttpReachable,
}

_SPAWN_ONLY = ("binary", "args", "promptChannel", "outputChannel", "outputArg", "modelArg")
_HTTP_ONLY = ("hostConfigKey", "path", "modelDiscovery", "defaultHost", "fallbackModel")


class Invoke:
    """How a lane is called; the transport says which of the two shapes it has."""


def _foreign(raw: Json, names: tuple[str, ...], transport: str) -> Iterator[Wrong]:
    for name in names:
        if name in raw:
            yield Wrong(f'belongs to the transport "{transport}"', name)


@frozen(kw_only=True, eq=False, repr=False)
class SpawnInvoke(Invoke):
    MISPLACED: ClassVar[tuple[str, ...]] = _HTTP_ONLY

    binary: Text
    args: tuple[str, ...]
    prompt_channel: Literal["stdin", "argv", "argv-file-ref", "none"]
    output_channel: Literal["stdout", "file-arg"]
    output_arg: Text | None = None
    model_arg: OrNull[Text]
    effort_channel: Literal["none", "argv", "env"]

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        yield from _foreign(raw, _HTTP_ONLY, "openai-http")
        channel = raw.get("outputChannel")
        if channel == "file-arg" and "outputArg" not in raw:
            yield Wrong("is required where the output comes in a file", "outputArg")
        if channel == "stdout" and "outputArg" in raw:
            yield Wrong("belongs to output that comes in a file", "outputArg")


@frozen(kw_only=True, eq=False, repr=False)
class HttpInvoke(Invoke):
    """`default_host` and `fallback_model` are known and never looked at."""

    MISPLACED: ClassVar[tuple[str, ...]] = _SPAWN_ONLY

    host_config_key: Text
    path: Text
    model_discovery: Literal["none", "first-from-models-endpoint"]
    effort_channel: Literal["none"]
    default_host: Any = None
    fallback_model: Any = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        return _foreign(raw, _SPAWN_ONLY, "spawn")


@frozen(kw_only=True, eq=False, repr=False)
class Lane:
    """A lane whose transport is not known; its `invoke` cannot be judged."""

    slug: Slug
    flags: tuple[Flag, ...]
    transport: Literal["spawn", "openai-http"]
    probe: Probe
    invoke: Any
    timeout_floor_ms: Positive
    empty_output: Literal["stub-with-stderr", "handler-owned"]
    reviews_section: Text
    evidence_class: Literal["source-grounded", "diff-only"]
    requires_binaries: tuple[Text, ...]
    prompt_budget_key: OrNull[DottedKey]
    model_config_key: OrNull[DottedKey] = None
    handler: OrNull[Literal["antigravity", "openai-compatible", "opencode"]]

    @staticmethod
    def pick(raw: Json) -> type[Lane]:
        transport = raw.get("transport")
        return _LANES.get(transport, Lane) if type(transport) is str else Lane

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        flags = raw.get("flags")
        if flags == ():
            yield Wrong("must not be empty", "flags")
        elif type(flags) is tuple:
            seen: set[str] = set()
            for i, flag in enumerate(flags):
                if type(flag) is str:
                    if flag in seen:
                        yield Wrong("is there twice", "flags", i)
                    seen.add(flag)


@frozen(kw_only=True, eq=False, repr=False)
class SpawnLane(Lane):
    invoke: SpawnInvoke


@frozen(kw_only=True, eq=False, repr=False)
class HttpLane(Lane):
    invoke: HttpInvoke


_LANES: dict[str, type[Lane]] = {"spawn": SpawnLane, "openai-http": HttpLane}


@frozen(kw_only=True, eq=False, repr=False)
class Reviewer(Envelope):
    MISPLACED: ClassVar[tuple[str, ...]] = (*FEATURE_ONLY, "runtime")

    reviewer: Lane
    config: Mapping[ConfigKey, Slice] | None = None
    runtime_compat: RuntimeCompat | None = None
    mcp_servers: Mapping[Text, McpServer] | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        return misplaced(raw, Reviewer.MISPLACED, "reviewer")
