"""Gate predicate kinds that `loop check` evaluates besides the host's own (spec 50)."""

# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false
# A hookspec has no body.
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from . import hookspec

if TYPE_CHECKING:
    from msd_host.extending.values import PredicateKind

__all__ = ["msd_predicate_kinds"]


@hookspec
def msd_predicate_kinds() -> Iterable[PredicateKind]:
    """The predicate kinds this package evaluates. The host's own names are not available."""
