"""The body of a feature: what hooks into the loop and what it owns (reference, sections 1.2 to 1.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from attrs import frozen

from ..model.frozen import FrozenDict
from ..text import joined, quoted
from .schema import Grammar, Json, Wrong, misplaced
from .schema_envelope import Envelope, McpServer, RuntimeCompat, Slice
from .schema_words import (
    ConfigKey,
    Family,
    Matcher,
    Module,
    Point,
    RelativePath,
    Router,
    ScriptPath,
    Stem,
    Text,
)

__all__ = [
    "Check",
    "Command",
    "Contribution",
    "Feature",
    "Fragment",
    "Gate",
    "LifecycleHook",
    "OnError",
    "Predicate",
    "Ref",
    "Step",
]

OnError = Literal["skip", "halt"]


def _exactly_one(raw: Json, names: tuple[str, ...]) -> Iterator[Wrong]:
    given = [name for name in names if name in raw]
    if len(given) != 1:
        got = joined(given) if given else "none of them"
        yield Wrong(f"must have exactly one of {joined(names)}; it has {got}")


@frozen(kw_only=True, eq=False, repr=False)
class Ref:
    """What a step runs."""

    NAMES: ClassVar[tuple[str, ...]] = ("skill", "agent", "command")

    skill: str | None = None
    agent: str | None = None
    command: str | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        return _exactly_one(raw, Ref.NAMES)


@frozen(kw_only=True, eq=False, repr=False)
class Fragment:
    """Text for a prompt; where both are given `inline` counts and `path` is never read."""

    path: RelativePath | None = None
    inline: Text | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        if "path" not in raw and "inline" not in raw:
            yield Wrong('must have a "path" or an "inline" text')


@frozen(kw_only=True, eq=False, repr=False)
class Step:
    point: Point
    ref: Ref
    produces: tuple[str, ...]
    consumes: tuple[str, ...]
    on_error: OnError
    when: str | None = None
    fragment: Fragment | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Contribution:
    point: Point
    into: str
    fragment: Fragment
    produces: tuple[str, ...]
    consumes: tuple[str, ...]
    when: str | None = None
    on_error: OnError | None = None
    config_values: Mapping[str, str] | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Predicate:
    """A check the host evaluates; what else it holds is for the evaluator of its kind."""

    OPEN: ClassVar[bool] = True

    kind: Text


@frozen(kw_only=True, eq=False, repr=False)
class Check:
    query: str | None = None
    predicate: Predicate | None = None
    agent_verdict: str | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        return _exactly_one(raw, ("query", "predicate", "agentVerdict"))


@frozen(kw_only=True, eq=False, repr=False)
class Gate:
    point: Point
    check: Check
    blocking: bool
    on_error: OnError
    when: str | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        check = raw.get("check")
        if type(check) is FrozenDict and "agentVerdict" in check and raw.get("blocking") is True:
            yield Wrong("must be false: the verdict of an agent is advice and never blocks", "blocking")


@frozen(kw_only=True, eq=False, repr=False)
class LifecycleHook:
    event: Text
    script: ScriptPath
    matcher: Matcher | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Command:
    """`subcommands` is documentation and dispatches nothing."""

    family: Family
    module: Module
    router: Router
    subcommands: tuple[Text, ...] | None = None


@frozen(kw_only=True, eq=False, repr=False)
class Feature(Envelope):
    MISPLACED: ClassVar[tuple[str, ...]] = ("reviewer", "runtime")

    runtime_compat: RuntimeCompat
    skills: tuple[Stem, ...]
    agents: tuple[Stem, ...]
    commands: tuple[Command, ...] | None = None
    hooks: tuple[LifecycleHook, ...] | None = None
    config: Mapping[ConfigKey, Slice]
    steps: tuple[Step, ...]
    contributions: tuple[Contribution, ...]
    gates: tuple[Gate, ...]
    activation_key: Text | None = None
    mcp_servers: Mapping[Text, McpServer] | None = None

    @staticmethod
    def rule_in(grammar: Grammar, raw: Json) -> Iterator[Wrong]:
        yield from misplaced(raw, Feature.MISPLACED, "feature")
        yield from _ref_faults(raw, grammar)
        yield from _config_value_faults(raw)
        yield from _activation_faults(raw)


def _objects(value: Any) -> Iterator[tuple[int, Json]]:
    """The objects of an array with their places; nothing else is looked at here."""
    if type(value) is tuple:
        for i, item in enumerate(value):
            if type(item) is FrozenDict:
                yield i, item


def _ref_faults(raw: Json, grammar: Grammar) -> Iterator[Wrong]:
    steps = raw.get("steps", ())
    own = {name: _OwnNames(raw, name) for name in Ref.NAMES}
    for i, step in _objects(steps):
        ref = step.get("ref")
        for name in Ref.NAMES:
            word = ref.get(name) if type(ref) is FrozenDict else None
            message = _target_fault(name, word, own[name], grammar) if type(word) is str else None
            if message is not None:
                yield Wrong(message, "steps", i, "ref", name)


class _OwnNames:
    """What a ref of one kind may name: anything where the declaring list is no list, a fault of its own."""

    def __init__(self, raw: Json, name: str) -> None:
        declared: Any = raw.get(f"{name}s", () if name == "command" else None)
        self.unknown = type(declared) is not tuple
        members: tuple[Any, ...] = () if self.unknown else declared
        names = [c.get("family") for _, c in _objects(members)] if name == "command" else members
        self._names = dict.fromkeys(n for n in names if type(n) is str)
        self._shown: str | None = None

    def __contains__(self, word: str) -> bool:
        return self.unknown or word in self._names

    def __str__(self) -> str:
        if self._shown is None:  # a long list may be asked for by many steps
            self._shown = joined(self._names) or "it has none"
        return self._shown


def _target_fault(name: str, word: str, own: _OwnNames, grammar: Grammar) -> str | None:
    prefix = grammar.dispatch_prefix
    if name == "skill" and word.casefold().startswith(prefix):
        return f"must not begin with {quoted(prefix)}, which dispatch puts before it"
    if name == "command":
        first = word.split(maxsplit=1)[:1] or [""]
        return None if first[0] in own else f"must begin with one of its own command families ({own})"
    return None if word in own else f"{quoted(word)} is not one of its own {name}s ({own})"


def _config_value_faults(raw: Json) -> Iterator[Wrong]:
    config = raw.get("config")
    if type(config) is not FrozenDict:
        return
    for i, contribution in _objects(raw.get("contributions")):
        values = contribution.get("configValues")
        if type(values) is FrozenDict:
            for alias, key in values.items():
                if type(key) is str and key not in config:
                    where = ("contributions", i, "configValues", alias)
                    yield Wrong(f"{quoted(key)} is not one of its own config keys", *where)


def _activation_faults(raw: Json) -> Iterator[Wrong]:
    key, config = raw.get("activationKey"), raw.get("config")
    if type(key) is str and key and type(config) is FrozenDict and key not in config:
        yield Wrong(f"{quoted(key)} is not one of its own config keys", "activationKey")
