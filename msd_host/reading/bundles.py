"""Candidates on disk: each sub-folder of a scope root with everything there is to know about it (spec 10, Discover).

A bundle that may turn out project-scoped is opened beyond its manifest only when a grant or a `--trust`
for it is on record; then each of its files is read once, and manifest, fragments and hash come from those bytes.
"""

from __future__ import annotations

import os
import stat as st
from collections.abc import Callable, Iterator

from attrs import evolve, field, frozen

from ..model.candidate import Candidate, Consent
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.fault import Diagnostic, Fault
from ..model.frozen import EMPTY, FrozenDict
from ..model.scope import Scope
from ..product import Product
from ..remedies import is_valid_id
from ..text import clean, quoted
from ..trust.decisions import Decisions
from ..trust.snapshot import Snapshot, Unverifiable, take_snapshot
from .codec import Codec, Decoded, salvage_points
from .files import Files, ReadFault, fault_of, read_at
from .fragments import FragmentReader, bundle_reader, inline_fragments
from .jsontext import JsonFault, decode
from .ledger import read_ledger
from .roots import Canonical, Roots
from .salvage import points_in_text

__all__ = ["MANIFEST", "Probe", "Sources", "decode_bundle", "find_candidates", "snapshot_reader"]

MANIFEST = "capability.json"
BACKUP = ".old-"  # part of the name an update gives the bundle it replaces

NOTHING_ON_RECORD = Decisions()

_READ_CODES = {"missing": SkipCode.MANIFEST_MISSING}


@frozen
class Probe:
    """A folder to judge as if the user had agreed to it and it lay in *scope* (`check`, install)."""

    path: str
    scope: Scope


@frozen(eq=False)
class Sources:
    """Everything discovery reads from. `decisions` gives what is on record for (canonical root, id);
    `granted_gates` the gate points kept in the served project's grants by id; `trusted` the content
    hashes named for this run by id; `store_path` where a granted bundle's copy lies.
    """

    files: Files
    product: Product
    roots: Roots
    codec: Codec
    decisions: Callable[[str, str], Decisions]
    granted_gates: FrozenDict[str, tuple[str, ...]] = EMPTY
    trusted: FrozenDict[str, frozenset[str]] = EMPTY
    store_path: Callable[[str], str] = field(default=lambda content_hash: content_hash)
    probe: Probe | None = None


def find_candidates(sources: Sources) -> tuple[list[Candidate], list[Diagnostic]]:
    """Every candidate below both roots, global before project, by name; and notes about the roots."""
    found: list[Candidate] = []
    notes: list[Diagnostic] = []
    for scan in _scans(sources):
        found.extend(scan.candidates())
        if scan.ledger.problem is not None:
            notes.append(Diagnostic("*", "ledger", clean(scan.ledger.problem), scan.ledger.path))
    if sources.probe is not None:
        probed = _probed(sources, sources.probe)
        found = [c for c in found if (c.scope, c.id) != (probed.scope, probed.id) and c.where != probed.where]
        found.append(probed)
    return found, notes


def _probed(sources: Sources, probe: Probe) -> Candidate:
    """The candidate a folder would be. Outside a capability root its manifest alone says its id."""
    files, product = sources.files, sources.product
    where = files.realpath(probe.path)
    root, name = os.path.split(where)
    placed = os.path.basename(root) == "capabilities" and os.path.basename(os.path.dirname(root)) == product.folder
    fd = files.open_folder(where)
    try:
        decoded, faults = decode_bundle(
            lambda: read_at(files, MANIFEST, product.limits.manifest_bytes, dir_fd=fd),
            bundle_reader(files, fd, product.limits),
            name if placed else None,
            sources.codec,
        )
        info = files.fstat(fd)
    finally:
        files.close(fd)
    capability = decoded.capability
    id = name if placed or capability is None else capability.id
    gates = salvage_points(capability.raw if capability else decoded.raw, product.contract.points)
    return Candidate(
        id,
        probe.scope,
        root,
        where,
        Consent("granted"),
        capability=capability,
        gates=gates,
        faults=faults,
        place=(info.st_dev, info.st_ino),
        diagnostics=decoded.diagnostics,
    )


def _scans(sources: Sources) -> Iterator[_Scan]:
    """Both roots, the global one first; an absent one still has a ledger or grants that name what is gone."""
    roots = sources.roots
    yield _Scan(sources, roots.global_root, Scope.GLOBAL, roots.home_path)
    if roots.project_root is not None and not roots.one_folder:
        yield _Scan(sources, roots.project_root, Scope.PROJECT, roots.served_path or "")


class _Scan:
    """One root. `owner` is the folder the root belongs to: the home or the served project."""

    def __init__(self, sources: Sources, root: Canonical, scope: Scope, owner: str) -> None:
        self.sources = sources
        self.limits = sources.product.limits
        self.files = sources.files
        self.root = root
        self.path = root.path or root.given
        self.scope = scope
        self.ledger = read_ledger(self.files, owner, sources.product.ledger_name, self.limits)
        #: Whether stage 2 may find this root to be project ground: then consent is looked up here already.
        self.guarded = scope is Scope.PROJECT or sources.roots.global_scope is Scope.PROJECT
        self.subject = sources.roots.served_path if self.guarded else sources.roots.home_path
        self.budget = self.limits.hashed_bytes_per_root

    def candidates(self) -> list[Candidate]:
        if self.root.state == "absent":
            return list(self._missing(frozenset()))
        try:
            fd = self.files.open_folder(self.path, follow=True)
        except NotADirectoryError:  # whatever stands there, no bundle can lie in it
            return list(self._missing(frozenset()))
        except OSError as error:
            return [self._about_root(SkipCode.MANIFEST_UNREADABLE, fault_of(error, "the capability folder").message)]
        try:
            names = self._names(fd)
            found = [c for name, link in names if (c := self._look_at(fd, name, link)) is not None]
            return [*found, *self._missing(frozenset(c.id for c in found))]
        except _TooMany as error:
            return [self._about_root(SkipCode.TOO_MANY_CANDIDATES, str(error))]
        except OSError as error:
            return [self._about_root(SkipCode.MANIFEST_UNREADABLE, fault_of(error, "the capability folder").message)]
        finally:
            self.files.close(fd)

    def _names(self, fd: int) -> list[tuple[str, bool]]:
        """(name, is a link) of what may be a bundle, by name."""
        found: list[tuple[str, bool]] = []
        for entry in self.files.entries(fd):
            if entry.name.startswith(".") or BACKUP in entry.name:
                continue
            link = entry.is_symlink()
            if link or entry.is_dir(follow_symlinks=False):
                found.append((entry.name, link))
                if len(found) > self.limits.candidates_per_root:
                    raise _TooMany(f"more than {self.limits.candidates_per_root} folders in one root")
        return sorted(found)

    def _about_root(self, code: SkipCode, message: str) -> Candidate:
        points = self.sources.product.contract.points
        fault = Fault(code, message, details=FrozenDict({"root": self.path}))
        consent = Consent("granted" if code is SkipCode.TOO_MANY_CANDIDATES else "unconsented")
        return Candidate("*", self.scope, self.path, self.path, consent, gates=points, faults=(fault,))

    def _missing(self, names: frozenset[str]) -> Iterator[Candidate]:
        """Records of bundles that are gone and whose gates would vanish silently."""
        recorded = self.sources.granted_gates if self.guarded else self.ledger.all_gates()
        for id, gates in sorted(recorded.items()):
            points = tuple(p for p in self.sources.product.contract.points if p in gates)
            if points and id not in names and is_valid_id(id):
                fault = Fault(SkipCode.BUNDLE_MISSING, "its folder is gone, and it declared gates")
                where = os.path.join(self.path, id)
                yield Candidate(id, self.scope, self.path, where, Consent("granted"), gates=points, faults=(fault,))

    def _look_at(self, root: int, name: str, link: bool) -> Candidate | None:
        """One candidate, whatever goes wrong with it: what we did not foresee is a fault of that one alone."""
        try:
            return self._one(root, name, link)
        except OSError as error:
            fault = Fault(SkipCode.MANIFEST_UNREADABLE, fault_of(error, "the folder").message)
        except (Exception, RecursionError) as error:
            details = FrozenDict({"error": type(error).__name__})
            message = f"looking at it failed with {type(error).__name__}: {clean(error, 120)}"
            fault = Fault(SkipCode.INTERNAL_ERROR, message, details=details)
        consent = self.consent(self._decisions(name), name, None)
        where, gates = os.path.join(self.path, name), self.kept_gates(name)
        return Candidate(name, self.scope, self.path, where, consent, faults=(fault,), gates=gates)

    def _one(self, root: int, name: str, link: bool) -> Candidate | None:
        where = os.path.join(self.path, name)
        if link:
            return self._linked(root, name, where)
        decisions = self._decisions(name)
        consent = self.consent(decisions, name, None)
        try:
            fd = self.files.open_folder(name, root)
        except OSError as error:
            seen = Candidate(name, self.scope, self.path, where, consent)
            return self._unreadable(seen, fault_of(error, "the folder"))
        try:
            info = self.files.fstat(fd)
            seen = Candidate(name, self.scope, self.path, where, consent, place=(info.st_dev, info.st_ino))
            return _Bundle(self, seen, fd, decisions).look() if is_valid_id(name) else self._misnamed(seen, fd)
        finally:
            self.files.close(fd)

    def _linked(self, root: int, name: str, where: str) -> Candidate | None:
        try:
            if not st.S_ISDIR(self.files.stat(name, dir_fd=root).st_mode):
                return None
        except (OSError, ValueError):
            return None
        fault = Fault(SkipCode.BUNDLE_SYMLINK, "it is a symbolic link; a bundle must be a real folder")
        gates = self.kept_gates(name)
        return Candidate(name, self.scope, self.path, where, Consent("unconsented"), faults=(fault,), gates=gates)

    def _misnamed(self, seen: Candidate, fd: int) -> Candidate | None:
        try:
            self.files.stat(MANIFEST, follow=False, dir_fd=fd)
        except (OSError, ValueError):
            return None
        fault = Fault(SkipCode.INVALID_ID, f"{quoted(seen.id)} is not a capability id")
        return evolve(seen, faults=(fault,), gates=self.gates_on_disk(fd))

    def _unreadable(self, seen: Candidate, fault: ReadFault) -> Candidate:
        details = FrozenDict({"read": fault.kind})
        faults = (Fault(SkipCode.MANIFEST_UNREADABLE, fault.message, details=details),)
        return evolve(seen, faults=faults, gates=self.kept_gates(seen.id))

    def kept_gates(self, id: str) -> tuple[str, ...]:
        """Gate points from the grant or, in the user's own scope, the ledger, for a manifest nobody can read."""
        kept = self.sources.granted_gates.get(id, ()) if self.guarded else self.ledger.gates(id)
        return tuple(p for p in self.sources.product.contract.points if p in kept)

    def gates_on_disk(self, fd: int) -> tuple[str, ...]:
        """The known points of the gates a manifest declares, read for their names alone."""
        return self.gates_in(lambda: read_at(self.files, MANIFEST, self.limits.manifest_bytes, dir_fd=fd))

    def gates_in(self, manifest: Callable[[], bytes]) -> tuple[str, ...]:
        """The gate points a manifest declares, whatever else is wrong with it: a skipped gate is never silent."""
        points = self.sources.product.contract.points
        try:
            data = manifest()
        except ReadFault:
            return ()
        try:
            return salvage_points(decode(data, self.limits), points)
        except JsonFault:
            return points_in_text(data, points)

    def _decisions(self, id: str) -> Decisions:
        if self.subject is None or not is_valid_id(id):
            return NOTHING_ON_RECORD
        return self.sources.decisions(self.subject, id)

    def consent(self, decisions: Decisions, id: str, content_hash: str | None) -> Consent:
        """What *decisions* say about the bytes with *content_hash* (None: not hashed)."""
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


_GLOBAL = Consent("global")


class _TooMany(Exception):
    """A root holds more folders than anybody installs by hand."""


class _Bundle:
    """One bundle behind an open descriptor."""

    def __init__(self, scan: _Scan, seen: Candidate, fd: int, decisions: Decisions) -> None:
        self.scan = scan
        self.fd = fd
        self.decisions = decisions
        ledger, id = scan.ledger, seen.id
        if id in ledger.entries:
            seen = evolve(seen, pending=ledger.pending(id), committed=ledger.committed(id), source=ledger.source(id))
        self.seen = seen

    def look(self) -> Candidate:
        scan, seen = self.scan, self.seen
        if seen.consent.state == "denied":
            return evolve(seen, gates=scan.gates_on_disk(self.fd))
        if not scan.guarded:
            return self._decoded(self._manifest, bundle_reader(scan.files, self.fd, scan.limits))
        if not (seen.consent.known_hashes or seen.id in scan.sources.trusted):
            return evolve(seen, gates=scan.gates_on_disk(self.fd))
        return self._verified()

    def _with_kept(self, declared: tuple[str, ...]) -> tuple[str, ...]:
        """What is declared now and what was agreed to: an edit must not silence a gate by declaring another."""
        known = {*declared, *self.scan.kept_gates(self.seen.id)}
        return tuple(p for p in self.scan.sources.product.contract.points if p in known)

    def _manifest(self) -> bytes:
        return read_at(self.scan.files, MANIFEST, self.scan.limits.manifest_bytes, dir_fd=self.fd)

    def _verified(self) -> Candidate:
        scan, seen = self.scan, self.seen
        try:
            snapshot = take_snapshot(scan.files, self.fd, scan.limits, scan.budget)
        except Unverifiable as error:
            scan.budget -= error.bytes_read
            consent = Consent("unverifiable", clean(error), seen.consent.known_hashes)
            return evolve(seen, consent=consent, gates=self._with_kept(scan.gates_on_disk(self.fd)))
        scan.budget -= snapshot.size
        state = scan.consent(self.decisions, seen.id, snapshot.content_hash)
        self.seen = seen = evolve(seen, consent=state, content_hash=snapshot.content_hash)
        read_manifest = snapshot_reader(snapshot, scan.limits.manifest_bytes)
        if state.state != "granted":
            gates = scan.gates_in(lambda: read_manifest(MANIFEST))
            return evolve(seen, gates=self._with_kept(gates))
        return self._decoded(lambda: read_manifest(MANIFEST), snapshot_reader(snapshot, scan.limits.fragment_bytes))

    def _decoded(self, manifest: Callable[[], bytes], fragments: FragmentReader) -> Candidate:
        scan, seen = self.scan, self.seen
        decoded, faults = decode_bundle(manifest, fragments, seen.id, scan.sources.codec)
        capability = decoded.capability
        points = scan.sources.product.contract.points
        gates = salvage_points(capability.raw, points) if capability else scan.gates_in(manifest)
        return Candidate(  # written out: `evolve` costs as much as reading a file
            seen.id,
            seen.scope,
            seen.root,
            seen.where,
            seen.consent,
            capability,
            seen.content_hash,
            gates or (() if capability else scan.kept_gates(seen.id)),
            faults,
            seen.pending,
            seen.committed,
            seen.source,
            seen.place,
            self._command_root(capability),
            decoded.diagnostics,
        )

    def _command_root(self, capability: Capability | None) -> str | None:
        """Only what has command modules and a committed ledger entry may ever be loaded from (reference, 5.6)."""
        if capability is None or not capability.commands or not self.seen.committed:
            return None
        if self.seen.content_hash is None:
            return self.seen.where
        return self.scan.sources.store_path(self.seen.content_hash)


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
