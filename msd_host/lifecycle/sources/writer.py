"""What is unpacked is counted while it is written: entries, bytes, and nothing under a name twice (spec 30, Sources)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from ...errors import LifecycleError
from ...limits import Limits
from ...text import quoted

__all__ = ["Writer"]

_EXCLUSIVE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_CHUNK = 1 << 16


class Writer:
    """Writes regular files and folders below `folder`, which is new and nobody else's, so it holds no link.

    Every method raises `LifecycleError` (`too-large`, `archive-refused`).
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        os.mkdir(folder, 0o700)
        self.folder = folder
        self._limits = limits
        self._entries = 0
        self._bytes = 0

    def make_folder(self, parts: tuple[str, ...]) -> None:
        """A folder, which may be there already."""
        self._count()
        self._make(parts, "/".join(parts))

    def file(self, parts: tuple[str, ...], read: Callable[[int], bytes], *, executable: bool) -> None:
        """A new file with everything that *read* gives."""
        self._count()
        name = "/".join(parts)
        self._make(parts[:-1], name)
        try:
            fd = os.open(self.folder.joinpath(*parts), _EXCLUSIVE, 0o755 if executable else 0o644)
        except FileExistsError:
            raise LifecycleError("archive-refused", f"{quoted(name)} is in it twice; nothing of it is kept") from None
        except OSError as error:
            raise _unwritable(name, error) from None
        with open(fd, "wb") as out:
            while data := read(_CHUNK):
                self._weigh(len(data))
                out.write(data)

    def _make(self, parts: tuple[str, ...], name: str) -> None:
        try:
            os.makedirs(self.folder.joinpath(*parts), 0o755, exist_ok=True)
        except OSError as error:
            raise _unwritable(name, error) from None

    def _count(self) -> None:
        self._entries += 1
        if self._entries > self._limits.unpacked_entries:
            most = self._limits.unpacked_entries
            raise LifecycleError("too-large", f"it holds more than {most} files and folders; nothing of it is kept")

    def _weigh(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._limits.unpacked_bytes:
            most = self._limits.unpacked_bytes
            raise LifecycleError("too-large", f"it unpacks to more than {most} bytes; nothing of it is kept")


def _unwritable(name: str, error: OSError) -> LifecycleError:
    reason = error.strerror or type(error).__name__
    return LifecycleError("archive-refused", f"{quoted(name)} cannot be written ({reason}); nothing of it is kept")
