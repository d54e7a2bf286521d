"""One change of one overlay, as steps that can be taken again: by whoever began, or by whoever finds it begun (spec 30).

The ledger is the commit. Before it everything can be taken back, after it everything is brought to its end. Each step
looks at what is there, so that it does not matter how far an earlier try came.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..composition import codec_of, consent_store
from ..errors import LifecycleError, MSDError
from ..model.capability import Capability
from ..model.frozen import freeze, thaw
from ..model.scope import Scope
from ..reading.bundle import decode_bundle, snapshot_reader
from ..reading.files import fault_of
from ..reading.ground import MANIFEST
from ..text import clean, quoted
from ..trust.private import closing
from ..trust.snapshot import Unverifiable, take_snapshot
from .ground import GONE, OLD, Ground, discard, exists, move
from .journal import REMOVE, Intent, Journal
from .ledgers import PENDING, entry_of, read_strict, write_entry
from .shared.entries import Entries, entries_of
from .shared.project import SharedFiles
from .shared.record import SharedRecord
from .staging import Staged

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["BUNDLE", "Change"]

BUNDLE = "bundle"  # what the folder is called while it waits in staging


class Change:
    """The caller holds the lock of *ground* for as long as it takes steps."""

    def __init__(self, host: Host, ground: Ground, intent: Intent, journal: Journal) -> None:
        self._host = host
        self._ground = ground
        self._intent = intent
        self._journal = journal
        self._limits = host.product.limits
        self._old = f"{OLD}{intent.id}-{intent.token}"
        self._gone = f"{GONE}{intent.id}-{intent.token}"

    # Forward

    def begin(self) -> None:
        """Say what is to come: in the journal, and in the ledger, where every load sees that it is under way."""
        intent = self._intent
        self._journal.write(intent)
        if intent.kind != REMOVE:
            entry: dict[str, Any] = dict(intent.before or intent.after or {})
            entry[PENDING] = {"kind": intent.kind, "token": intent.token}
            write_entry(self._ground, intent.id, entry, self._limits)

    def swap(self, staged: Staged) -> None:
        """Put what waits in the place of what is there; never is there half of either."""
        with self._ground.opened(create=True) as root:
            assert root is not None
            if exists(self._ground.files, root, self._intent.id):
                move(root, self._intent.id, root, self._old)
            move(staged.fd, BUNDLE, root, self._intent.id)
            self._verify(root)

    def commit(self) -> None:
        """From here on there is no way back, only forward."""
        write_entry(self._ground, self._intent.id, self._intent.after, self._limits)

    def is_committed(self) -> bool:
        """Whether the ledger says what the change wanted it to say."""
        return entry_of(read_strict(self._ground, self._limits), self._intent.id) == _plain(self._intent.after)

    def conclude(self) -> None:
        """Everything after the commit: consent for the new bytes, shared files, what was replaced, the journal.

        What a tool starts from a shared file is judged when it starts, so the order of these opens no gap.
        """
        self._agree()
        self._bring_shared()
        with self._ground.opened() as root:
            if root is not None:
                discard(self._ground.files, root, self._old)
        self._journal.drop(self._intent)

    def _agree(self) -> None:
        """The consent that was given to exactly these bytes takes the place of any before it."""
        intent = self._intent
        if intent.agreed is None or intent.content_hash is None:
            return
        store = consent_store(self._host.product, self._ground.files, self._host.roots(intent.owner))
        known = {grant.content_hash for grant in store.decisions(intent.owner, intent.id).grants}
        if known != {intent.content_hash}:
            store.revoke(intent.owner, intent.id)
            self._host.trust.grant(intent.owner, intent.id, content_hash=intent.content_hash, how=intent.agreed)

    def _shared(self) -> SharedFiles:
        product, home = self._host.product, self._host.roots(self._intent.owner).home.given
        record = SharedRecord(home, self._ground, self._intent.id)
        return SharedFiles(self._ground.files, self._limits, record, product.marker_key)

    def _bring_shared(self) -> None:
        """The entries of what lies there now, in the files the user named and in no other."""
        found = self._manifest() if self._intent.shared else None
        entries = Entries(self._intent.id) if found is None else entries_of(found, self._host.product.command)
        self._shared().bring(self._intent.id, entries, self._intent.shared)

    def _manifest(self) -> Capability | None:
        files = self._ground.files
        with self._ground.opened() as root:
            assert root is not None
            with closing(files, files.open_folder(self._intent.id, root)) as fd:
                reader = snapshot_reader(take_snapshot(files, fd, self._limits), self._limits.manifest_bytes)
        decoded, faults = decode_bundle(lambda: reader(MANIFEST), reader, self._intent.id, codec_of(self._host.product))
        return None if faults else decoded.capability

    # Back

    def roll_back(self) -> None:
        """As it was before: the old folder, the old entry, nothing of the new one."""
        intent = self._intent
        with self._ground.opened() as root:
            if root is not None:
                self._restore(root)
        write_entry(self._ground, intent.id, intent.before, self._limits)
        self._journal.drop(intent)

    def _restore(self, root: int) -> None:
        files, id = self._ground.files, self._intent.id
        if exists(files, root, self._old):
            if exists(files, root, id):
                move(root, id, root, self._gone)
            move(root, self._old, root, id)
        elif not self._intent.had_folder and exists(files, root, id) and self._hash(root) == self._intent.content_hash:
            move(root, id, root, self._gone)
        discard(files, root, self._gone)

    # Away

    def take_away(self) -> tuple[int, bool, tuple[str, ...]]:
        """Consent first, then shared files, folder, entry and, if wanted, data.

        Returns how many grants were withdrawn, whether data went, and which shared files could not be changed.

        Whoever finds this begun ends it: there is no way back to something without consent.
        """
        intent, files = self._intent, self._ground.files
        store = consent_store(self._host.product, files, self._host.roots(intent.owner))
        revoked = store.revoke(intent.owner, intent.id) if store.decisions(intent.owner, intent.id).grants else 0
        left = self._shared().take_away(intent.id)
        with self._ground.opened() as root:
            entry = entry_of(read_strict(self._ground, self._limits), intent.id)
            if root is not None and not self._is_gone(root, entry):
                move(root, intent.id, root, self._gone)
            if entry is not None:
                write_entry(self._ground, intent.id, None, self._limits)
            if root is not None:
                discard(files, root, self._gone)
        purged = intent.purge and self._purge()
        self._journal.drop(intent)
        return revoked, purged, left

    def _is_gone(self, root: int, entry: Mapping[str, Any] | None) -> bool:
        """Whether there is no folder to take, or it was taken by an earlier try: what lies there since is not ours."""
        files, intent = self._ground.files, self._intent
        taken = exists(files, root, self._gone) or (intent.before is not None and entry is None)
        return taken or not intent.had_folder or not exists(files, root, intent.id)

    def _purge(self) -> bool:
        files, folder = self._ground.files, os.path.join(self._ground.product.folder, "capability-data")
        held: list[int] = []
        try:
            held.append(files.open_folder(self._ground.owner, follow=True))
            for part in folder.split(os.sep):
                held.append(files.open_folder(part, held[-1]))
            there = exists(files, held[-1], self._intent.id)
            discard(files, held[-1], self._intent.id)
            return there
        except OSError:
            return False
        finally:
            for fd in reversed(held):
                files.close(fd)

    # Looking

    def _verify(self, root: int) -> None:
        """The bytes that were shown are the bytes that came in."""
        if self._hash(root) != self._intent.content_hash:
            raise LifecycleError("changed-meanwhile", f"{quoted(self._intent.id)} changed while it was put in place")

    def _hash(self, root: int) -> str | None:
        files = self._ground.files
        try:
            with closing(files, files.open_folder(self._intent.id, root)) as fd:
                return take_snapshot(files, fd, self._limits).content_hash
        except Unverifiable:
            return None
        except OSError as error:
            raise LifecycleError("unreadable", fault_of(error, clean(self._intent.id)).message) from None

    def undo(self) -> None:
        """Take back what can be taken back after a failure; what cannot is left for the next change to end."""
        with suppress(MSDError, OSError):
            self.roll_back()


def is_of(ground: Ground, intent: Intent) -> bool:
    """Whether *intent* is about this place."""
    return intent.owner == ground.owner and intent.scope == ground.scope.label


def scope_of(intent: Intent) -> Scope:
    """The scope an intent is about."""
    return Scope.PROJECT if intent.scope == Scope.PROJECT.label else Scope.GLOBAL


def _plain(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if entry is None else thaw(freeze(entry))
