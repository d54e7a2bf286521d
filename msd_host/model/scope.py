"""Scopes, ordered by how little they are trusted, so that tightening is `max` (spec 00, Words)."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Scope"]


class Scope(IntEnum):
    """Where a capability comes from. `label` is the word used in messages and JSON."""

    FIRST_PARTY = 0
    GLOBAL = 1
    PROJECT = 2

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {Scope.FIRST_PARTY: "first-party", Scope.GLOBAL: "global", Scope.PROJECT: "project"}
