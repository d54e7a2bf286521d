"""Observers hear what happened and answer nothing (spec 50). A failing or slow one never changes a result."""

# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false
# A hookspec has no body.
from __future__ import annotations

from typing import TYPE_CHECKING

from . import hookspec

if TYPE_CHECKING:
    from msd_host.extending.values import Event

__all__ = ["msd_observe"]


@hookspec
def msd_observe(event: Event) -> None:
    """Take notice of one frozen event. The host waits at most two seconds for each."""
