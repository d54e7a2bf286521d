"""Bringing to an end what a killed process began, and sweeping what it left (spec 30, Reconcile).

Every change of a scope does this first, under its lock, and so does `doctor --fix`. Looking only tells.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from attrs import frozen

from ..composition import bundle_store, consent_store, previous_store
from ..errors import LifecycleError, MSDError
from ..model.scope import Scope
from ..text import clean, quoted
from .change import Change, is_of
from .ground import GONE, OLD, Ground, discard
from .journal import REMOVE, Intent, Journal
from .ledgers import PENDING, entry_of, ids_of, read_strict, sweep_temps, write_entry
from .staging import sweep_staging

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Recovered", "is_ended", "pending", "reconcile"]

_STALE = 3600.0  # seconds


@frozen
class Recovered:
    """What became of one change that was found begun: `outcome` is `undone`, `ended` or `failed`, with the reason."""

    id: str
    kind: str
    outcome: str
    reason: str = ""


def pending(host: Host, ground: Ground, journal: Journal) -> tuple[Intent, ...]:
    """The changes of *ground* that were begun and not ended; nothing is changed."""
    return tuple(intent for intent in journal.all() if is_of(ground, intent))


def reconcile(host: Host, ground: Ground, journal: Journal) -> tuple[Recovered, ...]:
    """End or undo every change of *ground* that was begun, and sweep. The caller holds the lock.

    A damaged ledger is left alone, with all that depends on it. Raises `DamagedState`.
    """
    read_strict(ground, host.product.limits)
    done = [_recovered(host, ground, intent, journal) for intent in pending(host, ground, journal)]
    done += _marks(host, ground, {r.id for r in done if r.outcome == "failed"})
    failed = {r.id for r in done if r.outcome == "failed"}
    _sweep(ground, failed)
    journal.sweep()
    _sweep_stores(host, ground)
    return tuple(done)


def is_ended(done: tuple[Recovered, ...], id: str) -> None:
    """Raise `LifecycleError` (`pending`) where an earlier change of *id* could not be ended: its intent must stay (W-29)."""
    for one in done:
        if one.id == id and one.outcome == "failed":
            raise LifecycleError(
                "pending", f"an earlier {one.kind} of {quoted(id)} cannot be ended: {one.reason}", exit_code=7
            )


def _recovered(host: Host, ground: Ground, intent: Intent, journal: Journal) -> Recovered:
    change = Change(host, ground, intent, journal)
    try:
        if intent.kind == REMOVE:
            change.take_away()
            return Recovered(intent.id, intent.kind, "ended")
        if change.is_committed():
            change.conclude()
            return Recovered(intent.id, intent.kind, "ended")
        change.roll_back()
        return Recovered(intent.id, intent.kind, "undone")
    except (MSDError, OSError) as error:
        return Recovered(intent.id, intent.kind, "failed", clean(error))


def _marks(host: Host, ground: Ground, busy: set[str]) -> list[Recovered]:
    """Marks in the ledger that no intent of this home stands behind: another machine's, or a forgery.

    The mark goes and nothing else: what lies there is judged by every load, and in a project still needs consent.
    """
    limits, found = host.product.limits, []
    for id in ids_of(ground, limits):
        entry = entry_of(read_strict(ground, limits), id)
        if entry is not None and PENDING in entry and id not in busy:
            entry.pop(PENDING)
            write_entry(ground, id, entry, limits)
            found.append(Recovered(id, "mark", "ended", "no change of this user stands behind the mark"))
    return found


def _sweep_stores(host: Host, ground: Ground) -> None:
    """Of the stores only what nobody has touched for an hour: others write there without our lock."""
    roots, product = host.roots(ground.owner), host.product
    consent_store(product, ground.files, roots).tidy()
    for store in (bundle_store(product, ground.files, roots), previous_store(product, ground.files, roots)):
        store.tidy()


def _sweep(ground: Ground, failed: set[str]) -> None:
    """Temporary files, staging of the dead, and folders that were replaced or are on their way out.

    Our own changes took theirs with them. What is left in a project may be that of a user with another home, who
    needs it to go back; so there it has to be old.
    """
    sweep_temps(ground)
    with ground.opened() as root:
        if root is None:
            return
        sweep_staging(ground, root)
        for entry in ground.files.entries(root):
            prefix = next((p for p in (OLD, GONE) if entry.name.startswith(p)), None)
            mine = prefix is not None and any(entry.name.startswith(f"{prefix}{id}-") for id in failed)
            if prefix is not None and not mine and _is_stale(ground, root, entry.name):
                discard(ground.files, root, entry.name)


def _is_stale(ground: Ground, root: int, name: str) -> bool:
    if ground.scope is Scope.GLOBAL:
        return True
    try:
        return time.time() - ground.files.stat(name, follow=False, dir_fd=root).st_ctime > _STALE
    except OSError:
        return False


def is_global(intent: Intent) -> bool:
    """Whether *intent* is about the home's own root."""
    return intent.scope == Scope.GLOBAL.label
