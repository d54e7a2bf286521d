"""Writing a memo: a run that is watched while it works, through the same seam that tests use (spec 80, Speed).

The watcher takes down what the run really saw, never looks a second time, and drops everything as soon as it meets
something it cannot take down.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

from ..composition import Composition
from ..model.scope import Scope
from ..reading.files import Files
from ..trust.private import PrivatePlace, closing, write_file
from .place import CACHE, file_of, is_private, key_of
from .witness import code_value, digest, kind_of, listing_value, status_value

__all__ = ["Watch", "WatchedEnvironment", "WatchedFiles"]

_OURS = (__name__.partition(".")[0], "msd_hookspecs")
_MOST_OBSERVATIONS = 100_000
_MOST_MEMOS = 64


class Notes:
    """Observations by kind and path. Two that differ, or one that cannot be told, spoil all of them."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], Any] = {}
        self.spoiled = False

    def add(self, kind: str, path: str, value: Any) -> None:
        if self.seen.setdefault((kind, path), value) != value or len(self.seen) > _MOST_OBSERVATIONS:
            self.spoiled = True

    @contextmanager
    def failing(self, kind: str, path: str) -> Iterator[None]:
        """An error is an observation like any other."""
        try:
            yield
        except OSError as error:
            self.add(kind, path, error.errno or -1)
            raise
        except ValueError:
            self.add(kind, path, -2)
            raise


class WatchedEnvironment(Mapping[str, str]):
    """The environment; notes every variable that is asked for, also when it is absent."""

    def __init__(self, env: Mapping[str, str], notes: Notes) -> None:
        self._env = env
        self._notes = notes

    def __getitem__(self, name: str) -> str:
        self._notes.add("e", name, self._env.get(name))
        return self._env[name]

    def __iter__(self) -> Iterator[str]:
        self._notes.spoiled = True
        return iter(self._env)

    def __len__(self) -> int:
        self._notes.spoiled = True
        return len(self._env)


class WatchedFiles(Files):
    """The operating system, and notes of all it said."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._paths: dict[int, str] = {}
        self._reading: dict[int, tuple[tuple[int, ...], list[bytes]]] = {}

    def _at(self, name: str, dir_fd: int | None) -> str:
        if dir_fd is None:
            return os.path.join(os.getcwd(), name)
        if dir_fd not in self._paths:
            self._notes.spoiled = True
        return os.path.join(self._paths.get(dir_fd, ""), name)

    def open_file(self, name: str, dir_fd: int | None = None) -> int:
        path = self._at(name, dir_fd)
        with self._notes.failing("f", path):
            fd = super().open_file(name, dir_fd)
        self._paths[fd] = path
        self._reading[fd] = (status_value(os.fstat(fd)), [])
        return fd

    def open_folder(self, name: str, dir_fd: int | None = None, *, follow: bool = False) -> int:
        path, kind = self._at(name, dir_fd), "O" if follow else "o"
        with self._notes.failing(kind, path):
            fd = super().open_folder(name, dir_fd, follow=follow)
        self._paths[fd] = path
        self._notes.add(kind, path, status_value(os.fstat(fd)))
        return fd

    def read(self, fd: int, size: int) -> bytes:
        data = super().read(fd, size)
        self._reading[fd][1].append(data)
        return data

    def close(self, fd: int) -> None:
        path = self._paths.pop(fd, None)
        reading = self._reading.pop(fd, None)
        if reading is not None and path is not None:
            status, parts = reading
            self._notes.add("f", path, (status, sum(map(len, parts)), digest(*parts)))
        super().close(fd)

    def entries(self, fd: int) -> list[os.DirEntry[str]]:
        path = self._paths.get(fd, "")
        with self._notes.failing("d", path):
            found = super().entries(fd)
        self._notes.add("d", path, listing_value([(entry.name, kind_of(entry)) for entry in found]))
        return found

    @contextmanager
    def scan(self, fd: int) -> Iterator[Iterator[os.DirEntry[str]]]:
        """The entries one by one; a walk that ends before they do cannot be taken down."""
        path, seen, whole = self._paths.get(fd, ""), list[tuple[str, str]](), False

        def entries(scan: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
            nonlocal whole
            for entry in scan:
                seen.append((entry.name, kind_of(entry)))
                yield entry
            whole = True

        with self._notes.failing("d", path), os.scandir(fd) as scan:
            yield entries(scan)
        if whole:
            self._notes.add("d", path, listing_value(seen))
        else:
            self._notes.spoiled = True

    def stat(self, path: str, *, follow: bool = True, dir_fd: int | None = None) -> os.stat_result:
        at, kind = self._at(path, dir_fd), "s" if follow else "l"
        with self._notes.failing(kind, at):
            found = super().stat(path, follow=follow, dir_fd=dir_fd)
        self._notes.add(kind, at, status_value(found))
        return found

    def readlink(self, name: str, dir_fd: int | None = None) -> str:
        self._notes.spoiled = True  # a linked dot folder holds no memos
        return super().readlink(name, dir_fd)

    def realpath(self, path: str) -> str:
        at = self._at(path, None)
        with self._notes.failing("r", at):
            found = super().realpath(path)
        self._notes.add("r", at, found)
        return found


class _Heard:
    """A stream that also keeps what is written to it."""

    def __init__(self, stream: IO[str], said: list[tuple[bool, str]], *, to_answer: bool) -> None:
        self._stream = stream
        self._said = said
        self._to_answer = to_answer

    def write(self, text: str) -> int:
        self._said.append((self._to_answer, text))
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Watch:
    """One watched run of the command line *words*: `files` and `env` go into its host, `keep` writes the memo.

    Key, streams and working folder are those of the beginning, as a repeated run will look for them there.
    """

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._notes = Notes()
        self.composition: Composition | None = None
        self._said: list[tuple[bool, str]] = []
        self._streams = (sys.stdout, sys.stderr)
        self.files = WatchedFiles(self._notes)
        self.env = WatchedEnvironment(os.environ, self._notes)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Keep what is written to both streams meanwhile."""
        out, talk = self._streams
        sys.stdout = cast(Any, _Heard(out, self._said, to_answer=True))
        sys.stderr = cast(Any, _Heard(talk, self._said, to_answer=False))
        try:
            yield
        finally:
            sys.stdout, sys.stderr = out, talk

    def keep(self, code: int) -> None:
        """Write the memo, if this run may have one. It is worth nothing but time, so failing is no failure."""
        composition = self.composition
        if composition is None or composition.extensions is not None or self._notes.spoiled:
            return
        product, roots = composition.context.product, composition.roots
        if roots.global_scope is not Scope.GLOBAL or roots.store_refusal is not None or not roots.home.there:
            return
        observations = [(kind, path, value) for (kind, path), value in self._notes.seen.items()]
        data = marshal.dumps(([*observations, *_code_seen()], self._said, code))
        home = roots.home.given
        name = os.path.basename(file_of(home, product.folder, key_of(self._words, os.environ)))
        with suppress(OSError):
            _write(self.files, home, product.folder, name, digest(data) + data)


def _code_seen() -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Every module of ours there is now: another text of one is another host. Others change with what is installed."""
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if name.partition(".")[0] in _OURS and isinstance(path, str):
            with suppress(OSError):
                yield "c", path, code_value(os.stat(path))


def _write(files: Files, home: str, folder: str, name: str, data: bytes) -> None:
    """Only into a dot folder that is there already: looking at something leaves no trace in a home that had none."""
    with closing(files, files.open_folder(os.path.join(home, folder), follow=False)):
        pass
    place = PrivatePlace(files, home, (folder, *(os.path.join(folder, *CACHE[:n]) for n in (1, 2))), "memo store")
    fd, sound = place.descend(os.path.join(folder, *CACHE), create=True)
    with closing(files, fd):
        if sound and is_private(home, folder):
            write_file(fd, name, data)
            _forget_old(files, fd)


def _forget_old(files: Files, fd: int) -> None:
    """Keep the newest ones."""
    aged = [(files.stat(e.name, follow=False, dir_fd=fd).st_mtime_ns, e.name) for e in files.entries(fd)]
    for _, name in sorted(aged)[:-_MOST_MEMOS]:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=fd)
