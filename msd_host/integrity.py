"""Both import packages must be the ones that were shipped together (design, the sibling guard)."""

from __future__ import annotations

import os

import msd_hookspecs

from .errors import HostIntegrityError

__all__ = ["check_siblings"]


def check_siblings() -> None:
    """Raise `HostIntegrityError` when the contract does not lie beside the engine, as in a wheel or a checkout."""
    engine = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    contract = os.path.dirname(os.path.dirname(os.path.realpath(msd_hookspecs.__file__ or "")))
    if contract not in (engine, os.path.join(engine, "hookspecs")):
        raise HostIntegrityError(
            f"msd_hookspecs was imported from {contract}, which is not where this host was installed ({engine});"
            " another package or folder shadows it"
        )
