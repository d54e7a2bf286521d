"""One change of a scope at a time: a kernel lock that ends with its holder (spec 30, Layout; reference, W-46).

The lock lies in the user's home for both scopes, as a lock file in a repository could be anything.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..digests import sha256_hex
from ..errors import BusyError, DamagedState
from ..text import clean
from ..trust.private import PrivatePlace, closing, error_name
from .ground import Ground

__all__ = ["held"]

_FOLDER = "locks"


@contextmanager
def held(home: str, ground: Ground, *, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of *ground*. Raises `BusyError` when another process keeps it longer than *patience* seconds.

    Raises `DamagedState` where the home gives no place for it, or its file system knows no locks.
    """
    from filelock import FileLock, Timeout  # brings threads and more along; only changes need it

    own = f"{ground.product.folder}/{_FOLDER}"
    place = PrivatePlace(ground.files, home, (ground.product.folder, own), "lock folder")
    problem = place.health()
    if problem.problem is not None:
        raise DamagedState(problem.problem, remedy=problem.remedy)
    try:
        folder, _ = place.descend(own, create=True)
    except OSError as error:
        raise DamagedState(f"{clean(os.path.join(home, own), 400)} cannot be used ({error_name(error)})") from error
    with closing(ground.files, folder):
        place_of_both = os.path.join(home, own, sha256_hex(os.fsencode(ground.owner))[:32])
        # The name of the holder lies beside the lock: some versions of the library empty the file they wait for.
        path, holder = f"{place_of_both}.lock", f"{place_of_both}.holder"
        lock = FileLock(path, timeout=patience, mode=0o600)
        try:
            lock.acquire(poll_interval=0.02)
        except Timeout:
            raise BusyError(
                f"another process{_holder(holder)} is changing overlays there; nothing was changed"
            ) from None
        except NotImplementedError:
            raise DamagedState(f"the file system of {clean(home, 400)} has no locks; nothing was changed") from None
        except OSError as error:
            raise DamagedState(f"{clean(path, 400)} cannot be locked ({error_name(error)})") from error
        try:
            with _taken(ground, time.monotonic() + patience):
                _sign(holder)
                yield
        finally:
            lock.release()


@contextmanager
def _taken(ground: Ground, deadline: float) -> Iterator[None]:
    """The capability folder itself, locked too: users with homes of their own may share a project."""
    with ground.opened() as root:
        while root is not None:
            try:
                fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
                    break  # no locks on that file system; the home's holds for this user
            if time.monotonic() >= deadline:
                raise BusyError("another user's process is changing overlays there; nothing was changed")
            time.sleep(0.02)
        yield


def _sign(path: str) -> None:
    """For the message of whoever waits; the lock itself is the kernel's."""
    with suppress(OSError), open(path, "w", encoding="ascii") as stream:
        stream.write(f"{os.getpid()}\n")


def _holder(path: str) -> str:
    try:
        with open(path, encoding="ascii") as stream:
            pid = stream.read(32).strip()
    except (OSError, ValueError):
        return ""
    return f" (pid {pid})" if pid.isdigit() else ""
