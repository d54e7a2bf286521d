"""Bundles, stores and a file layer that can be made to fail or to change things between two calls."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from msd_host.limits import Limits
from msd_host.model.frozen import EMPTY
from msd_host.reading.files import Files
from msd_host.trust.consent import ConsentStore, Grant
from msd_host.trust.snapshot import Snapshot, take_snapshot

LIMITS = Limits()


class SpyFiles(Files):
    """Files that report every call by name and first argument before it happens."""

    def __init__(self, before: Callable[[str, Any], None] = lambda call, what: None) -> None:
        self.before = before
        self.calls: list[tuple[str, Any]] = []

    def _tell(self, call: str, what: Any) -> None:
        self.calls.append((call, what))
        self.before(call, what)

    def open_file(self, name: str, dir_fd: int | None = None) -> int:
        self._tell("open_file", name)
        return super().open_file(name, dir_fd)

    def open_folder(self, name: str, dir_fd: int | None = None, *, follow: bool = False) -> int:
        self._tell("open_folder", name)
        return super().open_folder(name, dir_fd, follow=follow)

    def fstat(self, fd: int) -> os.stat_result:
        self._tell("fstat", fd)
        return super().fstat(fd)

    def open_step(self, name: str, dir_fd: int | None = None) -> int:
        self._tell("open_step", name)
        return super().open_step(name, dir_fd)

    def readlink(self, name: str, dir_fd: int | None = None) -> str:
        self._tell("readlink", name)
        return super().readlink(name, dir_fd)

    def read(self, fd: int, size: int) -> bytes:
        self._tell("read", fd)
        return super().read(fd, size)

    def entries(self, fd: int) -> list[os.DirEntry[str]]:
        self._tell("entries", fd)
        return super().entries(fd)

    @contextmanager
    def scan(self, fd: int) -> Iterator[Iterator[os.DirEntry[str]]]:
        self._tell("scan", fd)
        with os.scandir(fd) as found:
            yield self.each(found)

    def each(self, found: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        return found

    def stat(self, path: str, *, follow: bool = True, dir_fd: int | None = None) -> os.stat_result:
        self._tell("stat", path)
        return super().stat(path, follow=follow, dir_fd=dir_fd)


@pytest.fixture
def spy() -> type[SpyFiles]:
    return SpyFiles


def write_bundle(folder: Path, content: Mapping[str, bytes | str | None]) -> Path:
    """Files by relative path; None is a folder, a path that ends with `*` an executable file."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, data in content.items():
        target = folder / path.removesuffix("*")
        target.parent.mkdir(parents=True, exist_ok=True)
        if data is None:
            target.mkdir(exist_ok=True)
            continue
        target.write_bytes(data.encode() if isinstance(data, str) else data)
        if path.endswith("*"):
            target.chmod(0o755)
    return folder


def snapshot_of(
    folder: Path, files: Files | None = None, limits: Limits = LIMITS, budget: int | None = None
) -> Snapshot:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return take_snapshot(files or Files(), fd, limits, budget)
    finally:
        os.close(fd)


@pytest.fixture
def bundle(tmp_path: Path) -> Callable[..., Path]:
    """Write a bundle: `bundle({"a": b"x"}, "name")`."""

    def make(content: Mapping[str, bytes | str | None], name: str = "bundle") -> Path:
        return write_bundle(tmp_path / name, content)

    return make


@pytest.fixture
def take() -> Callable[..., Snapshot]:
    """`take_snapshot` for a path."""
    return snapshot_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def store(home: Path) -> ConsentStore:
    return ConsentStore(str(home), "msd", Files(), LIMITS)


def hash_number(number: int) -> str:
    """A well-formed content hash."""
    from msd_host.trust.hashing import from_hex

    return from_hex(f"{number:0128x}")


@pytest.fixture
def grant() -> Callable[..., Grant]:
    """A grant for `/srv/p` and `demo`, changed as asked; a number stands for a content hash."""

    def make(number: int = 1, **changes: Any) -> Grant:
        given: dict[str, Any] = {
            "root": "/srv/p",
            "id": "demo",
            "gates": ("plan:pre",),
            "version": "1.0.0",
            "content_hash": hash_number(number),
            "disclosure": EMPTY,
            "granted_at": f"2026-01-01T00:00:{number % 60:02}Z",
            "host_version": "1.0.0",
        }
        return Grant(**{**given, **changes})

    return make


@pytest.fixture
def number() -> Callable[[int], str]:
    return hash_number


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is synced and renamed from now on, as it happens: `file`, `folder`, `rename`."""
    happened: list[str] = []
    fsync, rename = os.fsync, os.rename

    def syncing(fd: int) -> None:
        happened.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file")
        fsync(fd)

    def renaming(*args: Any, **kwargs: Any) -> None:
        happened.append("rename")
        rename(*args, **kwargs)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "rename", renaming)
    return happened
