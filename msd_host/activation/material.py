"""The files of skills and agents, from exactly the bytes that were composed (spec 40, Profiles and surface).

First-party ones come from where the product says they lie, those of a global overlay from the folder that was
composed, those of a project overlay from the copy the user agreed to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..composition import Composition
from ..errors import Refused
from ..model.candidate import Candidate
from ..reading.files import ReadFault, fault_of, read_at
from ..trust.snapshot import Snapshot, SnapshotFile, Unverifiable, take_snapshot
from ..verified import opened, vouched

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Material"]


class Material:
    """Reads for one composition; each project overlay is verified once."""

    def __init__(self, host: Host, composition: Composition) -> None:
        self._host = host
        self._composition = composition
        self._candidates = {c.id: c for c in composition.cohort.candidates}
        self._snapshots: dict[str, Snapshot] = {}

    def skill(self, id: str, stem: str) -> Mapping[str, SnapshotFile]:
        """Every file of the skill *stem* of the capability *id*, by its path within the skill's folder.

        Raises `Refused` where the bytes cannot be vouched for or are not there.
        """
        candidate = self._candidates.get(id)
        if candidate is not None and candidate.content_hash is not None:
            found = _below(self._verified(candidate), f"skills/{stem}/")
        else:
            with self._folder(id, candidate) as fd:
                found = self._walked(fd, ("skills", stem))
        if "SKILL.md" not in found:
            raise Refused(f"skills/{stem}/SKILL.md is missing")
        return found

    def agent(self, id: str, stem: str) -> bytes:
        """The agent *stem* of the capability *id*. Raises `Refused` as `skill` does."""
        path, limit = f"agents/{stem}.md", self._host.product.limits.fragment_bytes
        candidate = self._candidates.get(id)
        if candidate is not None and candidate.content_hash is not None:
            file = self._verified(candidate).files.get(path)
            if file is None or len(file.data) > limit:
                raise Refused(f"{path} is {'missing' if file is None else 'too large'}")
            return file.data
        with self._folder(id, candidate) as fd:
            return self._read(fd, ("agents",), f"{stem}.md", limit)

    def _verified(self, candidate: Candidate) -> Snapshot:
        known = self._snapshots.get(candidate.id)
        if known is None:
            known = self._snapshots[candidate.id] = vouched(self._host, self._composition, candidate)
        return known

    @contextmanager
    def _folder(self, id: str, candidate: Candidate | None) -> Iterator[int]:
        files = self._host.files
        try:
            if candidate is not None:
                with opened(files, candidate) as fd:
                    yield fd
                return
            fd = files.open_folder(os.path.join(self._host.product.first_party_folder, id))
        except OSError as error:
            raise Refused(fault_of(error, "its folder").message) from None
        except ReadFault as fault:
            raise Refused(fault.message) from None
        try:
            yield fd
        finally:
            files.close(fd)

    @contextmanager
    def _below(self, fd: int, names: tuple[str, ...]) -> Iterator[int]:
        """The folder *names* below the open one, each step without following a link."""
        files, held = self._host.files, []
        try:
            at = fd
            for name in names:
                at = files.open_folder(name, at)
                held.append(at)
            yield at
        except OSError as error:
            raise Refused(fault_of(error, "/".join(names)).message) from None
        finally:
            for one in reversed(held):
                files.close(one)

    def _walked(self, fd: int, names: tuple[str, ...]) -> Mapping[str, SnapshotFile]:
        with self._below(fd, names) as folder:
            try:
                return take_snapshot(self._host.files, folder, self._host.product.limits).files
            except Unverifiable as error:
                raise Refused(f"{'/'.join(names)}: {error.message}") from None

    def _read(self, fd: int, names: tuple[str, ...], name: str, limit: int) -> bytes:
        with self._below(fd, names) as folder:
            try:
                return read_at(self._host.files, name, limit, dir_fd=folder, what="/".join((*names, name)))
            except ReadFault as fault:
                raise Refused(fault.message) from None


def _below(snapshot: Snapshot, prefix: str) -> Mapping[str, SnapshotFile]:
    return {path[len(prefix) :]: file for path, file in snapshot.files.items() if path.startswith(prefix)}
