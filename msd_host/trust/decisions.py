"""What is on record, read without ever raising (spec 20, Consent store).

Whatever cannot be read is not on record, with one exception: a denial counts by its mere presence, whoever
could have put it there and whatever it holds. No failure can turn a no into a yes.
"""

from __future__ import annotations

import errno
import stat as st
from collections.abc import Collection
from types import TracebackType
from typing import TYPE_CHECKING

from attrs import frozen

from ..limits import Limits
from ..text import quoted
from .hashing import from_hex
from .private import PrivatePlace, closing, error_name, folder_fault, owner_fault
from .records import Denial, Grant, RecordFault, decode_denial, decode_grant, key_of, place_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ConsentView", "Decisions", "read_denials", "read_record"]

GRANTS, DENIALS, ROOTS = "grants", "denials", "roots"


@frozen
class Decisions:
    """What is on record for one (root, id): `grants` newest first, `ignored` a note per record not counted."""

    denied: bool = False
    grants: tuple[Grant, ...] = ()
    ignored: tuple[str, ...] = ()


_NOTHING = Decisions()
_DENIED = Decisions(denied=True)


class ConsentView:
    """The store as one listing of each of its folders saw it; good for one load. Close it, or use `with`.

    `problem` says why nothing is granted at all, if so. Without *details* grants come without disclosure and
    file list, which decide nothing and cost most of the time.
    """

    def __init__(
        self,
        place: PrivatePlace,
        folder: str,
        limits: Limits,
        unusable: str | None = None,
        *,
        details: bool = True,
    ) -> None:
        self.problem = unusable
        self._details = details
        self._place = place
        self._files = place.files
        self._limits = limits
        self._grants: int | None = None
        self._roots: int | None = None
        self._granted: frozenset[str] = frozenset()
        self._denied: frozenset[str] = frozenset()
        self._known: dict[str, tuple[tuple[Grant, ...], tuple[str, ...]]] = {}
        if unusable is None:
            self._look(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the descriptors. Nothing is granted through a closed view; denials still hold."""
        for fd in (self._grants, self._roots):
            if fd is not None:
                self._files.close(fd)
        self._grants = self._roots = None
        self._granted = frozenset()
        self._known = {}

    @property
    def has_any(self) -> bool:
        """Whether there is anything on record for anybody."""
        return bool(self._granted or self._denied)

    def decisions(self, root: str, id: str) -> Decisions:
        """What is on record for *id* at the canonical *root*."""
        if not self.has_any:
            return _NOTHING
        key = key_of(root, id)
        denied = f"{key}.json" in self._denied
        if key not in self._granted:
            return _DENIED if denied else _NOTHING
        grants, ignored = self.read(key)
        return Decisions(denied, grants, ignored)

    def grants_at(self, root: str, known: Collection[str] = ()) -> tuple[Grant, ...]:
        """Every grant at *root* whose id is not *known* (to find those whose bundle is gone).

        By id, and within one id the newest last.
        """
        if self._roots is None or not self._granted:
            return ()
        keys = self._listed(self._roots, place_of(root)) & self._granted
        keys -= {key_of(root, id) for id in known}
        found = [grant for key in keys for grant in self.read(key)[0] if grant.root == root]
        return tuple(sorted(found, key=lambda grant: (grant.id, grant.granted_at, grant.content_hash)))

    def names(self) -> tuple[list[str], list[str]]:
        """The folders of grants and the file names of denials."""
        return sorted(self._granted), sorted(self._denied)

    def read(self, key: str) -> tuple[tuple[Grant, ...], tuple[str, ...]]:
        """The grants in one folder, newest first, and a note for each record that is none. Read once."""
        if key not in self._known:
            self._known[key] = self._read(key)
        return self._known[key]

    def _look(self, folder: str) -> None:
        try:
            consent, sound = self._place.descend(folder)
        except OSError as error:
            if error.errno != errno.ENOENT:
                self._refuse(f"cannot be read ({error_name(error)})")
            return
        with closing(self._files, consent):
            self._denied = self._names_in(consent, DENIALS)
            if not sound:
                self._refuse("can be written by others")
            if self.problem is None:
                self._keep(consent)

    def _refuse(self, words: str) -> None:
        self.problem = self._place.health().problem or f"the {self._place.purpose} is not used: it {words}"

    def _names_in(self, consent: int, name: str) -> frozenset[str]:
        fd = self._opened(consent, name)
        if fd is None:
            return frozenset()
        with closing(self._files, fd):
            return self._listed(fd)

    def _keep(self, consent: int) -> None:
        self._grants = self._opened(consent, GRANTS)
        self._roots = self._opened(consent, ROOTS)
        if self._grants is not None:
            self._granted = self._listed(self._grants)
        if self.problem is not None:
            self.close()

    def _opened(self, consent: int, name: str) -> int | None:
        try:
            fd = self._files.open_folder(name, consent)
        except OSError as error:
            if error.errno != errno.ENOENT:
                self._refuse(f"has a {name} folder that cannot be read ({error_name(error)})")
            return None
        if not self._place.is_sound(fd):
            self._refuse(f"has a {name} folder that can be written by others")
        return fd

    def _listed(self, fd: int, folder: str | None = None) -> frozenset[str]:
        try:
            if folder is None:
                return frozenset([e.name for e in self._files.entries(fd) if not e.name.startswith(".")])
            with closing(self._files, self._files.open_folder(folder, fd)) as below:
                return self._listed(below)
        except OSError as error:
            if folder is None:
                self._refuse(f"cannot be read ({error_name(error)})")
            return frozenset()

    def _read(self, key: str) -> tuple[tuple[Grant, ...], tuple[str, ...]]:
        if self._grants is None:
            return (), ()
        try:
            with closing(self._files, self._files.open_folder(key, self._grants)) as folder:
                fault = folder_fault(self._files.fstat(folder))
                if fault is not None:
                    raise RecordFault(fault)
                return self._records(key, folder)
        except FileNotFoundError:
            return (), ()  # revoked since it was listed
        except (OSError, RecordFault) as error:
            return (), (_note(f"{GRANTS}/{key[:12]}…", error),)

    def _records(self, key: str, folder: int) -> tuple[tuple[Grant, ...], tuple[str, ...]]:
        grants: list[Grant] = []
        ignored: list[str] = []
        for entry in self._files.entries(folder):
            if entry.name.startswith("."):
                continue
            try:
                grants.append(read_record(self._place, folder, key, entry.name, self._limits, details=self._details))
            except FileNotFoundError:
                continue
            except (OSError, RecordFault) as error:
                ignored.append(_note(f"{GRANTS}/{key[:12]}…/{entry.name[:12]}…", error))
        grants.sort(key=lambda grant: (grant.granted_at, grant.content_hash), reverse=True)
        return tuple(grants), tuple(sorted(ignored))


def _note(what: str, error: OSError | RecordFault) -> str:
    why = str(error) if isinstance(error, RecordFault) else f"cannot be read ({error_name(error)})"
    return f"the consent record {quoted(what)} is ignored: it {why}"


def read_record(
    place: PrivatePlace, folder: int, key: str, name: str, limits: Limits, *, details: bool = False
) -> Grant:
    """The grant in the file *name*, which must say itself what its names say. Raises `OSError`, `RecordFault`."""
    grant = decode_grant(_bytes(place, folder, name, limits.record_bytes), details=details)
    if key_of(grant.root, grant.id) != key:
        raise RecordFault("belongs to another project or capability")
    if not name.endswith(".json") or grant.content_hash != _hash_in(name):
        raise RecordFault("belongs to other content")
    return grant


def read_denials(
    place: PrivatePlace, folder: str, names: list[str], limits: Limits
) -> tuple[tuple[Denial, ...], tuple[str, ...]]:
    """The denials that can be read, and a note for each that cannot. All of them hold."""
    denials: list[Denial] = []
    notes: list[str] = []
    try:
        fd, _ = place.descend(f"{folder}/{DENIALS}")
    except OSError:
        return (), ()
    with closing(place.files, fd):
        for name in names:
            try:
                denials.append(decode_denial(_bytes(place, fd, name, limits.record_bytes)))
            except FileNotFoundError:
                continue  # lifted since it was listed
            except (OSError, RecordFault) as error:
                why = error_name(error) if isinstance(error, OSError) else str(error)
                notes.append(f"the denial {quoted(f'{DENIALS}/{name[:12]}…')} holds, though it cannot be read ({why})")
    denials.sort(key=lambda denial: (denial.root, denial.id))
    return tuple(denials), tuple(notes)


def _hash_in(name: str) -> str | None:
    try:
        return from_hex(name[: -len(".json")])
    except ValueError:
        return None


def _bytes(place: PrivatePlace, folder: int, name: str, limit: int) -> bytes:
    files = place.files
    with closing(files, files.open_file(name, folder)) as fd:
        info = files.fstat(fd)
        if not st.S_ISREG(info.st_mode):
            raise RecordFault("is not a regular file")
        fault = owner_fault(info)
        if fault is not None:
            raise RecordFault(fault)
        size = min(info.st_size, limit)
        data = files.read(fd, size + 1)  # one more, so that a record that grows is none
        while len(data) < size and (more := files.read(fd, size + 1 - len(data))):
            data += more
        if len(data) <= limit:
            return data
        raise RecordFault(f"has more than {limit} bytes")
