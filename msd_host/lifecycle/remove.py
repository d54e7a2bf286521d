"""Removing an overlay: what it would mean, then consent first, folder, ledger entry, data (spec 10, Skips; spec 30).

The folder is moved aside in one step before it is deleted, so that a load never sees half of it. Nothing
outside the capability's own folder is touched, whatever a ledger says.
"""

from __future__ import annotations

import os
import stat as st
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..composition import consent_store
from ..errors import NotFound, Refused
from ..model.scope import Scope
from ..reading.ledger import LedgerView, read_ledger
from ..text import clean, nearest, quoted
from .change import Change
from .ground import Ground, new_token
from .journal import REMOVE, Intent, Journal
from .ledgers import entry_of, read_strict
from .lock import held
from .recover import is_ended, reconcile

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Removal", "plan_removal", "remove_overlay"]


@frozen(eq=False)
class Removal:
    """What removing would do. `folder` is None where only records are left of the overlay."""

    id: str
    scope: Scope
    owner: str
    folder: str | None
    in_ledger: bool
    grants: int
    ledger: LedgerView
    cwd: str | os.PathLike[str] | None

    @property
    def needs_question(self) -> bool:
        """A folder that nobody's ledger vouches for may be somebody's only copy."""
        return self.folder is not None and (not self.in_ledger or self.scope is Scope.PROJECT)

    def lines(self) -> list[str]:
        """What a person should know before saying yes."""
        where = clean(self.folder or "", 400)
        lines = [f"this deletes {where}", "it may be the only copy"]
        if self.scope is Scope.PROJECT:
            lines.append(f"it lies in the project; to silence it and keep the files: capability trust deny {self.id}")
        return lines


def plan_removal(host: Host, cwd: str | os.PathLike[str] | None, id: str, scope: Scope | None) -> Removal:
    """Find *id*; in global scope first unless *scope* says where. Raises `NotFound` or `DamagedState`."""
    roots = host.roots(cwd)
    places = [(Scope.GLOBAL, roots.home_path)]
    if roots.served_path is not None:
        places.append((Scope.PROJECT, roots.served_path))
    for where, owner in places:
        if scope is not None and where is not scope:
            continue
        found = _at(host, cwd, id, where, owner)
        if found is not None:
            return found
    known = [n for _, owner in places for n in _names(os.path.join(owner, host.product.folder, "capabilities"))]
    close = nearest(id, known)
    hint = f"; did you mean {quoted(close)}?" if close else ""
    raise NotFound(f"there is no overlay {quoted(id)} to remove{hint}", nearest=close)


def _names(root: str) -> list[str]:
    try:
        return os.listdir(root)
    except OSError:
        return []


def _at(host: Host, cwd: str | os.PathLike[str] | None, id: str, scope: Scope, owner: str) -> Removal | None:
    product = host.product
    folder: str | None = os.path.join(owner, product.folder, "capabilities", id)
    try:
        mode = os.lstat(folder or "").st_mode
    except OSError:
        folder = None
    else:
        if not (st.S_ISDIR(mode) or st.S_ISLNK(mode)):
            folder = None
    roots = host.roots(cwd)
    if folder is not None and scope is Scope.PROJECT:
        _stays_inside(os.path.dirname(folder), owner)
    ledger = read_ledger(host.files, owner, product.ledger_name, product.limits)
    served = roots.served_path  # a global root may be project ground: then its grants are kept there too
    grants = len(consent_store(product, host.files, roots).decisions(served, id).grants) if served else 0
    in_ledger = id in ledger.entries
    if folder is None and not in_ledger and not (grants and scope is Scope.PROJECT):
        return None
    return Removal(id, scope, owner, folder, in_ledger, grants, ledger, cwd)


def _stays_inside(root: str, owner: str) -> None:
    """A repository may link its capability folder anywhere; nothing beyond the project is ours to delete."""
    real = os.path.realpath(root)
    if real != owner and not real.startswith(owner.rstrip(os.sep) + os.sep):
        raise Refused(f"{clean(root, 300)} leads out of the project, to {clean(real, 300)}; nothing was changed")


def remove_overlay(host: Host, plan: Removal, *, purge: bool = False) -> dict[str, Any]:
    """Carry *plan* out; the JSON answer. With *purge* its runtime data goes too.

    Raises `DamagedState` with nothing changed where the ledger is damaged, `BusyError` where another change is at work.
    Killed at any moment, the next change, or `doctor --fix`, ends it.
    """
    ground = Ground(plan.scope, plan.owner, host.product, host.files)
    read_strict(ground, host.product.limits)
    home = host.roots(plan.cwd).home.given
    journal = Journal(home, ground.owner, host.product, host.files, host.product.limits)
    with held(home, ground, patience=5.0):
        is_ended(reconcile(host, ground, journal), plan.id)
        before = entry_of(read_strict(ground, host.product.limits), plan.id)
        intent = Intent(
            plan.id,
            plan.scope.label,
            plan.owner,
            REMOVE,
            new_token(),
            had_folder=plan.folder is not None,
            before=before,
            purge=purge,
        )
        change = Change(host, ground, intent, journal)
        change.begin()
        revoked, purged, left = change.take_away()
    ground.tidy()
    if revoked:
        host.tell("consent-revoked", id=plan.id, project=plan.owner, count=revoked)
    host.tell("remove-committed", id=plan.id, scope=plan.scope.label)
    return {
        "removed": plan.id,
        "scope": plan.scope.label,
        "folder": plan.folder,
        "grantsRevoked": revoked,
        "ledgerEntry": before is not None,
        "dataRemoved": purged,
        "leftAlone": [*left],
    }
