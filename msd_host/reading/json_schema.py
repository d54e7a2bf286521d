"""The manifest's shape as JSON Schema 2020-12, from the classes that the codec holds manifests against (spec 60, `schema`).

What one document says of itself alone is all in it; what refers to other parts by name (a ref to an own skill, a
default among an enum's values) JSON Schema cannot say, and `capability check` does. Patterns are written so that they
mean the same in JavaScript and in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, fields, has

from ..model.frozen import FrozenDict
from .json_schema_prose import PROSE
from .json_schema_rules import RULES, VARIANTS
from .schema import NULLABLE, Grammar, json_name
from .schema_envelope import ROLES, Engines
from .schema_feature import Feature
from .schema_reviewer import Reviewer
from .schema_runtime import Runtime
from .schema_words import (
    PROTOTYPE_NAMES,
    WORDS,
    Depth,
    Point,
    Positive,
    _is_prototype_key,
    _is_unsafe_script,
    _leads_away,
    is_reserved,
    reserved_names,
)

__all__ = ["DIALECT", "END", "REFUSED", "manifest_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

#: The end of the text, in either language; `$` lets a line end pass in one of them.
END = r"(?![\s\S])"


def _any_case(word: str) -> str:
    return "".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in word)


_PROTOTYPES = "|".join(sorted(PROTOTYPE_NAMES))
_AWAY = rf"^[/\\]|^[\s\S]:|(?:^|[/\\])\.\.(?:[/\\]|{END})"

#: What a word's `refused` says, as a pattern that is searched for.
REFUSED: Mapping[Callable[[str], bool], str] = FrozenDict(
    {
        is_reserved: rf"^(?:{'|'.join(map(_any_case, reserved_names()))})(?:\.|{END})",
        _is_prototype_key: rf"(?:^|\.)(?:{_PROTOTYPES})(?:\.|{END})",
        _leads_away: _AWAY,
        _is_unsafe_script: rf"{_AWAY}|(?:^|/)-",
        PROTOTYPE_NAMES.__contains__: rf"^(?:{_PROTOTYPES}){END}",
    }
)

_PLAIN: Mapping[Any, Schema] = FrozenDict(
    {
        str: {"type": "string"},
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        Any: {},
        Positive: {"type": "integer", "minimum": 1},
        Depth: {"anyOf": [{"type": "integer", "minimum": -1}, {"const": "undocumented"}]},
    }
)


def manifest_schema(grammar: Grammar, points: tuple[str, ...], *, title: str, id: str) -> Schema:
    """The schema of a `capability.json`. *points* are those of *grammar*, in the order of the loop."""
    writer = _Writer(grammar, points)
    roles = {"feature": Feature, "runtime": Runtime, "reviewer": Reviewer}
    bodies = [_when("role", role, writer.of(shape)) for role, shape in roles.items()]
    role: Schema = {"enum": list(ROLES), "description": PROSE["Envelope.role"]}
    return {
        "$schema": DIALECT,
        "$id": id,
        "title": title,
        "type": "object",
        "properties": {"$schema": {"description": PROSE["Envelope.$schema"]}, "role": role},
        "required": ["role"],
        "allOf": bodies,
        "$defs": writer.definitions,
    }


def _when(name: str, value: str, then: Schema) -> Schema:
    return {"if": {"properties": {name: {"const": value}}, "required": [name]}, "then": then}


class _Writer:
    """Writes types down, each class once below `$defs`."""

    def __init__(self, grammar: Grammar, points: tuple[str, ...]) -> None:
        self.grammar = grammar
        self.points = points
        self.definitions: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of any type that a shape's field may have."""
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if kind is Point:
            return {"enum": list(self.points)}
        if kind is Engines:
            return {"type": "object", "properties": {self.grammar.product: {"type": "string"}}}
        if kind in WORDS:
            return self._word(kind)
        if isinstance(kind, type) and (has(kind) or kind in VARIANTS):
            return self._named(kind)
        return self._composed(kind)

    def _composed(self, kind: Any) -> Schema:
        origin, args = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"enum": list(args)}
        if origin is tuple:
            return {"type": "array", "items": self.of(args[0])}
        if origin is Mapping:
            names = {} if args[0] is str else {"propertyNames": self.of(args[0])}
            return {"type": "object", **names, "additionalProperties": self.of(args[1])}
        if NULLABLE in getattr(kind, "__metadata__", ()):
            return {"anyOf": [self.of(_without_none(args[0])), {"type": "null"}]}
        assert origin in (Union, UnionType), kind
        return self.of(_without_none(kind))

    def _word(self, kind: Any) -> Schema:
        word = WORDS[kind]
        schema: Schema = {"type": "string", "pattern": f"^(?:{word.pattern}){END}"}
        if word.refused is not None:
            schema["not"] = {"pattern": REFUSED[word.refused]}
        self.definitions.setdefault(kind.__name__, schema)
        return {"$ref": f"#/$defs/{kind.__name__}"}

    def _named(self, shape: type) -> Schema:
        name = shape.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # a shape may hold itself
            self.definitions[name] = self._variants(shape) if shape in VARIANTS else self._object(shape)
        return {"$ref": f"#/$defs/{name}"}

    def _variants(self, shape: type) -> Schema:
        """A class that `pick`s: what tells its variants apart, and each under its condition."""
        known, chosen = VARIANTS[shape]
        bodies = [{"if": condition, "then": self.of(variant)} for variant, condition in chosen]
        return {"type": "object", **known, "allOf": bodies}

    def _object(self, shape: type) -> Schema:
        kinds = get_type_hints(shape, include_extras=True)
        properties: dict[str, Any] = dict.fromkeys(getattr(shape, "MISPLACED", ()), False)
        properties.update(dict.fromkeys(getattr(shape, "IGNORED", ()), True))
        required: list[str] = []
        for field in fields(shape):
            name = json_name(field.name)
            told = next((PROSE[k] for k in _keys(shape, name) if k in PROSE), None)
            properties[name] = {**self.of(kinds[field.name]), **({"description": told} if told else {})}
            if field.default is NOTHING:
                required.append(name)
        closed = {"additionalProperties": False} if getattr(shape, "CLOSED", False) else {}
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            **closed,
            **_rules(shape),
        }


def _keys(shape: type, name: str) -> list[str]:
    """Where a field's description may be found: under its class or one it inherits from."""
    return [f"{each.__name__}.{name}" for each in shape.__mro__]


def _rules(shape: type) -> Schema:
    rules = [rule for each in shape.__mro__ for rule in RULES.get(each, ())]
    return {"allOf": rules} if rules else {}


def _without_none(kind: Any) -> Any:
    return next(arg for arg in get_args(kind) if arg is not type(None))
