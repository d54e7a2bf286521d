"""One bundle behind an open descriptor: manifest, fragments and hash, as far as consent lets us look.

Beyond its manifest a bundle that may turn out project-scoped is opened only when a grant or a `--trust` for it is
on record; then each of its files is read once, and manifest, fragments and hash come from those bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from ..model.candidate import Candidate, Consent
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..remedies import is_valid_id
from ..text import clean, quoted
from ..trust.decisions import Decisions
from ..trust.snapshot import Snapshot, Unverifiable, take_snapshot
from .codec import Codec, Decoded, salvage_points
from .files import ReadFault, read_at
from .fragments import FragmentReader, bundle_reader, inline_fragments
from .ground import MANIFEST, Ground

__all__ = ["Bundle", "decode_bundle", "snapshot_reader"]

_READ_CODES = {"missing": SkipCode.MANIFEST_MISSING}


class Bundle:
    """One bundle of *ground*. `named` is false where its folder's name does not tell its id (`check` of any folder)."""

    def __init__(self, ground: Ground, seen: Candidate, fd: int, decisions: Decisions, *, named: bool = True) -> None:
        self.ground = ground
        self.fd = fd
        self.decisions = decisions
        self.named = named
        ledger, id = ground.ledger, seen.id
        if id in ledger.entries:
            seen = evolve(seen, pending=ledger.pending(id), committed=ledger.committed(id), source=ledger.source(id))
        self.seen = seen

    def look(self) -> Candidate:
        """The candidate, with every fault that its own bytes show."""
        ground, seen = self.ground, self.seen
        if seen.consent.state == "denied":
            return evolve(seen, gates=ground.gates_on_disk(self.fd))
        if not ground.guarded:
            return self._decoded(self._manifest, bundle_reader(ground.files, self.fd, ground.limits))
        if not ground.may_open(seen.consent, seen.id):
            return evolve(seen, gates=ground.gates_on_disk(self.fd))
        return self._verified()

    def _with_kept(self, declared: tuple[str, ...]) -> tuple[str, ...]:
        """What is declared now and what was agreed to: an edit must not silence a gate by declaring another."""
        known = {*declared, *self.ground.kept_gates(self.seen.id)}
        return tuple(p for p in self.ground.sources.product.contract.points if p in known)

    def _manifest(self) -> bytes:
        return read_at(self.ground.files, MANIFEST, self.ground.limits.manifest_bytes, dir_fd=self.fd)

    def _verified(self) -> Candidate:
        ground, seen = self.ground, self.seen
        try:
            snapshot = take_snapshot(ground.files, self.fd, ground.limits, ground.budget)
        except Unverifiable as error:
            ground.budget -= error.bytes_read
            consent = Consent("unverifiable", clean(error), seen.consent.known_hashes)
            return evolve(seen, consent=consent, gates=self._with_kept(ground.gates_on_disk(self.fd)))
        ground.budget -= snapshot.size
        state = ground.consent(self.decisions, seen.id, snapshot.content_hash)
        self.seen = seen = evolve(seen, consent=state, content_hash=snapshot.content_hash)
        read_manifest = snapshot_reader(snapshot, ground.limits.manifest_bytes)
        if state.state != "granted":
            gates = ground.gates_in(lambda: read_manifest(MANIFEST))
            return evolve(seen, gates=self._with_kept(gates))
        return self._decoded(lambda: read_manifest(MANIFEST), snapshot_reader(snapshot, ground.limits.fragment_bytes))

    def _decoded(self, manifest: Callable[[], bytes], fragments: FragmentReader) -> Candidate:
        ground, seen = self.ground, self.seen
        decoded, faults = decode_bundle(manifest, fragments, seen.id if self.named else None, ground.sources.codec)
        capability = decoded.capability
        points = ground.sources.product.contract.points
        gates = salvage_points(capability.raw, points) if capability else ground.gates_in(manifest)
        return Candidate(  # written out: `evolve` costs as much as reading a file
            self._id(decoded),
            seen.scope,
            seen.root,
            seen.where,
            seen.consent,
            capability,
            seen.content_hash,
            gates or (() if capability else ground.kept_gates(seen.id)),
            faults,
            seen.pending,
            seen.committed,
            seen.source,
            seen.place,
            self._command_root(capability),
            decoded.diagnostics,
        )

    def _id(self, decoded: Decoded) -> str:
        """The folder's name, or where that says nothing the manifest's word, if it can be an id."""
        raw = decoded.capability.raw if decoded.capability is not None else decoded.raw
        told = raw.get("id") if isinstance(raw, FrozenDict) and not self.named else None
        return told if isinstance(told, str) and is_valid_id(told) else self.seen.id

    def _command_root(self, capability: Capability | None) -> str | None:
        """Only what has command modules and a committed ledger entry may ever be loaded from (reference, 5.6)."""
        if capability is None or not capability.commands or not self.seen.committed:
            return None
        if self.seen.content_hash is None:
            return self.seen.where
        return self.ground.sources.store_path(self.seen.content_hash)


def decode_bundle(
    manifest: Callable[[], bytes], fragments: FragmentReader, id: str | None, codec: Codec
) -> tuple[Decoded, tuple[Fault, ...]]:
    """Manifest and fragments of one bundle decoded; the same call for load, check, grant and install."""
    try:
        data = manifest()
    except ReadFault as fault:
        code = _READ_CODES.get(fault.kind, SkipCode.MANIFEST_UNREADABLE)
        return Decoded(None, (), (), None), (Fault(code, fault.message, details=FrozenDict({"read": fault.kind})),)
    decoded = codec.decode(data, id)
    if decoded.capability is None or decoded.faults:
        return decoded, decoded.faults
    capability, faults = inline_fragments(decoded.capability, fragments, codec.limits)
    if capability is not decoded.capability:
        decoded = evolve(decoded, capability=capability)
    return decoded, faults


def snapshot_reader(snapshot: Snapshot, limit: int) -> FragmentReader:
    """Reads fragments out of bytes that have been read and hashed already."""

    def read(path: str) -> bytes:
        parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
        data = _file_of(snapshot, "/".join(parts))
        if len(data) > limit:
            raise ReadFault("too-large", f"{quoted(path)} has {len(data)} bytes; the limit is {limit}")
        return data

    return read


def _file_of(snapshot: Snapshot, path: str) -> bytes:
    entry = snapshot.files.get(path)
    if entry is None:
        kind = "not-regular" if path in snapshot.folders else "missing"
        raise ReadFault(kind, f"{quoted(path)} is {'missing' if kind == 'missing' else 'not a regular file'}")
    return entry.data
