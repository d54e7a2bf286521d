"""What passes between the host and a downstream package: frozen values, never a handle, a manager or bytes (spec 50)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen, validators

from ..model.frozen import EMPTY, FrozenDict
from ..text import clean

__all__ = ["EVENT_KINDS", "Event", "PredicateKind", "PredicateVerdict", "ReviewCandidate", "ReviewContext", "Veto"]


@frozen
class Veto:
    """A reviewer's no. `reason` is what the operator reads."""

    reason: str = field(validator=validators.instance_of(str))


@frozen(unsafe_hash=False)
class ReviewCandidate:
    """One candidate of a set that stands. `manifest` is the whole manifest, frozen, fragments inlined.

    `scope` is `global` or `project`; `content_hash` is known for project overlays; `source` is the ledger's
    word, which in project scope is the repository's: `source_trusted` is then false.
    """

    id: str
    version: str
    scope: str
    path: str
    manifest: FrozenDict[str, Any]
    content_hash: str | None = None
    source: str | None = None
    source_trusted: bool = False


@frozen
class ReviewContext:
    """What a load was made for: the host's version, the product's name, the served project's path or None."""

    host_version: str
    product: str
    served_project: str | None = None


#: Every event kind and the fields of its `data`. Fields are JSON values; times are seconds.
EVENT_KINDS: FrozenDict[str, tuple[str, ...]] = FrozenDict(
    {
        "load-started": ("home", "project", "host_version"),
        "load-finished": ("accepted", "skipped", "fell_back", "seconds"),
        "stage-started": ("stage",),
        "stage-finished": ("stage", "kept", "dropped", "seconds"),
        "candidate-accepted": ("id", "version", "scope", "where", "content_hash"),
        "candidate-skipped": ("id", "scope", "where", "stage", "code", "reason", "by", "gates"),
        "gate-silenced": ("id", "scope", "point", "code", "reason"),
        "fallback": ("reason", "culprits"),
        "consent-granted": ("id", "project", "content_hash", "how"),
        "consent-denied": ("id", "project", "scope"),
        "consent-revoked": ("id", "project", "count"),
        "consent-used": ("id", "project", "content_hash", "run_only"),
        "install-committed": ("id", "version", "scope", "source"),
        "update-committed": ("id", "version", "scope", "source"),
        "remove-committed": ("id", "scope"),
        "hooks-rendered": ("point", "hooks", "warnings"),
        "gate-checked": ("point", "id", "check", "outcome"),
        "command-dispatched": ("family", "id", "exit"),
        "setting-changed": ("key", "layer"),
    }
)


@frozen(unsafe_hash=False)
class Event:
    """Something that happened. `kind` is one of `EVENT_KINDS`, `data` has exactly that kind's fields, `at` is UTC."""

    kind: str
    data: FrozenDict[str, Any] = EMPTY
    at: float = field(default=0.0, eq=False)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "at": self.at, **self.data}


@frozen
class PredicateVerdict:
    """The answer of a predicate: whether the gate's condition holds, and what to tell."""

    passed: bool
    message: str = ""


@frozen(eq=False)
class PredicateKind:
    """A predicate kind of a package's own. `evaluate(payload, project)` gives a `PredicateVerdict`.

    *payload* is the gate's `check.predicate` as a frozen mapping, *project* the served project's path or None.
    """

    name: str
    evaluate: Callable[[Mapping[str, Any], str | None], PredicateVerdict]


def told(error: BaseException) -> str:
    """An exception of somebody else's code in one clean line."""
    return clean(f"{type(error).__name__}: {error}", 200)
