"""What is asked of a change, and what became of it (spec 30)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from ..errors import LifecycleError
from ..model.scope import Scope
from ..text import clean, quoted
from .prepared import Prepared

__all__ = ["Done", "Request", "consent_of", "done_of", "texts_of"]

_SECONDS = 120.0


def _silent(line: str) -> None:
    """Nobody listens."""


@frozen
class Request:
    """How a source is to be treated. `shared_files` are files of coding tools that the user names.

    A `deadline` (`time.monotonic`) that several changes share wins over the `seconds` that each may take.
    """

    integrity: str | None = None
    shared_files: tuple[str, ...] = ()
    allow_insecure_loopback: bool = False
    allow_downgrade: bool = False
    seconds: float = _SECONDS
    deadline: float | None = None
    progress: Callable[[str], None] = field(default=_silent, eq=False)


@frozen
class Done:
    """What became of one overlay: `status` is installed, updated, unchanged, rolled-back or removed."""

    id: str
    scope: Scope
    status: str
    version: str | None = None
    from_version: str | None = None
    content_hash: str | None = None
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "scope": self.scope.label,
            "status": self.status,
            "version": self.version,
            "fromVersion": self.from_version,
            "contentHash": self.content_hash,
            "notes": list(self.notes),
            **self.details,
        }


def consent_of(prepared: Prepared, content_hash: str | None, *, agreed: bool) -> str | None:
    """How the user agreed, None where nothing says so. Raises `LifecycleError` for other bytes than those named."""
    if content_hash is not None and content_hash != prepared.content_hash:
        raise LifecycleError(
            "other-bytes",
            f"the bytes of {quoted(prepared.id)} are {prepared.content_hash}, not {clean(content_hash, 120)};"
            " nothing was changed",
        )
    if content_hash is not None:
        return "hash"
    return "api" if agreed and prepared.scope is Scope.GLOBAL else None


def done_of(prepared: Prepared, status: str, notes: Sequence[str] = ()) -> Done:
    return Done(
        prepared.id,
        prepared.scope,
        status,
        prepared.version,
        prepared.current,
        prepared.content_hash,
        tuple(notes),
        {"where": prepared.ground.bundle(prepared.id)},
    )


def texts_of(found: object) -> dict[str, str]:
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}
