"""A folder that files are put into, reached through descriptors alone; no link below it is followed (spec 40)."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from ..errors import BusyError
from ..reading.files import Files, ReadFault, read_at
from ..text import clean
from ..trust.private import closing, create_file, error_name, spare_name, sweep, sync_folder

__all__ = ["Tree"]

_LINKS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
_STALE_SECONDS = 3600.0


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
            return "a link or a file is in its way" if error.errno in _LINKS else error_name(error)

    def is_empty(self, base: int, path: str) -> bool:
        """Whether the folder *path* is absent or holds nothing."""
        try:
            with self.folder(base, path.split("/"), create=False) as fd:
                return not self._files.entries(fd)
        except OSError:
            return True

    def write(self, base: int, path: str, data: bytes, mode: int) -> None:
        """The file *path* holds *data* or what it held before."""
        *folders, name = path.split("/")
        with self.folder(base, folders, create=True) as fd:
            self._put(fd, name, data, mode)

    def _put(self, fd: int, name: str, data: bytes, mode: int) -> None:
        prefix = f".{name[:60]}.tmp-"
        sweep(self._files, fd, (prefix,), time.time() - _STALE_SECONDS)
        spare = spare_name(prefix)
        try:
            create_file(fd, spare, data, mode)
            os.rename(spare, name, src_dir_fd=fd, dst_dir_fd=fd)
        except BaseException:
            with suppress(OSError):
                os.unlink(spare, dir_fd=fd)
            raise
        sync_folder(fd)

    def remove(self, base: int, path: str, depth: int) -> None:
        """The file, and the folders that are empty without it; the first *depth* of them stay."""
        *folders, name = path.split("/")
        with suppress(FileNotFoundError), self.folder(base, folders, create=False) as fd:
            os.unlink(name, dir_fd=fd)
        for end in range(len(folders), depth, -1):
            with suppress(OSError), self.folder(base, folders[: end - 1], create=False) as fd:
                os.rmdir(folders[end - 1], dir_fd=fd)
