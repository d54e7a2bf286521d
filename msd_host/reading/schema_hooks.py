"""Structures a JSON value against the classes of the manifest's shape and says all that does not fit.

The only module that imports cattrs. Its converter is strict: every primitive by exact type, arrays and
objects never taken for one another, literals by type and value. Class hooks are made when the first object
of a class comes along, so that a plain overlay does not pay for what it has not.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from threading import local
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from attrs import fields, has
from cattrs import AttributeValidationNote, ClassValidationError, Converter
from cattrs.gen import make_dict_structure_fn, override

from ..model.frozen import FrozenDict
from .schema import NULLABLE, Finding, Grammar, Json, Wrong, json_name, mistyped
from .schema_envelope import Engines, check_engines
from .schema_extras import Extra, unknown_fields
from .schema_leaves import NUMBERS, PRIMITIVES, Check, exact, literal, point, word
from .schema_words import WORDS, Point

if TYPE_CHECKING:
    from .positions import Path

__all__ = ["Shapes"]

MOST = 100  # faults of one array or object; nobody reads more


class _Noted(local):
    """Objects with unknown fields, of the decoding under way in this thread."""

    def __init__(self) -> None:
        self.extras: list[Extra] = []


class _Several(ValueError):
    """The faults of an array's or object's members."""

    def __init__(self, members: list[tuple[str | int, Exception]]) -> None:
        super().__init__()
        self.members = members


class Shapes:
    """The manifest's shape for one grammar, ready to hold values against."""

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self._noted = _Noted()
        self._objects: dict[type, Check] = {}
        self._converter = self._strict()

    def judge(self, raw: object, shape: type) -> tuple[list[Finding], list[Finding]]:
        """(faults, unknown fields) of *raw* as a *shape*."""
        extras: list[Extra] = []
        self._noted.extras = extras
        try:
            self._object_hook(shape)(raw, shape)
            faults = []
        except (ClassValidationError, _Several, Wrong) as error:
            faults = list(_flat(error, ()))
        return faults, list(islice(unknown_fields(raw, extras), MOST)) if extras else []

    def _strict(self) -> Converter:
        converter = Converter(detailed_validation=True, forbid_extra_keys=False)
        for kind, expected in PRIMITIVES.items():
            converter.register_structure_hook(kind, exact(kind, expected))
        grammar = self._grammar
        special: dict[Any, Check] = {
            **NUMBERS,
            Engines: lambda value, _: check_engines(value, grammar),
            Point: point(grammar.points),
        }
        factory = converter.register_structure_hook_factory
        factory(_is_shape, self._object_hook)
        factory(lambda kind: _origin(kind) is Literal, lambda kind: literal(get_args(kind)))
        factory(lambda kind: _origin(kind) is tuple, self._array_hook)
        factory(lambda kind: _origin(kind) is Mapping, self._map_hook)
        factory(_is_optional, lambda kind: self._hook(_without_none(kind)))
        factory(_is_nullable, self._nullable_hook)
        factory(WORDS.__contains__, lambda kind: word(WORDS[kind]))
        factory(special.__contains__, lambda kind: special[kind])
        return converter

    def _hook(self, kind: Any) -> Check:
        return self._converter.get_structure_hook(kind)

    def _object_hook(self, shape: type) -> Check:
        hook = self._objects.get(shape)
        if hook is None:
            hook = self._objects[shape] = self._made(shape)
        return hook

    def _made(self, shape: type) -> Check:
        if "pick" not in vars(shape):
            return self._structuring(shape)
        pick: Callable[[Json], type] = shape.pick  # type: ignore[attr-defined]
        own = self._structuring(shape) if has(shape) else None

        def choose(raw: Any, _: Any) -> Any:
            if type(raw) is not FrozenDict:
                raise mistyped("an object", raw)
            chosen = pick(raw)
            hook = own if own is not None and chosen is shape else self._object_hook(chosen)
            return hook(raw, chosen)

        return choose

    def _structuring(self, shape: type) -> Check:
        names = {field.name: json_name(field.name) for field in fields(shape)}
        known = (*names.values(), *getattr(shape, "MISPLACED", ()), *getattr(shape, "IGNORED", ()))
        accepts = frozenset(known).issuperset
        is_open = getattr(shape, "OPEN", False) or getattr(shape, "CLOSED", False)
        noted = self._noted
        generated: Callable[[Any, Any], Any] | None = None

        def structure(raw: Any, _: Any) -> Any:
            nonlocal generated
            if type(raw) is not FrozenDict:
                raise mistyped("an object", raw)
            if not accepts(raw) and not is_open:
                noted.extras.append(Extra(raw, known))
            if generated is None:
                renamed = {name: override(rename=field) for name, field in names.items()}
                generated = make_dict_structure_fn(shape, self._converter, **renamed)  # type: ignore[arg-type]
            return generated(raw, shape)

        return self._ruled(shape, known, structure)

    def _ruled(self, shape: type, known: tuple[str, ...], structure: Check) -> Check:
        """*structure* together with what the class says about its fields as a whole."""
        rule = getattr(shape, "rule", None)
        if hasattr(shape, "rule_in"):
            rule = partial(shape.rule_in, self._grammar)
        if getattr(shape, "CLOSED", False):
            rule = _closed_rule(known)
        if rule is None:
            return structure

        def ruled(raw: Any, _: Any) -> Any:
            found = list(islice(rule(raw), MOST)) if type(raw) is FrozenDict else []
            try:
                value = structure(raw, shape)
            except ClassValidationError as error:
                raise ClassValidationError("", [*error.exceptions, *found], shape) from None
            if found:
                raise ClassValidationError("", found, shape)
            return value

        return ruled

    def _array_hook(self, kind: Any) -> Check:
        member = get_args(kind)[0]
        hook = self._hook(member)

        def array(value: Any, _: Any) -> Any:
            if type(value) is not tuple:
                raise mistyped("an array", value)
            try:
                return tuple([hook(item, member) for item in value])
            except Exception:  # whatever it is, the second walk gives it its place
                raise _Several(_faulty(enumerate(value), lambda _, item: hook(item, member))) from None

        return array

    def _map_hook(self, kind: Any) -> Check:
        key_kind, member = get_args(kind)
        key_hook, hook = self._hook(key_kind), self._hook(member)

        def faults(items: ItemsView[Any, Any]) -> list[tuple[str | int, Exception]]:
            keys = _faulty(items, lambda key, _: key_hook(key, key_kind))
            return keys + _faulty(items, lambda _, item: hook(item, member))

        def mapping(value: Any, _: Any) -> Any:
            if type(value) is not FrozenDict:
                raise mistyped("an object", value)
            try:
                return FrozenDict([(key_hook(key, key_kind), hook(item, member)) for key, item in value.items()])
            except Exception:  # whatever it is, the second walk gives it its place
                raise _Several(faults(value.items())) from None

        return mapping

    def _nullable_hook(self, kind: Any) -> Check:
        member = _without_none(get_args(kind)[0])
        hook = self._hook(member)
        return lambda value, _: None if value is None else hook(value, member)


def _is_shape(kind: Any) -> bool:
    return isinstance(kind, type) and (has(kind) or "pick" in vars(kind))


def _origin(kind: Any) -> Any:
    return get_origin(kind)


def _is_optional(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType) and type(None) in get_args(kind)


def _is_nullable(kind: Any) -> bool:
    return get_origin(kind) is Annotated and NULLABLE in kind.__metadata__


def _without_none(kind: Any) -> Any:
    return next(arg for arg in get_args(kind) if arg is not type(None))


def _closed_rule(known: tuple[str, ...]) -> Callable[[Json], Iterator[Wrong]]:
    def closed(raw: Json) -> Iterator[Wrong]:
        for name in raw:
            if name not in known:
                yield Wrong(f"is not known here; known are {', '.join(known)}", name)

    return closed


def _faulty(members: Iterable[tuple[Any, Any]], check: Callable[[Any, Any], Any]) -> list[tuple[str | int, Exception]]:
    found: list[tuple[str | int, Exception]] = []
    for step, item in members:
        try:
            check(step, item)
        except Exception as error:
            found.append((step, error))
            if len(found) == MOST:
                break
    return found


def _flat(error: BaseException, path: Path) -> Iterator[Finding]:
    """Every fault inside *error* with its path."""
    if isinstance(error, ClassValidationError):
        for inner in error.exceptions:
            name = _attribute(inner)
            yield from _flat(inner, path if name is None else (*path, json_name(name)))
    elif isinstance(error, _Several):
        for step, member in error.members:
            yield from _flat(member, (*path, step))
    elif isinstance(error, Wrong):
        yield Finding((*path, *error.where), error.message)
    elif isinstance(error, KeyError):
        yield Finding(path, "is required")
    else:
        raise error  # no fault of the manifest: out of memory or stack, or a mistake of ours


def _attribute(error: BaseException) -> str | None:
    notes = getattr(error, "__notes__", ())
    return next((note.name for note in notes if isinstance(note, AttributeValidationNote)), None)
