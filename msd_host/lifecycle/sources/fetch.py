"""The one way to a bundle, whatever its source (spec 30, Sources). Nothing of a capability ever runs here."""

from __future__ import annotations

from pathlib import Path

from .policy import check_policy
from .source import Available, Source
from .terms import Fetched, Terms

__all__ = ["Available", "Fetched", "available", "fetch"]


def fetch(source: Source, into: Path, terms: Terms) -> Fetched:
    """Bring the bundle of *source* below *into*, an existing, empty folder that is the caller's alone.

    Raises `LifecycleError`; what lies in *into* then is for the caller to delete.
    """
    check_policy(source, terms.rules)
    terms.left()
    # Each kind loads what it needs, as late as this: sockets, TLS and archives are slow to import.
    if source.kind == "folder":
        from .folder import fetch_folder

        return fetch_folder(source, into, terms)
    if source.kind == "archive":
        from .archive import fetch_archive

        return fetch_archive(source, into, terms)
    if source.kind == "git":
        from .git import fetch_git

        return fetch_git(source, into, terms)
    from .packages import fetch_package

    return fetch_package(source, into, terms)


def available(source: Source, terms: Terms) -> tuple[Available, ...]:
    """The versions that *source* could give, newest first; nothing where it cannot tell, or names one only.

    Raises `LifecycleError`.
    """
    if source.kind not in ("git", "npm", "pypi") or source.is_exact:
        return ()
    check_policy(source, terms.rules)
    terms.left()
    if source.kind == "git":
        from .git import available_git

        return available_git(source, terms)
    from .packages import available_packages

    return available_packages(source, terms)
