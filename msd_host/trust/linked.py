"""A dot folder that is a link, as those who keep their settings in one place make it (spec 20, Consent store).

It counts where nobody but the user and root can decide where it leads: every folder and link on the whole way is
theirs, and no folder on it is one in which others may rename things. The way is gone step by step through open
folders, so that what was looked at is what is used.
"""

from __future__ import annotations

import errno
import os
import stat as st

from ..reading.files import Files

__all__ = ["open_linked"]

_MOST_LINKS = 40  # as many as Linux follows
_MAYBE_LINK = (errno.ELOOP, errno.EMLINK, errno.ENOTDIR)

#: A path and what speaks against it.
Fault = tuple[str, str]


def open_linked(files: Files, path: str) -> tuple[int, list[Fault]]:
    """The folder that the absolute *path* leads to, open, and what speaks against the way there.

    The folder itself is for the caller to judge. Raises `OSError` where there is no way.
    """
    way = _Way(files)
    try:
        way.go(path)
        return way.arrive(), way.faults
    finally:
        way.close()


class _Way:
    """The folders that are open on the way, the root folder first, each with its path."""

    def __init__(self, files: Files) -> None:
        self.faults: list[Fault] = []
        self._files = files
        self._open: list[tuple[int, str]] = []
        self._links = 0

    def go(self, path: str) -> None:
        """Walk *path* from where we are; an absolute one starts at the root folder."""
        if path.startswith("/"):
            self.close()
            self._open.append((self._files.open_step("/"), "/"))
        for name in path.split("/"):
            if name == "..":
                self._back()
            elif name not in ("", "."):
                self._enter(name)

    def arrive(self) -> int:
        """Where we are, open for reading; the caller's to close."""
        return self._files.open_folder(".", self._open[-1][0])

    def close(self) -> None:
        while self._open:
            self._files.close(self._open.pop()[0])

    def _back(self) -> None:
        if len(self._open) > 1:
            self._files.close(self._open.pop()[0])

    def _enter(self, name: str) -> None:
        here, path = self._open[-1]
        self._judge(self._files.fstat(here), path)
        at = os.path.join(path, name)
        try:
            self._open.append((self._files.open_step(name, here), at))
        except OSError as error:
            if error.errno not in _MAYBE_LINK:
                raise
            self._follow(name, here, at, error)

    def _follow(self, name: str, here: int, at: str, error: OSError) -> None:
        info = self._files.stat(name, follow=False, dir_fd=here)
        self._links += 1
        if not st.S_ISLNK(info.st_mode) or self._links > _MOST_LINKS:
            raise error
        self._judge(info, at)
        self.go(self._files.readlink(name, here))

    def _judge(self, info: os.stat_result, path: str) -> None:
        fault = None
        if info.st_uid not in (0, os.geteuid()):
            fault = f"belongs to user {info.st_uid}, neither to you nor to root"
        elif st.S_ISDIR(info.st_mode) and info.st_mode & 0o022 and not info.st_mode & st.S_ISVTX:
            whose = "" if info.st_uid == os.geteuid() else "belongs to root and "
            fault = f"{whose}can be written by others (mode {st.S_IMODE(info.st_mode):03o})"
        if fault is not None and (path, fault) not in self.faults:
            self.faults.append((path, fault))
