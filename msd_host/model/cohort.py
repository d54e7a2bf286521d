"""The candidates still standing and every skip so far, in the states that one load runs through (spec 10, The line)."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from .candidate import Candidate
from .codes import SkipCode
from .fault import Diagnostic, Fault
from .frozen import EMPTY, FrozenDict
from .registry import Registry
from .scope import Scope

__all__ = [
    "Accepted",
    "BuildFailure",
    "Coherent",
    "Cohort",
    "Consented",
    "Deduped",
    "Discovered",
    "Distinct",
    "Reviewed",
    "Skip",
]


@frozen
class Skip:
    """One overlay that is not part of the registry, and why (spec 10, Skips).

    `where` is the bundle's path, `by` the host or the extension that said no, `gates` the known points
    at which it declares gates, `culprits` the ids of others that have to do with it, `remedy` the command
    that resolves it when pasted (None when none can be given), `see` commands that tell more.
    `muted` skips are recorded, not rendered.
    """

    id: str
    scope: Scope
    where: str
    stage: str
    code: SkipCode
    reason: str
    by: str = "host"
    gates: tuple[str, ...] = ()
    culprits: tuple[str, ...] = ()
    remedy: str | None = None
    see: tuple[str, ...] = ()
    muted: bool = False
    details: FrozenDict[str, Any] = EMPTY
    faults: tuple[Fault, ...] = field(default=(), repr=False)  # everything found, the first one first
    sighting: tuple[str, str] = field(default=("", ""), repr=False)  # the candidate's `key`

    def to_dict(self) -> dict[str, Any]:
        """JSON shape, with the source document's names."""
        return {
            "id": self.id,
            "scope": self.scope.label,
            "where": self.where,
            "stage": self.stage,
            "code": self.code.value,
            "reason": self.reason,
            "by": self.by,
            "gates": list(self.gates),
            "culprits": list(self.culprits),
            "remedy": self.remedy,
            "see": list(self.see),
            **({"muted": True} if self.muted else {}),
        }


@frozen
class Cohort:
    """`sightings` are second looks at a folder already listed: trace only, never a skip."""

    candidates: tuple[Candidate, ...] = ()
    skips: tuple[Skip, ...] = ()
    sightings: tuple[Candidate, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


# One state per stage: handing a stage the wrong one is a type error, and they never compare equal.
class Discovered(Cohort):
    """After discover: everything found, nothing judged."""


class Deduped(Cohort):
    """After scope dedupe: one folder, one candidate, one scope."""


class Consented(Cohort):
    """After consent: what the user of this machine agreed to."""


class Distinct(Cohort):
    """After collision: no two own the same name."""


class Coherent(Cohort):
    """After cross-validation: everything each one leans on is there."""


class Reviewed(Cohort):
    """After the downstream stages."""


@frozen
class Accepted:
    """A set that built."""

    registry: Registry
    cohort: Cohort


@frozen
class BuildFailure:
    """A set that did not build: where, why, and what stood at that moment."""

    stage: str
    error: str
    cohort: Cohort
    culprits: tuple[str, ...] = ()
