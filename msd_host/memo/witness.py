"""What a run saw, in a form that can be looked at again and compared (spec 80, Speed).

A witness is a list of observations: `(kind, path, value)`. Kinds: `e` an environment variable, `s` and `l` a status
with and without following a link, `r` a canonical path, `o` and `O` an opened folder without and with following,
`d` a folder's listing, `f` a file's bytes, `c` a file of code by its status alone. An error's value is its number.
Imports nothing but what the interpreter has loaded already: this is all that a repeated render costs.
"""

from __future__ import annotations

import os

try:
    from _blake2 import blake2b  # the same object as hashlib's, without loading OpenSSL
except ImportError:  # pragma: no cover - another interpreter
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["READ", "Observation", "code_value", "digest", "holds", "listing_value", "status_value"]

Observation = "tuple[str, str, Any]"

READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
_REGULAR = 0o100000
_CHUNK = 1 << 20


def digest(*parts: bytes) -> bytes:
    """A collision-resistant digest of the parts put together."""
    found = blake2b(digest_size=32)
    for part in parts:
        found.update(part)
    return found.digest()


def status_value(info: os.stat_result) -> tuple[int, ...]:
    """Who may do what with it and which one it is; of a regular file its size as well."""
    mode = info.st_mode
    size = info.st_size if mode & 0o170000 == _REGULAR else -1
    return (mode, info.st_uid, info.st_gid, info.st_dev, info.st_ino, size)


def listing_value(entries: list[tuple[str, str]]) -> bytes:
    """A digest of (name, kind) pairs in any order."""
    text = "\0".join(f"{kind}{name}" for name, kind in sorted(entries))
    return digest(text.encode("utf-8", "surrogatepass"))


def kind_of(entry: os.DirEntry[str]) -> str:
    """`l`, `d`, `f` or `?`, without following a link."""
    if entry.is_symlink():
        return "l"
    if entry.is_dir(follow_symlinks=False):
        return "d"
    return "f" if entry.is_file(follow_symlinks=False) else "?"


def code_value(info: os.stat_result) -> tuple[int, ...]:
    """Which text of a module this is, as far as a status can tell; nobody but the user can write there."""
    return (info.st_mtime_ns, info.st_size, info.st_dev, info.st_ino)


def holds(observations: list[tuple[str, str, Any]], env: Mapping[str, str]) -> bool:
    """Whether every observation would be made again now."""
    for kind, path, value in observations:
        if kind == "e":
            if env.get(path) != value:
                return False
        elif _LOOK[kind](path, value) != value:
            return False
    return True


def _number(error: OSError) -> int:
    return error.errno or -1


def _status(path: str, value: object) -> object:
    try:
        return status_value(os.stat(path))
    except OSError as error:
        return _number(error)
    except ValueError:
        return -2


def _own_status(path: str, value: object) -> object:
    try:
        return status_value(os.lstat(path))
    except OSError as error:
        return _number(error)
    except ValueError:
        return -2


def _canonical(path: str, value: object) -> object:
    try:
        return os.path.realpath(path, strict=True)
    except OSError as error:
        return _number(error)
    except ValueError:
        return -2


def _opened(path: str, flags: int) -> object:
    try:
        fd = os.open(path, flags)
    except OSError as error:
        return _number(error)
    except ValueError:
        return -2
    try:
        return status_value(os.fstat(fd))
    finally:
        os.close(fd)


def _folder(path: str, value: object) -> object:
    return _opened(path, _FOLDER | os.O_NOFOLLOW)


def _followed_folder(path: str, value: object) -> object:
    return _opened(path, _FOLDER)


def _listing(path: str, value: object) -> object:
    try:
        with os.scandir(path) as entries:
            return listing_value([(entry.name, kind_of(entry)) for entry in entries])
    except OSError as error:
        return _number(error)


def _file(path: str, value: object) -> object:
    """(status, bytes read, their digest), reading as much as was read then."""
    try:
        fd = os.open(path, READ)
    except OSError as error:
        return _number(error)
    except ValueError:
        return -2
    try:
        status = status_value(os.fstat(fd))
        if not isinstance(value, tuple) or status != value[0] or not value[1]:
            return (status, 0, digest())
        return (status, *_drained(fd, value[1], status[-1]))
    except OSError as error:
        return _number(error)
    finally:
        os.close(fd)


def _drained(fd: int, wanted: int, size: int) -> tuple[int, bytes]:
    parts, left = [], wanted + (wanted == size)  # a whole file must end where it ended
    while left > 0:
        data = os.read(fd, min(left, _CHUNK))
        if not data:
            break
        parts.append(data)
        left -= len(data)
    return sum(map(len, parts)), digest(*parts)


def _code(path: str, value: object) -> object:
    try:
        return code_value(os.stat(path))
    except OSError as error:
        return _number(error)


_LOOK = {
    "s": _status,
    "l": _own_status,
    "r": _canonical,
    "o": _folder,
    "O": _followed_folder,
    "d": _listing,
    "f": _file,
    "c": _code,
}
