"""Installing, updating, rolling back and removing, as an embedder and the command line do it (spec 30). It never asks.

A change is prepared (fetched, judged, disclosed) without the lock, then committed under it. Nothing of a capability
ever runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..composition import previous_store
from ..errors import LifecycleError, MSDError, NotFound, UsageError
from ..model.scope import Scope
from ..reading.roots import absolute
from ..text import nearest, quoted
from ..trust.store import BundleStore
from .change import BUNDLE
from .committing import Committer
from .fetching import fetched, fitting_source, terms_of
from .ground import Ground, ground_of, new_token
from .journal import INSTALL, UPDATE, Intent, Journal
from .ledgers import entry_of, ids_of, read_strict
from .lock import held
from .prepared import DoesNotFit, Prepared, prepare
from .recover import Recovered, pending, reconcile
from .shared.project import SharedFiles, place_of
from .shared.record import SharedRecord
from .sources.source import Source, parse_source
from .staging import Staged, staging
from .values import Done, Request, consent_of, texts_of

if TYPE_CHECKING:
    from ..host import Host
    from .newer import Row

__all__ = ["Lifecycle"]

_MOST_SHARED = 256


class Lifecycle:
    """The overlays of one host's home and of the project around *cwd*."""

    def __init__(self, host: Host, cwd: str | os.PathLike[str] | None = None) -> None:
        self._host = host
        self._cwd = absolute(cwd)
        self._roots = host.roots(self._cwd)
        self._home = self._roots.home.given

    # Places

    def ground(self, scope: Scope) -> Ground:
        """The place of *scope*. Raises `Refused` where there is none."""
        return ground_of(self._host.product, self._host.files, self._roots, scope)

    def find(self, id: str, scope: Scope | None) -> Ground:
        """The place whose ledger has *id*, the home's first. Raises `NotFound`, `DamagedState`."""
        known: list[str] = []
        for ground in self._grounds(scope):
            ids = ids_of(ground, self._host.product.limits)
            if id in ids:
                return ground
            known.extend(ids)
        close = nearest(id, known)
        hint = f"; did you mean {quoted(close)}?" if close else ""
        if id in self._host.baseline.capabilities:
            raise NotFound(f"{quoted(id)} ships with the host; it comes and goes with it")
        raise NotFound(f"no installation of {quoted(id)} is on record here{hint}", nearest=close)

    def _grounds(self, scope: Scope | None) -> list[Ground]:
        scopes = [Scope.GLOBAL, Scope.PROJECT] if scope is None else [scope]
        if scope is None and self._roots.served_path is None:
            scopes.remove(Scope.PROJECT)
        if scope is None and self._roots.global_scope is not Scope.GLOBAL:
            scopes.remove(Scope.GLOBAL)
        return [self.ground(s) for s in scopes]

    def journal(self, ground: Ground) -> Journal:
        """The intents for *ground*."""
        product = self._host.product
        return Journal(self._home, ground.owner, product, self._host.files, product.limits)

    @property
    def kept(self) -> BundleStore:
        """Versions that were replaced, for going back to."""
        return previous_store(self._host.product, self._host.files, self._roots)

    # Preparing

    @contextmanager
    def preparing(
        self, spec: str, *, scope: Scope = Scope.GLOBAL, request: Request | None = None, expected: str | None = None
    ) -> Iterator[Prepared]:
        """Fetch, judge and disclose what *spec* names; nothing is installed until `commit`.

        Raises `UsageError` for what is no source, `LifecycleError` for one that is refused, with its code.
        """
        asked = request or Request()
        ground = self.ground(scope)
        read_strict(ground, self._host.product.limits)
        source = parse_source(spec, base=Path(self._cwd))
        kind = INSTALL if expected is None else UPDATE
        with staging(ground, new_token()) as staged:
            got = fetched(self._host, self._roots, source, staged, asked)
            try:
                prepared = self._prepared(ground, staged, kind, source, got, asked, expected)
            except DoesNotFit as error:
                fitting = fitting_source(self._host, self._roots, source, error, asked)
                got = fetched(self._host, self._roots, fitting, staged, asked)
                prepared = self._prepared(ground, staged, kind, source, got, asked, expected)
            yield prepared

    def _prepared(
        self,
        ground: Ground,
        staged: Staged,
        kind: str,
        source: Source,
        resolved: Mapping[str, str],
        asked: Request,
        expected: str | None,
    ) -> Prepared:
        return prepare(
            self._host,
            ground,
            staged,
            kind=kind,
            source=source,
            resolved=resolved,
            expected=expected,
            integrity=asked.integrity or resolved.get("integrity", ""),
            shared=self._shared(ground, asked, expected),
            cwd=self._cwd,
        )

    def _shared(self, ground: Ground, asked: Request, id: str | None) -> tuple[str, ...]:
        """The settings files to use, each one that can be changed as it is. Raises `LifecycleError` for others.

        Without a word of the user's it is those on record in the home, whatever a ledger says.
        """
        inside = self._roots.served_path
        paths = [place_of(absolute(os.path.join(self._cwd, path)), inside) for path in asked.shared_files]
        if len(paths) > _MOST_SHARED:
            raise UsageError(f"at most {_MOST_SHARED} shared files can be named")
        record = SharedRecord(self._home, ground, id or "")
        if not paths and id is not None:
            paths = [named.path for named in record.read()]
        product = self._host.product
        SharedFiles(self._host.files, product.limits, record, product.marker_key).check(paths)
        return tuple(dict.fromkeys(paths))

    # Committing

    def commit(self, prepared: Prepared, *, agreed: str | None = None) -> Done:
        """Put what was prepared in place. *agreed* says how the user agreed to exactly these bytes.

        Raises `ConsentNeeded` where that is missing, `LifecycleError` where something changed meanwhile,
        `ConsentStoreError` where the consent could not be recorded, `BusyError`, `DamagedState`; then everything is
        as it was.
        """
        return Committer(self._host, self._cwd).carry_out(prepared, agreed)

    # Whole verbs for those who have nobody to ask

    def install(
        self,
        spec: str,
        *,
        scope: Scope = Scope.GLOBAL,
        content_hash: str | None = None,
        agreed: bool = False,
        request: Request | None = None,
    ) -> Done:
        """Install what *spec* names. A project's needs *content_hash*, the bytes agreed to; a global one *agreed*.

        Raises what `preparing` and `commit` do.
        """
        with self.preparing(spec, scope=scope, request=request) as prepared:
            return self.commit(prepared, agreed=consent_of(prepared, content_hash, agreed=agreed))

    def update(
        self,
        id: str,
        *,
        scope: Scope | None = None,
        content_hash: str | None = None,
        agreed: bool = False,
        request: Request | None = None,
    ) -> Done:
        """Update the installation of *id* from its source; consent as for `install`."""
        with self.updating(id, scope=scope, request=request) as prepared:
            return self.commit(prepared, agreed=consent_of(prepared, content_hash, agreed=agreed))

    @contextmanager
    def updating(self, id: str, *, scope: Scope | None = None, request: Request | None = None) -> Iterator[Prepared]:
        """`preparing` for what is installed: the newest version its source has that fits this host.

        Raises `NotFound` where *id* is not on record, `LifecycleError` for a lower version unless allowed.
        """
        asked = request or Request()
        ground = self.find(id, scope)
        entry = entry_of(read_strict(ground, self._host.product.limits), id) or {}
        with self.preparing(str(entry.get("source", "")), scope=ground.scope, request=asked, expected=id) as prepared:
            if prepared.is_downgrade and not asked.allow_downgrade:
                raise LifecycleError(
                    "downgrade",
                    f"the source has {prepared.version} of {quoted(id)}, which is lower than {prepared.current}",
                    remedy=f"{self._host.command(self._cwd)} capability update {id}"
                    f" --scope {ground.scope.label} --allow-downgrade",
                )
            yield prepared

    @contextmanager
    def updating_all(
        self, *, scope: Scope | None = None, request: Request | None = None
    ) -> Iterator[list[tuple[str, Scope, Prepared | MSDError]]]:
        """`updating` for everything on record: fetched side by side with one deadline, each failure its own."""
        from .batch import updating_all

        wanted = [(id, g.scope) for g in self._grounds(scope) for id in ids_of(g, self._host.product.limits)]
        with updating_all(self._host, self._cwd, self.updating, wanted, request or Request()) as ready:
            yield ready

    def outdated(self, scope: Scope | None = None, request: Request | None = None) -> tuple[Row, ...]:
        """What has a newer version at its source; nothing is changed."""
        from .newer import outdated_rows

        return outdated_rows(
            self._host, self._grounds(scope), terms_of(self._host, self._roots, request or Request()), Path(self._cwd)
        )

    @contextmanager
    def rolling_back(self, id: str, *, scope: Scope | None = None) -> Iterator[Prepared]:
        """`preparing` for the version that was in place before. Raises `LifecycleError` where none was kept."""
        ground = self.find(id, scope)
        entry = entry_of(read_strict(ground, self._host.product.limits), id) or {}
        previous = entry.get("previous")
        previous = previous if isinstance(previous, dict) else {}
        hash = previous.get("contentHash")
        snapshot = self.kept.verify(hash) if isinstance(hash, str) and hash.startswith("sha512-") else None
        if snapshot is None:
            raise LifecycleError("no-previous", f"no earlier version of {quoted(id)} was kept")
        with staging(ground, new_token()) as staged:
            staged.write(BUNDLE, snapshot)
            yield prepare(
                self._host,
                ground,
                staged,
                kind="rollback",
                source=str(previous.get("source", "")),
                resolved=texts_of(previous.get("resolved")),
                expected=id,
                integrity=str(previous.get("integrity") or ""),
                shared=self._shared(ground, Request(), id),
                cwd=self._cwd,
            )

    def rollback(
        self, id: str, *, scope: Scope | None = None, content_hash: str | None = None, agreed: bool = False
    ) -> Done:
        """Return to the version before; consent as for `install`."""
        with self.rolling_back(id, scope=scope) as prepared:
            return self.commit(prepared, agreed=consent_of(prepared, content_hash, agreed=agreed))

    # Recovery

    def pending(self) -> tuple[Intent, ...]:
        """Changes that were begun and not ended, in every place seen from here."""
        grounds = self._grounds(None)
        return tuple(i for ground in grounds for i in pending(self._host, ground, self.journal(ground)))

    def reconcile(self, scope: Scope | None = None) -> tuple[Recovered, ...]:
        """End or undo them, and sweep. Raises `BusyError`, `DamagedState`."""
        done: list[Recovered] = []
        for ground in self._grounds(scope):
            with held(self._home, ground, patience=5.0):
                done += reconcile(self._host, ground, self.journal(ground))
        return tuple(done)
