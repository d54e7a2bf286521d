"""Changes of overlays that were begun and never ended, and what they left in the capability roots (spec 30, Reconcile)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from ..errors import DamagedState, MSDError, Refused
from ..lifecycle.ground import GONE, OLD, STAGING
from ..lifecycle.recover import pending
from ..model.scope import Scope
from ..text import quoted, shell_word
from .values import ERROR, NOTE, WARNING, Finding, Ground, finding

__all__ = ["check", "ending"]

_STALE = 3600.0  # seconds; a younger one whose process lives may be at work
_MOST = 4096


def check(ground: Ground) -> Iterator[Finding]:
    """Every intent in the user's home for a place seen from here, and folders of changes whose process is gone."""
    lifecycle = ground.host.lifecycle(ground.cwd)
    for scope in (Scope.GLOBAL, Scope.PROJECT):
        try:
            place = lifecycle.ground(scope)
        except Refused:
            continue  # there is no such place from here; `roots` says why
        journal = lifecycle.journal(place)
        try:
            intents = pending(ground.host, place, journal)
        except DamagedState as error:
            command = error.remedy or f"ls -l {shell_word(journal.path)}"
            yield finding("intent-damaged", ERROR, journal.path, error.message, command=command)
            continue
        for intent in intents:
            message = f"an earlier {intent.kind} of {quoted(intent.id)} ({scope.label}) was cut off"
            yield interrupted(ground, scope, intent.id, message)
        yield from _left(ground, scope, place.root, {i.token for i in intents})


def interrupted(ground: Ground, scope: Scope, id: str, message: str) -> Finding:
    """The finding of one change that has to be ended; the same one, whichever record tells of it."""
    return finding(
        "pending",
        WARNING,
        f"{scope.label} {id}",
        message,
        fix="end it, or undo it",
        command=ground.run("doctor --fix"),
        mend=ending(ground, scope, id),
    )


def ending(ground: Ground, scope: Scope, id: str | None = None) -> Callable[[], None]:
    """What ends every change of *scope*, and raises where that of *id* could not be."""

    def end() -> None:
        for done in ground.host.lifecycle(ground.cwd).reconcile(scope):
            if done.outcome == "failed" and done.id == id:
                raise MSDError(done.reason)

    return end


def _left(ground: Ground, scope: Scope, root: str, at_work: set[str]) -> Iterator[Finding]:
    """Folders that no load looks at and no intent stands behind any more."""
    places = [(root, (OLD, GONE)), (os.path.join(root, STAGING), ("",))]
    for folder, prefixes in places:
        for entry in list(ground.names_in(folder))[:_MOST]:
            path = os.path.join(folder, entry.name)
            if not entry.name.startswith(prefixes) or any(entry.name.endswith(token) for token in at_work):
                continue
            if _is_abandoned(ground, path, by_age=scope is Scope.PROJECT and folder == root):
                message = f"{path} was left behind by a change that was stopped"
                command = f"rm -rf {shell_word(path)}"
                mend = ending(ground, scope)
                yield finding("leftover", NOTE, path, message, fix="delete it", command=command, mend=mend)


def _is_abandoned(ground: Ground, path: str, *, by_age: bool) -> bool:
    """Whether the process that a folder of a change is named after is gone, or it has long not been touched.

    What was replaced in a project (*by_age*) may be needed by a user with another home, who can still go back.
    """
    number = os.path.basename(path).rpartition("-")[0].rpartition("-")[2]
    try:
        age = time.time() - ground.files.stat(path, follow=False).st_ctime
        if not by_age and number.isascii() and number.isdigit() and 0 < int(number) < 2**22:
            os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return age > _STALE
