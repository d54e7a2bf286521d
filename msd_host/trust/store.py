"""Consented bytes, kept where no project can reach them, under the name of their own hash (spec 20, Snapshot).

An entry is written beside its place, read back, and renamed into it; it is trusted only after it has been
read and hashed again. A damaged entry is no entry.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Union

from ..errors import ConsentStoreError, UsageError
from ..limits import Limits
from ..reading.files import Files
from .hashing import from_hex, hex_of
from .private import (
    GONE,
    TEMP,
    PrivatePlace,
    closing,
    create_file,
    error_name,
    remove_tree,
    set_aside,
    spare_name,
    sweep,
    sync_folder,
)
from .snapshot import Snapshot, SnapshotFile, Unverifiable, take_snapshot

__all__ = ["BundleStore"]

_TRIES = 16
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)

#: A folder's content by name: a file, or a folder's content.
_Tree = dict[str, Union[SnapshotFile, "_Tree"]]


class BundleStore:
    """`usable` is the caller's reason why the store must not be used, as for the consent store beside it."""

    def __init__(
        self,
        home: str,
        product_name: str,
        files: Files,
        limits: Limits,
        usable: str | None = None,
        *,
        folder: str = "store",
    ) -> None:
        own = f".{product_name}"
        self.path = os.path.join(home, own, folder)
        self._folder = f"{own}/{folder}"
        self._place = PrivatePlace(files, home, (own, self._folder), "bundle store")
        self._files = files
        self._limits = limits
        self._unusable = usable

    def problem(self) -> str | None:
        """Why the store gives nothing and takes nothing, or None."""
        return self._unusable or self._place.health().problem

    @property
    def remedy(self) -> str | None:
        """The command that makes the store usable again, where there is one."""
        return None if self._unusable else self._place.health().remedy

    def path_of(self, content_hash: str) -> str:
        """Where the bundle lies once it is stored. Raises `UsageError` for what is not a content hash."""
        return os.path.join(self.path, _name_of(content_hash))

    def put(self, snapshot: Snapshot) -> str:
        """Keep *snapshot* and return its path. What lies there whole is left alone, what is damaged is replaced.

        Raises `ConsentStoreError`, in which case nothing is kept.
        """
        name = _name_of(snapshot.content_hash)
        with self._writing() as store:
            if self._matching(store, name, snapshot.content_hash) is None:
                temp = spare_name(TEMP)
                try:
                    self._build(store, temp, snapshot)
                    self._move_in(store, temp, name, snapshot.content_hash)
                finally:
                    with suppress(OSError):
                        remove_tree(self._files, store, temp)
        return os.path.join(self.path, name)

    def verify(self, content_hash: str) -> Snapshot | None:
        """The stored bundle, read and hashed now; None unless it is whole and nobody else can write in the store."""
        name = _name_of(content_hash)
        if self._unusable is not None:
            return None
        try:
            store, sound = self._place.descend(self._folder)
        except OSError:
            return None
        with closing(self._files, store):
            return self._matching(store, name, content_hash) if sound else None

    def discard(self, content_hash: str) -> None:
        """Drop the copy of *content_hash*, whole or not. Raises `ConsentStoreError` where that fails."""
        name = _name_of(content_hash)
        with self._writing() as store, suppress(FileNotFoundError):
            self._discard(store, name)

    def gc(self, keep: Collection[str], stale_after: float = 3600.0) -> tuple[str, ...]:
        """Drop every bundle that is not in *keep* and returns their hashes; also what killed processes left.

        One that was put there less than *stale_after* seconds ago may have its grant still to come and stays.
        """
        kept = {_name_of(content_hash) for content_hash in keep}
        dropped: list[str] = []
        older_than = time.time() - stale_after
        if self._is_absent():
            return ()
        with self._writing() as store:
            for entry in self._files.entries(store):
                hash = _hash_in(entry.name)
                if hash is not None and entry.name not in kept and self._drop(store, entry.name, older_than):
                    dropped.append(hash)
            sweep(self._files, store, (TEMP, GONE), older_than)
        return tuple(sorted(dropped))

    def tidy(self, stale_after: float = 3600.0) -> None:
        """Drop what killed processes left longer than *stale_after* seconds ago; where nothing may be written, nothing."""
        if not self._is_absent() and self.problem() is None:
            with self._writing() as store:
                sweep(self._files, store, (TEMP, GONE), time.time() - stale_after)

    @contextmanager
    def _writing(self) -> Iterator[int]:
        problem = self.problem()
        if problem is not None:
            raise ConsentStoreError(problem, remedy=self.remedy)
        try:
            store, sound = self._place.descend(self._folder, create=True)
            with closing(self._files, store):
                if not sound:
                    raise ConsentStoreError(f"the bundle store {self.path} changed while it was looked at")
                yield store
        except OSError as error:
            why = error_name(error)
            raise ConsentStoreError(f"the bundle store {self.path} could not be written ({why})") from error

    def _is_absent(self) -> bool:
        try:
            self._files.stat(self.path)
        except OSError as error:
            return error.errno == errno.ENOENT
        return False

    def _matching(self, store: int, name: str, content_hash: str) -> Snapshot | None:
        try:
            with closing(self._files, self._files.open_folder(name, store)) as folder:
                found = take_snapshot(self._files, folder, self._limits)
        except (OSError, Unverifiable):
            return None
        return found if found.content_hash == content_hash else None

    def _build(self, store: int, temp: str, snapshot: Snapshot) -> None:
        os.mkdir(temp, 0o700, dir_fd=store)
        with closing(self._files, self._files.open_folder(temp, store)) as folder:
            self._fill(folder, _tree(snapshot))
        if self._matching(store, temp, snapshot.content_hash) is None:
            # A file system that folds names, or a disk that does not keep what it was given.
            raise ConsentStoreError(f"the bundle store {self.path} cannot hold this bundle unchanged")

    def _fill(self, folder: int, tree: _Tree) -> None:
        for name, node in tree.items():
            if isinstance(node, SnapshotFile):
                create_file(folder, name, node.data, 0o500 if node.executable else 0o400)
            else:
                os.mkdir(name, 0o700, dir_fd=folder)
                with closing(self._files, self._files.open_folder(name, folder)) as below:
                    self._fill(below, node)
        sync_folder(folder)

    def _move_in(self, store: int, temp: str, name: str, content_hash: str) -> None:
        for _ in range(_TRIES):
            try:
                os.rename(temp, name, src_dir_fd=store, dst_dir_fd=store)
            except OSError as error:
                if error.errno not in _TAKEN:
                    raise
            else:
                sync_folder(store)
                return
            if self._matching(store, name, content_hash) is not None:
                return  # another process was faster
            with suppress(FileNotFoundError):
                self._discard(store, name)
        raise ConsentStoreError("another process keeps putting something else in this bundle's place")

    def _drop(self, store: int, name: str, older_than: float) -> bool:
        try:
            if self._files.stat(name, follow=False, dir_fd=store).st_ctime >= older_than:
                return False
            self._discard(store, name)
        except FileNotFoundError:
            return False
        return True

    def _discard(self, store: int, name: str) -> None:
        spare = set_aside(store, name, GONE)
        with suppress(OSError, RecursionError):  # out of the way already; `gc` tries again
            remove_tree(self._files, store, spare)


def _name_of(content_hash: str) -> str:
    try:
        return hex_of(content_hash)
    except ValueError:
        raise UsageError("this is not a content hash") from None


def _hash_in(name: str) -> str | None:
    try:
        return from_hex(name)
    except ValueError:
        return None


def _tree(snapshot: Snapshot) -> _Tree:
    """The bundle as nested folders, so that it is written with one open folder per level and no long path."""
    root: _Tree = {}
    for path in snapshot.folders:
        _folder_at(root, path.split("/"))
    for path, file in snapshot.files.items():
        *folders, name = path.split("/")
        _folder_at(root, folders)[name] = file
    return root


def _folder_at(root: _Tree, parts: list[str]) -> _Tree:
    for part in parts:
        below = root.setdefault(part, {})
        if not isinstance(below, dict):
            raise UsageError("the snapshot has a file where it has a folder")
        root = below
    return root
