"""An append-only file of JSON lines, each bound to the one before by its hash.

A record is `{"seq", "prev", "at", "event", "hash"}`; `hash` is sha256 over the canonical JSON of the rest. Whoever
edits, cuts out or swaps a line breaks the chain there. Cutting lines off the end shows against the head that is
kept beside the log, and against a head noted elsewhere (`msd-audit verify --head`). Rotated files go on with the
chain of the file before them.

Several processes may append: each takes a kernel lock, reads the last line, appends one line in one write.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

__all__ = ["GENESIS", "AuditLog", "Broken", "verify"]

GENESIS = "0" * 64
_TAIL = 1 << 16


class Broken(Exception):
    """The chain does not hold; `file` and `line` say where."""

    def __init__(self, file: Path, line: int, why: str) -> None:
        super().__init__(f"{file}:{line}: {why}")
        self.file, self.line, self.why = file, line, why


def _canonical(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _hash(record: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical({k: v for k, v in record.items() if k != "hash"})).hexdigest()


@frozen
class AuditLog:
    """The log at *path*. `fsync` is `always` or `never`; at *rotate_bytes* the file gets a number and a new one begins."""

    path: Path
    fsync: str = "always"
    rotate_bytes: int = 16 * 1024 * 1024

    def append(self, event: dict[str, Any], at: float) -> dict[str, Any]:
        """Add one record; returns it. Raises `OSError` where the file cannot be written."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._locked():
            seq, prev = self._head()
            record: dict[str, Any] = {"seq": seq + 1, "prev": prev, "at": at, "event": event}
            record["hash"] = _hash(record)
            self._rotate()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = os.open(self.path, flags, 0o600)
            try:
                self._complete_last_line(fd)
                os.write(fd, _canonical(record) + b"\n")
                if self.fsync == "always":
                    os.fsync(fd)
            finally:
                os.close(fd)
            self._note_head(record)
            return record

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self.path.with_name(self.path.name + ".lock")
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _head(self) -> tuple[int, str]:
        """(last number, last hash) over all files."""
        for path in [self.path, *reversed(self.rotated())]:
            record = _last_record(path)
            if record is not None:
                return int(record["seq"]), str(record["hash"])
        return 0, GENESIS

    def rotated(self) -> list[Path]:
        """Earlier files, oldest first."""
        found = self.path.parent.glob(self.path.name + ".*")
        return sorted((p for p in found if p.suffix[1:].isdigit()), key=lambda p: int(p.suffix[1:]))

    def files(self) -> list[Path]:
        """Every file of the log, oldest first."""
        return [*self.rotated(), *([self.path] if self.path.exists() else [])]

    def _rotate(self) -> None:
        if self.path.exists() and self.path.stat().st_size >= self.rotate_bytes:
            last = self.rotated()[-1:]
            number = int(last[0].suffix[1:]) + 1 if last else 1
            os.rename(self.path, self.path.with_name(f"{self.path.name}.{number}"))

    @staticmethod
    def _complete_last_line(fd: int) -> None:
        """A writer that died in the middle of a line must not swallow the next one."""
        size = os.fstat(fd).st_size
        if size == 0:
            return
        with (
            open(f"/proc/self/fd/{fd}", "rb")
            if os.path.exists("/proc/self/fd")
            else os.fdopen(os.dup(fd), "rb") as again
        ):
            again.seek(size - 1)
            if again.read(1) != b"\n":
                os.write(fd, b"\n")

    def _note_head(self, record: dict[str, Any]) -> None:
        head = self.path.with_name(self.path.name + ".head")
        spare = head.with_name(head.name + ".new")
        spare.write_text(f"{record['seq']} {record['hash']}\n")
        os.replace(spare, head)


def _last_record(path: Path) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            reach = _TAIL
            while True:
                stream.seek(max(0, size - reach))
                lines = stream.read().splitlines()
                whole = lines if reach >= size else lines[1:]
                for line in reversed(whole):
                    record = _record(line)
                    if record is not None:
                        return record
                if reach >= size:
                    return None
                reach *= 4
    except FileNotFoundError:
        return None


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(record, dict) and {"seq", "prev", "at", "event", "hash"} <= record.keys()
    return record if whole else None


def verify(log: AuditLog, head: str | None = None) -> tuple[int, str]:
    """(number of records, head) of a whole chain. Raises `Broken` for any edit, cut, swap or damaged line.

    *head*, noted earlier (`SEQ HASH`), must be part of the chain; the head file beside the log must be its end.
    """
    seq, prev = 0, GENESIS
    seen: dict[int, str] = {}
    where = (log.path, 0)
    for path in log.files():
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            record = _record(line)
            if record is None:
                raise Broken(path, number, "the line is not a whole record")
            if record["hash"] != _hash(record):
                raise Broken(path, number, "the record was changed")
            if record["seq"] != seq + 1 or record["prev"] != prev:
                raise Broken(path, number, "records are missing or were swapped before this one")
            seq, prev = record["seq"], record["hash"]
            seen[seq], where = prev, (path, number)
    noted = log.path.with_name(log.path.name + ".head")
    if noted.exists() and noted.read_text().split() != [str(seq), prev]:
        raise Broken(*where, "the end of the log is not the head that was noted: records were cut off")
    if not noted.exists() and seq:
        raise Broken(*where, "the note of the head is gone")
    if head is not None:
        number_text, _, digest = head.partition(" ")
        if not number_text.isdigit() or seen.get(int(number_text)) != digest.strip():
            raise Broken(*where, "the head noted elsewhere is not part of this log")
    return seq, prev
