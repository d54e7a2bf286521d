"""The composition digest: sorted (id, version, scope, content hash) with host version and first-party digest (spec 10)."""

from __future__ import annotations

from attrs import frozen

from .composition import Composition
from .errors import Refused
from .model.candidate import Candidate
from .reading.files import Files, fault_of
from .registry.digest import composition_digest, registry_digest
from .text import clean, quoted
from .trust.snapshot import Unverifiable, take_snapshot

__all__ = ["Digest", "digest_of"]


@frozen
class Digest:
    """`overlays` holds (id, version, scope, content hash) of everything accepted, sorted."""

    digest: str
    first_party: str
    overlays: tuple[tuple[str, str, str, str], ...]


def digest_of(composition: Composition, files: Files) -> Digest:
    """The digest of *composition*. Global bundles are hashed now; raises `Refused` for one that cannot be."""
    context = composition.context
    overlay = composition.registry.overlay
    accepted = overlay.accepted if overlay is not None else {}
    rows = sorted(_row(c, composition, files) for c in composition.cohort.candidates if c.id in accepted)
    first_party = registry_digest(context.baseline)
    return Digest(composition_digest(rows, context.host_version, first_party), first_party, tuple(rows))


def _row(candidate: Candidate, composition: Composition, files: Files) -> tuple[str, str, str, str]:
    content_hash = candidate.content_hash or _hash_now(candidate, composition, files)
    version = candidate.capability.version if candidate.capability is not None else ""
    return candidate.id, version, candidate.scope.label, content_hash


def _hash_now(candidate: Candidate, composition: Composition, files: Files) -> str:
    try:
        fd = files.open_folder(candidate.where)
    except OSError as error:
        raise Refused(f"{quoted(candidate.id)} cannot be hashed: {fault_of(error, 'its folder').message}") from None
    try:
        return take_snapshot(files, fd, composition.context.product.limits).content_hash
    except Unverifiable as error:
        raise Refused(f"{quoted(candidate.id)} cannot be hashed: {clean(error)}") from None
    finally:
        files.close(fd)
