"""The steps a change of the consent store is made of, each old or new whenever the process dies (spec 20).

Order is what makes them safe together: a record is on the disk before a denial goes, a denial before the
grants go, and all grants of one capability go in one rename.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress

from attrs import frozen

from ..errors import ConsentStoreError
from ..limits import Limits
from .decisions import DENIALS, GRANTS, ROOTS, read_record
from .private import (
    GONE,
    TEMP,
    PrivatePlace,
    closing,
    create_file,
    folder_fault,
    open_or_make,
    remove_tree,
    set_aside,
    sweep,
    sync_folder,
    write_file,
)
from .records import RecordFault, place_of

__all__ = ["ABSENT", "Changes"]

ABSENT = (errno.ENOENT, errno.ENOTDIR)
_TRIES = 16  # a grant and a withdrawal of the same pair can only meet so often by chance


@frozen
class Changes:
    """The open `consent` folder. Every method raises `OSError` where the system says no."""

    place: PrivatePlace
    consent: int
    limits: Limits

    def put(self, key: str, name: str, data: bytes) -> None:
        """Write one grant; it stands where it belongs when this returns."""
        files = self.place.files
        with closing(files, open_or_make(files, self.consent, GRANTS)) as grants:

            def write() -> None:
                with closing(files, self._key_folder(grants, key)) as folder:
                    self._make_way(folder, key, name)
                    write_file(folder, name, data)
                files.stat(f"{key}/{name}", follow=False, dir_fd=grants)

            _insist(write)

    def mark(self, root: str, key: str) -> None:
        """Note that *key* belongs to *root*, so that a load finds it without reading every record."""
        files = self.place.files
        with closing(files, open_or_make(files, self.consent, ROOTS)) as roots:

            def write() -> None:
                with closing(files, open_or_make(files, roots, place_of(root))) as place:
                    _touch(place, key)

            _insist(write)

    def denial(self, key: str) -> tuple[int, ...] | None:
        """The identity of what stands for a denial, whatever it is (numbers of files are used again)."""
        try:
            info = self.place.files.stat(f"{DENIALS}/{key}.json", follow=False, dir_fd=self.consent)
        except OSError as error:
            if error.errno in ABSENT:
                return None
            raise
        return (info.st_dev, info.st_ino, info.st_mtime_ns, info.st_ctime_ns)

    def deny(self, key: str, data: bytes) -> None:
        """Write a denial; one that stands already is left as it is."""
        files = self.place.files
        if self.denial(key) is None:
            with closing(files, open_or_make(files, self.consent, DENIALS)) as denials:
                write_file(denials, f"{key}.json", data)

    def lift(self, key: str, seen: tuple[int, ...]) -> None:
        """Remove the denial that was *seen*; one that came since is a decision of its own."""
        if self.denial(key) == seen:
            files = self.place.files
            with closing(files, files.open_folder(DENIALS, self.consent)) as denials:
                _remove(denials, f"{key}.json")

    def withdraw(self, key: str) -> int:
        """Take all grants of *key* away in one step; returns how many records there were."""
        files = self.place.files
        try:
            with closing(files, files.open_folder(GRANTS, self.consent)) as grants:
                spare = set_aside(grants, key, GONE)
                count = self._count(grants, spare)
                self._clear(grants, spare)
                return count
        except FileNotFoundError:
            return 0

    def withdraw_one(self, key: str, name: str) -> int:
        """Take one grant away; returns how many records went."""
        files = self.place.files
        try:
            with closing(files, files.open_folder(f"{GRANTS}/{key}", self.consent)) as folder:
                files.stat(name, follow=False, dir_fd=folder)
                _remove(folder, name)
        except OSError as error:
            if error.errno in ABSENT:
                return 0
            raise
        with suppress(OSError):
            os.rmdir(f"{GRANTS}/{key}", dir_fd=self.consent)
        return 1

    def tidy(self, older_than: float) -> None:
        """Remove what killed processes left, and marks that point nowhere."""
        files = self.place.files
        for name in (GRANTS, DENIALS, ROOTS):
            with suppress(FileNotFoundError), closing(files, files.open_folder(name, self.consent)) as folder:
                sweep(files, folder, (TEMP, GONE), older_than)
                for entry in files.entries(folder):
                    if name == GRANTS:
                        self._tidy_grants(folder, entry.name, older_than)
                    elif name == ROOTS:
                        self._tidy_marks(folder, entry.name)

    def _tidy_grants(self, grants: int, key: str, older_than: float) -> None:
        files = self.place.files
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            closing(files, files.open_folder(key, grants)) as fd,
        ):
            sweep(files, fd, (TEMP,), older_than)
        with suppress(OSError):
            os.rmdir(key, dir_fd=grants)

    def _tidy_marks(self, roots: int, place: str) -> None:
        files = self.place.files
        with (
            suppress(FileNotFoundError, NotADirectoryError),
            closing(files, files.open_folder(place, roots)) as fd,
        ):
            for entry in files.entries(fd):
                if not self._has_grants(entry.name):
                    _remove(fd, entry.name)
                    if self._has_grants(entry.name):  # granted in this very moment
                        _touch(fd, entry.name)
        with suppress(OSError):
            os.rmdir(place, dir_fd=roots)

    def _has_grants(self, key: str) -> bool:
        try:
            self.place.files.stat(f"{GRANTS}/{key}", follow=False, dir_fd=self.consent)
        except OSError as error:
            return error.errno not in ABSENT
        return True

    def _key_folder(self, grants: int, key: str) -> int:
        """The folder of *key*; something else in its place is kept under another name."""
        files = self.place.files
        try:
            if folder_fault(files.stat(key, follow=False, dir_fd=grants)) is not None:
                set_aside(grants, key)
        except FileNotFoundError:
            pass
        return open_or_make(files, grants, key)

    def _make_way(self, folder: int, key: str, name: str) -> None:
        """Keep what stands at *name* unless it is a sound record, which its successor replaces in one step."""
        try:
            read_record(self.place, folder, key, name, self.limits)
        except FileNotFoundError:
            return
        except (OSError, RecordFault):
            set_aside(folder, name)

    def _clear(self, grants: int, spare: str) -> None:
        """Delete what is out of sight already; what resists is left to `tidy`."""
        for _ in range(_TRIES):  # a grant under way may still be writing into it
            with suppress(OSError, RecursionError):
                remove_tree(self.place.files, grants, spare)
                return

    def _count(self, grants: int, folder: str) -> int:
        files = self.place.files
        try:
            with closing(files, files.open_folder(folder, grants)) as fd:
                return sum(not entry.name.startswith(".") for entry in files.entries(fd))
        except OSError:
            return 0


def _insist(write: Callable[[], None]) -> None:
    """Write again where somebody removed the folder under our hands."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            return write()
    raise ConsentStoreError("another process keeps removing what is written to the consent store")


def _touch(folder: int, name: str) -> None:
    with suppress(FileExistsError):
        create_file(folder, name, b"", 0o600)
        sync_folder(folder)


def _remove(folder: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.EPERM):
            raise
        set_aside(folder, name)
    sync_folder(folder)
