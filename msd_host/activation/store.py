"""Changing JSON files of the user and the project: all or nothing, and nobody's words are lost (spec 40).

An edit is prepared beside its file, and renamed into place only if the file still is what was read; else it
is read again. Writers of ours also take turns. A file that is damaged, a link or no file is never touched.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat as st
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from attrs import frozen

from ..errors import BusyError, DamagedState, Refused
from ..limits import Limits
from ..model.frozen import FrozenDict
from ..reading.files import Files, ReadFault, read_at, read_path
from ..reading.jsontext import JsonFault, decode
from ..text import clean
from ..trust.private import closing, create_file, error_name, spare_name, sweep, sync_folder
from .spelling import parsed, spelled

__all__ = ["Edit", "apply"]

_TRIES = 32
_STALE_SECONDS = 3600.0
_OTHERS_TURN = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


@frozen(eq=False)
class Edit:
    """One change of the JSON object in the file *path*; *change* alters it in place and may raise to refuse.

    *inside* is the folder that the file must not lead out of. A *private* file becomes readable by its owner
    only, any other keeps its mode. *limit* is the most bytes it may have, that of a configuration by default.
    """

    path: str
    change: Callable[[dict[str, Any]], object]
    inside: str | None = None
    private: bool = False
    limit: int | None = None

    def most(self, limits: Limits) -> int:
        return limits.config_bytes if self.limit is None else self.limit

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


def apply(files: Files, limits: Limits, edits: Sequence[Edit], *, patience: float = 5.0) -> tuple[bool, ...]:
    """Make every edit or none; returns which files changed.

    Everything is read, changed and written beside its place before the first file is replaced. Raises
    `DamagedState` where a file cannot be changed safely, `Refused` where the result could not be read back,
    `BusyError` where others keep writing for longer than *patience* seconds, and what an edit raises.
    """
    try:
        changed = [_rehearse(files, limits, edit) for edit in edits]
        wanted = [edit for edit, is_changed in zip(edits, changed) if is_changed]
        if wanted:
            with ExitStack() as held:
                private = {e.folder: e.private for e in wanted}
                folders = {
                    folder: held.enter_context(_locked(files, folder, private[folder], patience))
                    for folder in sorted(private)  # everybody in the same order, so that nobody waits in a circle
                }
                _replace(files, limits, wanted, folders)
    except OSError as error:
        path = clean(error.filename or edits[0].path, 400)
        raise DamagedState(f"{path} could not be written ({error_name(error)})") from error
    return tuple(changed)


def _rehearse(files: Files, limits: Limits, edit: Edit) -> bool:
    """Whether *edit* would change its file; raises what speaks against it. Leaves no trace."""
    _stays_inside(files, edit)
    try:
        before: bytes | None = read_path(files, edit.path, edit.most(limits), edit.name)
    except ReadFault as fault:
        _expect_absent(edit, fault)
        before = None
    return _edited(edit, before, limits) != before


def _expect_absent(edit: Edit, fault: ReadFault) -> None:
    if fault.kind != "missing":
        raise DamagedState(f"{clean(edit.path, 400)}: {clean(fault.message)}; nothing was changed")


def _stays_inside(files: Files, edit: Edit) -> None:
    """A repository may hold links; none of them may make the user write somewhere else."""
    if edit.inside is None:
        return
    at, top = edit.folder, files.realpath(edit.inside)
    while not os.path.lexists(at):
        at = os.path.dirname(at)
    real = files.realpath(at)
    if real != top and not real.startswith(top.rstrip("/") + "/"):
        raise DamagedState(f"{clean(edit.path, 400)} leads out of {clean(edit.inside, 400)}; nothing was changed")


def _edited(edit: Edit, before: bytes | None, limits: Limits) -> bytes | None:
    """The file's bytes after the edit; the same object where it changes nothing."""
    document: dict[str, Any] = {} if before is None else _decoded(edit, before, limits)
    twin = json.dumps(document)  # compared as text: `==` takes true for 1
    edit.change(document)
    if json.dumps(document) == twin:
        return before
    text = spelled(document, _indent(before)) + "\n"
    try:
        after = text.encode()
        decode(after, limits)
    except ValueError as error:
        raise Refused(f"{clean(edit.path, 400)} could not be read back with this value: {clean(error)}") from None
    if len(after) > edit.most(limits):
        raise Refused(f"{clean(edit.path, 400)} would be larger than {edit.most(limits)} bytes")
    return after


def _decoded(edit: Edit, data: bytes, limits: Limits) -> dict[str, Any]:
    try:
        document = decode(data, limits)
    except JsonFault as fault:
        problem = f"is not valid JSON: {fault}"
    else:
        if isinstance(document, FrozenDict):
            return parsed(data)  # type: ignore[no-any-return]
        problem = "does not hold an object"
    raise DamagedState(f"{clean(edit.path, 400)}: {clean(problem)}; nothing was changed")


def _indent(before: bytes | None) -> str:
    """The file's own indentation, two spaces where it has none."""
    lines = (before or b"").splitlines()[1:2]
    lead = lines[0][: len(lines[0]) - len(lines[0].lstrip(b" \t"))] if lines else b""
    return lead.decode() if 0 < len(lead) <= 8 else "  "


@contextmanager
def _locked(files: Files, folder: str, private: bool, patience: float) -> Iterator[int]:
    os.makedirs(folder, 0o700 if private else 0o777, exist_ok=True)
    with closing(files, files.open_folder(folder, follow=True)) as fd:
        _take_turn(fd, folder, time.monotonic() + patience)
        yield fd


def _take_turn(fd: int, folder: str, deadline: float) -> None:
    """Lock the open folder; closing it, or dying, gives it back. Without locks the comparison still guards."""
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in _OTHERS_TURN:
                return
        if time.monotonic() >= deadline:
            raise BusyError(f"another process is writing in {clean(folder, 400)}; nothing was changed")
        time.sleep(0.01)


def _replace(files: Files, limits: Limits, edits: Sequence[Edit], folders: dict[str, int]) -> None:
    for edit in edits:
        _stays_inside(files, edit)
        with suppress(OSError):
            sweep(files, folders[edit.folder], (_prefix(edit),), time.time() - _STALE_SECONDS)
    for _ in range(_TRIES):
        with ExitStack() as spares:
            drafts = [_draft(files, limits, edit, folders[edit.folder], spares) for edit in edits]
            if all(draft.is_current(files, limits) for draft in drafts):
                _put_all_in_place(drafts)
                return
    raise BusyError(f"{clean(edits[0].path, 400)} keeps changing; nothing was changed")


def _put_all_in_place(drafts: Sequence[_Draft]) -> None:
    """All of them; where one fails, those before it are taken back."""
    begun: list[_Draft] = []
    try:
        for draft in drafts:
            begun.append(draft)
            draft.put_in_place()
    except OSError:
        for draft in reversed(begun):
            with suppress(OSError):
                draft.take_back()
        raise


def _prefix(edit: Edit) -> str:
    return f".{edit.name}.tmp-"


@frozen(eq=False)
class _Draft:
    """A written, synced file that waits beside its place. `spare` is None where nothing changes any more."""

    edit: Edit
    folder: int
    before: bytes | None
    spare: str | None

    def is_current(self, files: Files, limits: Limits) -> bool:
        return _read(files, self.edit, self.folder, limits) == self.before

    def put_in_place(self) -> None:
        if self.spare is not None:
            os.rename(self.spare, self.edit.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
            sync_folder(self.folder)

    def take_back(self) -> None:
        """Let the file hold again what it held before; harmless where it still does."""
        if self.spare is None:
            return
        if self.before is None:
            os.unlink(self.edit.name, dir_fd=self.folder)
        else:
            mode = st.S_IMODE(os.stat(self.edit.name, dir_fd=self.folder, follow_symlinks=False).st_mode)
            create_file(self.folder, f"{self.spare}-back", self.before, mode)
            os.rename(f"{self.spare}-back", self.edit.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        sync_folder(self.folder)


def _read(files: Files, edit: Edit, folder: int, limits: Limits) -> bytes | None:
    try:
        return read_at(files, edit.name, edit.most(limits), dir_fd=folder)
    except ReadFault as fault:
        _expect_absent(edit, fault)
        return None


def _draft(files: Files, limits: Limits, edit: Edit, folder: int, spares: ExitStack) -> _Draft:
    before = _read(files, edit, folder, limits)
    after = _edited(edit, before, limits)
    if after is None or after == before:
        return _Draft(edit, folder, before, None)
    spare = spare_name(_prefix(edit))
    spares.callback(_forget, folder, spare)
    create_file(folder, spare, after, 0o600 if edit.private else 0o666)
    if before is not None and not edit.private:
        _set_mode(files, folder, spare, st.S_IMODE(files.stat(edit.name, follow=False, dir_fd=folder).st_mode) & 0o777)
    return _Draft(edit, folder, before, spare)


def _set_mode(files: Files, folder: int, name: str, mode: int) -> None:
    with closing(files, files.open_file(name, folder)) as fd:
        os.fchmod(fd, mode)


def _forget(folder: int, spare: str) -> None:
    with suppress(OSError):  # it is in place by now, or never came to be
        os.unlink(spare, dir_fd=folder)
