"""A bundle that waits beside its place, judged and disclosed, before anybody is asked (spec 30, Install, step by step)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..check import CheckResult, judge
from ..composition import Composition, consent_store
from ..engines import Verdict
from ..engines import judge as judge_range
from ..errors import LifecycleError, MSDError
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.scope import Scope
from ..reading.codec import salvage_points
from ..text import clean, quoted
from ..trust.consent import utc_now
from ..trust.diff import BundleDiff
from ..trust.private import closing
from ..trust.snapshot import Snapshot, Unverifiable, take_snapshot
from .change import BUNDLE
from .ground import Ground
from .journal import INSTALL
from .ledgers import entry_of, is_pending, read_strict
from .sources.source import Source
from .staging import Staged

if TYPE_CHECKING:
    from ..host import Host
    from ..trust.desk import Sighting

__all__ = ["DoesNotFit", "Prepared", "prepare"]


class DoesNotFit(LifecycleError):
    """The bundle is for other hosts. `fits` are the versions of it that say they are for this one, newest first."""

    def __init__(self, code: str, message: str, fits: tuple[str, ...]) -> None:
        super().__init__(code, message)
        self.fits = fits


@frozen(eq=False)
class Prepared:
    """Everything there is to know of a bundle that may come in. `current` is the version in place, if there is one.

    `seen` holds disclosure and consent, `changes` what differs from what was agreed to; `same` says that exactly
    these bytes are in place and committed already.
    """

    kind: str
    id: str
    ground: Ground
    staged: Staged
    snapshot: Snapshot
    capability: Capability
    verdict: CheckResult
    seen: Sighting
    changes: BundleDiff | None
    before: dict[str, Any] | None
    after: dict[str, Any]
    had_folder: bool
    current: str | None
    current_hash: str | None
    same: bool
    shared: tuple[str, ...]

    @property
    def scope(self) -> Scope:
        return self.ground.scope

    @property
    def version(self) -> str:
        return self.capability.version

    @property
    def content_hash(self) -> str:
        return self.snapshot.content_hash

    @property
    def is_downgrade(self) -> bool:
        return self.current is not None and _triple(self.version) < _triple(self.current)

    @property
    def needs_consent(self) -> bool:
        """Whether a yes to these bytes is still missing. In a project only a grant is one."""
        if self.scope is Scope.PROJECT:
            return all(grant.content_hash != self.content_hash for grant in self.seen.earlier)
        return not self.same

    def lines(self) -> list[str]:
        """What a person should read before saying yes."""
        head = f"{self.kind} {self.id} {self.version}" + (f" (now {self.current})" if self.current else "")
        told = self.seen.disclosure.lines() if self.seen.disclosure is not None else []
        lines = [head, *(f"  {line}" for line in told)]
        if self.changes is not None:
            lines += ["  changed since you last agreed:", *(f"    {line}" for line in self.changes.lines())]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The plan, as `--dry-run --json` gives it."""
        return {
            "kind": self.kind,
            "id": self.id,
            "scope": self.scope.label,
            "version": self.version,
            "currentVersion": self.current,
            "contentHash": self.content_hash,
            "same": self.same,
            "downgrade": self.is_downgrade,
            "needsConsent": self.needs_consent,
            "where": self.ground.bundle(self.id),
            "source": self.after["source"],
            "resolved": self.after["resolved"],
            "sharedFiles": list(self.shared),
            "disclosure": None if self.seen.disclosure is None else self.seen.disclosure.to_dict(),
            "changes": None if self.changes is None else self.changes.to_dict(),
            "notes": [{"code": n.code, "path": n.path, "message": n.message} for n in self.verdict.notes],
        }


def prepare(
    host: Host,
    ground: Ground,
    staged: Staged,
    *,
    kind: str,
    source: Source | str,
    resolved: Mapping[str, str],
    expected: str | None = None,
    integrity: str = "",
    shared: tuple[str, ...] = (),
    cwd: str | os.PathLike[str] | None = None,
) -> Prepared:
    """Judge the bundle that lies in *staged*, as a load would. Raises `LifecycleError` with the load's own code.

    *expected* is the id it must have. Nothing outside the staging folder is touched.
    """
    snapshot = _snapshot(host, ground, staged)
    # The path as the walk through descriptors has it, however the root is linked.
    where = os.path.realpath(staged.path / BUNDLE)
    verdict, composition = judge(host, where, ground.scope, cwd)
    if expected is not None and verdict.id != expected and not _undecoded(verdict):
        raise LifecycleError("other-id", f"the source now holds {quoted(verdict.id)}, not {quoted(expected)}")
    candidate = next((c for c in composition.seen if c.where == where), None)
    if not verdict.ok or candidate is None or candidate.capability is None:
        raise _refused(host, ground, verdict, None if candidate is None else candidate.capability)
    capability, id = candidate.capability, candidate.id
    view = read_strict(ground, host.product.limits)
    before = entry_of(view, id)
    if is_pending(before):
        raise LifecycleError(
            "pending", f"a change of {quoted(id)} was begun and not ended", remedy=f"{host.command(cwd)} doctor --fix"
        )
    current, current_hash = _in_place(host, ground, id)
    seen, changes = _sighting(
        host, ground, composition, capability, snapshot, current_hash, source, named=kind == INSTALL
    )
    return Prepared(
        kind,
        id,
        ground,
        staged,
        snapshot,
        capability,
        verdict,
        seen,
        changes,
        before,
        _entry(host, capability, snapshot, source, resolved, integrity, before, shared),
        os.path.lexists(ground.bundle(id)),
        current,
        current_hash,
        current_hash == snapshot.content_hash and before is not None,
        shared,
    )


def _undecoded(verdict: CheckResult) -> bool:
    """Whether the manifest says too little to know whose it is."""
    return not verdict.ok and verdict.id in ("", BUNDLE)


def _snapshot(host: Host, ground: Ground, staged: Staged) -> Snapshot:
    files = ground.files
    try:
        with closing(files, files.open_folder(BUNDLE, staged.fd)) as fd:
            return take_snapshot(files, fd, host.product.limits)
    except Unverifiable as error:
        raise LifecycleError("bundle-refused", f"the bundle is refused: {error.message}") from None


def _refused(host: Host, ground: Ground, verdict: CheckResult, capability: Capability | None) -> LifecycleError:
    """The first fault decides the code, as in a load; all of them are told."""
    code = "refused" if verdict.code is None else verdict.code.value
    told = "; ".join(clean(f) for f in verdict.faults[:5]) or "a load would not accept it"
    message = f"{quoted(verdict.id)} is refused in {ground.scope.label} scope: {told}"
    if verdict.code is SkipCode.ENGINES_UNSATISFIED and capability is not None:
        fits = versions_that_fit(capability, host.product.version)
        hint = f"; its version {fits[0]} is for this host" if fits else ""
        return DoesNotFit(code, message + hint, fits)
    return LifecycleError(code, message)


def versions_that_fit(capability: Capability, host_version: str) -> tuple[str, ...]:
    """The versions in `compatVersions` whose range has *host_version*, newest first (spec 30)."""
    known = capability.raw.get("compatVersions") or {}
    fits = [version for version, range in known.items() if judge_range(range, host_version) is Verdict.SATISFIED]
    return tuple(sorted(fits, key=_triple, reverse=True))


def _in_place(host: Host, ground: Ground, id: str) -> tuple[str | None, str | None]:
    """(version, content hash) of what lies there now, as far as that can be told."""
    from ..reading.bundle import decode_bundle, snapshot_reader
    from ..reading.ground import MANIFEST

    files, limits = ground.files, host.product.limits
    try:
        with ground.opened() as root:
            if root is None:
                return None, None
            with closing(files, files.open_folder(id, root)) as fd:
                snapshot = take_snapshot(files, fd, limits)
    except (OSError, MSDError):
        return None, None
    reader = snapshot_reader(snapshot, limits.manifest_bytes)
    from ..composition import codec_of

    decoded, _ = decode_bundle(lambda: reader(MANIFEST), reader, id, codec_of(host.product))
    raw = decoded.capability.raw if decoded.capability is not None else decoded.raw
    version = raw.get("version") if hasattr(raw, "get") else None
    return (version if isinstance(version, str) else None), snapshot.content_hash


def _sighting(
    host: Host,
    ground: Ground,
    composition: Composition,
    capability: Capability,
    snapshot: Snapshot,
    current_hash: str | None,
    source: Source | str,
    *,
    named: bool,
) -> tuple[Sighting, BundleDiff | None]:
    """What a person is shown. Earlier consent counts only where it is for the bytes in place now (spec 30, law 7)."""
    from ..trust.desk import Sighting, TrustState
    from ..trust.disclosure import disclose

    where = ground.bundle(capability.id)
    store = consent_store(host.product, ground.files, composition.roots)
    grants = store.decisions(ground.owner, capability.id).grants if ground.scope is Scope.PROJECT else ()
    if not any(g.content_hash in (current_hash, snapshot.content_hash) for g in grants):
        grants = ()
    text = source if isinstance(source, str) else source.text
    disclosure = disclose(
        capability,
        content_hash=snapshot.content_hash,
        scope=ground.scope,
        folder=where,
        source=text,
        source_named=named,
    )
    state = TrustState(capability.id, ground.scope, "unconsented", where, snapshot.content_hash)
    seen = Sighting(
        capability.id, ground.scope, ground.owner, where, state, snapshot, capability, (), disclosure, grants
    )
    changes = host.trust.changes(seen, ground.owner) if grants else None
    return seen, changes


def _entry(
    host: Host,
    capability: Capability,
    snapshot: Snapshot,
    source: Source | str,
    resolved: Mapping[str, str],
    integrity: str,
    before: Mapping[str, Any] | None,
    shared: tuple[str, ...],
) -> dict[str, Any]:
    """The ledger entry to come (reference, section 2.1); what a newer host keeps in it stays."""
    product = host.product
    known = {k: v for k, v in (before or {}).items() if k != "previous"}
    previous = None
    if before is not None and before.get("contentHash") not in (None, snapshot.content_hash):
        previous = {k: before.get(k) for k in ("version", "source", "integrity", "contentHash", "resolved")}
    return {
        **known,
        "id": capability.id,
        "version": capability.version,
        "source": source if isinstance(source, str) else source.text,
        "integrity": integrity,
        "files": [f"{product.folder}/capabilities/{capability.id}"],
        "sharedEdits": [{"file": path, "marker": capability.id} for path in shared],
        "contentHash": snapshot.content_hash,
        "gates": list(salvage_points(capability.raw, product.contract.points)),
        "resolved": dict(resolved),
        "installedBy": f"{product.name} {product.version}",
        "installedAt": utc_now(),
        **({"previous": previous} if previous is not None else {}),
    }


def _triple(version: str) -> tuple[int, int, int]:
    """The numbers of a semantic version; tags do not count."""
    from ..engines import release_of

    return release_of(version) or (0, 0, 0)
