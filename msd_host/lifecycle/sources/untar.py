"""tar.gz, unpacked as it is read: each member judged before it is written, every byte counted (spec 30, Sources).

The stream is decompressed here, so that a bomb is seen by the bytes that come out of it and not by what its
headers say. `tarfile` reads the headers only; it never writes anything.
"""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path
from tarfile import EmptyHeaderError, EOFHeaderError, HeaderError, TarFile, TarInfo  # type: ignore[attr-defined]
from typing import BinaryIO, NoReturn

from ...errors import LifecycleError
from ...limits import Limits
from ...text import clean, quoted
from .paths import safe_parts
from .terms import Terms
from .writer import Writer

__all__ = ["untar"]

_CHUNK = 1 << 16
_HARMLESS = 4 << 20  # bytes that may come out of any few bytes
_GZIP = 16 + zlib.MAX_WBITS
_KINDS = {
    tarfile.SYMTYPE: "is a symbolic link",
    tarfile.LNKTYPE: "is a hard link",
    tarfile.CHRTYPE: "is a device",
    tarfile.BLKTYPE: "is a device",
    tarfile.FIFOTYPE: "is a pipe",
}


def untar(stream: BinaryIO, folder: Path, terms: Terms) -> Path:
    """Unpack the gzip-compressed tar in *stream* to the new *folder*. Raises `LifecycleError`."""
    plain = _Gunzip(stream, terms)
    writer = Writer(folder, terms.limits)
    try:
        with tarfile.open(fileobj=plain, mode="r|", tarinfo=_Strict) as archive:  # type: ignore[call-overload]
            for member in archive:
                _write(archive, member, writer)
        plain.drain()
    except (tarfile.TarError, ValueError, OverflowError, EOFError) as error:
        raise _broken(error) from None
    return folder


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, writer: Writer) -> None:
    parts = safe_parts(member.name)
    if member.type == tarfile.DIRTYPE:
        writer.make_folder(parts)
        return
    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()
    if not plain or not parts:
        raise LifecycleError(
            "archive-refused", f"the member {quoted(member.name)} {_kind(member)}; nothing of it is kept"
        )
    content = archive.extractfile(member)
    assert content is not None
    writer.file(parts, content.read, executable=bool(member.mode & 0o111))
    archive.members = []  # type: ignore[attr-defined]  # it would remember every one of them


def _kind(member: tarfile.TarInfo) -> str:
    return _KINDS.get(member.type, "is neither a file nor a folder")


def _broken(error: Exception) -> LifecycleError:
    return LifecycleError(
        "archive-refused", f"the archive is not a sound tar.gz ({clean(error, 80)}); nothing of it is kept"
    )


class _Strict(TarInfo):
    """A header that is broken ends the unpacking. `tarfile` itself would take it for the end of the archive."""

    @classmethod
    def fromtarfile(cls, tarfile: TarFile) -> _Strict:
        try:
            return super().fromtarfile(tarfile)
        except (EOFHeaderError, EmptyHeaderError):
            raise
        except HeaderError as error:
            raise _broken(error) from None


class _Gunzip:
    """A readable stream of what a gzip stream holds, with an eye on how much that is."""

    def __init__(self, stream: BinaryIO, terms: Terms) -> None:
        self._stream = stream
        self._terms = terms
        self._limits: Limits = terms.limits
        self._engine = zlib.decompressobj(_GZIP)
        self._rest = b""  # compressed bytes that are still to come
        self._in = self._out = 0
        self._ended = False

    def read(self, size: int) -> bytes:
        """Exactly *size* bytes, fewer only at the end."""
        parts = []
        while size > 0 and (data := self._some(size)):
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def close(self) -> None:
        """For `tarfile`; whoever opened the stream closes it."""

    def drain(self) -> None:
        """Read to the end: only there stands whether what came out is what went in."""
        while self._some(_CHUNK):
            pass

    def _some(self, size: int) -> bytes:
        while not self._ended:
            if not self._rest and not self._engine.eof:
                self._rest = self._taken()
            data = self._inflated(size)
            if data:
                self._weigh(len(data))
                return data
        return b""

    def _inflated(self, size: int) -> bytes:
        try:
            data = self._engine.decompress(self._rest, size)
        except zlib.error as error:
            raise _broken(error) from None
        self._rest = self._engine.unconsumed_tail
        if self._engine.eof and not data:
            self._next_stream()
        return data

    def _next_stream(self) -> None:
        """Gzip files may follow each other; zeros after the last one are padding."""
        self._rest = self._engine.unused_data or self._stream.read(_CHUNK)
        self._in += 0 if self._engine.unused_data else len(self._rest)
        if not self._rest.strip(b"\0"):
            self._ended = True
            return
        self._engine = zlib.decompressobj(_GZIP)

    def _taken(self) -> bytes:
        data = self._stream.read(_CHUNK)
        if not data:
            self._end_early()
        self._in += len(data)
        return data

    def _end_early(self) -> NoReturn:
        raise LifecycleError("archive-refused", "the archive ends in the middle; nothing of it is kept")

    def _weigh(self, size: int) -> None:
        self._out += size
        self._terms.left()
        if self._out > self._limits.unpacked_bytes + self._limits.unpacked_entries * 1024:
            raise LifecycleError(
                "too-large", f"it unpacks to more than {self._limits.unpacked_bytes} bytes; nothing of it is kept"
            )
        if self._out > max(_HARMLESS, self._in * self._limits.unpacked_ratio):
            raise LifecycleError(
                "too-large",
                f"it unpacks to more than {self._limits.unpacked_ratio} times its size; nothing of it is kept",
            )
