"""Names from archives and repositories, judged before anything is written under them (spec 30, Sources)."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import LifecycleError
from ...text import joined, quoted
from .settle import MANIFEST

__all__ = ["bundle_prefix", "safe_parts"]

_DEEPEST = 80
_DEEPEST_BUNDLE = 6


def safe_parts(name: str) -> tuple[str, ...]:
    """The folders and the last name of the relative path *name*. Raises `LifecycleError` (`archive-refused`).

    A leading `./` counts as nothing. Whatever could leave the folder, on this system or another, is refused.
    """
    parts = tuple(part for part in name.rstrip("/").split("/") if part != ".")
    fault = _fault(name, parts)
    if fault is not None:
        raise LifecycleError("archive-refused", f"the member {quoted(name)} {fault}; nothing of it is kept")
    return parts


def _fault(name: str, parts: tuple[str, ...]) -> str | None:
    if name.startswith(("/", "\\")) or name[1:2] == ":":
        return "has an absolute path"
    if ".." in parts:
        return "leads out of the folder"
    if "\\" in name or not name.isprintable():
        return "has a backslash, or a character that cannot be printed, in its name"
    if len(parts) > _DEEPEST or any(not part or len(part.encode("utf-8", "replace")) > 255 for part in parts):
        return "has a path that is too long, too deep or has empty parts"
    return None


def bundle_prefix(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The folders above the one manifest that lies highest among *paths*. Raises `LifecycleError`."""
    found = sorted((p for p in paths if p[-1:] == (MANIFEST,)), key=len)
    if not found or len(found[0]) > _DEEPEST_BUNDLE + 1:
        raise LifecycleError("no-bundle", f"there is no {MANIFEST} in it, at most {_DEEPEST_BUNDLE} folders deep")
    highest = [p for p in found if len(p) == len(found[0])]
    if len(highest) > 1:
        names = joined("/".join(p[:-1]) for p in highest)
        raise LifecycleError("several-bundles", f"there is more than one capability in it: {names}")
    return highest[0][:-1]
