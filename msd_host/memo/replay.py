"""The fast way of `render-hooks`: when a memo's witness still holds, its output is the answer (spec 80, Speed).

A memo can only repeat what the same run would print; whatever it cannot vouch for is answered by a real run.
Nothing is executed because of one.
"""

from __future__ import annotations

import marshal
import os
import sys

from .place import file_of, home_of, is_private, key_of, lies_apart, starts
from .witness import READ, digest, holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["answer", "is_memorable"]

_LIMIT = 32 << 20
_NEVER = ("--trust", "--debug", "--help", "-h")  # consent for one run, and runs that are about something else


def is_memorable(words: list[str], env: dict[str, str] | os._Environ[str], name: str) -> bool:
    """Whether *words* ask for something that a memo may answer: rendering, and nothing special about the run."""
    if "loop" not in words or words[words.index("loop") + 1 :][:1] != ["render-hooks"]:
        return False
    if any(word.partition("=")[0] in _NEVER for word in words):
        return False
    return not any(env.get(f"{name}_{rest}") for rest in ("TRUST", "DEBUG", "NO_MEMO"))


def answer(words: list[str], name: str, places: tuple[str, str, tuple[str, ...]]) -> int | None:
    """Print what the run that *words* ask for would print, and give its exit code; None: run it.

    *places* are the product's dot folder, its home variable and its project markers.
    """
    try:
        memo = _found(words, places) if is_memorable(words, os.environ, name.upper()) else None
        if memo is None or not holds(memo[0], os.environ):
            return None
    except (OSError, ValueError, AttributeError):
        return None
    _, said, code = memo
    for to_answer, text in said:
        (sys.stdout if to_answer else sys.stderr).write(text)
    sys.stdout.flush()
    return code


def _found(
    words: list[str], places: tuple[str, str, tuple[str, ...]]
) -> tuple[list[Any], list[tuple[bool, str]], int] | None:
    """The memo for *words*, if there is one where nobody but the user can have put it."""
    folder, variable, markers = places
    home = home_of(words, variable, os.environ)
    if home is None or not is_private(home, folder) or not lies_apart(home, folder, starts(words), markers):
        return None
    return _read(file_of(home, folder, key_of(words, os.environ)))


def _read(path: str) -> tuple[list[Any], list[tuple[bool, str]], int] | None:
    """(observations, chunks of output, exit code) of an undamaged memo of this user."""
    try:
        fd = os.open(path, READ)
    except OSError:
        return None
    with open(fd, "rb", buffering=0) as stream:
        info = os.fstat(fd)
        if info.st_uid != os.geteuid() or info.st_mode & 0o022 or info.st_size > _LIMIT:
            return None
        data = stream.read(_LIMIT)
    if digest(data[32:]) != data[:32]:
        return None
    observations, said, code = marshal.loads(data[32:])  # noqa: S302 - our own bytes, from the user's own folder
    return observations, said, code
