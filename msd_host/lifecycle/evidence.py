"""What is known of a bundle that may come in: beside what lies in its place, and beside what was agreed to (spec 30)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..composition import Composition, codec_of, consent_store
from ..engines import Verdict, release_of
from ..engines import judge as judge_range
from ..errors import MSDError
from ..model.capability import Capability
from ..model.scope import Scope
from ..reading.bundle import decode_bundle, snapshot_reader
from ..reading.codec import salvage_points
from ..reading.ground import MANIFEST
from ..trust.consent import utc_now
from ..trust.desk import Sighting, TrustState
from ..trust.diff import BundleDiff
from ..trust.disclosure import disclose
from ..trust.private import closing
from ..trust.snapshot import Snapshot, take_snapshot
from .ground import Ground
from .sources.source import Source

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["entry_to_come", "in_place", "numbers_of", "sighting_of", "versions_that_fit"]


def in_place(host: Host, ground: Ground, id: str) -> tuple[str | None, str | None]:
    """(version, content hash) of what lies there now, as far as that can be told."""
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
    decoded, _ = decode_bundle(lambda: reader(MANIFEST), reader, id, codec_of(host.product))
    raw = decoded.capability.raw if decoded.capability is not None else decoded.raw
    version = raw.get("version") if isinstance(raw, Mapping) else None
    return (version if isinstance(version, str) else None), snapshot.content_hash


def sighting_of(
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


def entry_to_come(
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


def versions_that_fit(capability: Capability, host_version: str) -> tuple[str, ...]:
    """The versions in `compatVersions` whose range has *host_version*, newest first (spec 30)."""
    known = capability.raw.get("compatVersions") or {}
    fits = [version for version, range in known.items() if judge_range(range, host_version) is Verdict.SATISFIED]
    return tuple(sorted(fits, key=numbers_of, reverse=True))


def numbers_of(version: str) -> tuple[int, int, int]:
    """The numbers of a semantic version; tags do not count."""
    return release_of(version) or (0, 0, 0)
