"""Bringing a capability's entries into the files the user named, and out again (spec 30, Shared files).

Read, compared, renamed: what somebody else writes meanwhile is not lost. Each step can be taken again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat as st
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from ...errors import BusyError, LifecycleError
from ...limits import Limits
from ...reading.files import Files, ReadFault, read_at
from ...text import clean
from ...trust.private import closing, create_file, error_name, spare_name, sweep, sync_folder
from .entries import Entries
from .record import Named, SharedRecord
from .splice import EMPTY_FILE, checked, is_bare, spliced, unspliced

__all__ = ["SharedFiles", "place_of"]

_TRIES = 16
_PATIENCE = 2.0  # seconds


def place_of(path: str, inside: str | None) -> str:
    """The file that *path* names, with its folder made canonical.

    Raises `LifecycleError` where a link is in the way: the file itself may be none, and one that the user named
    in a project (*inside*) must not lead out of it.
    """
    folder, name = os.path.split(os.path.normpath(path))
    try:
        real = os.path.realpath(folder, strict=True)
    except OSError as error:
        raise LifecycleError("settings-unreadable", f"{clean(folder, 300)} {_words(error)}") from None
    spelled_inside = inside is not None and _within(os.path.normpath(path), inside)
    if spelled_inside and inside is not None and not _within(os.path.join(real, name), inside):
        raise LifecycleError("settings-outside", f"{clean(path, 300)} leads out of the project, to {clean(real, 300)}")
    if os.path.islink(os.path.join(real, name)):
        target = os.path.realpath(os.path.join(real, name))
        raise LifecycleError(
            "settings-link", f"{clean(path, 300)} is a link; name the file itself: {clean(target, 300)}"
        )
    return os.path.join(real, name)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _words(error: OSError) -> str:
    return "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be used ({error_name(error)})"


class SharedFiles:
    """The settings files of one capability. `marker` is the product's key for whose an entry is."""

    def __init__(self, files: Files, limits: Limits, record: SharedRecord, marker: str) -> None:
        self._files = files
        self._limits = limits
        self._record = record
        self._marker = marker

    def check(self, paths: Iterable[str]) -> None:
        """Raise `LifecycleError` unless every file can be changed as it is; nothing is written."""
        for path in paths:
            with _folder(self._files, path) as fd:
                data = self._read(fd, path)
                if data is not None:
                    checked(data, path, self._limits)

    def bring(self, id: str, entries: Entries, paths: Iterable[str]) -> None:
        """Let exactly *paths*, of all files on record or named, hold exactly *entries*."""
        wanted = tuple(dict.fromkeys(paths))
        for named in self._record.read():
            if named.path not in wanted:
                with suppress(LifecycleError):  # what cannot be changed starts nothing that is not agreed to
                    self._change(id, named.path, Entries(id), named)
        for path in wanted:
            known = next((n for n in self._record.read() if n.path == path), Named(path))
            self._change(id, path, entries, known)
        kept = tuple(n for n in self._record.read() if n.path in wanted)
        self._record.write(kept)

    def take_away(self, id: str) -> tuple[str, ...]:
        """Take the entries out of every file on record; returns those that could not be changed, with the reason.

        What stays in one of those starts nothing: the launcher finds no overlay behind it.
        """
        named = self._record.read()
        left: list[str] = []
        for one in named:
            try:
                self._change(id, one.path, Entries(id), one)
            except LifecycleError as error:
                left.append(error.message)
        if named:
            self._record.write(())
        return tuple(left)

    def _change(self, id: str, path: str, entries: Entries, known: Named) -> bool:
        for _ in range(_TRIES):
            with _folder(self._files, path) as fd:
                before = self._read(fd, path)
                after, named = self._after(id, path, before, entries, known)
                if after == before:
                    return False
                if entries:
                    self._record.put(named)  # before the file, so that what is made is always known to be ours
                else:
                    self._record.hand_over(known)
                if self._replace(fd, os.path.basename(path), before, after):
                    return True
        raise BusyError(f"{clean(path, 300)} keeps changing; it was left as it is")

    def _after(
        self, id: str, path: str, before: bytes | None, entries: Entries, known: Named
    ) -> tuple[bytes | None, Named]:
        """(the bytes to come, None for no file; what to put on record)."""
        if before is None and not entries:
            return None, known
        text = EMPTY_FILE if before is None else checked(before, path, self._limits)
        text = unspliced(text, id, self._marker, known.made)
        if not entries:
            gone = known.is_ours and is_bare(text)
            return (None if gone else text.encode()), known
        text, made = spliced(text, entries, self._marker)
        return text.encode(), Named(path, made, before is None)

    def _read(self, fd: int, path: str) -> bytes | None:
        name = os.path.basename(path)
        with suppress(OSError):  # what cannot be looked at is told by the reading below
            owner = self._files.stat(name, follow=False, dir_fd=fd).st_uid
            if owner != os.geteuid():  # replacing it would make it ours
                raise LifecycleError("settings-owner", f"{clean(path, 300)} belongs to user {owner}, not to you")
        try:
            return read_at(self._files, name, self._limits.config_bytes, dir_fd=fd)
        except ReadFault as fault:
            if fault.kind == "missing":
                return None
            raise LifecycleError("settings-unreadable", f"{clean(path, 300)}: {clean(fault.message)}") from None

    def _replace(self, fd: int, name: str, before: bytes | None, after: bytes | None) -> bool:
        """Put *after* in place if the file still holds *before*."""
        prefix = f".{name}.tmp-"
        if _is_our_turn(fd):
            sweep(self._files, fd, (prefix,), float("inf"))  # whoever left one is no more, as the lock is ours
        if after is None:
            if self._read(fd, name) != before:
                return False
            os.unlink(name, dir_fd=fd)
            sync_folder(fd)
            return True
        spare = spare_name(prefix)
        try:
            create_file(fd, spare, after, 0o666)
            if before is not None:
                mode = st.S_IMODE(self._files.stat(name, follow=False, dir_fd=fd).st_mode) & 0o777
                with closing(self._files, self._files.open_file(spare, fd)) as file:
                    os.fchmod(file, mode)
            if self._read(fd, name) != before:
                return False
            os.rename(spare, name, src_dir_fd=fd, dst_dir_fd=fd)
        finally:
            with suppress(OSError):
                os.unlink(spare, dir_fd=fd)
        sync_folder(fd)
        return True


def _is_our_turn(fd: int) -> bool:
    """Lock the open folder, so that of ours one writes at a time. A stranger may hold it for as long as it likes:
    then we go on without, as the comparison catches whatever anybody writes.
    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES) or time.monotonic() >= deadline:
                return False
        time.sleep(0.01)


@contextmanager
def _folder(files: Files, path: str) -> Iterator[int]:
    """The file's folder, open. Its path was made canonical when it was named; a link in it now is a refusal."""
    folder = os.path.dirname(path)
    try:
        if os.path.realpath(folder, strict=True) != folder:
            raise LifecycleError("settings-outside", f"{clean(folder, 300)} is not where it was when it was named")
        fd = files.open_folder(folder)
    except OSError as error:
        raise LifecycleError("settings-unreadable", f"{clean(folder, 300)} {_words(error)}") from None
    with closing(files, fd):
        yield fd
