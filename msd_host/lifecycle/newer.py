"""What has a newer version at its source: asked in parallel, with one deadline, each failure its own row (spec 30)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..engines import release_of
from ..errors import LifecycleError, MSDError
from ..model.scope import Scope
from ..reading.files import ReadFault, read_path
from ..reading.jsontext import JsonFault, decode
from ..text import clean
from .ground import Ground
from .ledgers import entry_of, ids_of, read_strict
from .sources.source import Source, parse_source
from .sources.terms import Terms

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Row", "agreed_ids", "outdated_rows"]

_AT_ONCE = 8


@frozen
class Row:
    """One installation. `status` is current, outdated, pinned, manual (nothing to ask), unconsented or unknown, with
    the reason.
    """

    id: str
    scope: str
    kind: str
    current: str
    latest: str | None
    status: str
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "scope": self.scope,
            "sourceKind": self.kind,
            "current": self.current,
            "latest": self.latest,
            "status": self.status,
            "reason": self.reason or None,
        }


def agreed_ids(host: Host, cwd: str | os.PathLike[str]) -> frozenset[str]:
    """The project overlays whose bytes are agreed to as they lie there now.

    Of any other the ledger is the repository's word, and no source is asked for it unless the user names it (W-8).
    """
    return frozenset(s.id for s in host.trust.status(cwd) if s.scope is Scope.PROJECT and s.state == "granted")


def outdated_rows(host: Host, grounds: list[Ground], terms: Terms, base: Path) -> tuple[Row, ...]:
    """A row for each installation of *grounds*, by scope and id. Nothing is changed and no lock is held."""
    limits = host.product.limits
    wanted = [
        (ground, id, entry_of(read_strict(ground, limits), id) or {})
        for ground in grounds
        for id in ids_of(ground, limits)
    ]
    agreed = agreed_ids(host, base) if any(ground.scope is Scope.PROJECT for ground in grounds) else frozenset()

    def row(one: tuple[Ground, str, dict[str, Any]]) -> Row:
        ground, id, entry = one
        if ground.scope is Scope.PROJECT and id not in agreed:
            return _unasked(host, id, entry, base)
        return _row(host, ground.scope.label, id, entry, terms, base)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return tuple(pool.map(row, wanted))


def _unasked(host: Host, id: str, entry: dict[str, Any], base: Path) -> Row:
    version = entry.get("version")
    why = f"nobody agreed to it, so its source is not asked: {host.command(base)} capability trust show {id}"
    current = version if isinstance(version, str) else "?"
    return Row(id, Scope.PROJECT.label, "unknown", clean(current, 80), None, "unconsented", why)


def _row(host: Host, scope: str, id: str, entry: dict[str, Any], terms: Terms, base: Path) -> Row:
    current = entry.get("version")
    current = clean(current, 80) if isinstance(current, str) else "?"
    try:
        source = parse_source(str(entry.get("source", "")), base=base)
    except MSDError as error:
        return Row(id, scope, "unknown", current, None, "unknown", clean(error.message))
    try:
        latest, status = _latest(host, source, terms)
    except (MSDError, OSError) as error:
        return Row(id, scope, source.kind, current, None, "unknown", clean(error))
    if status:
        return Row(id, scope, source.kind, current, latest, status)
    if latest is None:
        return Row(id, scope, source.kind, current, None, "unknown", "the source names no version")
    newer = (release_of(latest) or (0, 0, 0)) > (release_of(current) or (0, 0, 0))
    return Row(id, scope, source.kind, current, latest, "outdated" if newer else "current")


def _latest(host: Host, source: Source, terms: Terms) -> tuple[str | None, str]:
    """(the newest version, or a status that says why there is none to look for)."""
    from .sources.fetch import available

    if source.kind == "folder":
        return _version_in(host, source), ""
    if source.is_exact:
        return None, "pinned"
    if source.kind == "archive":
        return None, "manual"
    found = available(source, terms)
    return (found[0].version if found else None), ""


def _version_in(host: Host, source: Source) -> str | None:
    limits = host.product.limits
    try:
        path = Path(source.location, "capability.json")
        document = decode(read_path(host.files, str(path), limits.manifest_bytes, "capability.json"), limits)
    except (ReadFault, JsonFault) as fault:
        raise LifecycleError("unreadable", clean(fault)) from None
    version = document.get("version") if isinstance(document, Mapping) else None
    return version if isinstance(version, str) else None
