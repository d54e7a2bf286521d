"""A folder that files are put into, reached through descriptors alone; no link below it is followed (spec 40)."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from ..digests import sha256_hex
from ..errors import BusyError
from ..reading.files import Files, ReadFault, read_at
from ..text import clean
from ..trust.private import closing, create_file, error_name, spare_name, sweep, sync_folder

__all__ = ["LINKS", "Taken", "Tree"]

#: What opening says where a link, or no folder, is in the way.
LINKS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)
_STALE_SECONDS = 3600.0


class Taken(Exception):
    """Somebody put or changed a file between the look and the writing; it is theirs."""


class Tree:
    """What lies below *base*. Inside *top*, where given, every step to the base is taken without following a link."""

    def __init__(self, files: Files, base: str, top: str | None, limit: int) -> None:
        self._files = files
        self.base = base
        self._top = top
        self._limit = limit

    @contextmanager
    def opened(self, *, create: bool = False) -> Iterator[int | None]:
        """The base, open; None where it is not there. In a project every step to it is taken without following a link."""
        top = self._top
        if create and top is None:
            os.makedirs(self.base, exist_ok=True)
        try:
            fd = self._files.open_folder(top if top is not None else self.base, follow=True)
        except FileNotFoundError:
            yield None
            return
        with closing(self._files, fd):
            if top is None:
                yield fd
                return
            parts = os.path.relpath(self.base, top).split("/")
            try:
                with self.folder(fd, parts, create=create) as base:
                    yield base
            except FileNotFoundError:
                if create:
                    raise
                yield None

    @contextmanager
    def folder(self, base: int, parts: Sequence[str], *, create: bool) -> Iterator[int]:
        held: list[int] = []
        try:
            at = base
            for part in parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o777, dir_fd=at)
                at = self._files.open_folder(part, at)
                held.append(at)
            yield at
        finally:
            for fd in reversed(held):
                self._files.close(fd)

    def take_turn(self, base: int, patience: float) -> None:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(base, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
                    return  # no locks here; each file is still replaced whole
            if time.monotonic() >= deadline:
                raise BusyError(f"another process is writing in {clean(self.base, 400)}; nothing was changed")
            time.sleep(0.01)

    def content(self, base: int | None, path: str) -> bytes | str | None:
        """The bytes at *path*, None where nothing is, or in words why it is no file of ours."""
        if base is None:
            return None
        *folders, name = path.split("/")
        try:
            with self.folder(base, folders, create=False) as fd:
                return read_at(self._files, name, self._limit, dir_fd=fd)
        except FileNotFoundError:
            return None
        except ReadFault as fault:
            return None if fault.kind == "missing" else f"what is there {fault.message.removeprefix(name).strip()}"
        except OSError as error:
            return "a link or a file is in its way" if error.errno in LINKS else error_name(error)

    def is_empty(self, base: int, path: str) -> bool:
        """Whether the folder *path* is absent or holds nothing."""
        try:
            with self.folder(base, path.split("/"), create=False) as fd:
                return not self._files.entries(fd)
        except OSError:
            return True

    def write(self, base: int, path: str, data: bytes, mode: int, before: Collection[str] | None = ()) -> None:
        """The file *path* holds *data* or what it held before.

        *before* are the digests of what may be replaced: none for a file that is not there, None for whatever is.
        Raises `Taken` where something else lies there by now.
        """
        *folders, name = path.split("/")
        with self.folder(base, folders, create=True) as fd:
            self._put(fd, name, data, mode, before)

    def _put(self, fd: int, name: str, data: bytes, mode: int, before: Collection[str] | None) -> None:
        prefix = f".{name[:60]}.tmp-"
        sweep(self._files, fd, (prefix,), time.time() - _STALE_SECONDS)
        spare = spare_name(prefix)
        try:
            create_file(fd, spare, data, mode)
            self._place(fd, spare, name, before)
        finally:
            with suppress(OSError):
                os.unlink(spare, dir_fd=fd)
        sync_folder(fd)

    def _place(self, fd: int, spare: str, name: str, before: Collection[str] | None) -> None:
        """A new name is linked, which replaces nothing, where the file system has links."""
        if before is not None:
            if not before:
                try:
                    os.link(spare, name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
                    return
                except FileExistsError:
                    raise Taken(name) from None
                except OSError as error:
                    if error.errno not in _NO_LINKS:
                        raise
            self._still(fd, name, before)
        os.rename(spare, name, src_dir_fd=fd, dst_dir_fd=fd)

    def _still(self, fd: int, name: str, before: Collection[str]) -> None:
        """*name* holds one of *before*, or is gone. Raises `Taken`."""
        found = self.content(fd, name)
        if found is not None and (isinstance(found, str) or sha256_hex(found) not in before):
            raise Taken(name)

    def remove(self, base: int, path: str, depth: int, before: Collection[str]) -> None:
        """The file, and the folders that are empty without it; the first *depth* of them stay.

        Raises `Taken` where it does not hold one of *before* any more.
        """
        *folders, name = path.split("/")
        with suppress(FileNotFoundError), self.folder(base, folders, create=False) as fd:
            self._still(fd, name, before)
            os.unlink(name, dir_fd=fd)
        for end in range(len(folders), depth, -1):
            with suppress(OSError), self.folder(base, folders[: end - 1], create=False) as fd:
                os.rmdir(folders[end - 1], dir_fd=fd)
