"""Fields that nobody here knows: accepted, kept, and said (spec 10, Reading)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..model.frozen import FrozenDict
from ..text import nearest, quoted
from .schema import Finding, Json

if TYPE_CHECKING:
    from .positions import Path

__all__ = ["Extra", "unknown_fields"]


@frozen
class Extra:
    """An object with fields outside *known*."""

    raw: Json
    known: tuple[str, ...]


def unknown_fields(raw: object, extras: Iterable[Extra]) -> Iterator[Finding]:
    """The unknown fields of *extras* with their paths; the objects are found again by identity."""
    wanted = {id(extra.raw): extra for extra in extras}
    level: list[tuple[Path, Any]] = [((), raw)]
    while level and wanted:
        deeper: list[tuple[Path, Any]] = []
        for path, value in level:
            extra = wanted.pop(id(value), None)
            if extra is not None:
                yield from _extra_fields(path, extra)
            members = value.items() if type(value) is FrozenDict else enumerate(value)
            deeper += [((*path, step), item) for step, item in members if type(item) in (FrozenDict, tuple)]
        level = deeper


def _extra_fields(path: Path, extra: Extra) -> Iterator[Finding]:
    known = extra.known
    for name in extra.raw:
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean {quoted(close)}? " if close is not None else ""
            text = f"is not a field this host knows and has no effect; {hint}known here: {', '.join(known)}"
            yield Finding((*path, name), text, "unknown-field")
