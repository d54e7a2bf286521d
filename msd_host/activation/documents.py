"""Dotted keys in nested JSON objects that belong to somebody: nothing of theirs is lost (spec 40)."""

from __future__ import annotations

from typing import Any

from ..errors import DamagedState
from ..text import quoted

__all__ = ["put", "take"]


def put(document: dict[str, Any], key: str, value: Any) -> None:
    """Set the dotted *key* in nested objects, in place; null on its path gives way, anything else is kept.

    Raises `DamagedState` where something that is no object lies on the path, or an object in its place.
    """
    holder = _holder(document, key, create=True)
    last = key.rpartition(".")[2]
    assert holder is not None
    if isinstance(holder.get(last), dict):
        raise DamagedState(f"{quoted(key)} holds an object, which would be lost; nothing was changed")
    holder[last] = value


def take(document: dict[str, Any], key: str) -> bool:
    """Remove the dotted *key*, in place, and the objects it leaves empty; whether it was there. Raises like `put`."""
    holder = _holder(document, key, create=False)
    *parents, last = key.split(".")
    if holder is None or last not in holder:
        return False
    if isinstance(holder[last], dict):
        raise DamagedState(f"{quoted(key)} holds an object, which would be lost; nothing was changed")
    del holder[last]
    while parents and not holder:
        above = _holder(document, ".".join(parents), create=False)
        assert above is not None
        del above[parents.pop()]
        holder = above
    return True


def _holder(document: dict[str, Any], key: str, *, create: bool) -> dict[str, Any] | None:
    """The object that holds the last segment of *key*, made on the way if wanted."""
    at = document
    for segment in key.split(".")[:-1]:
        below = at.get(segment)
        if below is None:
            if not create:
                return None
            below = at[segment] = {}
        if not isinstance(below, dict):
            raise DamagedState(f"{quoted(segment)} on the path of {quoted(key)} is not an object; nothing was changed")
        at = below
    return at
