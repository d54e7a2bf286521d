"""Ledgers: damage, entries that vouch for nothing, changes that never came to an end (spec 30)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..model.scope import Scope
from ..reading.files import ReadFault, read_path
from ..reading.jsontext import JsonFault, decode
from ..remedies import is_valid_id
from ..text import quoted, shell_word
from .changes import interrupted
from .values import ERROR, WARNING, Finding, Ground, Place, finding

__all__ = ["check"]


def check(ground: Ground) -> Iterator[Finding]:
    """The ledger of each scope, and every entry of it."""
    for place in ground.places:
        if place.ledger.problem is not None:
            yield _damaged(place)
            continue
        yield from _lost_entries(ground, place)
        for id in place.ledger.entries:
            yield from _entry(ground, place, id)


def _damaged(place: Place) -> Finding:
    path = place.ledger.path
    message = f"{path}: {place.ledger.problem}; it vouches for nothing, and nothing can be installed beside it"
    word = shell_word(path)
    return finding("ledger-damaged", ERROR, path, message, command=f"mv -i {word} {shell_word(path + '.damaged')}")


def _lost_entries(ground: Ground, place: Place) -> Iterator[Finding]:
    """Entries that are no objects: `LedgerView` leaves them out, so they are looked for in the text."""
    limits = ground.product.limits
    try:
        document = decode(read_path(ground.files, place.ledger.path, limits.ledger_bytes), limits)
    except (ReadFault, JsonFault):
        return
    entries = document.get("entries") if isinstance(document, dict) else None
    for id in entries if isinstance(entries, dict) else ():
        if id not in place.ledger.entries:
            message = f"{place.ledger.path}: the entry {quoted(id)} is not an object and vouches for nothing"
            command = ground.edit(place.ledger.path)
            yield finding("ledger-entry-damaged", ERROR, f"{place.scope.label} {quoted(id)}", message, command=command)


def _entry(ground: Ground, place: Place, id: str) -> Iterator[Finding]:
    subject = f"{place.scope.label} {id}"
    if not is_valid_id(id):
        message = f"{place.ledger.path}: {quoted(id)} is no id; the entry vouches for nothing"
        yield finding("ledger-entry-damaged", ERROR, subject, message, command=ground.edit(place.ledger.path))
        return
    remove = ground.run(f"capability remove {id} --scope {place.scope.label}")
    there = os.path.lexists(os.path.join(place.root, id))
    if place.ledger.pending(id):
        message = f"a change of {quoted(id)} ({place.scope.label}) never came to an end; it is inert until it does"
        yield interrupted(ground, place.scope, id, message)
    elif not there:
        message = f"{quoted(id)} ({place.scope.label}) is in the ledger, and its folder is gone"
        yield finding("bundle-missing", WARNING, subject, message, command=remove)
    elif not place.ledger.committed(id):
        severity = ERROR if place.scope is Scope.GLOBAL else WARNING
        message = f"{place.ledger.path}: the entry of {quoted(id)} is not whole; its commands do not run"
        yield finding("ledger-entry-damaged", severity, subject, message, command=remove)
