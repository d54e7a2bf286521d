"""The ground a bundle lies on: its root, the ledger beside it, and what is on record for what lies there."""

from __future__ import annotations

from collections.abc import Callable

from ..model.candidate import Consent
from ..model.scope import Scope
from ..remedies import is_valid_id
from ..trust.decisions import Decisions
from .codec import salvage_points
from .files import ReadFault, read_at
from .jsontext import JsonFault, decode
from .ledger import LedgerView
from .salvage import points_in_text
from .sources import Sources

__all__ = ["MANIFEST", "Ground"]

MANIFEST = "capability.json"

_NOTHING_ON_RECORD = Decisions()
_GLOBAL = Consent("global")
_AGREED = Consent("granted")


class Ground:
    """One root. `path` is canonical where that can be told; `probed` the one name that counts as agreed to.

    `guarded` says whether stage 2 may find this root to be project ground: then consent is looked up here
    already, and every bundle that is opened is read once and hashed.
    """

    def __init__(
        self, sources: Sources, path: str, scope: Scope, ledger: LedgerView, probed: str | None = None
    ) -> None:
        self.sources = sources
        self.limits = sources.product.limits
        self.files = sources.files
        self.path = path
        self.scope = scope
        self.ledger = ledger
        self.probed = probed
        self.guarded = scope is Scope.PROJECT or sources.roots.global_scope is Scope.PROJECT
        self.budget = self.limits.hashed_bytes_per_root
        self._searched = 0
        self._subject = sources.roots.served_path if self.guarded else sources.roots.home_path

    def decisions(self, id: str) -> Decisions:
        """What the user of this machine decided about *id* on this ground."""
        if self._subject is None or not is_valid_id(id):
            return _NOTHING_ON_RECORD
        return self.sources.decisions(self._subject, id)

    def consent(self, decisions: Decisions, id: str, content_hash: str | None) -> Consent:
        """What *decisions* say about the bytes with *content_hash* (None: not hashed)."""
        if id == self.probed:
            return _AGREED
        hashes = tuple(g.content_hash for g in decisions.grants)
        if decisions.denied:
            return Consent("denied", known_hashes=hashes)
        if not self.guarded:
            return _GLOBAL
        if content_hash is not None and content_hash in hashes:
            return Consent("granted", known_hashes=hashes)
        if content_hash is not None and content_hash in self.sources.trusted.get(id, ()):
            return Consent("granted", known_hashes=hashes, run_only=True)
        return Consent("changed" if content_hash is not None and hashes else "unconsented", known_hashes=hashes)

    def may_open(self, consent: Consent, id: str) -> bool:
        """Whether a guarded bundle may be read beyond its manifest: somebody on this machine named its bytes."""
        return bool(consent.known_hashes) or id in self.sources.trusted or id == self.probed

    def kept_gates(self, id: str) -> tuple[str, ...]:
        """Gate points from the grant or, in the user's own scope, the ledger, for a manifest nobody can read."""
        kept = self.sources.granted_gates.get(id, ()) if self.guarded else self.ledger.gates(id)
        return tuple(p for p in self.sources.product.contract.points if p in kept)

    def gates_on_disk(self, fd: int) -> tuple[str, ...]:
        """The known points of the gates a manifest declares, read for their names alone."""
        return self.gates_in(lambda: read_at(self.files, MANIFEST, self.limits.manifest_bytes, dir_fd=fd))

    def gates_in(self, manifest: Callable[[], bytes]) -> tuple[str, ...]:
        """The gate points a manifest declares, whatever else is wrong with it: a skipped gate is never silent.

        What manifests nobody agreed to may cost is bounded per root; past that each counts as having a gate everywhere.
        """
        points = self.sources.product.contract.points
        if self._searched >= self.limits.searched_bytes_per_root:
            return points
        try:
            data = manifest()
        except ReadFault:
            return ()
        self._searched += len(data)
        try:
            return salvage_points(decode(data, self.limits), points)
        except JsonFault:
            self._searched += len(data)
            return points_in_text(data, points)
