"""From what was prepared and agreed to, to what is in place: under the lock, and all of it or nothing (spec 30)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..composition import bundle_store, consent_store, previous_store
from ..errors import ConsentNeeded, ConsentStoreError, LifecycleError
from ..model.scope import Scope
from ..text import clean, quoted
from ..trust.private import closing
from ..trust.snapshot import take_snapshot
from .change import BUNDLE, Change
from .journal import INSTALL, UPDATE, Intent, Journal
from .ledgers import entry_of, read_strict
from .lock import held
from .prepared import Prepared, judge_again
from .recover import is_ended, reconcile
from .values import Done, done_of

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Committer"]


class Committer:
    """Commits for one host, seen from the absolute folder *cwd*."""

    def __init__(self, host: Host, cwd: str) -> None:
        self._host = host
        self._cwd = cwd
        self._roots = host.roots(cwd)
        self._home = self._roots.home.given

    def carry_out(self, prepared: Prepared, agreed: str | None) -> Done:
        """See `Lifecycle.commit`."""
        if prepared.same and not prepared.needs_consent:
            return done_of(prepared, "unchanged")
        if prepared.needs_consent and agreed is None:
            raise ConsentNeeded(f"nobody agreed to {quoted(prepared.id)} {prepared.version}")
        prepared.staged.settle(BUNDLE)
        product, files = self._host.product, self._host.files
        journal = Journal(self._home, prepared.ground.owner, product, files, product.limits)
        with held(self._home, prepared.ground, patience=5.0):
            is_ended(reconcile(self._host, prepared.ground, journal), prepared.id)
            self._has_not_changed(prepared)
            self._can_agree(prepared)
            judge_again(self._host, prepared, self._cwd)
            self._keep(prepared)
            intent = self._intent(prepared, agreed)
            change = Change(self._host, prepared.ground, intent, journal)
            try:
                change.begin()
                change.swap(prepared.staged)
                change.commit()
            except BaseException:
                change.undo()
                raise
            change.conclude()
        status = {INSTALL: "installed", UPDATE: "updated"}.get(prepared.kind, "rolled-back")
        self._host.tell(
            "install-committed" if prepared.kind == INSTALL else "update-committed",
            id=prepared.id,
            scope=prepared.scope.label,
            version=prepared.version,
            source=prepared.after["source"],
        )
        return done_of(prepared, status)

    def _intent(self, prepared: Prepared, agreed: str | None) -> Intent:
        return Intent(
            prepared.id,
            prepared.scope.label,
            prepared.ground.owner,
            INSTALL if prepared.kind == INSTALL else UPDATE,
            prepared.staged.token,
            prepared.content_hash,
            had_folder=prepared.had_folder,
            before=prepared.before,
            after=prepared.after,
            agreed=(agreed or _earlier(prepared)) if prepared.scope is Scope.PROJECT else None,
            shared=prepared.shared,
        )

    def _has_not_changed(self, prepared: Prepared) -> None:
        """What was shown is still what would be replaced."""
        now = entry_of(read_strict(prepared.ground, self._host.product.limits), prepared.id)
        if now != prepared.before or os.path.lexists(prepared.ground.bundle(prepared.id)) != prepared.had_folder:
            raise LifecycleError("changed-meanwhile", f"{quoted(prepared.id)} was changed meanwhile; try it again")
        if prepared.had_folder and prepared.before is None:
            raise LifecycleError(
                "in-the-way",
                f"{clean(prepared.ground.bundle(prepared.id), 300)} is there and no installation is on record for it;"
                " nothing was changed",
                remedy=f"{self._host.command(self._cwd)} capability remove {prepared.id}"
                f" --scope {prepared.scope.label}",
            )

    def _can_agree(self, prepared: Prepared) -> None:
        """The consent to come can be recorded. Raises `ConsentStoreError` before anything is changed."""
        if prepared.scope is not Scope.PROJECT:
            return
        consent = consent_store(self._host.product, self._host.files, self._roots)
        bundles = bundle_store(self._host.product, self._host.files, self._roots)
        for problem, remedy in ((consent.problem(), consent.remedy), (bundles.problem(), bundles.remedy)):
            if problem is not None:
                raise ConsentStoreError(problem, remedy=remedy)

    def _keep(self, prepared: Prepared) -> None:
        """Keep the version that is replaced, so that there is a way back to it."""
        if prepared.current_hash is None or prepared.current_hash == prepared.content_hash:
            return
        files = prepared.ground.files
        with prepared.ground.opened() as root:
            if root is not None:
                with closing(files, files.open_folder(prepared.id, root)) as fd:
                    previous_store(self._host.product, files, self._roots).put(
                        take_snapshot(files, fd, self._host.product.limits)
                    )


def _earlier(prepared: Prepared) -> str | None:
    """How the user agreed to these bytes before, where that agreement is what lets them in."""
    return next((g.how for g in prepared.seen.earlier if g.content_hash == prepared.content_hash), None)
