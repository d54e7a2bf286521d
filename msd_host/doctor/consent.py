"""Decisions that decide nothing any more, records that are none, and the copies of granted bundles (spec 20)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..remedies import is_valid_id
from ..text import clean, quoted, shell_word
from ..trust.hashing import from_hex
from ..trust.records import Denial, Grant
from .values import ERROR, NOTE, WARNING, Finding, Ground, finding

__all__ = ["check"]


def check(ground: Ground) -> Iterator[Finding]:
    """Stale grants and denials, damaged records, and every copy in the bundle store read and hashed again."""
    if ground.consent.problem() is not None:
        return  # `homes` and `roots` say why nothing in the store counts
    records = ground.records
    for grant in records.grants:
        if _is_absent(ground, os.path.join(grant.root, ground.product.folder, "capabilities", grant.id)):
            yield _stale(ground, grant, f"agreed to {quoted(grant.id)} in {grant.root}, where it is gone")
    for denial in records.denials:
        if denial.scope == "project" and _is_absent(ground, denial.root):
            yield _stale(ground, denial, f"refused {quoted(denial.id)} in {denial.root}, which is gone")
    for number, note in enumerate(records.ignored):
        severity = WARNING if note.startswith("the denial") else ERROR
        command = f"ls -lR {shell_word(ground.consent.path)}"
        yield finding("record-damaged", severity, f"{number + 1} {note}", note, command=command)
    yield from _copies(ground)


def _stale(ground: Ground, record: Grant | Denial, words: str) -> Finding:
    code, kind = ("grant-stale", "grant") if isinstance(record, Grant) else ("denial-stale", "denial")
    message = f"you once {words}; a bundle that comes back there is inert once the record is gone"
    subject = f"{record.id} {record.root}" + (f" {record.content_hash[:20]}" if isinstance(record, Grant) else "")
    command = ground.run("capability trust gc")
    mend = lambda: ground.host.trust.gc(ground.cwd)  # noqa: E731 - one pass drops them all, the rest find it done
    return finding(code, NOTE, subject, message, fix=f"drop the {kind}", command=command, mend=mend)


def _is_absent(ground: Ground, path: str) -> bool:
    """Provably gone; a disk that is not mounted or may not be looked at proves nothing."""
    try:
        ground.files.stat(path, follow=False)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _copies(ground: Ground) -> Iterator[Finding]:
    granted = {g.content_hash: g for g in ground.records.grants}
    there: set[str] = set()
    spent, most = 0, ground.product.limits.hashed_bytes_per_root
    for entry in ground.names_in(ground.bundles.path):
        content_hash = _hash_in(entry.name)
        if content_hash is None:
            continue
        there.add(content_hash)
        if spent > most:
            continue  # a look has to end; what is used is verified again at each use
        found = ground.bundles.verify(content_hash)
        spent += 0 if found is None else found.size
        if found is None:
            yield _damaged(ground, content_hash, granted.get(content_hash))
        elif content_hash not in granted:
            message = f"the copy {entry.name[:16]}… in the bundle store belongs to no agreement"
            command = ground.run("capability trust gc")
            yield finding("copy-unused", NOTE, entry.name[:32], message, command=command)
    for content_hash, grant in granted.items():
        if content_hash not in there and grant.root == ground.roots.served_path and is_valid_id(grant.id):
            message = (
                f"the copy of {quoted(grant.id)} that was agreed to is not in the bundle store; its commands do not run"
            )
            command = ground.run(f"capability trust grant {grant.id}")
            yield finding("copy-missing", WARNING, f"{grant.id} {content_hash[:20]}", message, command=command)


def _damaged(ground: Ground, content_hash: str, grant: Grant | None) -> Finding:
    path = ground.bundles.path_of(content_hash)
    of = f" of {quoted(grant.id)} in {clean(grant.root, 200)}" if grant is not None else ""
    message = f"the copy{of} in the bundle store is not the bytes that were agreed to; it is never used"
    return finding(
        "copy-damaged",
        ERROR,
        os.path.basename(path)[:32],
        message,
        fix="delete the copy; agreeing to the overlay again makes a new one",
        command=f"rm -rf {shell_word(path)}",
        mend=lambda: ground.bundles.discard(content_hash),
    )


def _hash_in(name: str) -> str | None:
    try:
        return from_hex(name)
    except ValueError:
        return None
