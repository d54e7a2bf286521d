"""Which settings files the user named for a capability: kept in the home, where no repository writes (spec 30, Law 5)."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from attrs import evolve, frozen

from ...digests import sha256_hex
from ...errors import DamagedState
from ...model.frozen import FrozenDict
from ...reading.files import ReadFault, read_at
from ...reading.jsontext import JsonFault, decode
from ...text import clean
from ...trust.private import TEMP, PrivatePlace, closing, error_name, sweep, write_file
from ..ground import Ground

__all__ = ["Named", "SharedRecord"]

_FOLDER = "shared"


@frozen
class Named:
    """One file. `made` are the containers that were made in it, `is_ours` that the file itself was."""

    path: str
    made: tuple[str, ...] = ()
    is_ours: bool = False


class SharedRecord:
    """The files of one capability at one place. Writers hold the lock of the place."""

    def __init__(self, home: str, ground: Ground, id: str) -> None:
        product = ground.product
        self._home = home
        self._ground = ground
        self._files = ground.files
        self._limits = product.limits
        every = f"{product.folder}/{_FOLDER}"
        self._folder = f"{every}/{sha256_hex(os.fsencode(ground.owner))[:32]}"
        folders = (product.folder, every, self._folder)
        self._place = PrivatePlace(ground.files, home, folders, "record of shared files")
        self._name = f"{ground.scope.label}-{id}.json"
        self.path = os.path.join(home, self._folder, self._name)

    def read(self) -> tuple[Named, ...]:
        """The files on record. Raises `DamagedState` for a record that is none: nobody knows then what is ours."""
        try:
            fd, sound = self._place.descend(self._folder)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise DamagedState(f"{clean(self.path, 400)} cannot be read ({error_name(error)})") from error
        with closing(self._files, fd):
            if not sound:
                health = self._place.health()
                raise DamagedState(health.problem or f"{clean(self.path, 400)} is not used", remedy=health.remedy)
            try:
                data = read_at(self._files, self._name, self._limits.record_bytes, dir_fd=fd)
                return _named(decode(data, self._limits))
            except ReadFault as fault:
                if fault.kind == "missing":
                    return ()
                raise DamagedState(f"{clean(self.path, 400)}: {clean(fault.message)}") from None
            except (JsonFault, ValueError) as fault:
                raise DamagedState(f"{clean(self.path, 400)} is no record of ours: {clean(fault)}") from None

    def write(self, named: tuple[Named, ...]) -> None:
        """Put *named* on record, or with nothing named drop the record."""
        try:
            fd, _ = self._place.descend(self._folder, create=True)
            with closing(self._files, fd):
                sweep(self._files, fd, (TEMP,), float("inf"))
                if not named:
                    with suppress(FileNotFoundError):
                        os.unlink(self._name, dir_fd=fd)
                    with suppress(OSError):
                        os.rmdir(os.path.dirname(self.path))
                    return
                rows = [{"path": n.path, "made": [*n.made], "isOurs": n.is_ours} for n in named]
                data = json.dumps({"schema": 1, "files": rows}, indent=1).encode("utf-8", "surrogateescape")
                write_file(fd, self._name, data + b"\n")
        except OSError as error:
            raise DamagedState(f"{clean(self.path, 400)} could not be written ({error_name(error)})") from error

    def put(self, one: Named) -> None:
        """Put *one* on record beside the others; what was made in it before stays known."""
        before = {named.path: named for named in self.read()}
        known = before.get(one.path, Named(one.path))
        made = tuple(dict.fromkeys((*known.made, *one.made)))
        before[one.path] = evolve(one, made=made, is_ours=known.is_ours or one.is_ours)
        self.write(tuple(before.values()))

    def hand_over(self, one: Named) -> None:
        """Let whoever else has entries in that file, at the same place, know what was made in it.

        The last to leave then takes it along. A record that is damaged is for its own capability to complain about.
        """
        for other in self._others():
            with suppress(DamagedState):
                if any(named.path == one.path for named in other.read()):
                    other.put(one)

    def _others(self) -> list[SharedRecord]:
        try:
            fd, sound = self._place.descend(self._folder)
        except OSError:
            return []
        with closing(self._files, fd):
            names = sorted(entry.name for entry in self._files.entries(fd)) if sound else []
        prefix = f"{self._ground.scope.label}-"
        ids = [
            name[len(prefix) : -len(".json")] for name in names if name.startswith(prefix) and name.endswith(".json")
        ]
        return [SharedRecord(self._home, self._ground, id) for id in ids if f"{prefix}{id}.json" != self._name]


def _named(document: object) -> tuple[Named, ...]:
    rows = document.get("files") if isinstance(document, FrozenDict) and document.get("schema") == 1 else None
    if not isinstance(rows, tuple):
        raise ValueError("no list of files")  # noqa: TRY004 - a value that was read, not an argument
    return tuple(_row(row) for row in rows)


def _row(row: object) -> Named:
    if not isinstance(row, FrozenDict) or not isinstance(row.get("path"), str) or not os.path.isabs(row["path"]):
        raise ValueError("a file without an absolute path")
    made = row.get("made", ())
    if not isinstance(made, tuple) or not all(isinstance(path, str) for path in made):
        raise ValueError("something made that is no text")
    return Named(row["path"], made, row.get("isOurs") is True)
