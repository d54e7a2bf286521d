"""A process that dies at the n-th system call that changes anything: as `kill -9` would have it, no handler runs."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

__all__ = ["CHANGING", "killed_at"]

#: Every call of the interpreter that changes a file system and that the host makes.
CHANGING = (
    "rename",
    "replace",
    "unlink",
    "remove",
    "rmdir",
    "mkdir",
    "write",
    "fsync",
    "symlink",
    "chmod",
    "fchmod",
    "ftruncate",
)


def killed_at(number: int, act: Callable[[], object]) -> bool:
    """Run *act* in a child that dies after its *number*-th changing call; whether it died before it was through.

    An exception in the child is an error of the test.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child
        os.close(read)
        try:
            _arm(number)
            act()
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-60000:])
            os._exit(3)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as told:
        words = told.read().decode(errors="replace")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status not in (0, 137):
        raise AssertionError(f"the child failed ({status}):\n{words}")
    return status == 137


def _arm(number: int) -> None:
    count = [0]

    def wrapped(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **named: object) -> object:
            result = call(*args, **named)
            count[0] += 1
            if count[0] == number:
                os._exit(137)
            return result

        return counted

    for name in CHANGING:
        setattr(os, name, wrapped(getattr(os, name)))
    real_open = os.open

    def opened(path: object, flags: int, *args: object, **named: object) -> int:
        fd = real_open(path, flags, *args, **named)  # type: ignore[arg-type]
        if flags & (os.O_CREAT | os.O_TRUNC):
            count[0] += 1
            if count[0] == number:
                os._exit(137)
        return fd

    os.open = opened  # type: ignore[assignment]
