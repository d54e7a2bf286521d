"""Consent as an embedder and the command line use it. It never asks: asking is the command line's part (spec 20)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..composition import Composition, bundle_store, codec_of, consent_store
from ..errors import ConsentStoreError, ManifestError, NotFound, Refused, UsageError
from ..model.candidate import Candidate
from ..model.capability import Capability
from ..model.fault import Fault
from ..model.scope import Scope
from ..reading.bundle import decode_bundle, snapshot_reader
from ..reading.codec import salvage_points
from ..reading.files import fault_of
from ..reading.ground import MANIFEST
from ..reading.roots import absolute
from ..remedies import is_valid_id
from ..text import clean, nearest, quoted
from .consent import ConsentStore, Denial, Grant, Records, utc_now
from .diff import BundleDiff, compare
from .disclosure import Disclosure, disclose
from .snapshot import Snapshot, Unverifiable, take_snapshot
from .store import BundleStore

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Sighting", "TrustDesk", "TrustState"]

STATES = ("first-party", "global", "granted", "unconsented", "changed", "unverifiable", "denied")


@frozen
class TrustState:
    """The one answer about one capability: `state` is one of `STATES`; `remedy` leads on where there is a way."""

    id: str
    scope: Scope
    state: str
    where: str
    content_hash: str | None = None
    remedy: str | None = None
    run_only: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "scope": self.scope.label,
            "state": self.state,
            "where": self.where,
            "contentHash": self.content_hash,
            "remedy": self.remedy,
            **({"runOnly": True} if self.run_only else {}),
        }


@frozen(unsafe_hash=False)
class Sighting:
    """A bundle as it lies there now: its bytes, its manifest if that decodes, its disclosure, and what was granted.

    `problem` says why the bytes cannot be vouched for; then there is no snapshot.
    """

    id: str
    scope: Scope
    root: str
    where: str
    state: TrustState
    snapshot: Snapshot | None
    capability: Capability | None
    faults: tuple[Fault, ...]
    disclosure: Disclosure | None
    earlier: tuple[Grant, ...]
    problem: str | None = None

    @property
    def content_hash(self) -> str | None:
        return None if self.snapshot is None else self.snapshot.content_hash


class TrustDesk:
    """Status, show, grant, deny, revoke for the home of one host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    # Reading

    def status(
        self, cwd: str | os.PathLike[str] | None = None, *, trust: Mapping[str, Iterable[str]] | None = None
    ) -> tuple[TrustState, ...]:
        """One state per capability: first-party, then each overlay seen from *cwd*; *trust* as for `Host.load`."""
        return self.states(self._host.compose(cwd, trust=trust, extensions=False))

    def states(self, composition: Composition) -> tuple[TrustState, ...]:
        """The states within one composition, so that a caller that has one needs no second."""
        own = (TrustState(id, Scope.FIRST_PARTY, "first-party", "") for id in composition.context.baseline.capabilities)
        seen = (self._state(c, composition) for c in composition.seen if not c.claims_nothing)
        return (*own, *seen)

    def _state(self, candidate: Candidate, composition: Composition) -> TrustState:
        state = candidate.consent.state
        if candidate.scope is Scope.GLOBAL and state != "denied":
            state = "global"
        elif candidate.scope is Scope.PROJECT and state == "global":
            state = "unconsented"
        command = composition.context.command
        remedy = None
        if state == "denied":
            flag = " --scope global" if candidate.scope is Scope.GLOBAL else ""
            remedy = f"{command} capability trust grant {candidate.id}{flag}"
        elif state in ("unconsented", "changed", "unverifiable"):
            remedy = composition.context.store_remedy or f"{command} capability trust show {candidate.id}"
        if not is_valid_id(candidate.id):
            remedy = None
        return TrustState(
            candidate.id if is_valid_id(candidate.id) else clean(candidate.id, 80),
            candidate.scope,
            state,
            candidate.where,
            candidate.content_hash,
            remedy,
            candidate.consent.run_only,
        )

    def records(self, cwd: str | os.PathLike[str] | None = None) -> Records:
        """Every decision in the store, and a note about everything in it that is none."""
        return self._store(cwd).records()

    def store_path(self, cwd: str | os.PathLike[str] | None = None) -> str:
        """Where decisions are kept."""
        return self._store(cwd).path

    def store_problem(self, cwd: str | os.PathLike[str] | None = None) -> str | None:
        """Why the store is not used, None when it is."""
        return self._store(cwd).problem()

    def show(
        self, id: str, cwd: str | os.PathLike[str] | None = None, *, trust: Mapping[str, Iterable[str]] | None = None
    ) -> Sighting:
        """The overlay *id* as it lies there now; *trust* as for `Host.load`. Raises `NotFound` where there is none."""
        composition = self._host.compose(cwd, trust=trust, extensions=False)
        found = [c for c in composition.seen if c.id == id and not c.claims_nothing]
        project = [c for c in found if c.scope is Scope.PROJECT]
        if not found:
            raise self._unknown(id, composition)
        return self._look(max(project or found, key=lambda c: c.scope), composition)

    def _unknown(self, id: str, composition: Composition) -> NotFound:
        known = [c.id for c in composition.seen if is_valid_id(c.id)]
        if id in composition.context.baseline.capabilities:
            return NotFound(f"{quoted(id)} ships with the host; it needs no consent")
        close = nearest(id, known)
        hint = f"; did you mean {quoted(close)}?" if close else ""
        return NotFound(f"there is no overlay {quoted(id)} here{hint}", nearest=close)

    def _look(self, candidate: Candidate, composition: Composition) -> Sighting:
        root = self._subject(candidate.scope, composition)
        store = consent_store(self._host.product, self._host.files, composition.roots)
        earlier = store.decisions(root, candidate.id).grants
        state = self._state(candidate, composition)
        try:
            snapshot = self._snapshot(candidate.where)
        except Unverifiable as error:
            return Sighting(
                candidate.id,
                candidate.scope,
                root,
                candidate.where,
                state,
                None,
                None,
                (),
                None,
                earlier,
                clean(error),
            )
        limits = self._host.product.limits
        decoded, faults = decode_bundle(
            lambda: snapshot_reader(snapshot, limits.manifest_bytes)(MANIFEST),
            snapshot_reader(snapshot, limits.fragment_bytes),
            candidate.id,
            codec_of(self._host.product),
        )
        capability = decoded.capability if not faults else None
        disclosure = None
        if capability is not None:
            disclosure = disclose(
                capability,
                content_hash=snapshot.content_hash,
                scope=candidate.scope,
                folder=candidate.where,
                source=candidate.source,
            )
        return Sighting(
            candidate.id,
            candidate.scope,
            root,
            candidate.where,
            state,
            snapshot,
            capability,
            faults,
            disclosure,
            earlier,
        )

    def changes(self, seen: Sighting, cwd: str | os.PathLike[str] | None = None) -> BundleDiff | None:
        """What changed since the last grant for it; None where nothing was granted before or nothing can be read."""
        if not seen.earlier or seen.snapshot is None:
            return None
        last = max(seen.earlier, key=lambda g: (g.granted_at, g.content_hash))
        if any(g.content_hash == seen.content_hash for g in seen.earlier):
            last = next(g for g in seen.earlier if g.content_hash == seen.content_hash)
        return compare(last, self._bundles(cwd).verify(last.content_hash), seen.snapshot, seen.disclosure)

    def _snapshot(self, where: str) -> Snapshot:
        files = self._host.files
        try:
            fd = files.open_folder(where)
        except OSError as error:
            fault = fault_of(error, "the bundle's folder")
            raise Unverifiable(fault.kind, fault.message) from None
        try:
            return take_snapshot(files, fd, self._host.product.limits)
        finally:
            files.close(fd)

    def _subject(self, scope: Scope, composition: Composition) -> str:
        """The canonical place decisions about a candidate of *scope* are kept under."""
        if scope is Scope.PROJECT:
            return composition.roots.served_path or ""
        return composition.roots.home_path

    def _store(self, cwd: str | os.PathLike[str] | None) -> ConsentStore:
        return consent_store(self._host.product, self._host.files, self._host.roots(cwd))

    # Deciding

    def grant(
        self, project: str | os.PathLike[str], id: str, *, content_hash: str | None = None, how: str = "api"
    ) -> Grant:
        """Record the user's yes to the bytes of *id* that lie in *project* now.

        With *content_hash* only those exact bytes are agreed to. Lifts a denial. Raises `NotFound` where
        there is no such overlay, `ManifestError` for one that does not decode, `Refused` for bytes that
        cannot be vouched for or are others, `ConsentStoreError` when the decision could not be written.
        """
        return self.grant_sighting(self.show(id, project), project, content_hash=content_hash, how=how)

    def grant_sighting(
        self,
        seen: Sighting,
        cwd: str | os.PathLike[str] | None = None,
        *,
        content_hash: str | None = None,
        how: str = "api",
    ) -> Grant:
        """`grant` for bytes that have been looked at already, so that what was shown is what is agreed to."""
        store = self._store(cwd)
        if seen.scope is not Scope.PROJECT:
            raise UsageError(f"{quoted(seen.id)} is a global overlay; it needs no consent")
        if seen.snapshot is None:
            raise Refused(f"{quoted(seen.id)} cannot be agreed to: {seen.problem}")
        if content_hash is not None and content_hash != seen.snapshot.content_hash:
            raise Refused(
                f"the bytes of {quoted(seen.id)} are {seen.snapshot.content_hash}, not {clean(content_hash, 120)};"
                " nothing was recorded"
            )
        if seen.capability is None or seen.disclosure is None:
            first = seen.faults[0] if seen.faults else "it does not decode"
            raise ManifestError(f"{quoted(seen.id)} cannot be agreed to: {clean(first)}", faults=seen.faults)
        problem = store.problem()
        if problem is not None:
            once = f"{self._host.command(cwd)} --trust {seen.id}@{seen.content_hash} capability list"
            raise ConsentStoreError(problem, remedy=store.remedy or once)
        self._bundles(cwd).put(seen.snapshot)
        grant = Grant(
            root=seen.root,
            id=seen.id,
            gates=salvage_points(seen.capability.raw, self._host.product.contract.points),
            version=seen.capability.version,
            content_hash=seen.snapshot.content_hash,
            disclosure=seen.disclosure.to_dict(),
            files=seen.snapshot.digests(),
            granted_at=utc_now(),
            host_version=self._host.product.version,
            how=how,
        )
        store.grant(grant)
        self._host.tell("consent-granted", id=grant.id, project=grant.root, content_hash=grant.content_hash, how=how)
        return grant

    def lift_denial(self, project: str | os.PathLike[str], id: str, *, scope: Scope = Scope.PROJECT) -> bool:
        """Take a denial back; whether there was one. A project overlay is then unconsented, a global one active."""
        return self._store(project).lift_denial(self._place_of_decision(project, id, scope), id)

    def deny(self, project: str | os.PathLike[str], id: str, *, scope: Scope = Scope.PROJECT, how: str = "api") -> None:
        """Record the user's no to *id*, whatever its content. It need not be there yet.

        Raises `UsageError` for a word that is no id or where there is no served project.
        """
        root = self._place_of_decision(project, id, scope)
        self._store(project).deny(root, id, scope=scope.label, host_version=self._host.product.version, how=how)
        self._host.tell("consent-denied", id=id, project=root, scope=scope.label)

    def revoke(self, project: str | os.PathLike[str], id: str) -> int:
        """Take back every grant for *id*; how many there were. The overlay is inert from the next load on."""
        root = self._place_of_decision(project, id, Scope.PROJECT)
        count = self._store(project).revoke(root, id)
        if count:
            self._host.tell("consent-revoked", id=id, project=root, count=count)
        return count

    def _place_of_decision(self, project: str | os.PathLike[str], id: str, scope: Scope) -> str:
        if not is_valid_id(id):
            raise UsageError(f"{quoted(id)} is not a capability id")
        roots = self._host.roots(project)
        if scope is Scope.GLOBAL:
            return roots.home_path
        if roots.served_path is None:
            raise UsageError(f"{clean(absolute(project))} is not in a project")
        return roots.served_path

    def _bundles(self, cwd: str | os.PathLike[str] | None) -> BundleStore:
        return bundle_store(self._host.product, self._host.files, self._host.roots(cwd))

    def gc(self, cwd: str | os.PathLike[str] | None = None) -> tuple[Grant | Denial, ...]:
        """Drop records whose bundle or project is gone, and copies nobody has agreed to any more."""
        store = self._store(cwd)
        gone = store.gc()
        kept = {g.content_hash for g in store.records().grants}
        self._bundles(cwd).gc(kept)
        return gone
