"""Decisions as values, and their one spelling on disk (spec 20, Consent store).

A record is read strictly: what does not have exactly this shape decides nothing.
"""

from __future__ import annotations

import json
import os
from typing import Any

from attrs import evolve, field, frozen

from ..digests import sha256_hex
from ..model.frozen import EMPTY, FrozenDict, freeze, thaw
from ..remedies import is_valid_id
from .hashing import hex_of, is_content_hash, path_bytes
from .snapshot import FileDigest

__all__ = ["HOW", "Denial", "Grant", "RecordFault", "key_of", "utc_now"]

SCHEMA = 1

_DETAILS = b',\n"details":'  # cannot occur within the first line: JSON escapes a line end in a text

#: How a person said yes: at a terminal, by naming the exact bytes, or through the embedding application.
HOW = ("terminal", "hash", "api")


class RecordFault(ValueError):
    """The bytes are not a record of this kind; the text says why."""


def _deep(value: Any) -> Any:
    """*value* frozen all through; a `FrozenDict` has been already."""
    return value if type(value) is FrozenDict else freeze(value)


@frozen(kw_only=True)
class Grant:
    """The user's yes to exact bytes at an exact place.

    `root` is the canonical served project, `gates` the known points at which the bundle declares gates,
    `disclosure` what the user was shown, as JSON. `files` is empty where the record would have become too
    large. `granted_at` is UTC in ISO form, `how` one of `HOW`.
    """

    schema: int = SCHEMA
    root: str
    id: str
    scope: str = "project"
    gates: tuple[str, ...] = ()
    version: str = ""
    content_hash: str
    disclosure: FrozenDict[str, Any] = field(default=EMPTY, converter=_deep, repr=False)
    files: FrozenDict[str, FileDigest] = field(default=EMPTY, repr=False)
    granted_at: str = ""
    host_version: str = ""
    how: str = "terminal"

    @property
    def name(self) -> str:
        """The record's file name. Raises `ValueError` where there is no content hash."""
        return f"{hex_of(self.content_hash)}.json"


@frozen(kw_only=True)
class Denial:
    """The user's no to an id at a place, whatever its content. Only its existence counts."""

    schema: int = SCHEMA
    root: str
    id: str
    scope: str = "project"
    denied_at: str = ""
    host_version: str = ""
    how: str = "terminal"


def key_of(root: str, id: str) -> str:
    """The name under which everything about (*root*, *id*) is kept. No path holds a NUL, so no two pairs meet."""
    return sha256_hex(path_bytes(root) + b"\0" + path_bytes(id))


def place_of(root: str) -> str:
    """The name under which the ids known at *root* are listed."""
    return sha256_hex(path_bytes(root))


def utc_now() -> str:
    """This second, `2026-01-31T12:00:00Z`."""
    from datetime import datetime, timezone  # only when something is decided, never on a load

    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def fault_of(grant: Grant) -> str | None:
    """Why *grant* can't be recorded, if so. A record without a content hash would match nothing, or everything."""
    if not os.path.isabs(grant.root) or "\0" in grant.root:
        return "the project's path is not absolute"
    if not is_valid_id(grant.id):
        return "the id is not a valid id"
    if not is_content_hash(grant.content_hash):
        return "there is no content hash"
    if grant.schema != SCHEMA:
        return f"the schema must be {SCHEMA}"
    if grant.how not in HOW:
        return f"how must be one of {', '.join(HOW)}"
    return None


def encode_grant(grant: Grant, limit: int) -> bytes:
    """The record's bytes, at most *limit*: first the file list, then the disclosure gives way; neither decides.

    One JSON object whose first line holds all that decides.
    """
    head = {
        "schema": grant.schema,
        "root": grant.root,
        "id": grant.id,
        "scope": grant.scope,
        "gates": list(grant.gates),
        "version": grant.version,
        "contentHash": grant.content_hash,
        "grantedAt": grant.granted_at,
        "hostVersion": grant.host_version,
        "how": grant.how,
    }
    files = {path: _digest_json(digest) for path, digest in grant.files.items()}
    shown = thaw(grant.disclosure)
    for details in ({"disclosure": shown, "files": files}, {"disclosure": shown, "files": {}}, {}):
        data = _json(head)[:-1] + _DETAILS + _json(details) + b"}\n"
        if len(data) <= limit:
            return data
    raise RecordFault("the record is too large")


def encode_denial(denial: Denial) -> bytes:
    record = {
        "schema": denial.schema,
        "root": denial.root,
        "id": denial.id,
        "scope": denial.scope,
        "deniedAt": denial.denied_at,
        "hostVersion": denial.host_version,
        "how": denial.how,
    }
    return _json(record) + b"\n"


def decode_grant(data: bytes, *, details: bool = True) -> Grant:
    """The grant in a record, with or without what is there for people only. Raises `RecordFault`.

    What decides is read strictly and stands alone; damaged details are left out.
    """
    head, mark, rest = data.partition(_DETAILS)
    if mark and not rest.endswith(b"}}\n"):
        raise RecordFault("is cut short")
    record = _object(head + b"}" if mark else data)
    grant = _grant(record)
    fault = fault_of(grant)
    if fault is not None:
        raise RecordFault(fault)
    if not details:
        return grant
    disclosure, files = _details(rest[:-2] if mark else record.get("details"))
    return evolve(grant, disclosure=disclosure, files=files)


def _grant(record: dict[str, Any]) -> Grant:
    return Grant(
        root=_text(record, "root"),
        id=_text(record, "id"),
        scope=_text(record, "scope"),
        gates=_texts(record, "gates"),
        version=_text(record, "version"),
        content_hash=_text(record, "contentHash"),
        granted_at=_text(record, "grantedAt"),
        host_version=_text(record, "hostVersion"),
        how=_text(record, "how"),
    )


def _details(value: Any) -> tuple[FrozenDict[str, Any], FrozenDict[str, FileDigest]]:
    try:
        found = json.loads(value) if isinstance(value, bytes) else value
        disclosure = found["disclosure"]
        files = FrozenDict({str(path): _digest(digest) for path, digest in found["files"].items()})
        return (freeze(disclosure), files) if isinstance(disclosure, dict) else (EMPTY, files)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return EMPTY, EMPTY


def decode_denial(data: bytes) -> Denial:
    """Raises `RecordFault`; the denial holds all the same."""
    record = _object(data)
    return Denial(
        root=_text(record, "root"),
        id=_text(record, "id"),
        scope=_text(record, "scope"),
        denied_at=_text(record, "deniedAt"),
        host_version=_text(record, "hostVersion"),
        how=_text(record, "how"),
    )


def _json(value: dict[str, Any]) -> bytes:
    # Escaped, so that a path with undecodable bytes survives the way through JSON.
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _digest_json(digest: FileDigest) -> dict[str, Any]:
    return {"sha512": digest.sha512, "size": digest.size, "executable": digest.executable}


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise RecordFault("is not JSON") from None
    if not isinstance(value, dict):
        raise RecordFault("is not a JSON object")
    if type(value.get("schema")) is not int or value["schema"] != SCHEMA:
        raise RecordFault(f"does not have schema {SCHEMA}")
    return value


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        raise RecordFault(f"has no text {name}")
    return value


def _texts(record: dict[str, Any], name: str) -> tuple[str, ...]:
    value = record.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise RecordFault(f"has no list of texts {name}")
    return tuple(value)


def _digest(value: Any) -> FileDigest:
    if not isinstance(value, dict):
        raise RecordFault("has a damaged file list")
    sha512, size, executable = value.get("sha512"), value.get("size"), value.get("executable")
    if not isinstance(sha512, str) or type(size) is not int or size < 0 or type(executable) is not bool:
        raise RecordFault("has a damaged file list")
    return FileDigest(sha512, size, executable)
