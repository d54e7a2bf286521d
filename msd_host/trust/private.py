"""Folders of the user's own: who else may write in them, and writing that is all or nothing (spec 20, Consent store).

Reading and writing ask the same question about the same folders, so both say the same words. Everything
below the home is reached through descriptors; the home itself may be a link, and so may the dot folder where
nobody but the user can have made it one (`linked`).
"""

from __future__ import annotations

import errno
import os
import stat as st
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from attrs import frozen

from ..reading.files import Files
from ..text import shell_word
from .linked import open_linked

__all__ = ["ASIDE", "GONE", "LOOSE", "TEMP", "Health", "PrivatePlace", "error_name"]

#: Hidden names are never records: a write in flight, a removal in flight, something kept for its owner.
TEMP, GONE, ASIDE = ".tmp-", ".gone-", ".aside-"

LOOSE = "can be written"  # how a fault begins that `chmod go-w` mends

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_NO_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EPERM, errno.EISDIR)


@frozen
class Health:
    """Why the folders may not be used, if so, and the command that changes it, if one can."""

    problem: str | None = None
    remedy: str | None = None


def error_name(error: OSError) -> str:
    """`EACCES` and the like, for a message."""
    return errno.errorcode.get(error.errno or 0, type(error).__name__)


def folder_fault(info: os.stat_result) -> str | None:
    """What speaks against trusting a folder with this status, or None."""
    if st.S_ISLNK(info.st_mode):
        return "is a symbolic link"
    if not st.S_ISDIR(info.st_mode):
        return "is not a folder"
    return owner_fault(info)


def _unseen(error: OSError) -> str | None:
    """A folder that is not there yet can be made, unless something else is in the way."""
    if error.errno == errno.ENOENT:
        return None
    return (
        "lies below what is no folder" if error.errno == errno.ENOTDIR else f"cannot be looked at ({error_name(error)})"
    )


def owner_fault(info: os.stat_result) -> str | None:
    """What speaks against trusting what others may have written, or None."""
    if info.st_uid != os.geteuid():
        return f"belongs to user {info.st_uid}, not to you"
    if info.st_mode & 0o022:
        return f"can be written by others (mode {st.S_IMODE(info.st_mode):03o})"
    return None


@frozen
class PrivatePlace:
    """`folders` are the paths below `home`, parents first, that must be the user's alone; the first may be a link."""

    files: Files
    home: str
    folders: tuple[str, ...]
    purpose: str

    def health(self) -> Health:
        """Look at every folder there is; one remedy covers all that can be repaired by `chmod`."""
        faults = [(path, fault) for path, fault in self.faults() if fault is not None]
        if not faults:
            return Health()
        loose = [path for path, fault in faults if fault.startswith(LOOSE)]
        remedy = None
        if len(loose) == len(faults):
            remedy = "chmod go-w " + " ".join(shell_word(path) for path in loose)
        return Health(f"the {self.purpose} is not used: {faults[0][0]} {faults[0][1]}", remedy)

    def faults(self) -> Iterator[tuple[str, str | None]]:
        """Each folder that is looked at, and what speaks against it, if anything."""
        for folder in self.folders:
            path = os.path.join(self.home, folder)
            try:
                info = self.files.stat(path, follow=False)
                if folder == self.folders[0] and st.S_ISLNK(info.st_mode):
                    yield from self._link_faults(path)
                else:
                    yield path, folder_fault(info)
            except OSError as error:
                yield path, _unseen(error)

    def _link_faults(self, path: str) -> Iterator[tuple[str, str | None]]:
        try:
            fd, faults = self._linked(path)
        except OSError as error:
            yield path, f"is a symbolic link that cannot be followed ({error_name(error)})"
            return
        with closing(self.files, fd):
            yield from ((step, f"{fault}, and {path} is a link through it") for step, fault in faults)
            yield path, folder_fault(self.files.fstat(fd))

    def _linked(self, path: str) -> tuple[int, list[tuple[str, str]]]:
        folder, name = os.path.split(path)
        return open_linked(self.files, os.path.join(self.files.realpath(folder), name))

    def descend(self, folder: str, *, create: bool = False) -> tuple[int, bool]:
        """(descriptor of `home/folder`, whether every folder on the way is the user's alone).

        Raises `OSError`: absent, a link, not a folder.
        """
        if create:
            os.makedirs(self.home, 0o700, exist_ok=True)
        opened = [self.files.open_folder(self.home, follow=True)]
        sound = True
        try:
            for name in folder.split("/"):
                fd, straight = self._step(opened[-1], name, create, is_top=len(opened) == 1)
                opened.append(fd)
                sound = sound and straight and self.is_sound(fd)
            return opened.pop(), sound
        finally:
            for fd in opened:
                self.files.close(fd)

    def _step(self, parent: int, name: str, create: bool, *, is_top: bool) -> tuple[int, bool]:
        """The next folder, and whether nobody else can decide which one that is."""
        try:
            return self.enter(parent, name, create=create), True
        except OSError as error:
            if not is_top or error.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
                raise
        fd, faults = self._linked(os.path.join(self.home, name))
        return fd, not faults

    def is_sound(self, fd: int) -> bool:
        """Whether the open folder *fd* is the user's alone. A doubt is a no."""
        try:
            return folder_fault(self.files.fstat(fd)) is None
        except OSError:
            return False

    def enter(self, parent: int, name: str, *, create: bool = False) -> int:
        """The folder *name* in the open folder *parent*, which stays open."""
        return open_or_make(self.files, parent, name) if create else self.files.open_folder(name, parent)


def open_or_make(files: Files, parent: int, name: str) -> int:
    """The folder *name* in *parent*, made with mode 0700 if it is not there."""
    try:
        return files.open_folder(name, parent)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another process was faster
            os.mkdir(name, 0o700, dir_fd=parent)
        sync_folder(parent)
        return files.open_folder(name, parent)


@contextmanager
def closing(files: Files, fd: int) -> Iterator[int]:
    """Close *fd* in the end."""
    try:
        yield fd
    finally:
        files.close(fd)


def spare_name(prefix: str) -> str:
    return f"{prefix}{os.getpid()}-{os.urandom(8).hex()}"


def create_file(parent: int, name: str, data: bytes, mode: int) -> None:
    """A new file with exactly *data*, on the disk when this returns. Never follows or replaces anything."""
    fd = os.open(name, _CREATE, mode, dir_fd=parent)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def write_file(parent: int, name: str, data: bytes) -> None:
    """*name* holds *data* or what it held before; a failure leaves nothing behind."""
    temp = spare_name(TEMP)
    try:
        create_file(parent, temp, data, 0o600)
        os.rename(temp, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(OSError):
            os.unlink(temp, dir_fd=parent)
        raise
    sync_folder(parent)


def sync_folder(fd: int) -> None:
    """Make names in the folder last; some file systems have no such thing and are fine without."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def set_aside(parent: int, name: str, prefix: str = ASIDE) -> str:
    """Rename *name* out of the way in one step and return its new name."""
    spare = spare_name(prefix)
    os.rename(name, spare, src_dir_fd=parent, dst_dir_fd=parent)
    sync_folder(parent)
    return spare


def remove_tree(files: Files, parent: int, name: str) -> None:
    """Delete *name* and what is below it without following a link. Raises `OSError` where that fails."""
    try:
        os.unlink(name, dir_fd=parent)
        return
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.EPERM):
            raise
    with closing(files, files.open_folder(name, parent)) as fd:
        for entry in files.entries(fd):
            remove_tree(files, fd, entry.name)
    os.rmdir(name, dir_fd=parent)


def sweep(files: Files, parent: int, prefixes: Sequence[str], older_than: float) -> int:
    """Delete leftovers of killed processes that nobody has touched since *older_than*; returns how many."""
    count = 0
    for entry in files.entries(parent):
        if not entry.name.startswith(tuple(prefixes)):
            continue
        with suppress(OSError, RecursionError):
            if files.stat(entry.name, follow=False, dir_fd=parent).st_mtime < older_than:
                remove_tree(files, parent, entry.name)
                count += 1
    return count
