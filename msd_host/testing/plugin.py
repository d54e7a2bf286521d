"""The pytest plugin: one fixture, `msd_world`, a home and a project under `tmp_path`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .world import World

__all__ = ["msd_world"]


@pytest.fixture
def msd_world(tmp_path: Path) -> World:
    """An empty home and project with MSD's own first-party set; installed extensions are left out."""
    from .world import World

    return World(tmp_path)
