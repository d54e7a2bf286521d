"""zip and wheels: the list of members is judged first, then only the bundle is unpacked (spec 30, Sources)."""

from __future__ import annotations

import os
import stat as st
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from ...errors import LifecycleError
from ...text import clean, quoted
from .paths import bundle_prefix, safe_parts
from .terms import Terms
from .writer import Writer

__all__ = ["unzip"]

_END, _END64 = b"PK\5\6", b"PK\6\7"
_END_BYTES, _END64_BYTES = 22, 20
_DIRECTORY = 8 << 20  # bytes of the list of members, all of which is read at once
_HARMLESS = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def unzip(stream: BinaryIO, folder: Path, terms: Terms) -> Path:
    """Unpack the bundle in the zip *stream* to the new *folder*. Raises `LifecycleError`."""
    _judge_directory(stream)
    writer = Writer(folder, terms.limits)
    try:
        with zipfile.ZipFile(stream) as archive:
            members = _members(archive, terms)
            prefix = bundle_prefix(m.parts for m in members if not m.info.is_dir())
            for member in members:
                if member.parts[: len(prefix)] == prefix and len(member.parts) > len(prefix):
                    _write(archive, member, member.parts[len(prefix) :], writer, terms)
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise _broken(clean(error, 80)) from None
    return folder


@frozen
class _Member:
    info: zipfile.ZipInfo
    parts: tuple[str, ...]


def _judge_directory(stream: BinaryIO) -> None:
    """Refuse a list of members that would not fit in memory, before it is read."""
    size = stream.seek(0, os.SEEK_END)
    start = max(0, size - _END_BYTES - (1 << 16) - _END64_BYTES)
    stream.seek(start)
    tail = stream.read()
    plain = tail[-_END_BYTES:]
    at = len(tail) - _END_BYTES if plain[:4] == _END and plain[-2:] == b"\0\0" else tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise _broken("it has no end")
    if tail[max(0, at - _END64_BYTES) : at].startswith(_END64):
        raise _broken("it is a zip64")
    if int.from_bytes(tail[at + 12 : at + 16], "little") > _DIRECTORY:
        raise LifecycleError(
            "too-large", f"its list of members has more than {_DIRECTORY} bytes; nothing of it is kept"
        )
    stream.seek(0)


def _members(archive: zipfile.ZipFile, terms: Terms) -> list[_Member]:
    infos = archive.infolist()
    if len(infos) > terms.limits.unpacked_entries:
        most = terms.limits.unpacked_entries
        raise LifecycleError("too-large", f"it holds more than {most} files and folders; nothing of it is kept")
    members = [_Member(info, safe_parts(info.orig_filename)) for info in infos]
    for member in members:
        fault = _fault(member.info, terms)
        if fault is not None:
            raise LifecycleError(
                "archive-refused", f"the member {quoted(member.info.orig_filename)} {fault}; nothing of it is kept"
            )
    return members


def _fault(info: zipfile.ZipInfo, terms: Terms) -> str | None:
    kind = st.S_IFMT(info.external_attr >> 16)
    if kind == st.S_IFLNK:
        return "is a symbolic link"
    if kind not in (0, st.S_IFREG, st.S_IFDIR):
        return "is neither a file nor a folder"
    if info.flag_bits & 0x41:
        return "is encrypted"
    if info.compress_type not in _METHODS:
        return "is compressed in a way that is not looked into"
    if info.file_size > max(_HARMLESS, info.compress_size * terms.limits.unpacked_ratio):
        return f"unpacks to more than {terms.limits.unpacked_ratio} times its size"
    return None


def _write(archive: zipfile.ZipFile, member: _Member, parts: tuple[str, ...], writer: Writer, terms: Terms) -> None:
    terms.left()
    if member.info.is_dir():
        writer.make_folder(parts)
        return
    with archive.open(member.info) as content:
        writer.file(parts, content.read, executable=bool((member.info.external_attr >> 16) & 0o111))


def _broken(words: str) -> LifecycleError:
    return LifecycleError("archive-refused", f"the archive is not a sound zip ({words}); nothing of it is kept")
