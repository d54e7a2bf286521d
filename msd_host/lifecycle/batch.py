"""Preparing many updates at once: fetched side by side with one deadline, each failure its own row (spec 30)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from attrs import evolve

from ..errors import ConsentNeeded, LifecycleError, MSDError
from ..model.scope import Scope
from ..text import clean, quoted
from .newer import agreed_ids
from .prepared import Prepared
from .sources.terms import in_seconds
from .values import Request

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["updating_all"]

_AT_ONCE = 8

#: What was prepared, or why it was not.
_Row = tuple[str, Scope, "Prepared | MSDError"]


@contextmanager
def updating_all(
    host: Host,
    cwd: str,
    updating: Callable[..., AbstractContextManager[Prepared]],
    wanted: Sequence[tuple[str, Scope]],
    asked: Request,
) -> Iterator[list[_Row]]:
    """A row for each of *wanted*, prepared by *updating*. What was prepared is there until the context ends."""
    shared = evolve(asked, shared_files=(), integrity=None, deadline=in_seconds(asked.seconds))
    agreed = agreed_ids(host, cwd) if any(scope is Scope.PROJECT for _, scope in wanted) else frozenset()
    with ExitStack() as every:
        lock = Lock()

        def one(which: tuple[str, Scope]) -> _Row:
            id, scope = which
            if scope is Scope.PROJECT and id not in agreed:
                return (id, scope, _unagreed(host, cwd, id))
            own = ExitStack()
            try:
                found = own.enter_context(updating(id, scope=scope, request=shared))
            except MSDError as error:
                return (id, scope, error)
            except OSError as error:
                return (id, scope, LifecycleError("not-fetched", clean(error)))
            with lock:
                every.push(own)
            return (id, scope, found)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            ready = list(pool.map(one, wanted))
        yield ready


def _unagreed(host: Host, cwd: str, id: str) -> ConsentNeeded:
    """In a project a ledger is the repository's word: its sources are asked one by one, by name."""
    return ConsentNeeded(
        f"nobody agreed to {quoted(id)} as it lies there, so its source is not asked",
        remedy=f"{host.command(cwd)} capability trust show {id}",
    )
