"""The intent of a change, written before the first step and dropped after the last (spec 30, Law 4).

It lies in the user's home for both scopes: nothing that a repository can write may say what is to be undone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from attrs import asdict, frozen

from ..digests import sha256_hex
from ..errors import DamagedState
from ..limits import Limits
from ..model.frozen import FrozenDict, freeze, thaw
from ..product import Product
from ..reading.files import Files, ReadFault, read_at
from ..reading.jsontext import JsonFault, decode
from ..remedies import is_valid_id
from ..text import clean
from ..trust.private import TEMP, PrivatePlace, closing, error_name, sweep, write_file

__all__ = ["INSTALL", "REMOVE", "UPDATE", "Intent", "Journal"]

INSTALL, UPDATE, REMOVE = "install", "update", "remove"
_SCHEMA = 1
_FOLDER = "intents"


@frozen(unsafe_hash=False)
class Intent:
    """What was begun. `before` and `after` are the ledger entries of then and of the end (None: none).

    `content_hash` is that of the bundle to come; `agreed` says how the user agreed to it, where consent is to be
    recorded. `shared` are the files of coding tools that the user named; `purge` asks for the runtime data to go too.
    """

    id: str
    scope: str
    owner: str
    kind: str
    token: str
    content_hash: str | None = None
    had_folder: bool = False
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    agreed: str | None = None
    shared: tuple[str, ...] = ()
    purge: bool = False

    @property
    def name(self) -> str:
        """The file it is kept in: there is at most one per capability and place."""
        return sha256_hex(f"{self.scope}\0{self.owner}\0{self.id}".encode("utf-8", "surrogateescape"))[:40] + ".json"


class Journal:
    """The intents for one place, *owner*. Whoever writes holds the lock of that place."""

    def __init__(self, home: str, owner: str, product: Product, files: Files, limits: Limits) -> None:
        self._files = files
        self._limits = limits
        self._owner = owner
        every = f"{product.folder}/{_FOLDER}"
        self._folder = f"{every}/{sha256_hex(os.fsencode(owner))[:32]}"
        self._place = PrivatePlace(files, home, (product.folder, every, self._folder), "folder of intents")
        self.path = os.path.join(home, self._folder)

    def write(self, intent: Intent) -> None:
        """Keep *intent*; it is on the disk when this returns. Raises `DamagedState` where that fails."""
        document = {"schema": _SCHEMA, **asdict(intent, recurse=False)}
        data = json.dumps(thaw(freeze(document)), indent=1).encode("utf-8", "surrogateescape")
        with self._writing() as fd:
            write_file(fd, intent.name, data + b"\n")

    def drop(self, intent: Intent) -> None:
        """The change is at its end, or undone."""
        with self._writing() as fd, suppress(FileNotFoundError):
            os.unlink(intent.name, dir_fd=fd)
        with suppress(OSError):
            os.rmdir(self.path)

    def sweep(self) -> None:
        """Delete what killed writers left, and the folder once it is empty."""
        if os.path.lexists(self.path):
            with self._writing() as fd:
                sweep(self._files, fd, (TEMP,), float("inf"))
            with suppress(OSError):
                os.rmdir(self.path)

    def all(self) -> tuple[Intent, ...]:
        """Every intent there is, by scope and id. Raises `DamagedState` for one that cannot be read."""
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
            names = sorted(e.name for e in self._files.entries(fd) if not e.name.startswith("."))
            found = [self._read(fd, name) for name in names]
            return tuple(sorted(found, key=lambda intent: (intent.scope, intent.id)))

    def _read(self, fd: int, name: str) -> Intent:
        where = clean(os.path.join(self.path, name), 400)
        try:
            document = decode(read_at(self._files, name, self._limits.ledger_bytes, dir_fd=fd), self._limits)
        except (ReadFault, JsonFault) as fault:
            raise DamagedState(f"{where}: {clean(fault)}; move it away once nothing is half done there") from None
        intent = _intent(document)
        if intent is None or intent.name != name or intent.owner != self._owner:
            raise DamagedState(f"{where} is no intent of ours; move it away")
        return intent

    @contextmanager
    def _writing(self) -> Iterator[int]:
        health = self._place.health()
        if health.problem is not None:
            raise DamagedState(health.problem, remedy=health.remedy)
        try:
            fd, _ = self._place.descend(self._folder, create=True)
            with closing(self._files, fd):
                yield fd
        except OSError as error:
            raise DamagedState(f"{clean(self.path, 400)} could not be written ({error_name(error)})") from error


def _intent(document: object) -> Intent | None:
    """The intent that *document* is, None for anything else."""
    if not isinstance(document, FrozenDict) or document.get("schema") != _SCHEMA:
        return None
    told: dict[str, Any] = {name: document.get(name) for name in _SHAPES}
    if not all(isinstance(value, _SHAPES[name]) for name, value in told.items()):
        return None
    if document["kind"] not in (INSTALL, UPDATE, REMOVE) or not is_valid_id(document["id"]):
        return None
    return Intent(**told) if all(isinstance(path, str) for path in told["shared"]) else None


_ENTRY = (FrozenDict, type(None))
_WORD = (str, type(None))
_SHAPES: dict[str, Any] = {
    "id": str,
    "scope": str,
    "owner": str,
    "kind": str,
    "token": str,
    "content_hash": _WORD,
    "had_folder": bool,
    "before": _ENTRY,
    "after": _ENTRY,
    "agreed": _WORD,
    "shared": tuple,
    "purge": bool,
}
