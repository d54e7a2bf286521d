"""The one way to a bundle, whatever its source (spec 30, Sources). Nothing of a capability ever runs here."""

from __future__ import annotations

from pathlib import Path

from ...errors import LifecycleError
from .folder import fetch_folder
from .source import Available, Source
from .terms import Fetched, Terms

__all__ = ["available", "fetch"]


def fetch(source: Source, into: Path, terms: Terms) -> Fetched:
    """Bring the bundle of *source* below *into*, an existing, empty folder that is the caller's alone.

    Raises `LifecycleError`; what lies in *into* then is for the caller to delete.
    """
    if source.kind == "folder":
        return fetch_folder(source, into, terms)
    raise LifecycleError("source-unsupported", f"sources of kind {source.kind} are not fetched yet")


def available(source: Source, terms: Terms) -> tuple[Available, ...]:
    """The versions that *source* could give, newest first; nothing where it cannot tell. Raises `LifecycleError`."""
    return ()
