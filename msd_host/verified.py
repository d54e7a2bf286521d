"""The bytes of an accepted overlay, vouched for at the moment they are used (spec 20, Snapshot).

Dispatch runs them and projection copies them: both ask here, so both mean the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .composition import Composition, bundle_store
from .errors import Refused
from .model.candidate import Candidate
from .reading.files import Files, Place, ReadFault, fault_of
from .text import quoted
from .trust.snapshot import Snapshot, Unverifiable, take_snapshot

if TYPE_CHECKING:
    from .host import Host

__all__ = ["opened", "vouched"]


@contextmanager
def opened(files: Files, candidate: Candidate) -> Iterator[int]:
    """The folder that was composed, open, and only if it is still that folder. Raises `ReadFault`."""
    try:
        fd = files.open_folder(candidate.where)
    except OSError as error:
        raise fault_of(error, "its folder") from None
    try:
        place = Place.of(files.fstat(fd))
        if candidate.place != (place.device, place.inode):
            raise ReadFault("changed", "its folder was replaced while it was looked at")
        yield fd
    finally:
        files.close(fd)


def vouched(host: Host, composition: Composition, candidate: Candidate) -> Snapshot:
    """The bytes the user agreed to, hashed now: the stored copy, or for one run what lies there.

    Raises `Refused` where nobody agreed, or what is there is not what was agreed to.
    """
    content_hash = candidate.content_hash
    if content_hash is None or candidate.consent.state != "granted":
        raise Refused(f"nobody agreed to the bytes of {quoted(candidate.id)}")
    if candidate.consent.run_only:
        found = _on_disk(host, candidate)
    else:
        found = bundle_store(host.product, host.files, composition.roots).verify(content_hash)
    if found is None or found.content_hash != content_hash:
        what = (
            "the bundle changed since it was composed" if candidate.consent.run_only else "the stored copy is damaged"
        )
        raise Refused(
            f"{what}, so nothing of {quoted(candidate.id)} is used",
            remedy=f"{composition.context.command} capability trust show {candidate.id}",
        )
    return found


def _on_disk(host: Host, candidate: Candidate) -> Snapshot | None:
    try:
        fd = host.files.open_folder(candidate.where)
    except OSError:
        return None
    try:
        return take_snapshot(host.files, fd, host.product.limits)
    except Unverifiable:
        return None
    finally:
        host.files.close(fd)
