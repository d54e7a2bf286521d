"""Every system call the host makes on untrusted ground goes through one object.

`Files` is a public seam: an embedder or a test puts another one in its place (`Host(files=…)`) to
inject the errors that no file system gives on demand, or to swap a file between two calls.
"""

from __future__ import annotations

import errno
import os
import stat as st

from attrs import frozen

__all__ = ["Files", "Place", "ReadFault", "read_at", "read_path"]

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
_CHUNK = 1 << 20


class Files:
    """The operating system, as the host uses it. Names may hold surrogate escapes; nothing is decoded."""

    def open_file(self, name: str, dir_fd: int | None = None) -> int:
        """Open for reading: no symlink in the last component, never blocking on a FIFO."""
        return os.open(name, _READ, dir_fd=dir_fd)

    def open_folder(self, name: str, dir_fd: int | None = None, *, follow: bool = False) -> int:
        return os.open(name, _FOLDER if follow else _FOLDER | os.O_NOFOLLOW, dir_fd=dir_fd)

    def open_step(self, name: str, dir_fd: int | None = None) -> int:
        """A folder to look at and go on from, also one that may be passed but not listed; never through a link."""
        return os.open(name, _STEP, dir_fd=dir_fd)

    def fstat(self, fd: int) -> os.stat_result:
        return os.fstat(fd)

    def read(self, fd: int, size: int) -> bytes:
        return os.read(fd, size)

    def close(self, fd: int) -> None:
        os.close(fd)

    def entries(self, fd: int) -> list[os.DirEntry[str]]:
        """The folder's entries in any order, without `.` and `..`."""
        with os.scandir(fd) as scan:
            return list(scan)

    def stat(self, path: str, *, follow: bool = True, dir_fd: int | None = None) -> os.stat_result:
        return os.stat(path, follow_symlinks=follow, dir_fd=dir_fd)

    def readlink(self, name: str, dir_fd: int | None = None) -> str:
        return os.readlink(name, dir_fd=dir_fd)

    def realpath(self, path: str) -> str:
        """The canonical path; raises `OSError` where it cannot be proven (missing, loop, no right to look)."""
        return os.path.realpath(path, strict=True)


@frozen
class Place:
    """The identity of a folder or file whatever it is called."""

    device: int
    inode: int

    @classmethod
    def of(cls, result: os.stat_result) -> Place:
        return cls(result.st_dev, result.st_ino)


class ReadFault(Exception):
    """Why a file could not be read. `kind`: missing, symlink, not-regular, too-large, changed or unreadable."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


_KINDS = {
    errno.ENOENT: ("missing", "is missing"),
    errno.ENOTDIR: ("missing", "is missing"),
    errno.ELOOP: ("symlink", "is a symbolic link"),
    errno.EMLINK: ("symlink", "is a symbolic link"),
    errno.ENXIO: ("not-regular", "is not a regular file"),
    errno.EISDIR: ("not-regular", "is not a regular file"),
    errno.ENAMETOOLONG: ("missing", "has a name that is too long"),
}


def fault_of(error: OSError, what: str) -> ReadFault:
    """The `ReadFault` that says what *error* means for the file called *what*."""
    kind, words = _KINDS.get(error.errno or 0, ("unreadable", f"cannot be read ({_reason(error)})"))
    return ReadFault(kind, f"{what} {words}")


def _reason(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, type(error).__name__)


def read_at(files: Files, name: str, limit: int, *, dir_fd: int | None = None, what: str | None = None) -> bytes:
    """The bytes of the regular file *name* below *dir_fd*, at most *limit* of them.

    *name* is one component, or a path whose folders the caller has opened already. Raises `ReadFault`.
    """
    label = what if what is not None else name
    try:
        fd = files.open_file(name, dir_fd)
    except (OSError, ValueError) as error:
        raise _opened(error, label) from None
    try:
        return _drain(files, fd, limit, label)
    except OSError as error:
        raise fault_of(error, label) from None
    finally:
        files.close(fd)


def read_path(files: Files, path: str, limit: int, what: str | None = None) -> bytes:
    """`read_at` for an absolute path of ours, whose folders may be links."""
    return read_at(files, path, limit, what=what)


def _opened(error: OSError | ValueError, label: str) -> ReadFault:
    if isinstance(error, OSError):
        return fault_of(error, label)
    return ReadFault("missing", f"{label} has a name no file can have")


def _drain(files: Files, fd: int, limit: int, label: str) -> bytes:
    info = files.fstat(fd)
    if not st.S_ISREG(info.st_mode):
        raise ReadFault("not-regular", f"{label} is not a regular file")
    if info.st_size > limit:
        raise ReadFault("too-large", f"{label} has {info.st_size} bytes; the limit is {limit}")
    data = files.read(fd, min(info.st_size + 1, _CHUNK))
    if len(data) == info.st_size and info.st_size < _CHUNK:
        return data
    parts = [data]
    total = len(data)
    while data and total <= info.st_size:  # one byte more than promised means it grew under our eyes
        data = files.read(fd, min(info.st_size + 1 - total, _CHUNK))
        parts.append(data)
        total += len(data)
    if total != info.st_size:
        raise ReadFault("changed", f"{label} changed while it was read")
    return b"".join(parts)
