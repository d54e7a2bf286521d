"""Where a bundle waits before it comes in: beside its place, known by a token, gone with its process (spec 30, Layout)."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from ..errors import BusyError, DamagedState
from ..trust.private import closing, create_file, error_name, open_or_make
from ..trust.snapshot import Snapshot
from .ground import STAGING, Ground, discard, settle_on_disk

__all__ = ["Staged", "staging", "sweep_staging"]

_TRIES = 64


@frozen
class Staged:
    """A private folder on the file system of its destination. `fd` is open, and locked for as long as we live."""

    ground: Ground
    token: str
    fd: int

    @property
    def path(self) -> Path:
        return Path(self.ground.root, STAGING, self.token)

    def settle(self, name: str) -> None:
        """Make the folder *name* in it last."""
        files = self.ground.files
        with closing(files, files.open_folder(name, self.fd)) as fd:
            settle_on_disk(files, fd)

    def write(self, name: str, snapshot: Snapshot) -> None:
        """Put the files of *snapshot* into the new folder *name*."""
        files = self.ground.files
        os.mkdir(name, 0o755, dir_fd=self.fd)
        with closing(files, files.open_folder(name, self.fd)) as fd:
            for folder in sorted(snapshot.folders):  # parents come first
                os.mkdir(folder, 0o755, dir_fd=fd)
            for path, file in snapshot.files.items():
                create_file(fd, path, file.data, 0o755 if file.executable else 0o644)


@contextmanager
def staging(ground: Ground, token: str) -> Iterator[Staged]:
    """A staging folder called *token*, and none afterwards. Raises `DamagedState` where none can be made."""
    try:
        fd = _made(ground, token)
    except OSError as error:
        raise DamagedState(f"{ground.root} cannot be written ({error_name(error)})") from error
    try:
        yield Staged(ground, token, fd)
    finally:
        ground.files.close(fd)
        with ground.opened() as root:
            if root is not None:
                _clear(ground, root, token)
        ground.tidy()


def _made(ground: Ground, token: str) -> int:
    """The folder, open and locked. Others may clear the area away while it is empty; then it is made again."""
    files = ground.files
    for _ in range(_TRIES):
        with ground.opened(create=True) as root:
            if root is None:  # it was made, and taken away again at once
                continue
            try:
                with closing(files, open_or_make(files, root, STAGING)) as area:
                    os.mkdir(token, 0o700, dir_fd=area)
                    fd = files.open_folder(token, area)
                    if _is_ours(fd, area, token):
                        return fd
                    files.close(fd)
            except (FileNotFoundError, BlockingIOError):
                continue
    raise BusyError("other processes keep clearing the staging folder away; nothing was changed")


def _is_ours(fd: int, area: int, token: str) -> bool:
    """Lock the folder and see that nobody took it for abandoned before we had the lock."""
    fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    try:
        there = os.stat(token, dir_fd=area, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (os.fstat(fd).st_dev, os.fstat(fd).st_ino)


def sweep_staging(ground: Ground, root: int) -> int:
    """Delete what processes that are no more left there; returns how many."""
    files, count = ground.files, 0
    try:
        area = files.open_folder(STAGING, root)
    except OSError:
        return 0
    with closing(files, area):
        for entry in files.entries(area):
            if _is_abandoned(ground, area, entry.name):
                discard(files, area, entry.name)
                count += 1
    _remove_area(root)
    return count


def _is_abandoned(ground: Ground, area: int, name: str) -> bool:
    files = ground.files
    try:
        with closing(files, files.open_folder(name, area)) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError as error:
        return error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


def _clear(ground: Ground, root: int, token: str) -> None:
    try:
        with closing(ground.files, ground.files.open_folder(STAGING, root)) as area:
            discard(ground.files, area, token)
    except OSError:
        return
    _remove_area(root)


def _remove_area(root: int) -> None:
    try:
        os.rmdir(STAGING, dir_fd=root)
    except OSError:
        return  # somebody else is at work in it
