"""The contract between the host and the packages that extend it. Imports pluggy and nothing else at run time.

Two project names: the seven sealed stages belong to the host alone and are called through a manager that
no downstream object is ever handed; `PROJECT` is the open one, whose marker `hookimpl` downstream uses.
"""

from __future__ import annotations

import pluggy

__all__ = ["PROJECT", "SEALED_PROJECT", "hookimpl", "hookspec", "sealed_hookspec"]

PROJECT = "msd_host"
SEALED_PROJECT = "msd_host.sealed"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
sealed_hookspec = pluggy.HookspecMarker(SEALED_PROJECT)
