"""What a scope's ledger says about its bundles, read as hearsay (reference, section 5.3).

In project scope the ledger is the repository's word: it can hold an overlay back, never let one in.
"""

from __future__ import annotations

import os
from typing import Any

from attrs import frozen

from ..limits import Limits
from ..model.frozen import EMPTY, FrozenDict
from ..text import clean
from .files import Files, ReadFault, read_path
from .jsontext import JsonFault, decode

__all__ = ["LedgerView", "read_ledger"]


@frozen
class LedgerView:
    """`problem` is set when the file is there and cannot be used; then it vouches for nothing."""

    path: str
    entries: FrozenDict[str, FrozenDict[str, Any]] = EMPTY
    problem: str | None = None

    def pending(self, id: str) -> bool:
        """Whether an install or update of *id* is in flight: any mark but null, false, 0 and the empty string."""
        return self.entries.get(id, EMPTY).get("_pending") not in (None, False, 0, "")

    def committed(self, id: str) -> bool:
        """Whether *id* has a whole, committed entry; only then may its command modules be loaded."""
        entry = self.entries.get(id)
        return entry is not None and "_pending" not in entry and _is_whole(id, entry)

    def source(self, id: str) -> str | None:
        source = self.entries.get(id, EMPTY).get("source")
        return source if isinstance(source, str) else None

    def gates(self, id: str) -> tuple[str, ...]:
        """The gate points the entry keeps for a bundle that cannot be read any more."""
        gates = self.entries.get(id, EMPTY).get("gates", ())
        return tuple(g for g in gates if isinstance(g, str)) if isinstance(gates, tuple) else ()

    def all_gates(self) -> dict[str, tuple[str, ...]]:
        """`gates` of every entry."""
        return {id: self.gates(id) for id in self.entries}


def _is_whole(id: str, entry: FrozenDict[str, Any]) -> bool:
    return (
        entry.get("id") == id
        and all(isinstance(entry.get(name), str) for name in ("version", "source", "integrity"))
        and all(isinstance(entry.get(name), tuple) for name in ("files", "sharedEdits"))
        and all(isinstance(file, str) and file for file in entry["files"])
        and all(_is_shared_edit(edit) for edit in entry["sharedEdits"])
    )


def _is_shared_edit(edit: object) -> bool:
    return isinstance(edit, FrozenDict) and all(
        isinstance(edit.get(name), str) and edit[name] for name in ("file", "marker")
    )


def read_ledger(files: Files, scope_root: str, name: str, limits: Limits) -> LedgerView:
    """The ledger beside *scope_root*'s dot folder. Total: damage makes it vouch for nothing and say so."""
    path = os.path.join(scope_root, name)
    try:
        document = decode(read_path(files, path, limits.ledger_bytes, name), limits)
    except ReadFault as fault:
        return LedgerView(path, problem=None if fault.kind == "missing" else fault.message)
    except JsonFault as fault:
        return LedgerView(path, problem=f"{name} is not valid JSON: {fault}")
    entries = document.get("entries") if isinstance(document, FrozenDict) else None
    if isinstance(document, FrozenDict) and isinstance(entries, FrozenDict) and document.get("version", "1") != "1":
        return LedgerView(
            path, problem=f"{name} is of version {clean(document['version'], 20)}, which is not known here"
        )
    if not isinstance(entries, FrozenDict):
        return LedgerView(path, problem=f"{name} has no object of entries")
    return LedgerView(path, FrozenDict({k: v for k, v in entries.items() if isinstance(v, FrozenDict)}))
