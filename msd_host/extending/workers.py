"""Somebody else's code runs on a thread of its own and against a deadline (spec 50).

There is no way to stop a Python thread. A worker that missed its deadline is left behind, never asked again,
and cannot keep the process alive.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from attrs import frozen

__all__ = ["Late", "Outcome", "Worker"]


@frozen(eq=False)
class Outcome:
    """What a call came to: a value, or the error it ended with."""

    value: Any = None
    error: BaseException | None = None


class Late(Exception):
    """The deadline passed before there was an answer."""


class Worker:
    """One daemon thread that runs one call after the other; started on first use."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lost = False
        self._calls: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...], SimpleQueue[Outcome]]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def call(self, function: Callable[..., Any], *args: Any, seconds: float) -> Outcome:
        """The outcome of `function(*args)`. Raises `Late`, at once if this worker was late before."""
        if self.lost:
            raise Late
        self._start()
        answer: SimpleQueue[Outcome] = SimpleQueue()
        self._calls.put((function, args, answer))
        try:
            return answer.get(timeout=max(seconds, 0.001))
        except Empty:
            self.lost = True
            raise Late from None

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=f"extension {self.name}", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            function, args, answer = self._calls.get()
            answer.put(_outcome(function, args))
            del function, args, answer


def _outcome(function: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    try:
        return Outcome(function(*args))
    except BaseException as error:  # SystemExit and KeyboardInterrupt of theirs are theirs alone
        return Outcome(error=error)


def clock() -> float:
    """Seconds that only go forward."""
    return time.monotonic()
