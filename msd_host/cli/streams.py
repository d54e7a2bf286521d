"""When nobody can hear the answer: closed, full and broken streams end in one line and an exit code (spec 60).

Imports nothing: the lightest runs pass through here too.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["answering", "is_lost_answer"]

_LOST = ("EBADF", "EFBIG", "EIO", "ENOSPC", "EDQUOT")


def answering(command: str, run: Callable[[], int]) -> int:
    """The exit code of *run*, whose answer is on its way when this returns; 1 where it cannot be written.

    A reader that has gone away is no failure: 0, and silence.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as we run
    if sys.stdout is None:
        sys.stderr.write(f"{command}: standard output is closed; there is nowhere to answer\n")
        return 1
    for stream in (sys.stdout, sys.stderr):
        _forgive(stream)
    try:
        code = run()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _drop_answer()
        return 0
    except OSError as error:
        if not is_lost_answer(error):
            raise
        _drop_answer()
        sys.stderr.write(f"{command}: the answer cannot be written: {error.strerror}\n")
        return 1


def _forgive(stream: object) -> None:
    """What the locale has no letter for is written as an escape, help texts of ours included."""
    reconfigure = getattr(stream, "reconfigure", None)  # an embedder may have put anything in the stream's place
    if reconfigure is not None and getattr(stream, "errors", "") == "strict":
        reconfigure(errors="backslashreplace")


def is_lost_answer(error: BaseException) -> bool:
    """Whether *error* is about writing the answer: one about a file of ours would name it."""
    import errno

    return (
        isinstance(error, OSError)
        and error.filename is None
        and (isinstance(error, BrokenPipeError) or errno.errorcode.get(error.errno or 0) in _LOST)
    )


def _drop_answer() -> None:
    """Let what is left go nowhere, also while the interpreter shuts down."""
    try:
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, sys.stdout.fileno())
        os.close(sink)
    except (OSError, ValueError):
        pass
