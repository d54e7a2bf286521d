"""Everything one capability does, declares or steers, one `Surface` each (spec 20, Disclosure)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import field, frozen

from ..digests import sha256_hex
from ..model.capability import HOOK_KINDS, Capability
from ..model.frozen import EMPTY, FrozenDict
from .escape import blocked, shown, stable_json, told
from .outside import outside_of_command, outside_of_shell

__all__ = ["EXECUTABLE", "Surface", "surfaces_of"]

VALUE_CHARS = 60  # of an environment value; enough to see what it is

#: Kinds that run something by their nature.
EXECUTABLE = frozenset(["hook", "command", "mcp", "reviewer"])


@frozen
class Surface:
    """`kind` and `name` say what it is; `digest` covers all that is declared for it, shown or cut.

    `facts` are JSON values by label, `full` texts that matter to the last character, `outside` what it takes
    from outside the bundle's hash.
    """

    kind: str
    name: str
    digest: str
    facts: FrozenDict[str, Any] = EMPTY
    outside: tuple[str, ...] = ()
    full: FrozenDict[str, str] = field(default=EMPTY)

    @property
    def is_executable(self) -> bool:
        """Whether the host, a runtime or a shell runs something because of it."""
        return self.kind in EXECUTABLE or bool(self.outside)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "digest": self.digest,
            "facts": {**self.facts, **self.full},
            "notCovered": list(self.outside),
        }

    def lines(self) -> list[str]:
        """The name, then one indented line per fact."""
        lines = [f"  {shown(self.name)}"]
        lines += [
            f"    {shown(label)}: {_fact(value)}" for label, value in self.facts.items() if value not in (None, ())
        ]
        for label, text in self.full.items():
            whole = blocked(text)
            lines += [f"    {shown(label)}: {shown(text)}"] if len(whole) == 1 else [f"    {shown(label)}:"]
            lines += [f"      {line}" for line in whole if len(whole) > 1]
        lines += [f"    ! not covered by the hash: {text}" for text in self.outside]
        return lines


def _fact(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == "":
        return '""'
    if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        return " ".join('"' + shown(item).replace('"', '\\"') + '"' for item in value)
    return told(value)


def _surface(
    kind: str,
    name: str,
    declared: Any,
    facts: Mapping[str, Any],
    outside: tuple[str, ...] = (),
    *,
    full: Mapping[str, str] = EMPTY,
) -> Surface:
    digest = sha256_hex(stable_json(declared).encode("utf-8", "surrogatepass"))
    present = {label: value for label, value in facts.items() if value is not None}
    return Surface(kind, name, digest, FrozenDict(present), outside, FrozenDict(full))


def surfaces_of(capability: Capability) -> tuple[Surface, ...]:
    """Every surface, what runs first; those with one name keep the manifest's order."""
    found = [
        *_runtime_hooks(capability),
        *_commands(capability),
        *(_server(name, config) for name, config in sorted(capability.mcp_servers.items())),
        *_reviewer(capability),
        *_loop_hooks(capability),
        *_runtime(capability),
        *(_surface("config", key, slice_, slice_) for key, slice_ in sorted(capability.config.items())),
        *(_surface("skill", name, name, {}) for name in capability.skills),
        *(_surface("agent", name, name, {}) for name in capability.agents),
    ]
    return tuple(found)


def _runtime_hooks(capability: Capability) -> Iterator[Surface]:
    for hook in capability.lifecycle_hooks:
        matcher = hook.get("matcher")
        facts = {
            "event": hook["event"],
            "matcher": "(none: every occurrence)" if matcher is None else matcher,
            "script": hook["script"],
            **_rest(hook, ("event", "matcher", "script")),
        }
        yield _surface("hook", f"{hook['event']} -> {hook['script']}", hook, facts)


def _commands(capability: Capability) -> Iterator[Surface]:
    for command in capability.commands:
        facts = {
            "module": command["module"],
            "router": command["router"],
            "subcommands": command.get("subcommands"),
            **_rest(command, ("family", "module", "router", "subcommands")),
        }
        yield _surface("command", command["family"], command, facts)


def _rest(declared: Mapping[str, Any], known: Iterable[str], label: str = "field") -> dict[str, Any]:
    """What else is declared, under labels of its own: a field may not pass itself off as another fact."""
    return {f"{label} {key}": value for key, value in declared.items() if key not in known}


def _server(name: str, config: FrozenDict[str, Any]) -> Surface:
    url = config.get("url")
    facts = {
        "transport": config.get("type") or config.get("transport") or ("stdio" if url is None else "http"),
        "command": config.get("command"),
        "args": config.get("args"),
        "cwd": config.get("cwd"),
        "url": url,
        "headers": tuple(sorted(config.get("headers", EMPTY))) or None,
        **{f"env {key}": _cut(value) for key, value in sorted(config.get("env", EMPTY).items())},
        **_rest(config, ("type", "transport", "command", "args", "cwd", "url", "headers", "env")),
    }
    outside: tuple[str, ...] = ()
    if "command" in config:
        outside = outside_of_command(config["command"], config.get("args", ()))
    if url is not None:
        outside += (f'"{shown(url)}" answers with whatever it likes, and receives what the agent sends',)
    return _surface("mcp", name, config, facts, outside)


def _cut(value: Any) -> Any:
    if isinstance(value, str) and len(value) > VALUE_CHARS:
        return f"{value[:VALUE_CHARS]}… ({len(value)} characters)"
    return value


def _reviewer(capability: Capability) -> Iterator[Surface]:
    lane = capability.reviewer
    if lane is None:
        return
    invoke = lane.get("invoke", EMPTY)
    facts = {
        "transport": lane.get("transport"),
        "destination": _destination(invoke),
        "sends": "plan text, requirements, research findings and context decisions",
        "flags": lane.get("flags"),
        "args": invoke.get("args"),
        "handler": lane.get("handler"),
        "probe": lane.get("probe"),
        "needs": lane.get("requiresBinaries"),
        **_rest(invoke, ("binary", "args"), "invoke"),
        **_rest(lane, ("slug", "transport", "flags", "handler", "probe", "requiresBinaries", "invoke"), "lane"),
    }
    yield _surface("reviewer", lane.get("slug", ""), lane, facts, tuple(_outside_of_lane(invoke)))


def _destination(invoke: Mapping[str, Any]) -> str:
    if "binary" in invoke:
        return f"the program {invoke['binary']}"
    default = invoke.get("defaultHost", "no default")
    return f"the host in the setting {invoke.get('hostConfigKey', '?')} ({default}), path {invoke.get('path', '?')}"


def _outside_of_lane(invoke: Mapping[str, Any]) -> Iterator[str]:
    if "binary" in invoke:
        yield from outside_of_command(str(invoke["binary"]), invoke.get("args", ()))
    else:
        yield "the host that receives it is a setting, and answers with whatever it likes"


def _loop_hooks(capability: Capability) -> Iterator[Surface]:
    for kind, _, hook in sorted(capability.hooks(), key=lambda item: (_ORDER[item[0]], item[1])):
        if kind == "gate":
            yield _gate(hook)
        else:
            yield _prompt(kind, hook)


_ORDER = {"gate": 0, **{kind: 1 + place for place, (kind, _) in enumerate(HOOK_KINDS) if kind != "gate"}}


def _gate(hook: FrozenDict[str, Any]) -> Surface:
    check = hook["check"]
    predicate = check.get("predicate", EMPTY)
    named = {**{k: v for k, v in check.items() if k != "predicate"}, **predicate}
    full = {f"check {key}": value for key, value in named.items() if isinstance(value, str)}
    facts = {
        "blocking": hook["blocking"],
        "on error": hook.get("onError"),
        "when": hook.get("when"),
        **{f"check {key}": value for key, value in named.items() if not isinstance(value, str)},
        **_rest(hook, ("point", "check", "blocking", "onError", "when")),
    }
    command = predicate.get("command")
    outside = outside_of_shell(command) if isinstance(command, str) else ()
    kind = predicate.get("kind") or next(iter(check), "?")
    return _surface("gate", f"{hook['point']}: {kind}", hook, facts, outside, full=full)


def _prompt(kind: str, hook: FrozenDict[str, Any]) -> Surface:
    target = " ".join(f"{k} {told(v)}" for k, v in hook["ref"].items()) if kind == "step" else f"into {hook['into']}"
    fragment = hook.get("fragment", EMPTY)
    declared = dict(hook)
    full: dict[str, str] = {}
    if "path" in fragment:
        # Its text is a file of the bundle, which may or may not have been read into the manifest by now.
        declared["fragment"] = {key: value for key, value in fragment.items() if key != "inline"}
    elif "inline" in fragment:
        full = {"prompt text": fragment["inline"]}
    facts = {
        "on error": hook.get("onError"),
        "when": hook.get("when"),
        "produces": hook.get("produces"),
        "consumes": hook.get("consumes"),
        "settings in the prompt": hook.get("configValues"),
        "prompt": f"the file {fragment['path']}" if "path" in fragment else None,
        **_rest(hook, _PROMPT_FIELDS),
        **_rest(fragment, ("path", "inline"), "fragment field"),
    }
    return _surface(kind, f"{hook['point']} -> {target}", declared, facts, full=full)


_PROMPT_FIELDS = (
    "point",
    "ref",
    "into",
    "fragment",
    "onError",
    "when",
    "produces",
    "consumes",
    "configValues",
)


def _runtime(capability: Capability) -> Iterator[Surface]:
    runtime = capability.runtime
    if runtime is None:
        return
    launcher = runtime.get("orchestratorExec") or EMPTY
    outside: tuple[str, ...] = ()
    if "command" in launcher:
        outside = outside_of_command(str(launcher["command"]), launcher.get("args", ()))
    yield _surface("runtime", capability.id, runtime, runtime, outside)
