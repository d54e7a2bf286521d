"""One finding against one document or bundle, structured; text is derived from it (spec 10, Reading)."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from .codes import SkipCode
from .frozen import EMPTY, FrozenDict

__all__ = ["Diagnostic", "Fault"]


@frozen
class Fault:
    """`path` is a JSON path such as `$.steps[0].point`; `line` and `column` count from 1 where there is a place.

    `details` holds the evidence as JSON values (the rule, the other owner, the range, hashes);
    `culprits` the ids of other capabilities that have to do with it. `rivals` are the sightings (`Candidate.key`)
    of the overlays that hold what this one wanted: if they fall, the finding has to be made anew. `remedy` is the
    command that resolves it where it is not the usual one of its code.
    """

    code: SkipCode
    message: str
    path: str = ""
    line: int | None = None
    column: int | None = None
    details: FrozenDict[str, Any] = EMPTY
    culprits: tuple[str, ...] = ()
    rivals: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    remedy: str | None = None

    def __str__(self) -> str:
        place = self.path if self.path not in ("", "$") else ""
        if self.line is not None:
            place += f" (line {self.line}, column {self.column})"
        return f"{place.strip()}: {self.message}" if place.strip() else self.message


@frozen
class Diagnostic:
    """A note about an accepted capability that changes nothing (unknown field, unwired point, …)."""

    id: str
    code: str
    message: str
    path: str = ""
