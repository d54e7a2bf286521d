"""A candidate: one sighting of a bundle with all evidence about it, gathered before anything is judged."""

from __future__ import annotations

from typing import Any

from attrs import evolve, field, frozen

from .capability import Capability
from .codes import SkipCode
from .fault import Diagnostic, Fault
from .frozen import EMPTY, FrozenDict
from .scope import Scope

__all__ = ["Candidate", "Consent"]


@frozen
class Consent:
    """What is on record for (served project, id) and what the bytes on disk are (spec 20, States).

    `state` is one of `global`, `granted`, `unconsented`, `changed`, `unverifiable`, `denied`.
    `run_only` marks consent that came with `--trust` and counts for this run alone.
    """

    state: str
    message: str = ""
    known_hashes: tuple[str, ...] = ()
    run_only: bool = False

    #: What a consent state means for a project-scoped candidate. A granted one passes.
    CODES = FrozenDict(
        {
            "unconsented": SkipCode.UNCONSENTED,
            "changed": SkipCode.CONSENT_CHANGED,
            "unverifiable": SkipCode.CONSENT_UNVERIFIABLE,
            "denied": SkipCode.DENIED,
        }
    )


@frozen
class Candidate:
    """One real sub-folder of a scope root, or a record that stands for one that cannot be looked at.

    `id` is the folder's name and may break the id grammar (`invalid-id`). `root` and `where` are
    canonical paths. `content_hash` is known for project bundles with a grant only; `gates` holds known
    points, salvaged where the manifest did not decode. `faults` are those found while reading.
    """

    id: str
    scope: Scope
    root: str
    where: str
    consent: Consent
    capability: Capability | None = None
    content_hash: str | None = None
    gates: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    pending: bool = False
    committed: bool = False
    source: str | None = None  # the ledger's word; in project scope the repository's word
    place: tuple[int, int] | None = None
    command_root: str | None = None
    diagnostics: tuple[Diagnostic, ...] = field(default=(), eq=False)
    evidence: FrozenDict[str, Any] = EMPTY

    @property
    def key(self) -> tuple[str, str]:
        """Identity of the sighting: two sightings of one folder stay two candidates."""
        return (self.root, self.id)

    @property
    def claims_nothing(self) -> bool:
        """Whether this is a record about a root or a vanished bundle rather than a bundle."""
        return self.id == "*" or any(f.code in _RECORDS for f in self.faults)

    def tightened(self, scope: Scope) -> Candidate:
        """The same sighting in a scope at least as restrictive."""
        return self if scope <= self.scope else evolve(self, scope=scope)


#: Faults that are judged before consent, because nothing of a manifest is behind them.
_RECORDS = frozenset(
    [
        SkipCode.BUNDLE_MISSING,
        SkipCode.BUNDLE_SYMLINK,
        SkipCode.TOO_MANY_CANDIDATES,
        SkipCode.INVALID_ID,
    ]
)
