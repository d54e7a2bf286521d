"""One capability root: a candidate for each real sub-folder, and a record of what is gone (spec 10, Discover)."""

from __future__ import annotations

import errno
import os
import stat as st
from collections.abc import Iterator

from attrs import evolve

from ..model.candidate import Candidate, Consent
from ..model.codes import SkipCode
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..remedies import is_valid_id
from ..text import clean, quoted
from .bundle import Bundle
from .files import ReadFault, fault_of
from .ground import MANIFEST, Ground
from .roots import Canonical

__all__ = ["BACKUP", "Scan"]

BACKUP = ".old-"  # part of the name an update gives the bundle it replaces


class Scan:
    """The walk over one root, whose ground is *ground*."""

    def __init__(self, ground: Ground, root: Canonical) -> None:
        self.ground = ground
        self.root = root
        self.files = ground.files
        self.path = ground.path
        self.scope = ground.scope

    def candidates(self) -> list[Candidate]:
        if self.root.state == "absent":
            return list(self._missing(frozenset()))
        try:
            fd = self.files.open_folder(self.path, follow=True)
        except NotADirectoryError:  # whatever stands there, no bundle can lie in it
            return list(self._missing(frozenset()))
        except OSError as error:
            what = "the capability folder"
            # a link is followed here, so this is what cannot be followed to its end
            words = f"{what} is a loop of links" if error.errno == errno.ELOOP else fault_of(error, what).message
            return [self._about_root(SkipCode.MANIFEST_UNREADABLE, words)]
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
                if len(found) > self.ground.limits.candidates_per_root:
                    raise _TooMany(f"more than {self.ground.limits.candidates_per_root} folders in one root")
        return sorted(found)

    def _about_root(self, code: SkipCode, message: str) -> Candidate:
        points = self.ground.sources.product.contract.points
        fault = Fault(code, message, details=FrozenDict({"root": self.path}))
        return Candidate("*", self.scope, self.path, self.path, Consent("granted"), gates=points, faults=(fault,))

    def _missing(self, names: frozenset[str]) -> Iterator[Candidate]:
        """Records of bundles that are gone and whose gates would vanish silently."""
        recorded = self.ground.sources.granted_gates if self.ground.guarded else self.ground.ledger.all_gates()
        for id, gates in sorted(recorded.items()):
            points = tuple(p for p in self.ground.sources.product.contract.points if p in gates)
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
        consent = self.ground.consent(self.ground.decisions(name), name, None)
        where, gates = os.path.join(self.path, name), self.ground.kept_gates(name)
        return Candidate(name, self.scope, self.path, where, consent, faults=(fault,), gates=gates)

    def _one(self, root: int, name: str, link: bool) -> Candidate | None:
        where = os.path.join(self.path, name)
        if link:
            return self._linked(root, name, where)
        decisions = self.ground.decisions(name)
        consent = self.ground.consent(decisions, name, None)
        try:
            fd = self.files.open_folder(name, root)
        except OSError as error:
            seen = Candidate(name, self.scope, self.path, where, consent)
            return self._unreadable(seen, fault_of(error, "the folder"))
        try:
            info = self.files.fstat(fd)
            seen = Candidate(name, self.scope, self.path, where, consent, place=(info.st_dev, info.st_ino))
            return Bundle(self.ground, seen, fd, decisions).look() if is_valid_id(name) else self._misnamed(seen, fd)
        finally:
            self.files.close(fd)

    def _linked(self, root: int, name: str, where: str) -> Candidate | None:
        try:
            if not st.S_ISDIR(self.files.stat(name, dir_fd=root).st_mode):
                return None
        except (OSError, ValueError):
            return None
        fault = Fault(SkipCode.BUNDLE_SYMLINK, "it is a symbolic link; a bundle must be a real folder")
        gates = self.ground.kept_gates(name)
        return Candidate(name, self.scope, self.path, where, Consent("unconsented"), faults=(fault,), gates=gates)

    def _misnamed(self, seen: Candidate, fd: int) -> Candidate | None:
        try:
            self.files.stat(MANIFEST, follow=False, dir_fd=fd)
        except (OSError, ValueError):
            return None
        fault = Fault(SkipCode.INVALID_ID, f"{quoted(seen.id)} is not a capability id")
        return evolve(seen, faults=(fault,), gates=self.ground.gates_on_disk(fd))

    def _unreadable(self, seen: Candidate, fault: ReadFault) -> Candidate:
        details = FrozenDict({"read": fault.kind})
        faults = (Fault(SkipCode.MANIFEST_UNREADABLE, fault.message, details=details),)
        return evolve(seen, faults=faults, gates=self.ground.kept_gates(seen.id))


class _TooMany(Exception):
    """A root holds more folders than anybody installs by hand."""
