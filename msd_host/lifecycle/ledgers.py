"""Writing a scope's ledger: strictly read, one entry changed, nobody else's words lost (spec 30, Laws 4 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any

from ..activation import store
from ..errors import DamagedState, UsageError
from ..limits import Limits
from ..model.frozen import freeze, thaw
from ..reading.ledger import LedgerView, read_ledger
from ..remedies import is_valid_id
from ..text import clean
from ..trust.private import closing, sweep
from .ground import Ground

__all__ = ["PENDING", "entry_of", "ids_of", "is_pending", "read_strict", "sweep_temps", "write_entry"]

PENDING = "_pending"
_VERSION = "1"


def read_strict(ground: Ground, limits: Limits) -> LedgerView:
    """The ledger, or an empty one where there is none. Raises `DamagedState` for one that cannot be used."""
    view = read_ledger(ground.files, ground.owner, ground.product.ledger_name, limits)
    if view.problem is not None:
        raise DamagedState(
            f"{clean(view.path, 400)}: {clean(view.problem)}; nothing was changed. Mend it or move it away"
        )
    return view


def ids_of(ground: Ground, limits: Limits) -> tuple[str, ...]:
    """Every id the ledger has, by name."""
    return tuple(sorted(id for id in read_strict(ground, limits).entries if is_valid_id(id)))


def entry_of(view: LedgerView, id: str) -> dict[str, Any] | None:
    """The entry of *id* as a plain object, None where there is none."""
    found = view.entries.get(id)
    return None if found is None else thaw(found)


def is_pending(entry: Mapping[str, Any] | None) -> bool:
    """Whether a change of the entry's overlay was begun and not ended."""
    return entry is not None and PENDING in entry


def write_entry(ground: Ground, id: str, entry: Mapping[str, Any] | None, limits: Limits) -> None:
    """Put *entry* in the place of that of *id*, or with None take it out. This is the commit of a change.

    Raises `DamagedState` where the ledger cannot be changed safely; then it is as it was.
    """
    if not is_valid_id(id):
        raise UsageError("the ledger has entries for capability ids alone")
    store.apply(
        ground.files,
        limits,
        [store.Edit(ground.ledger, _putting(id, entry), inside=ground.owner, limit=limits.ledger_bytes)],
    )


def _putting(id: str, entry: Mapping[str, Any] | None) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        if document.setdefault("version", _VERSION) != _VERSION:
            raise DamagedState("the ledger is of another kind than this host writes; nothing was changed")
        document.setdefault("updatedAt", "")
        entries = document.setdefault("entries", {})
        if not isinstance(entries, dict):
            raise DamagedState("the ledger is of another kind than this host writes; nothing was changed")
        before = entries.get(id)
        if entry is None:
            entries.pop(id, None)
        else:
            entries[id] = thaw(freeze(entry))
        if before != entries.get(id):
            document["updatedAt"] = datetime.now(timezone.utc).isoformat(timespec="seconds")

    return change


def sweep_temps(ground: Ground) -> None:
    """Delete what killed writers of the ledger left; the caller holds the lock, so none is at work."""
    with closing(ground.files, ground.files.open_folder(ground.owner, follow=True)) as fd:
        sweep(ground.files, fd, (f".{ground.product.ledger_name}.tmp-",), float("inf"))
