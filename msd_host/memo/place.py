"""Where memos lie: in the home, and only if that home cannot be the project's (spec 80, Speed).

The file that is trusted here decides what is printed, so the same two questions are asked before reading and before
writing: does the home lie on ground that a repository fills, and may anybody else write where the memos are.
"""

from __future__ import annotations

import os
import sys

from ..version import __version__
from .witness import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["FORMAT", "file_of", "home_of", "is_private", "key_of", "lies_apart", "starts"]

FORMAT = "1"
CACHE = ("cache", "render")

#: What the command line itself reads of the environment; whatever a host looks up is in the witness.
_AMBIENT = ("NO_COLOR", "TERM", "COLUMNS", "LINES", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG", "HOME")


def value_of(words: Sequence[str], *names: str) -> str | None:
    """The value given for an option of one of these *names*, in either spelling."""
    for at, word in enumerate(words):
        name, equals, attached = word.partition("=")
        if name in names:
            return attached if equals else words[at + 1] if at + 1 < len(words) else None
    return None


def home_of(words: Sequence[str], variable: str, env: Mapping[str, str]) -> str | None:
    """The home as `find_roots` would spell it; None where only the password database knows."""
    named = value_of(words, "--home")
    if named:
        return os.path.abspath(named)
    found = next((h for h in (env.get(variable, ""), env.get("HOME", "")) if os.path.isabs(h)), None)
    return None if found is None else os.path.abspath(found)


def starts(words: Sequence[str]) -> tuple[str, ...]:
    """Every folder from which a project may be looked for: the current one and the one that is named."""
    named = value_of(words, "-C", "--cwd")
    return (os.getcwd(),) if named is None else (os.getcwd(), os.path.abspath(named))


def lies_apart(home: str, folder: str, froms: Sequence[str], markers: Sequence[str]) -> bool:
    """Whether neither *home* nor its dot *folder* lies on the ground of any project around *froms*.

    Every marked ancestor counts as one, and folders are compared by identity: a doubt is a no.
    """
    try:
        ours = {_identity(p) for h in (home, os.path.join(home, folder)) for p in _ancestors(os.path.realpath(h))}
        tops = [p for start in froms for p in _ancestors(os.path.realpath(start)) if _is_marked(p, markers)]
        return not any(_identity(top) in ours for top in tops)
    except (OSError, ValueError):
        return False


def _ancestors(path: str) -> Iterator[str]:
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent


def _is_marked(path: str, markers: Sequence[str]) -> bool:
    return any(os.path.lexists(os.path.join(path, marker.rstrip("/"))) for marker in markers)


def _identity(path: str) -> tuple[int, int]:
    info = os.stat(path)
    return info.st_dev, info.st_ino


def is_private(home: str, folder: str) -> bool:
    """Whether the memos' folder is there and nobody else can write in it or above it below the home."""
    path = home
    for name in (folder, *CACHE):
        path = os.path.join(path, name)
        try:
            info = os.lstat(path)
        except OSError:
            return False
        if info.st_mode & 0o170022 != 0o040000 or info.st_uid != os.geteuid():
            return False
    return True


def key_of(words: Sequence[str], env: Mapping[str, str]) -> str:
    """Names the question: the same words, asked from the same place, of the same host, to the same kind of terminal."""
    streams = [(s.isatty(), s.encoding, s.errors) for s in (sys.stdout, sys.stderr)]
    ambient = [env.get(name) for name in _AMBIENT]
    question = (FORMAT, __version__, sys.version, sys.prefix, tuple(sys.path), os.getcwd(), os.geteuid(), tuple(words))
    return digest(repr((*question, streams, ambient)).encode("utf-8", "surrogatepass")).hex()


def file_of(home: str, folder: str, key: str) -> str:
    """The path of the memo that answers *key*."""
    return os.path.join(home, folder, *CACHE, key)
