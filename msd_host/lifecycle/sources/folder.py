"""A folder of this machine as a source (spec 30, Sources)."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import LifecycleError
from ...text import clean
from .settle import MANIFEST, bundle_in, settle
from .source import Source
from .terms import Fetched, Terms

__all__ = ["fetch_folder"]


def fetch_folder(source: Source, into: Path, terms: Terms) -> Fetched:
    """Copy the bundle that the folder is. Raises `LifecycleError`."""
    if terms.integrity is not None:
        raise LifecycleError("pin-refused", "a folder cannot be pinned; an archive of it can")
    path = Path(source.location)
    _is_bundle(path)
    terms.tell(f"copying {source.text}")
    return Fetched(settle(path, into, terms), {})


def _is_bundle(path: Path) -> None:
    """Raise with the folder that was meant, where *path* merely holds the bundle."""
    if path.is_symlink() or not path.is_dir() or os.path.lexists(path / MANIFEST):
        return
    try:
        meant: Path | None = bundle_in(path)
    except (LifecycleError, OSError):
        meant = None
    remedy = f"the capability lies in {clean(meant, 300)}" if meant else None
    hint = f"; {remedy}" if remedy else ""
    raise LifecycleError("no-bundle", f"{clean(path, 300)} has no {MANIFEST}{hint}", remedy=remedy)
