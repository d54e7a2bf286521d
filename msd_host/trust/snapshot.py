"""A bundle as it was read once: the bytes that were hashed are the bytes that are used (spec 20, Snapshot).

The walk goes through folder descriptors, opens no link, never blocks, and reads each file exactly once. Any
doubt is `Unverifiable`; an error never becomes a hash.
"""

from __future__ import annotations

import errno
import os
import stat as st
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import ClassVar, NoReturn

from attrs import field, frozen

from ..digests import sha512_hex
from ..errors import Refused
from ..limits import Limits
from ..model.frozen import FrozenDict
from ..reading.files import Files
from ..text import quoted
from .hashing import bundle_hash, path_bytes

__all__ = ["FileDigest", "Snapshot", "SnapshotFile", "Unverifiable", "take_snapshot"]

_BYTECODE = "__pycache__"
_HISTORY = frozenset([".git", ".hg", ".svn"])  # what version control keeps beside a bundle's files
_REWRITTEN = frozenset([".DS_Store", "Thumbs.db"])  # what file managers drop anywhere
_CHUNK = 1 << 20
_SEEN_PER_COUNTED = 10  # excluded names are no part of a bundle, but listing them must end too


class Unverifiable(Refused):
    """The bundle has no content hash (code `consent-unverifiable`).

    `reason_kind` is one of `unreadable`, `symlink`, `special-file`, `vanished`, `changed`, `too-large`,
    `over-budget`, `too-many-entries` and `too-deep`; `bytes_read` is what looking has cost so far.
    """

    code: ClassVar[str] = "consent-unverifiable"

    def __init__(self, reason_kind: str, message: str, bytes_read: int = 0) -> None:
        super().__init__(message)
        self.reason_kind = reason_kind
        self.bytes_read = bytes_read


@frozen
class FileDigest:
    """What a consent record keeps of a file, for later differences."""

    sha512: str
    size: int
    executable: bool


@frozen
class SnapshotFile:
    """One file's bytes, and whether it had any execute bit."""

    data: bytes = field(repr=False)
    executable: bool = False


@frozen(eq=False)
class Snapshot:
    """Paths are relative, joined by `/`, in byte order, and may hold surrogate escapes. `size` counts content."""

    content_hash: str
    files: FrozenDict[str, SnapshotFile] = field(repr=False)
    folders: tuple[str, ...]
    size: int

    def digests(self) -> FrozenDict[str, FileDigest]:
        """Path to `FileDigest`, for the consent record."""
        return FrozenDict({p: FileDigest(sha512_hex(f.data), len(f.data), f.executable) for p, f in self.files.items()})


def take_snapshot(files: Files, folder_fd: int, limits: Limits, budget: int | None = None) -> Snapshot:
    """Read the bundle below the open *folder_fd*, which stays open. Raises `Unverifiable`.

    *budget* is what is left of the bytes that all bundles of one root may cost.
    """
    walk = _Walk(files, limits, budget)
    try:
        walk.folder(folder_fd, "", 0)
    except OSError as error:
        walk.refuse(*_meaning(error))
    entries = sorted(walk.entries)
    return Snapshot(
        bundle_hash([(raw, data, executable) for raw, _, data, executable in entries]),
        FrozenDict({path: SnapshotFile(data, x) for _, path, data, x in entries if data is not None}),
        tuple([path for _, path, data, _ in entries if data is None]),
        walk.size,
    )


_KINDS = {
    errno.ENOENT: ("vanished", "vanished while the bundle was read"),
    errno.ENOTDIR: ("changed", "changed while the bundle was read"),
    errno.ELOOP: ("symlink", "is a symbolic link"),
    errno.EMLINK: ("symlink", "is a symbolic link"),
    errno.ENXIO: ("special-file", "is neither a file nor a folder"),
}


def _meaning(error: OSError) -> tuple[str, str]:
    name = errno.errorcode.get(error.errno or 0, type(error).__name__)
    return _KINDS.get(error.errno or 0, ("unreadable", f"cannot be read ({name})"))


def scan_folder(files: Files, fd: int) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    """A folder's entries one by one, so that counting them is bounded before they are all in memory."""
    scan = getattr(files, "scan", None)
    return scan(fd) if scan is not None else os.scandir(fd)


class _Walk:
    """One pass over a bundle. `at` is the path that an operating system error is about."""

    def __init__(self, files: Files, limits: Limits, budget: int | None) -> None:
        self.files = files
        self.entries: list[tuple[bytes, str, bytes | None, bool]] = []
        self.size = 0
        self.at = ""
        self._most_bytes = limits.bundle_bytes
        self._budget = limits.bundle_bytes if budget is None else budget
        self._most_entries = limits.bundle_entries
        self._most_depth = limits.bundle_depth
        self._counted = 0
        self._seen = 0

    def folder(self, fd: int, prefix: str, depth: int) -> None:
        """Everything below the open folder *fd*, whose path plus `/` is *prefix*."""
        names, folders = self._listed(fd, prefix, depth)
        for name in names:
            self._file(fd, name, prefix + name)
        for name in folders:
            self._subfolder(fd, name, prefix + name, depth + 1)

    def refuse(self, kind: str, words: str) -> NoReturn:
        what = quoted(self.at) if self.at else "the bundle folder"
        raise Unverifiable(kind, f"{what} {words}", self.size)

    def _listed(self, fd: int, prefix: str, depth: int) -> tuple[list[str], list[str]]:
        names: list[str] = []
        folders: list[str] = []
        in_bytecode = prefix == _BYTECODE + "/" or prefix.endswith("/" + _BYTECODE + "/")
        with scan_folder(self.files, fd) as scan:
            for entry in scan:
                name = entry.name
                self._see(prefix)
                if entry.is_file(follow_symlinks=False):
                    if not _is_excluded(name, depth, in_bytecode):
                        self._count(prefix)
                        names.append(name)
                elif entry.is_dir(follow_symlinks=False):
                    if depth or name not in _HISTORY:
                        folders.append(name)
                        if name != _BYTECODE:
                            self._count(prefix)
                else:
                    self._refuse_kind(entry, prefix + name)
        return names, folders

    def _see(self, prefix: str) -> None:
        self._seen += 1
        if self._seen > self._most_entries * _SEEN_PER_COUNTED:
            self.at = prefix[:-1]
            self.refuse("too-many-entries", f"holds too many entries; {self._seen - 1} were looked at")

    def _count(self, prefix: str) -> None:
        self._counted += 1
        if self._counted > self._most_entries:
            self.at = prefix[:-1]
            self.refuse("too-many-entries", f"takes the bundle beyond {self._most_entries} files and folders")

    def _refuse_kind(self, entry: os.DirEntry[str], path: str) -> NoReturn:
        self.at = path
        if entry.is_symlink():
            self.refuse("symlink", "is a symbolic link")
        self.refuse("special-file", "is neither a file nor a folder")

    def _subfolder(self, parent: int, name: str, path: str, depth: int) -> None:
        self.at = path
        bytecode = name == _BYTECODE
        if depth > self._most_depth + bytecode:
            self._refuse_depth()
        before = len(self.entries)
        fd = self.files.open_folder(name, parent)
        try:
            self.folder(fd, path + "/", depth)
        finally:
            self.files.close(fd)
        if bytecode and len(self.entries) == before:
            return  # Python's own by-product: it holds nothing that counts
        if bytecode:
            self._count(path + "/")
        if depth > self._most_depth:
            self._refuse_depth()
        self.entries.append((path_bytes(path), path, None, False))

    def _refuse_depth(self) -> NoReturn:
        self.refuse("too-deep", f"lies deeper than {self._most_depth} folders")

    def _file(self, parent: int, name: str, path: str) -> None:
        self.at = path
        files = self.files
        fd = files.open_file(name, parent)
        try:
            before = files.fstat(fd)
            data = self._content(fd, before)
            after = files.fstat(fd)
        finally:
            files.close(fd)
        if (
            after.st_mtime_ns != before.st_mtime_ns
            or after.st_ctime_ns != before.st_ctime_ns
            or after.st_size != before.st_size
        ):
            self.refuse("changed", "changed while it was read")
        self.entries.append((path_bytes(path), path, data, before.st_mode & 0o111 != 0))

    def _content(self, fd: int, info: os.stat_result) -> bytes:
        if not st.S_ISREG(info.st_mode):
            self.refuse("special-file", "is not a regular file")
        size = info.st_size
        if self.size + size > self._most_bytes:
            self.refuse("too-large", f"takes the bundle beyond {self._most_bytes} bytes")
        if self.size + size > self._budget:
            self.refuse("over-budget", "takes the bundles of this root beyond the bytes that one load looks at")
        self.size += size
        data = self.files.read(fd, size + 1)
        if len(data) < size:
            data = self._rest(fd, data, size)
        if len(data) != size:  # one byte more than promised: it grew under our eyes
            self.refuse("changed", "changed while it was read")
        return data

    def _rest(self, fd: int, data: bytes, size: int) -> bytes:
        parts = [data]
        total = len(data)
        while data and total <= size:
            data = self.files.read(fd, min(size + 1 - total, _CHUNK))
            parts.append(data)
            total += len(data)
        return b"".join(parts)


def _is_excluded(name: str, depth: int, in_bytecode: bool) -> bool:
    if in_bytecode and name.endswith((".pyc", ".pyo")):
        return True
    return name in _REWRITTEN or (depth == 0 and name == ".git")  # a linked worktree has a `.git` file
