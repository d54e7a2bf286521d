"""What every manifest has, whatever its role (reference, sections 1.1, 1.2 and 1.6; spec 10, Manifest)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, NewType

from attrs import frozen

from ..model.frozen import FrozenDict
from ..text import joined
from .schema import Grammar, Json, Wrong, mistyped
from .schema_words import Id, Integrity, Range, RuntimeId, SemVer, Text

__all__ = [
    "ROLES",
    "CommandServer",
    "Engines",
    "Envelope",
    "McpServer",
    "Provenance",
    "RemoteServer",
    "RuntimeCompat",
    "Slice",
    "check_engines",
]

ROLES = ("feature", "runtime", "reviewer")

Engines = NewType("Engines", object)


@frozen(kw_only=True, eq=False, repr=False)
class Provenance:
    source_repo: Text
    commit: Text


@frozen(kw_only=True, eq=False, repr=False)
class Envelope:
    """The fields of all roles. Those of type `Any` are documented and never looked at."""

    IGNORED: ClassVar[tuple[str, ...]] = ("$schema",)  # for editors, see `json_schema`

    id: Id
    role: Literal["feature", "runtime", "reviewer"]
    title: Text
    description: Text
    tier: Literal["core", "standard", "full"]
    requires: tuple[str, ...]
    version: SemVer
    engines: Engines | None = None
    compat_versions: Mapping[SemVer, Range] | None = None
    integrity: Integrity | None = None
    provenance: Provenance | None = None
    author: Any = None
    homepage: Any = None
    repository: Any = None
    license: Any = None
    keywords: Any = None


def check_engines(value: Any, grammar: Grammar) -> Any:
    """`engines` is an object whose entry for this host is text, which the parser of ranges alone judges."""
    if type(value) is not FrozenDict:
        raise mistyped("an object", value)
    wanted = value.get(grammar.product, "")
    if type(wanted) is not str:
        raise mistyped("a string", wanted, grammar.product)
    return value


@frozen(kw_only=True, eq=False, repr=False)
class RuntimeCompat:
    supported: tuple[RuntimeId, ...]
    unsupported: tuple[Id, ...]
    notes: Mapping[RuntimeId, Text] | None = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        supported = raw.get("supported")
        if supported == ():
            yield Wrong('must name a runtime, or be ["*"]', "supported")
        elif type(supported) is tuple and "*" in supported and len(supported) > 1:
            yield Wrong('"*" stands for every runtime and cannot be mixed with ids', "supported")


@frozen(kw_only=True, eq=False, repr=False)
class Slice:
    """One configuration key. `values` counts only where the type is `enum`."""

    type: Literal["boolean", "string", "number", "enum"]
    default: Any
    description: Text
    values: Any = None

    @staticmethod
    def rule(raw: Json) -> Iterator[Wrong]:
        kind, default = raw.get("type"), raw.get("default")
        if kind == "enum":
            yield from _enum_faults(raw)
        if "default" in raw and type(kind) is str and kind in _DEFAULTS:
            expected, types = _DEFAULTS[kind]
            if type(default) not in types:
                yield mistyped(expected, default, "default")


#: What the default of a slice must be; a boolean is no number, and numbers are finite once they are here.
_DEFAULTS = {
    "boolean": ("a boolean", (bool,)),
    "string": ("a string", (str,)),
    "number": ("a number", (int, float)),
    "enum": ("a string", (str,)),
}


def _enum_faults(raw: Json) -> Iterator[Wrong]:
    values, default = raw.get("values"), raw.get("default")
    if "values" not in raw:
        yield Wrong("is required for an enum", "values")
    elif type(values) is not tuple:
        yield mistyped("an array", values, "values")
    elif not values:
        yield Wrong("must not be empty", "values")
    elif bad := [(i, value) for i, value in enumerate(values) if type(value) is not str]:
        for i, value in bad:
            yield mistyped("a string", value, "values", i)
    elif type(default) is str and default not in values:
        yield Wrong(f"must be one of {joined(values)}", "default")


class McpServer:
    """A server for tools, either a command or an address; both are shown before anybody consents."""

    @staticmethod
    def pick(raw: Json) -> type[McpServer]:
        if "command" in raw and "url" in raw:
            raise Wrong('must have a "command" or a "url", not both')
        if "command" in raw:
            return CommandServer
        if "url" in raw or "type" in raw:
            return RemoteServer
        raise Wrong('must have a "command", or a "type" and a "url"')


@frozen(kw_only=True, eq=False, repr=False)
class CommandServer(McpServer):
    command: Text
    args: tuple[str, ...] | None = None
    env: Mapping[str, str] | None = None
    cwd: Text | None = None
    type: Literal["stdio"] | None = None


@frozen(kw_only=True, eq=False, repr=False)
class RemoteServer(McpServer):
    type: Literal["http", "sse"]
    url: Text
    headers: Mapping[str, str] | None = None
