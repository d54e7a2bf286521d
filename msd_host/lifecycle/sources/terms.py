"""Under which terms a source is fetched, and what comes of it (spec 30, Sources)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import field, frozen

from ...errors import LifecycleError
from ...limits import Limits
from ...text import clean
from .policy import Rules

__all__ = ["Fetched", "Terms", "in_seconds"]


def _silent(line: str) -> None:
    """Nobody listens."""


def in_seconds(seconds: float) -> float:
    """The deadline *seconds* from now."""
    return time.monotonic() + seconds


@frozen
class Terms:
    """What a fetch may do. `deadline` is a `time.monotonic()` value; nothing goes on past it.

    `integrity` is the pin the user gave. `allow_insecure_loopback` lets in `http:` and `git+file:` of this very
    machine, for tests and development. `allow_private` lets in addresses of private networks, which only the
    machine or the user may allow. `rules` is the policy, which holds for every hop of a redirect too. `progress`
    hears one clean line now and then.
    """

    deadline: float
    integrity: str | None = None
    allow_insecure_loopback: bool = False
    allow_private: bool = False
    rules: Rules = Rules()
    progress: Callable[[str], None] = _silent
    limits: Limits = Limits()

    def left(self) -> float:
        """Seconds until the deadline. Raises `LifecycleError` (`timeout`) when there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise LifecycleError("timeout", "the source did not answer in time; nothing was changed")
        return left

    def tell(self, line: str) -> None:
        """Say *line* to whoever listens."""
        self.progress(clean(line))


@frozen
class Fetched:
    """A bundle as a source gave it: regular files and folders only, with a `capability.json` in `root`.

    `resolved` is what is known of where it came from: `commit`, `ref`, `url`, `version`, `integrity`; never a
    credential. Nothing is synced to the disk yet: that is for whoever keeps it.
    """

    root: Path
    resolved: Mapping[str, str] = field(factory=dict)
