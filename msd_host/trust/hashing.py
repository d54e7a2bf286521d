"""The content hash of a bundle: one injective byte stream, one digest (spec 20, Content hash).

Pure functions of bytes. Every entry is framed by its kind and by the lengths of its path and content, so no
content can imitate a boundary and no two different bundles share a stream.
"""

from __future__ import annotations

import os
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable

from ..digests import constructor

__all__ = [
    "Entry",
    "bundle_hash",
    "from_hex",
    "hex_of",
    "is_content_hash",
    "path_bytes",
]

PREFIX = "sha512-"
_DIGEST_BYTES = 64
_FOLDER, _FILE, _EXECUTABLE = b"\x02", b"\x01", b"\x03"

#: (path relative to the bundle as raw bytes, content or None for a folder, any execute bit)
Entry = tuple[bytes, "bytes | None", bool]


def path_bytes(path: str) -> bytes:
    """The bytes the operating system knows *path* by; total, also for text that names no file."""
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


def bundle_hash(entries: Iterable[Entry]) -> str:
    """`sha512-<base64>` over *entries* in any order (reference, section 1.4; tag 03 by spec 20)."""
    ordered = sorted(entries, key=_by_path)
    digest = constructor("sha512")(len(ordered).to_bytes(8, "big"))
    for path, data, executable in ordered:
        size = len(path).to_bytes(4, "big")
        if data is None:
            digest.update(_FOLDER + size + path)
        else:
            digest.update((_EXECUTABLE if executable else _FILE) + size + path + len(data).to_bytes(8, "big"))
            digest.update(data)
    return PREFIX + b2a_base64(digest.digest(), newline=False).decode("ascii")


def _by_path(entry: Entry) -> bytes:
    return entry[0]


def is_content_hash(text: object) -> bool:
    """Whether *text* is a content hash in its only spelling. An empty one never is."""
    return isinstance(text, str) and _digest_of(text) is not None


def hex_of(content_hash: str) -> str:
    """The digest as 128 hex digits, fit for a file name. Raises `ValueError` for anything else."""
    digest = _digest_of(content_hash)
    if digest is None:
        raise ValueError("not a content hash")
    return digest.hex()


def from_hex(name: str) -> str:
    """The content hash that `hex_of` turned into *name*. Raises `ValueError` for anything else."""
    digest = bytes.fromhex(name)
    if len(digest) != _DIGEST_BYTES or digest.hex() != name:
        raise ValueError("not the name of a content hash")
    return PREFIX + b2a_base64(digest, newline=False).decode("ascii")


def _digest_of(text: str) -> bytes | None:
    if not text.startswith(PREFIX) or not text.isascii():
        return None
    try:
        digest = a2b_base64(text[len(PREFIX) :])
    except Base64Error:
        return None
    again = PREFIX + b2a_base64(digest, newline=False).decode("ascii")
    return digest if len(digest) == _DIGEST_BYTES and again == text else None
