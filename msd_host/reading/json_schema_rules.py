"""What the classes' `rule` and `pick` say about fields together, in the words of JSON Schema.

Each entry stands for one function of the shape's classes; the test holds the schema against the codec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.frozen import FrozenDict
from .schema_envelope import CommandServer, McpServer, RemoteServer, RuntimeCompat, Slice
from .schema_feature import Check, Fragment, Gate, Ref
from .schema_reviewer import _LANES, _PROBES, Lane, Probe, SpawnInvoke
from .schema_runtime import _DIALECTS, _SURFACES, ConfigHome, Descriptor, Dispatch, HostIntegration
from .schema_words import PROTOTYPE_NAMES

__all__ = ["RULES", "VARIANTS"]

Schema = dict[str, Any]


def _has(name: str, value: object = None) -> Schema:
    """That *name* is there, and is *value* where one is given."""
    known: Schema = {} if value is None else {"properties": {name: {"const": value}}}
    return {**known, "required": [name]}


def _field(name: str, schema: Any) -> Schema:
    return {"properties": {name: schema}}


def _if(condition: Schema, then: Schema, otherwise: Schema | None = None) -> Schema:
    return {"if": condition, "then": then, **({} if otherwise is None else {"else": otherwise})}


def _exactly_one(*names: str) -> Schema:
    return {"oneOf": [_has(name) for name in names]}


_NO_PROTOTYPES = {"propertyNames": {"not": {"enum": sorted(PROTOTYPE_NAMES)}}}
_OWN_HOME = {"properties": {"configHome": {"type": "object", **_has("kind", "none")}}, "required": ["configHome"]}


def _surfaces() -> list[Schema]:
    return [
        _if(
            _has("installSurface", install),
            {"properties": {"hooksSurface": {"enum": list(allowed)}, "configFormat": {"const": form}}},
        )
        for install, (allowed, form) in _SURFACES.items()
    ]


def _dialects() -> list[Schema]:
    """An event of a dialect needs that dialect to be spoken."""
    rules = []
    for dialect in sorted(set(_DIALECTS.values())):
        events = [event for event, of in _DIALECTS.items() if of == dialect]
        uses = {"type": "array", "contains": {"enum": events}}
        condition = _field("extendedHookEvents", uses) | {"required": ["extendedHookEvents"]}
        rules.append(_if(condition, _has("hookEvents", dialect)))
    return rules


#: Rules of a class and of those that inherit from it.
RULES: Mapping[type, tuple[Schema, ...]] = FrozenDict(
    {
        Ref: (_exactly_one("skill", "agent", "command"),),
        Check: (_exactly_one("query", "predicate", "agentVerdict"),),
        Fragment: ({"anyOf": [_has("path"), _has("inline")]},),
        Gate: (
            _if(
                _field("check", {"type": "object", "required": ["agentVerdict"]}) | {"required": ["check"]},
                _field("blocking", {"const": False}),
            ),
        ),
        RuntimeCompat: (_field("supported", {"minItems": 1, **_if({"contains": {"const": "*"}}, {"maxItems": 1})}),),
        Slice: (
            _if(
                _has("type", "enum"),
                {
                    "properties": {
                        "values": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                        "default": {"type": "string"},
                    },
                    "required": ["values"],
                },
            ),
            *(_if(_has("type", kind), _field("default", {"type": kind})) for kind in ("boolean", "string", "number")),
        ),
        ConfigHome: (
            _if(_has("kind", "none"), {}, {"required": ["name"]}),
            _if(_has("kind", "dot-home-nested"), {"required": ["parent"]}),
        ),
        Dispatch: (_NO_PROTOTYPES,),
        HostIntegration: (_NO_PROTOTYPES,),
        SpawnInvoke: (
            _if(_has("outputChannel", "file-arg"), {"required": ["outputArg"]}),
            _if(_has("outputChannel", "stdout"), _field("outputArg", False)),
        ),
        Descriptor: (
            _if(
                _OWN_HOME,
                _field("localConfigDir", {"type": "null"}),
                _field("localConfigDir", {"type": "string"}) | {"required": ["localConfigDir"]},
            ),
            *_surfaces(),
            *_dialects(),
        ),
        Lane: (_field("flags", {"minItems": 1, "uniqueItems": True}),),
    }
)

#: Classes that `pick` another: what is known of all, and (variant, its condition).
VARIANTS: Mapping[type, tuple[Schema, tuple[tuple[type, Schema], ...]]] = FrozenDict(
    {
        McpServer: (
            {"not": {"required": ["command", "url"]}},
            (
                (CommandServer, _has("command")),
                (RemoteServer, {"not": _has("command")}),
            ),
        ),
        Probe: (
            {"required": ["kind"], **_field("kind", {"enum": list(_PROBES)})},
            tuple((variant, _has("kind", kind)) for kind, variant in _PROBES.items()),
        ),
        Lane: (
            {"required": ["transport"], **_field("transport", {"enum": list(_LANES)})},
            tuple((variant, _has("transport", kind)) for kind, variant in _LANES.items()),
        ),
    }
)
