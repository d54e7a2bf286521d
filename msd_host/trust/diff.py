"""What changed between the bytes a person agreed to and the bytes that are there now (spec 20, Disclosure)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from ..digests import sha512_hex
from ..model.frozen import EMPTY
from .disclosure import Disclosure
from .escape import shown, stable_json
from .hashing import path_bytes
from .records import Grant
from .snapshot import FileDigest, Snapshot, SnapshotFile
from .unified import Budget, unified

__all__ = ["BundleDiff", "FileChange", "SurfaceChange", "compare"]

_FACT_CHARS = 2000
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


@frozen
class FileChange:
    """One file. `change` is `added`, `removed` or `changed`; `diff` a unified diff where there is text to show.

    `line_endings_only`: nothing differs but CRLF against LF. `execute` is `+x` or `-x` where that changed.
    `note` says why there is no diff.
    """

    path: str
    change: str
    old_size: int | None = None
    new_size: int | None = None
    line_endings_only: bool = False
    execute: str = ""
    diff: tuple[str, ...] = ()
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "change": self.change,
            "oldSize": self.old_size,
            "newSize": self.new_size,
            "lineEndingsOnly": self.line_endings_only,
            "execute": self.execute,
            "diff": list(self.diff),
            "note": self.note,
        }

    def lines(self) -> list[str]:
        words = [shown(self.path)]
        if self.old_size is not None and self.new_size is not None and self.old_size != self.new_size:
            words.append(f"({self.old_size} -> {self.new_size} bytes)")
        elif self.change != "changed":
            words.append(f"({self.new_size if self.old_size is None else self.old_size} bytes)")
        if self.line_endings_only:
            words.append("line endings only")
        if self.execute:
            words.append({"+x": "now executable", "-x": "no longer executable"}[self.execute])
        if self.note:
            words.append(f"({self.note})")
        return [f"  {_SIGNS[self.change]} {' '.join(words)}", *(f"      {line}" for line in self.diff)]


@frozen
class SurfaceChange:
    """One surface by kind and name, and line by line what the disclosures of then and now say differently."""

    kind: str
    name: str
    change: str
    details: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "change": self.change, "details": list(self.details)}

    def lines(self) -> list[str]:
        head = f"  {_SIGNS[self.change]} {shown(self.kind)} {shown(self.name)}"
        return [head, *(f"      {line}" for line in self.details)]


@frozen
class BundleDiff:
    """`notes` say what could not be compared."""

    id: str
    old_hash: str
    new_hash: str
    files: tuple[FileChange, ...]
    surfaces: tuple[SurfaceChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def line_endings_only(self) -> bool:
        """Whether every difference is a checkout with other line endings."""
        return bool(self.files) and all(f.line_endings_only and not f.execute for f in self.files)

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "oldHash": self.old_hash,
            "newHash": self.new_hash,
            "lineEndingsOnly": self.line_endings_only,
            "files": [f.to_dict() for f in self.files],
            "surfaces": [s.to_dict() for s in self.surfaces],
            "notes": list(self.notes),
        }

    def lines(self) -> list[str]:
        """Plain text, one line each, safe to print."""
        if self.old_hash == self.new_hash:
            return ["Nothing changed since you agreed to it."]
        lines = [f"Agreed to: {shown(self.old_hash)}", f"There now: {self.new_hash}"]
        if self.line_endings_only:
            lines.append("Every difference is one of line endings only.")
        for heading, changes in (("Surfaces", self.surfaces), ("Files", self.files)):
            if changes:
                lines.append(f"{heading} ({len(changes)}):")
                lines += [line for change in changes for line in change.lines()]
        return [*lines, *(f"Note: {note}" for note in self.notes)]


def compare(
    old: Grant, old_snapshot: Snapshot | None, new: Snapshot, disclosure: Disclosure | None = None
) -> BundleDiff:
    """*old* against the bytes in *new*, with the bytes of then where the store still has them.

    *disclosure* is today's; without it the surfaces are not compared.
    """
    if old.content_hash == new.content_hash:
        return BundleDiff(old.id, old.content_hash, new.content_hash, (), ())
    if old_snapshot is not None and old_snapshot.content_hash != old.content_hash:
        old_snapshot = None
    digests = old_snapshot.digests() if old_snapshot is not None else old.files
    before = old_snapshot.files if old_snapshot is not None else EMPTY
    files = tuple(_files(digests, before, new))
    surfaces: tuple[SurfaceChange, ...] = ()
    if disclosure is not None and _rows(old.disclosure):
        surfaces = tuple(surface_changes(old.disclosure, disclosure))
    notes = tuple(_notes(old, old_snapshot, files, disclosure))
    return BundleDiff(old.id, old.content_hash, new.content_hash, files, surfaces, notes)


def _notes(
    old: Grant, old_snapshot: Snapshot | None, files: tuple[FileChange, ...], disclosure: Disclosure | None
) -> Iterator[str]:
    if old_snapshot is None:
        yield "the bytes you agreed to are not in the store any more, so no text can be compared"
        if not old.files:
            yield "nor is there a list of their files, so every file is shown as added"
    if not files:
        yield "only folders differ"
    if disclosure is not None and not _rows(old.disclosure):
        yield "there is no record of the surfaces you were shown, so they cannot be compared"


def _files(
    digests: Mapping[str, FileDigest], before: Mapping[str, SnapshotFile], new: Snapshot
) -> Iterator[FileChange]:
    budget = Budget()
    for path in sorted({*digests, *new.files}, key=path_bytes):
        now = new.files.get(path)
        if now is None:
            yield FileChange(path, "removed", digests[path].size, None)
        elif path not in digests:
            diff, note = unified(b"", now.data, budget)
            execute = "+x" if now.executable else ""
            yield FileChange(path, "added", None, len(now.data), False, execute, diff, note)
        else:
            change = _changed(path, digests[path], before.get(path), now, budget)
            if change is not None:
                yield change


def _changed(
    path: str, old: FileDigest, before: SnapshotFile | None, now: SnapshotFile, budget: Budget
) -> FileChange | None:
    execute = "" if old.executable == now.executable else ("+x" if now.executable else "-x")
    if old.sha512 == sha512_hex(now.data):
        if not execute:
            return None
        return FileChange(path, "changed", old.size, old.size, execute=execute)
    if _same_but_endings(old.sha512, before, now.data):
        return FileChange(path, "changed", old.size, len(now.data), True, execute)
    diff, note = ((), "") if before is None else unified(before.data, now.data, budget)
    return FileChange(path, "changed", old.size, len(now.data), False, execute, diff, note)


def _same_but_endings(sha512: str, before: SnapshotFile | None, now: bytes) -> bool:
    """CRLF against LF and nothing else. A lone CR is content, and so is anything in a file that is not text."""
    if b"\0" in now:
        return False
    plain = now.replace(b"\r\n", b"\n")
    if before is not None:
        return before.data.replace(b"\r\n", b"\n") == plain
    if b"\r\n" in plain:
        return False  # a lone CR before a line's end: which of the two was folded then cannot be known
    return sha512 in (sha512_hex(plain), sha512_hex(plain.replace(b"\n", b"\r\n")))


_Key = tuple[str, str, int]


def surface_changes(old: Mapping[str, Any], new: Disclosure) -> Iterator[SurfaceChange]:
    """What differs between a recorded disclosure, whose shape is not relied upon, and today's."""
    then, now = _numbered(_rows(old)), _numbered([surface.to_dict() for surface in new.surfaces])
    for key in (*now, *(key for key in then if key not in now)):
        kind, name, _ = key
        if key not in then:
            yield SurfaceChange(kind, name, "added")
        elif key not in now:
            yield SurfaceChange(kind, name, "removed")
        elif then[key].get("digest") != now[key].get("digest"):
            yield SurfaceChange(kind, name, "changed", tuple(_details(then[key], now[key])))


def _rows(disclosure: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    surfaces = disclosure.get("surfaces")
    rows = surfaces if isinstance(surfaces, (list, tuple)) else ()
    return [row for row in rows if isinstance(row, Mapping)]


def _numbered(rows: Iterable[Mapping[str, Any]]) -> dict[_Key, Mapping[str, Any]]:
    """The surfaces by kind, name and how many of that name came before."""
    found: dict[_Key, Mapping[str, Any]] = {}
    seen: dict[tuple[str, str], int] = {}
    for row in rows:
        pair = (str(row.get("kind")), str(row.get("name")))
        seen[pair] = seen.get(pair, 0) + 1
        key = (*pair, seen[pair])
        found[key] = row
    return found


def _details(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = _facts(then), _facts(now)
    labels = [label for label in dict.fromkeys((*old, *new)) if old.get(label) != new.get(label)]
    for label in labels:
        if label in old:
            yield f"- {shown(label)}: {shown(old[label], _FACT_CHARS)}"
        if label in new:
            yield f"+ {shown(label)}: {shown(new[label], _FACT_CHARS)}"
    if not labels:
        yield "differs in a part that is not shown"


def _facts(row: Mapping[str, Any]) -> dict[str, str]:
    facts = row.get("facts")
    if not isinstance(facts, Mapping):
        return {}
    return {str(k): v if isinstance(v, str) else stable_json(v) for k, v in facts.items()}
