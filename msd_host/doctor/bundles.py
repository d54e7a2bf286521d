"""Folders in a capability root that nobody's ledger knows, and what killed processes left behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from ..errors import DamagedState
from ..model.scope import Scope
from ..remedies import is_valid_id
from ..text import joined, shell_word
from ..trust.private import GONE, TEMP, closing, remove_tree
from .values import NOTE, Finding, Ground, Place, finding

__all__ = ["check"]

_STALE = 3600.0  # seconds; a younger leftover may be a change under way
_MOST = 4096


def check(ground: Ground) -> Iterator[Finding]:
    """Bundles in no ledger, and half-written files of the stores."""
    for place in ground.places:
        entries = list(ground.names_in(place.root))[:_MOST]
        if place.scope is Scope.GLOBAL and place.ledger.problem is None:
            yield from _unlisted(ground, place, [e.name for e in entries if e.is_dir(follow_symlinks=False)])
    for folder in ("store", "previous", "consent/grants", "consent/denials", "consent/roots"):
        path = os.path.join(ground.own, folder)
        for entry in ground.names_in(path):
            if entry.name.startswith((TEMP, GONE)):
                yield from _leftover(ground, path, entry.name)


def _unlisted(ground: Ground, place: Place, names: list[str]) -> Iterator[Finding]:
    unlisted = [name for name in names if is_valid_id(name) and name not in place.ledger.entries]
    if unlisted:
        message = f"in the {place.scope.label} root and in no ledger: {joined(unlisted)}; commands of such do not run"
        command = ground.run(f"capability list --scope {place.scope.label}")
        yield finding("bundle-unlisted", NOTE, place.scope.label, message, command=command)


def _leftover(ground: Ground, folder: str, name: str) -> Iterator[Finding]:
    path = os.path.join(folder, name)
    try:
        age = time.time() - ground.files.stat(path, follow=False).st_ctime
    except OSError:
        return
    if age < _STALE and _may_live(name):
        return
    message = f"{path} was left behind by a process that was stopped"
    command = f"rm -rf {shell_word(path)}"
    yield finding("leftover", NOTE, path, message, fix="delete it", command=command, mend=lambda: _delete(ground, path))


def _may_live(name: str) -> bool:
    """Whether the process that a leftover names is there; a name without one may be anybody's."""
    number = name.partition("-")[2].partition("-")[0]
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 2**22):
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _delete(ground: Ground, path: str) -> None:
    with closing(ground.files, ground.files.open_folder(os.path.dirname(path), follow=True)) as folder:
        remove_tree(ground.files, folder, os.path.basename(path))
    if os.path.lexists(path):
        raise DamagedState(f"{path} is still there")
