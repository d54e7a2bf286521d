"""`load_registry` and `cli_main`: the registry is a module with an interface, not a data file (spec 00, M1)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence

from .composition import baseline_of
from .host import Host
from .model.registry import Registry
from .msd import MSD
from .product import Product

__all__ = ["cli_main", "load_registry"]


def load_registry(
    *,
    include_installed: bool = False,
    cwd: str | os.PathLike[str] | None = None,
    home: str | os.PathLike[str] | None = None,
    host_version: str | None = None,
    config_home: str | os.PathLike[str] | None = None,
    trust: Mapping[str, Iterable[str]] | None = None,
    extensions: Iterable[object] | None = None,
) -> Registry:
    """MSD's registry: the frozen first-party object itself, or that with every accepted overlay composed in.

    *cwd* decides the served project, *home* stands in for `MSD_HOME`, *host_version* for this version;
    *trust* maps ids to content hashes that count as consent for this load only, *extensions* are reviewers and
    observers to use instead of the installed ones. Never raises for anything an overlay did; what was skipped
    and why is in `registry.overlay` (spec 10).
    """
    if not include_installed:
        return baseline_of(MSD)
    host = Host(MSD, home=home, extensions=extensions)
    return host.load(cwd, host_version=host_version, config_home=config_home, trust=trust)


def cli_main(product: Product, argv: Sequence[str] | None = None) -> int:
    """The whole command line for *product*; returns the exit code (spec 60, spec 70). *argv* are the words after the name."""
    from .cli.app import run  # an embedder that only loads registries pays for no command line

    return run(product, [*sys.argv[1:]] if argv is None else [*argv])
