"""Tools that fetch for us, kept short: a process group of their own, a deadline, bounded output, nothing left behind.

They read nothing from a terminal and ask nobody. What they print is cleaned, and whatever was secret in the
command is taken out of it (spec 30, Sources).
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, Popen, TimeoutExpired
from typing import IO

from attrs import frozen

from ...errors import LifecycleError
from ...text import clean
from .terms import Terms

__all__ = ["Ran", "Tool", "environment", "find_tool", "tree_bytes"]

_LOOK = 0.02  # how often to see whether it has ended
_MEASURE = 10  # looks between two looks at what it has written: a walk costs more
_REAP = 5.0
_SAID = 64 * 1024  # of its complaints
_KEPT = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER", "SSH_AUTH_SOCK", "SSL_CERT_DIR", "SSL_CERT_FILE")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@frozen
class Ran:
    """How a tool ended: its exit status (minus the signal), what it answered, and its complaints as one clean line."""

    status: int
    out: bytes
    said: str


def environment(*prefixes: str, **extra: str) -> dict[str, str]:
    """What a tool may see of ours: where programs and the user's home are, proxies, what begins with *prefixes*."""
    wanted = (*_KEPT, *_PROXIES, *(name.upper() for name in _PROXIES))
    env = {k: v for k, v in os.environ.items() if k in wanted or (prefixes and k.startswith(prefixes))}
    # A relative entry would find programs in whatever folder somebody is in.
    path = [p for p in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(p)]
    return {**env, "PATH": os.pathsep.join(path), **extra}


def find_tool(name: str) -> str:
    """The absolute path of the program *name*. Raises `LifecycleError` (`tool-missing`)."""
    found = shutil.which(name, path=environment()["PATH"])
    if found is None:
        raise LifecycleError("tool-missing", f"{name} is not installed, and this source needs it", remedy=None)
    return found


def tree_bytes(folder: Path) -> int:
    """The bytes of all files below *folder*; what vanishes meanwhile does not count."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(where, name)).st_size
    return total


@frozen
class Tool:
    """A program with what is common to all its runs. `room` is the only folder that it should write to.

    `most` bounds what lies in the room, `secrets` never appear in anything it is quoted with.
    """

    argv: Sequence[str]
    room: Path
    env: Mapping[str, str]
    terms: Terms
    most: int
    secrets: tuple[str, ...] = ()

    def run(self, *arguments: str, answer: int = 1 << 20, stdin: IO[bytes] | None = None) -> Ran:
        """Run it to its end, at most *answer* bytes of which are taken. Raises `LifecycleError`."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            status = self._status(arguments, out, err, answer, stdin)
            return Ran(status, _text(out, answer), self._cleaned(_text(err, _SAID)))

    def _status(
        self, arguments: Sequence[str], out: IO[bytes], err: IO[bytes], answer: int, stdin: IO[bytes] | None
    ) -> int:
        self.terms.left()
        process = Popen(
            [*self.argv, *arguments],
            cwd=self.room,
            env=dict(self.env),
            stdin=DEVNULL if stdin is None else stdin,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            self._wait(process, out, err, answer)
        finally:
            _end(process)
        return process.returncode

    def _wait(self, process: Popen[bytes], out: IO[bytes], err: IO[bytes], answer: int) -> None:
        looks = 0
        while not _has_ended(process):
            time.sleep(min(_LOOK, self.terms.left()))
            looks += 1
            if os.fstat(out.fileno()).st_size > answer or os.fstat(err.fileno()).st_size > _SAID * 16:
                raise LifecycleError("too-large", f"{self._name} answered with more than {answer} bytes")
            if looks % _MEASURE == 0:
                self._measure()
        self._measure()
        if os.fstat(out.fileno()).st_size > answer:
            raise LifecycleError("too-large", f"{self._name} answered with more than {answer} bytes")

    def _measure(self) -> None:
        if tree_bytes(self.room) > self.most:
            raise LifecycleError("too-large", f"the source sends more than {self.most} bytes; nothing was changed")

    @property
    def _name(self) -> str:
        return os.path.basename(self.argv[0])

    def _cleaned(self, said: bytes) -> str:
        text = said.decode("utf-8", "replace")
        for secret in sorted(filter(None, self.secrets), key=len, reverse=True):
            text = text.replace(secret, "…")
        return clean(_telling(text.splitlines()), 400)


def _telling(lines: Iterable[str]) -> str:
    """The lines that say what went wrong, without the tool's own ornaments."""
    kept = [line.strip() for line in lines if line.strip()]
    marked = [line for line in kept if line.lower().startswith(("fatal:", "error:", "err!", "npm error", "npm err!"))]
    return "; ".join((marked or kept)[-3:])


def _text(file: IO[bytes], most: int) -> bytes:
    file.seek(0)
    return file.read(most)


def _has_ended(process: Popen[bytes]) -> bool:
    """Without reaping it where that can be done: until then nobody else can get its group's number."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: Popen[bytes]) -> None:
    """Nothing of the process group survives this."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutExpired):  # stuck in the kernel: it ends when it can
        process.wait(_REAP)
