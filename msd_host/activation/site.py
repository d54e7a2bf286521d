"""One folder of a coding tool that files are put into: ours are known again, nobody else's are touched (spec 40).

An index beside them says which files are ours and what they held. A file counts as ours only while it holds just
that: one that a person edited, or put there, stays as it is. The index may lie in a repository, so it can make
nothing happen but the removal of files whose exact content it already knows, where this layout puts such files.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import evolve, field, frozen

from ..digests import sha256_hex
from ..errors import DamagedState, Refused
from ..limits import Limits
from ..model.frozen import FrozenDict
from ..reading.files import Files, ReadFault, read_at
from ..reading.jsontext import JsonFault, decode
from ..text import clean
from ..trust.private import error_name
from .layout import Place
from .tree import LINKS, Taken, Tree

__all__ = ["Site", "SitePlan", "Wanted", "index_name"]


def index_name(product: str) -> str:
    """The index of what *product* put into a folder."""
    return f".{product}-surface-index.json"


@frozen
class Wanted:
    """A file that should lie at `path` below the base, and the capability it belongs to."""

    path: str
    data: bytes = field(repr=False)
    owner: str
    executable: bool = False

    @property
    def digest(self) -> str:
        return sha256_hex(self.data)


@frozen
class SitePlan:
    """What applying would do below `base`. `kept` are files that stay as they are, with the reason."""

    base: str
    writes: tuple[Wanted, ...]
    same: tuple[Wanted, ...]
    removes: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    forgotten: tuple[str, ...] = ()


class Site:
    """The folder of *place*. Everything below it is reached through descriptors, and no link is followed."""

    def __init__(self, files: Files, limits: Limits, place: Place, product: str) -> None:
        self._files = files
        self._limits = limits
        self._place = place
        self._name = index_name(product)
        self._tree = Tree(files, place.base, place.top, limits.bundle_bytes)

    # Looking

    def plan(self, wanted: Sequence[Wanted]) -> SitePlan:
        """Compare *wanted* with what lies there. Raises `DamagedState` where that cannot be told."""
        with self._told("looked at"), self._tree.opened() as base:
            known = {} if base is None else self._index(base)
            return self._compared(base, known, wanted)

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in (*LINKS, errno.EEXIST):
                why = f"{clean(self._place.base, 400)}: a link or a file is in the way of this folder"
                raise DamagedState(f"{why}; nothing is put behind it") from error
            name = clean(error.filename if isinstance(error.filename, str) else self._place.base, 400)
            raise DamagedState(f"{name} could not be {what} ({error_name(error)})") from error

    def _compared(self, base: int | None, known: Mapping[str, tuple[str, ...]], wanted: Sequence[Wanted]) -> SitePlan:
        writes: list[Wanted] = []
        same: list[Wanted] = []
        kept: list[tuple[str, str]] = []
        ours = self._folders_of_ours(known)
        for one in wanted:
            found = self._tree.content(base, one.path)
            if isinstance(found, str):
                kept.append((one.path, found))
            elif found is None and self._is_in_the_way(base, one.path, ours):
                kept.append((one.path, "its folder was not made by us"))
            elif found is None:
                writes.append(one)
            elif sha256_hex(found) == one.digest:
                same.append(one)
            elif sha256_hex(found) in known.get(one.path, ()):
                writes.append(one)
            else:
                why = "somebody edited it since" if one.path in known else "somebody else put it there"
                kept.append((one.path, why))
        return self._with_removals(base, known, SitePlan(self._place.base, (*writes,), (*same,), (), (*kept,)), wanted)

    def _with_removals(
        self, base: int | None, known: Mapping[str, tuple[str, ...]], plan: SitePlan, wanted: Sequence[Wanted]
    ) -> SitePlan:
        stays = {one.path for one in wanted}
        removes: list[str] = []
        forgotten: list[str] = []
        kept = list(plan.kept)
        for path, digests in known.items():
            if path in stays:
                continue
            found = self._tree.content(base, path)
            if isinstance(found, bytes) and sha256_hex(found) in digests:
                removes.append(path)
            else:
                forgotten.append(path)
                if found is not None:
                    kept.append((path, "no longer wanted, but somebody edited it since"))
        return SitePlan(plan.base, plan.writes, plan.same, (*removes,), (*kept,), (*forgotten,))

    def _folders_of_ours(self, known: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
        return frozenset(path.rpartition("/")[0] for path in known)

    def _is_in_the_way(self, base: int | None, path: str, ours: frozenset[str]) -> bool:
        """Whether a skill's folder is there, holds something, and nothing in it is ours."""
        shelf = next((s for s in self._place.shelves if s.kind == "skills" and s.holds(path)), None)
        if base is None or shelf is None:
            return False
        top = "/".join(path.split("/")[: len(shelf.subpath) + 1])
        if any(folder == top or folder.startswith(top + "/") for folder in ours):
            return False
        return not self._tree.is_empty(base, top)

    def _index(self, base: int) -> dict[str, tuple[str, ...]]:
        """Path to the digests of what we put there; only of paths where this layout puts something."""
        try:
            document = decode(read_at(self._files, self._name, self._limits.ledger_bytes, dir_fd=base), self._limits)
        except ReadFault as fault:
            if fault.kind == "missing":
                return {}
            raise DamagedState(f"{clean(self._index_path, 400)}: {clean(fault.message)}") from None
        except JsonFault as fault:
            raise DamagedState(f"{clean(self._index_path, 400)} is not valid JSON: {fault}") from None
        entries = document.get("files") if isinstance(document, FrozenDict) else None
        if not isinstance(document, FrozenDict) or not isinstance(entries, FrozenDict) or document.get("schema") != 1:
            raise DamagedState(f"{clean(self._index_path, 400)} is no index of ours; move it away to begin anew")
        return {path: told for path, entry in entries.items() if (told := self._digests(path, entry))}

    @property
    def _index_path(self) -> str:
        return os.path.join(self._place.base, self._name)

    def _digests(self, path: str, entry: object) -> tuple[str, ...]:
        if not isinstance(entry, FrozenDict) or not any(shelf.holds(path) for shelf in self._place.shelves):
            return ()
        digests = entry.get("sha256")
        return tuple(d for d in digests if isinstance(d, str)) if isinstance(digests, tuple) else ()

    # Changing

    def apply(self, wanted: Sequence[Wanted], *, patience: float = 5.0) -> SitePlan:
        """Make it so, and return what was done. Killed at any moment, the next run ends it.

        Raises `DamagedState` where something cannot be written, `BusyError` where another process is at it.
        """
        with self._told("written"), self._tree.opened(create=True) as base:
            assert base is not None
            self._tree.take_turn(base, patience)
            known = self._index(base)
            plan = self._compared(base, known, wanted)
            if plan.writes or plan.removes or plan.forgotten or any(o.path not in known for o in plan.same):
                return self._change(base, known, plan)
            return plan

    def _change(self, base: int, known: Mapping[str, tuple[str, ...]], plan: SitePlan) -> SitePlan:
        """The index first knows old and new content, then the files change, then it knows the new content alone."""
        same = {one.path: _entry(one) for one in plan.same}
        kept = {
            path: {"sha256": [*known[path]]} for path, _ in plan.kept if path in known and path not in plan.forgotten
        }
        both = {one.path: _entry(one, known.get(one.path, ())) for one in plan.writes}
        gone = {path: {"sha256": [*known[path]]} for path in plan.removes}
        self._write_index(base, {**kept, **same, **both, **gone})
        written = [one for one in plan.writes if self._written(base, one, known.get(one.path, ()))]
        removed = [path for path in plan.removes if self._removed(base, path, known[path])]
        self._write_index(base, {**kept, **same, **{one.path: _entry(one) for one in written}})
        taken = sorted({one.path for one in plan.writes}.difference(one.path for one in written))
        taken += sorted(set(plan.removes).difference(removed))
        late = tuple((path, "somebody changed it meanwhile") for path in taken)
        return evolve(plan, writes=(*written,), removes=(*removed,), kept=plan.kept + late)

    def _written(self, base: int, one: Wanted, before: tuple[str, ...]) -> bool:
        try:
            self._tree.write(base, one.path, one.data, 0o777 if one.executable else 0o666, before)
        except Taken:
            return False
        return True

    def _removed(self, base: int, path: str, before: tuple[str, ...]) -> bool:
        depth = max(len(s.subpath) for s in self._place.shelves if s.holds(path))
        try:
            self._tree.remove(base, path, depth, before)
        except Taken:
            return False
        return True

    def _write_index(self, base: int, entries: Mapping[str, Mapping[str, Any]]) -> None:
        document = {"schema": 1, "files": {path: entries[path] for path in sorted(entries)}}
        data = (json.dumps(document, indent=1) + "\n").encode()
        if len(data) > self._limits.ledger_bytes:  # what is written must be readable the next time
            raise Refused(f"{len(entries)} files are more than one folder takes; nothing was changed")
        self._tree.write(base, self._name, data, 0o666, None)


def _entry(one: Wanted, before: Sequence[str] = ()) -> dict[str, Any]:
    return {"owner": one.owner, "sha256": [one.digest, *before]}
