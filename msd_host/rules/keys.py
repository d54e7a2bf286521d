"""Dotted configuration keys: who owns which, and which would lie on another's path (spec 10, Manifest)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..product import CentralSchema

__all__ = ["CentralKeys", "KeyOwners", "prefixes"]


def prefixes(key: str) -> Iterator[str]:
    """The strict prefixes of a dotted key, shortest first."""
    at = key.find(".")
    while at != -1:
        yield key[:at]
        at = key.find(".", at + 1)


class KeyOwners:
    """Claimed keys with their owners. Two keys clash when they are equal or one lies on the other's path."""

    def __init__(self, base: KeyOwners | None = None) -> None:
        self._base = base
        self._keys: dict[str, str] = {}
        self._paths: dict[str, str] = {}

    def clash(self, key: str, claimant: str) -> tuple[str, str] | None:
        """(the other key, its owner) where *claimant* may not have *key*."""
        layer: KeyOwners | None = self
        while layer is not None:
            for path in (key, *prefixes(key)):
                owner = layer._keys.get(path)
                if owner is not None and owner != claimant:
                    return path, owner
            owner = layer._paths.get(key)
            if owner is not None and owner != claimant:
                return f"{key}.…", owner
            layer = layer._base
        return None

    def add(self, keys: Iterable[str], owner: str) -> None:
        for key in keys:
            self._keys.setdefault(key, owner)
            for path in prefixes(key):
                self._paths.setdefault(path, owner)


class CentralKeys:
    """The product's own keys and dynamic key patterns, which no overlay may touch, also not as a prefix."""

    def __init__(self, schema: CentralSchema) -> None:
        self._keys = schema.keys
        self._paths = frozenset(p for key in schema.keys for p in prefixes(key))
        self._patterns = tuple(re.compile(source) for source in schema.patterns)
        heads = [_literal_head(source) for source in schema.patterns]
        self._heads = frozenset(p for head in heads if head for p in (head, *prefixes(head)))

    def clash(self, key: str) -> str | None:
        """The central key or pattern that *key* would shadow or be shadowed by."""
        for path in (key, *prefixes(key)):
            if path in self._keys:
                return path
            for pattern in self._patterns:
                if pattern.search(path):
                    return pattern.pattern
        if key in self._paths or key in self._heads:
            return f"{key}.…"
        return None


def _literal_head(source: str) -> str:
    """The whole segments with which every key of a pattern begins: `agents` for one of `agents.<id>`."""
    text = source.lstrip("^").replace("\\.", ".")
    end = next((i for i, c in enumerate(text) if not (c.isalnum() or c in "_.-")), len(text))
    return text[:end].rpartition(".")[0] if end < len(text) else text.rstrip(".")
