"""The vocabulary in which a manifest's shape is written down (spec 10, Manifest).

The shape itself is the attrs classes of `schema_feature`, `schema_runtime` and `schema_reviewer`; words are
the constrained strings of `schema_words`. In those classes

- `X` must be there; `X | None = None` may be left out, but not null; `OrNull[X]` takes null for an answer;
- an attribute `on_error` is the JSON field `onError` (`json_name`);
- `rule(raw)` yields what one field alone cannot say, from the JSON object as it came, faulty or not;
  `rule_in(grammar, raw)` is the same where it takes the grammar;
- `pick(raw)` says which class an object is of;
- `MISPLACED` are fields that belong elsewhere, `IGNORED` ones that say nothing to the host; `CLOSED` refuses fields
  nobody knows, `OPEN` takes any.

`json_schema` writes the same classes down as JSON Schema.

Nothing here reads a file, and nothing here knows other capabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from attrs import frozen

from ..model.frozen import FrozenDict
from ..text import quoted

if TYPE_CHECKING:
    from .positions import Path

__all__ = [
    "NULLABLE",
    "Finding",
    "Grammar",
    "Json",
    "OrNull",
    "Wrong",
    "json_name",
    "misplaced",
    "mistyped",
    "named",
    "one_of",
]

T = TypeVar("T")

Json = FrozenDict[str, Any]

NULLABLE = "null is an answer"
OrNull = Annotated[T | None, NULLABLE]

_ACRONYMS = {"io": "IO"}
_NAMES = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    tuple: "an array",
    FrozenDict: "an object",
}


@frozen
class Grammar:
    """What a manifest's words depend on beside the manifest: the loop's points, the prefix that dispatch puts
    before a bare skill stem, and the name under which `engines` gives the host's range.
    """

    points: frozenset[str]
    dispatch_prefix: str
    product: str


@frozen
class Finding:
    """What was found at `path`: a fault of shape, or with a `code` what is worth a note and no more."""

    path: Path
    message: str
    code: str = ""


class Wrong(ValueError):
    """One fault of shape. `where` leads from the value that was looked at to the one that is wrong."""

    def __init__(self, message: str, *where: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.where = where


def json_name(attribute: str) -> str:
    """The field that an attribute stands for: `on_error` is `onError`, `global_` is `global`."""
    first, *rest = attribute.rstrip("_").split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in rest)


def named(value: object) -> str:
    """The JSON type of *value* with its article."""
    return _NAMES.get(type(value), "something else")


def mistyped(expected: str, value: object, *where: str | int) -> Wrong:
    return Wrong(f"must be {expected}, not {named(value)}", *where)


def one_of(options: tuple[object, ...], value: object) -> Wrong:
    """The fault of a *value* that is none of *options*."""
    shown = [_shown(option) for option in options]
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
    got = _shown(value) if type(value) in (str, bool, int, float) else named(value)
    return Wrong(f"must be {listed}, not {got}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else repr(value)


def misplaced(raw: Json, names: tuple[str, ...], role: str) -> Iterator[Wrong]:
    """The fault of each field of *names* that is there."""
    for name in names:
        if name in raw:
            yield Wrong(f"does not belong on a {role} capability", name)
