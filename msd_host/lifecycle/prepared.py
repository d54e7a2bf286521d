"""A bundle that waits beside its place, judged and disclosed, before anybody is asked (spec 30, Install, step by step)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..check import CheckResult, judge
from ..errors import LifecycleError
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.scope import Scope
from ..text import clean, quoted
from ..trust.diff import BundleDiff
from ..trust.private import closing
from ..trust.snapshot import Snapshot, Unverifiable, take_snapshot
from .change import BUNDLE
from .evidence import entry_to_come, in_place, numbers_of, sighting_of, versions_that_fit
from .ground import Ground
from .journal import INSTALL
from .ledgers import entry_of, is_pending, read_strict
from .sources.source import Source
from .staging import Staged

if TYPE_CHECKING:
    from ..host import Host
    from ..trust.desk import Sighting

__all__ = ["DoesNotFit", "Prepared", "judge_again", "prepare"]


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
        return self.current is not None and numbers_of(self.version) < numbers_of(self.current)

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
        if self.shared:
            lines += ["  written into settings of other tools:", *(f"    {clean(path, 400)}" for path in self.shared)]
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
    current, current_hash = in_place(host, ground, id)
    seen, changes = sighting_of(
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
        entry_to_come(host, capability, snapshot, source, resolved, integrity, before, shared),
        os.path.lexists(ground.bundle(id)),
        current,
        current_hash,
        current_hash == snapshot.content_hash and before is not None,
        shared,
    )


def judge_again(host: Host, prepared: Prepared, cwd: str | os.PathLike[str]) -> None:
    """Raise `LifecycleError` where what was judged would not be accepted any more: others may have come in meanwhile.

    For whoever holds the lock, so that two that would shut each other out do not both get in (spec 30, law 3).
    """
    where = os.path.realpath(prepared.staged.path / BUNDLE)
    verdict, composition = judge(host, where, prepared.scope, cwd)
    if not verdict.ok:
        candidate = next((c for c in composition.seen if c.where == where), None)
        raise _refused(host, prepared.ground, verdict, None if candidate is None else candidate.capability)


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
