"""Where gates are checked: the project, the phase the caller is in, and the files found there (spec 40, Loop)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import frozen

from ..errors import UsageError
from ..limits import Limits
from ..reading.files import Files, ReadFault, read_at
from ..text import clean, quoted
from ..trust.snapshot import scan_folder

__all__ = ["Ground", "Phase", "artifacts", "phase_at"]

_NUMBER = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,63}")
_REQUIREMENTS = re.compile(r"[0-9A-Za-z._-]{1,64}(?:[ ,]+[0-9A-Za-z._-]{1,64}){0,999}")


@frozen
class Phase:
    """The phase of the loop the caller is in. `folder` is a canonical path within the project, None when not said."""

    number: str = ""
    folder: str | None = None
    requirements: str = ""

    def environment(self) -> dict[str, str]:
        """What commands see of it; what was not said is empty there, whatever the host's own environment holds."""
        return {
            "PHASE_NUMBER": self.number,
            "PHASE_DIR": self.folder or "",
            "PHASE_REQ_IDS": self.requirements,
        }


@frozen(eq=False)
class Ground:
    """`folder` is the canonical served project, `phases` the folder of its phases relative to it."""

    files: Files
    limits: Limits
    folder: str
    phases: str
    phase: Phase = Phase()


def phase_at(files: Files, base: str, cwd: str, number: str, folder: str | None, requirements: str) -> Phase:
    """The caller's words as a `Phase` of the project *base*; raises `UsageError` for any that have no meaning.

    A relative *folder* is seen from *cwd*.
    """
    if number and _NUMBER.fullmatch(number) is None:
        raise UsageError(f"{quoted(number)} is not the number of a phase")
    if requirements and _REQUIREMENTS.fullmatch(requirements) is None:
        raise UsageError("requirement ids are letters, digits, dots, dashes and underscores, separated by commas")
    return Phase(number, None if folder is None else _inside(files, base, os.path.join(cwd, folder)), requirements)


def _inside(files: Files, base: str, path: str) -> str:
    try:
        real = files.realpath(path)
        files.close(files.open_folder(real))
    except (OSError, ValueError):
        raise UsageError(f"there is no folder {quoted(path)}") from None
    if real != base and not real.startswith(base.rstrip("/") + "/"):
        raise UsageError(f"the phase folder {quoted(path)} lies outside the project")
    return real


def artifacts(ground: Ground, suffix: str) -> Iterator[tuple[str, bytes | ReadFault]]:
    """(path in the project, content) of every file whose name ends in *suffix*: of the caller's phase alone where
    it is known, else of the project's own folder and of every phase's.

    Follows no link below the project. Raises `OSError` or `ReadFault` where a folder cannot be looked through.
    """
    files, limit = ground.files, ground.limits.fragment_bytes
    base = files.open_folder(ground.folder, follow=True)
    try:
        for parts in _places(ground, base):
            with _descended(files, base, parts) as folder:
                for name in _names(ground, folder, folders=False):
                    if name.endswith(suffix):
                        path = clean("/".join([*parts, name]))
                        yield path, _content(files, name, limit, folder, path)
    finally:
        files.close(base)


def _content(files: Files, name: str, limit: int, folder: int, path: str) -> bytes | ReadFault:
    try:
        return read_at(files, name, limit, dir_fd=folder, what=path)
    except ReadFault as fault:
        return fault


def _places(ground: Ground, base: int) -> list[list[str]]:
    if ground.phase.folder is not None:
        below = os.path.relpath(ground.phase.folder, ground.folder)
        return [[] if below == os.curdir else below.split(os.sep)]
    phases = [part for part in ground.phases.split("/") if part]
    try:
        with _descended(ground.files, base, phases) as folder:
            names = _names(ground, folder, folders=True)
    except (FileNotFoundError, NotADirectoryError):  # the latter also where a part of the way is a link
        names = []
    return [[], *([*phases, name] for name in names)]


def _names(ground: Ground, folder: int, *, folders: bool) -> list[str]:
    """Names in an open folder, sorted: its real folders, or all that is not a folder."""
    found: list[str] = []
    most = ground.limits.bundle_entries
    with scan_folder(ground.files, folder) as scan:
        for seen, entry in enumerate(scan):
            if seen >= most:
                raise ReadFault("too-large", f"a folder of the project has more than {most} entries")
            if entry.is_dir(follow_symlinks=False) is folders:
                found.append(entry.name)
    return sorted(found)


@contextmanager
def _descended(files: Files, base: int, parts: list[str]) -> Iterator[int]:
    """The folder *parts* below the open *base*; no part of the way may be a link."""
    fd = files.open_folder(".", base)
    try:
        for part in parts:
            below = files.open_folder(part, fd)
            files.close(fd)
            fd = below
        yield fd
    finally:
        files.close(fd)
