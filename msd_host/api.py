"""`load_registry`: the registry is a module with an interface, not a data file (spec 00, M1)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from .composition import baseline_of
from .host import Host
from .model.registry import Registry
from .msd import MSD

__all__ = ["load_registry"]


def load_registry(
    *,
    include_installed: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    home: str | os.PathLike[str] | None = None,
    host_version: str | None = None,
    config_home: str | os.PathLike[str] | None = None,
    trust: Mapping[str, Iterable[str]] | None = None,
) -> Registry:
    """MSD's registry: the frozen first-party object itself, or that with every accepted overlay composed in.

    *cwd* decides the served project, *home* stands in for `MSD_HOME`, *host_version* for this version;
    *trust* maps ids to content hashes that count as consent for this load only. Never raises for anything
    an overlay did; what was skipped and why is in `registry.overlay` (spec 10).
    """
    if not include_installed:
        return baseline_of(MSD)
    return Host(MSD, home=home).load(cwd, host_version=host_version, config_home=config_home, trust=trust)
