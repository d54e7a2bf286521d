"""The marker of the sealed stages. What keeps others out is not this name but that no manager is ever handed out."""

from __future__ import annotations

import pluggy
from msd_hookspecs import SEALED_PROJECT

__all__ = ["stage"]

stage = pluggy.HookimplMarker(SEALED_PROJECT)
