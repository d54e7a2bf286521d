"""Keeping the project that is looked at out of the interpreter's import path (spec 20, Who is defended against whom).

`python -m` and `PYTHONPATH=.` put the current folder first on `sys.path`; a file called `json.py` in a cloned
repository would then run inside the host. What Python itself imported before us cannot be helped from here:
the installed `msd` script, or `python -P`, is the safe way in.
"""

from __future__ import annotations

import os
import sys

__all__ = ["leave_project"]

_MARKERS = (".git", ".planning")


def leave_project(markers: tuple[str, ...] = _MARKERS) -> None:
    """Drop every import path inside the project around the current folder, but for the host's and the interpreter's own."""
    top = _project(markers)
    if top is None:
        return
    package = os.path.dirname(os.path.abspath(__file__))
    own = {os.path.dirname(package), os.path.join(os.path.dirname(package), "hookspecs")}
    kept = [p for p in sys.path if not _within(_real(p), top) or _real(p) in own or _within(_real(p), sys.prefix)]
    sys.path[:] = kept


def _project(markers: tuple[str, ...]) -> str | None:
    """The nearest marked folder around the current one, else the current one itself."""
    try:
        folder = here = os.path.realpath(os.getcwd())
    except OSError:
        return None
    while True:
        if any(os.path.lexists(os.path.join(folder, marker)) for marker in markers):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return here
        folder = parent


def _real(path: str) -> str:
    return os.path.realpath(path or os.curdir)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
