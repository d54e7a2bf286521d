"""One shell command under a deadline: a session of its own, bounded output, nothing of it left behind (spec 40, Loop).

It runs with the rights of whoever runs the host; what bounds it here keeps a run from hanging, it confines nothing.
"""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from subprocess import DEVNULL, PIPE, STDOUT, Popen, TimeoutExpired

from attrs import frozen

from ..text import clean

__all__ = ["Ran", "ending_whole", "run_command"]

_SHELL = "/bin/sh"
_CHUNK = 1 << 16
_KEPT = 16 * 1024  # bytes of output that are remembered; four times what the tail may need in any encoding
_LAST = 1 << 20  # what is still read once the command has ended and others keep writing
_SHOWN = 2000
_LOOK = 0.02  # how often to see whether the command has ended while its output stays open
_GRACE = 0.5  # between asking a command to end and ending it
_REAP = 5.0


@frozen
class Ran:
    """How a command ended. `status` is its exit status, minus the signal that ended it, None past the deadline.

    `output` is the end of what it printed on both streams, as one printable line.
    """

    status: int | None
    output: str


def run_command(
    command: str, folder: str, env: Mapping[str, str], timeout: float, arguments: Sequence[str] = ()
) -> Ran:
    """Run *command* in *folder* through the shell; *arguments* are its `$1`, `$2`, ….

    Raises `OSError` or `ValueError` where it cannot be started or how it ended cannot be learnt.
    """
    deadline = time.monotonic() + timeout
    process = Popen(
        [_SHELL, "-c", "--", command, "sh", *arguments],
        cwd=folder,
        env=dict(env),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        bufsize=0,
        start_new_session=True,
    )
    watch = _Watch(process)
    try:
        status = watch.until(deadline)
    finally:
        watch.end()
    return Ran(status, _last_line(watch.tail))


@contextmanager
def ending_whole() -> Iterator[None]:
    """Meanwhile, being told to end takes the command that runs along: SIGTERM and SIGHUP become `SystemExit`.

    Changes nothing outside the main thread, nor for a signal that somebody handles or ignores already.
    """

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    mine: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        mine = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    for number in mine:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def _last_line(tail: bytes | bytearray) -> str:
    text = clean(tail.decode("utf-8", "replace"), _KEPT)
    return text if len(text) <= _SHOWN else "…" + text[1 - _SHOWN :]


class _Watch:
    """A command on its way, with everything in its process group."""

    def __init__(self, process: Popen[bytes]) -> None:
        assert process.stdout is not None
        self.tail = bytearray()
        self._process = process
        self._pipe = process.stdout
        self._ended = False
        os.set_blocking(self._pipe.fileno(), False)

    def until(self, deadline: float) -> int | None:
        """The exit status, or None once *deadline* has passed. Who else holds the output is not waited for."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipe, selectors.EVENT_READ)
            is_open = True
            while (status := self._status()) is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                if not is_open:
                    time.sleep(min(left, _LOOK / 4))
                elif selector.select(min(left, _LOOK)):
                    is_open = self._take(_CHUNK)
        self._take(_LAST)
        return status

    def end(self) -> None:
        """Nothing of the process group survives this, what the command left in the background included."""
        if not self._ended:
            self._signal(signal.SIGTERM)
            self._wait(time.monotonic() + _GRACE)
        self._signal(signal.SIGKILL)
        self._pipe.close()
        with suppress(TimeoutExpired):  # stuck in the kernel: it ends when it can
            self._process.wait(_REAP)

    def _status(self) -> int | None:
        """How the command ended, without reaping it: as long as it is not, nobody else can get its group's number."""
        if not hasattr(os, "waitid"):
            status = self._process.poll()
        else:
            found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None:
                return None
            status = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        self._ended = status is not None
        return status

    def _take(self, most: int) -> bool:
        """Read what there is, *most* bytes of it, and remember the end; False when there is no more to come."""
        while most > 0:
            try:
                data = os.read(self._pipe.fileno(), min(most, _CHUNK))
            except BlockingIOError:
                return True
            if not data:
                return False
            most -= len(data)
            self.tail += data
            del self.tail[:-_KEPT]
        return True

    def _wait(self, deadline: float) -> None:
        with suppress(OSError):
            while self._status() is None and time.monotonic() < deadline:
                time.sleep(_LOOK)

    def _signal(self, number: int) -> None:
        with suppress(OSError):  # nobody is left, or none of them is ours
            os.killpg(self._process.pid, number)
