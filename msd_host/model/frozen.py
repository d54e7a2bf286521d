"""JSON values that nobody can change by accident, that pickle, and that compare by value (spec 70).

A `dict` subclass, not a proxy: reading stays at C speed, `json.dumps` takes it as it is, and it pickles.
"""

# pyright: reportAssignmentType=false
# What refuses every call has one signature for all of them.
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

__all__ = ["EMPTY", "FrozenDict", "freeze", "thaw"]

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A read-only dictionary. Every mutating method raises `TypeError`."""

    __slots__ = ()

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("this mapping is read-only")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self))

    def copy(self) -> FrozenDict[K, V]:
        return self

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return (FrozenDict, (dict(self),))

    def __repr__(self) -> str:
        return dict.__repr__(self)


EMPTY: FrozenDict[Any, Any] = FrozenDict()


_LEAVES = frozenset([str, int, bool, float, type(None)])  # most values; spares the slow look at the ABC


def freeze(value: Any) -> Any:
    """*value* (JSON shapes) with every object a `FrozenDict` and every array a tuple."""
    kind = type(value)
    if kind in _LEAVES:
        return value
    if isinstance(value, (list, tuple)):
        return tuple([freeze(v) for v in value])
    return FrozenDict({k: freeze(v) for k, v in value.items()}) if isinstance(value, Mapping) else value


def thaw(value: Any) -> Any:
    """The plain `dict` and `list` twin of a frozen value, safe to change."""
    kind = type(value)
    if kind in _LEAVES:
        return value
    if isinstance(value, (list, tuple)):
        return [thaw(v) for v in value]
    return {k: thaw(v) for k, v in value.items()} if isinstance(value, Mapping) else value
