"""Archives over https: downloaded with bounds, checked against their pin, then unpacked (spec 30, Sources)."""

from __future__ import annotations

import hashlib
import os
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from ...errors import LifecycleError, UsageError
from ...text import quoted
from ...trust.hashing import is_content_hash
from .settle import bundle_in, settle
from .source import Source
from .terms import Fetched, Terms

__all__ = ["check_pin", "fetch_archive", "integrity_of", "unpacked"]

_NEW = "xb"
_CHUNK = 1 << 16


def fetch_archive(source: Source, into: Path, terms: Terms) -> Fetched:
    """Download *source*, verify its pin, unpack it and find the bundle. Raises `LifecycleError`."""
    from .http import opened  # loads TLS

    check_pin(terms.integrity)
    terms.tell(f"downloading {source.text}")
    file = into / "download"
    with opened(source.location, terms) as answer:
        if answer.status != 200:
            raise LifecycleError("fetch-failed", f"{answer.shown} answered with status {answer.status}")
        url = answer.shown
        with open(file, _NEW) as out:
            out.writelines(answer.chunks())
    resolved = {"url": url, "integrity": verified(file, terms)}
    return unpacked(file, urlsplit(source.location).path, into, terms, resolved)


def unpacked(file: Path, name: str, into: Path, terms: Terms, resolved: Mapping[str, str]) -> Fetched:
    """The bundle in the archive *file*, which somebody called *name*."""
    with open(file, "rb") as stream:
        raw = _unpack(stream, name, into / "raw", terms)
    return Fetched(settle(bundle_in(raw), into, terms), resolved)


def _unpack(stream: BinaryIO, name: str, folder: Path, terms: Terms) -> Path:
    if name.lower().endswith((".zip", ".whl")):
        from .unzip import unzip

        return unzip(stream, folder, terms)
    from .untar import untar

    return untar(stream, folder, terms)


def check_pin(pin: str | None) -> None:
    """Raise `UsageError` for a pin that no source could verify."""
    if pin is not None and not is_content_hash(pin):
        raise UsageError(f"{quoted(pin)} is no pin; it is written sha512-, then the digest in base64")


def verified(file: Path, terms: Terms) -> str:
    """The integrity of *file*. Raises `LifecycleError` (`pin-mismatch`) where it is not the one wanted."""
    found = integrity_of(file)
    if terms.integrity not in (None, found):
        raise LifecycleError(
            "pin-mismatch", f"the download is not what was pinned: it has {found}, not {terms.integrity}"
        )
    return found


def integrity_of(file: Path) -> str:
    """`sha512-<base64>` of the bytes of *file*."""
    digest = hashlib.sha512()
    with open(os.fspath(file), "rb") as stream:
        while data := stream.read(_CHUNK):
            digest.update(data)
    return "sha512-" + b64encode(digest.digest()).decode("ascii")
