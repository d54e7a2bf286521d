"""Bringing what a source has into staging, under the terms that the user, the machine and the policy set (spec 30)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..reading.roots import Roots
from .change import BUNDLE
from .ground import discard
from .prepared import DoesNotFit
from .sources.source import Source
from .sources.terms import Terms, in_seconds
from .staging import Staged
from .values import Request

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["fetched", "fitting_source", "terms_of"]


def terms_of(host: Host, roots: Roots, asked: Request) -> Terms:
    """The terms that hold for *asked* in the project of *roots*."""
    from .sources.policy import read_rules  # reads configuration, which a rollback does not need

    return Terms(
        deadline=in_seconds(asked.seconds) if asked.deadline is None else asked.deadline,
        integrity=asked.integrity,
        allow_insecure_loopback=asked.allow_insecure_loopback,
        progress=asked.progress,
        limits=host.product.limits,
        rules=read_rules(host.product, host.files, roots),
    )


def fetched(host: Host, roots: Roots, source: Source, staged: Staged, asked: Request) -> Mapping[str, str]:
    """Bring the bundle of *source* into *staged* as `bundle`; what is known of it. Raises `LifecycleError`."""
    from .sources.fetch import fetch

    into = staged.path / "fetch"
    for name in (into.name, BUNDLE):  # an earlier try may have brought one that does not fit
        discard(host.files, staged.fd, name)
    into.mkdir(mode=0o700)
    found = fetch(source, into, terms_of(host, roots, asked))
    os.rename(found.root, staged.path / BUNDLE)
    return found.resolved


def fitting_source(host: Host, roots: Roots, source: Source, error: DoesNotFit, asked: Request) -> Source:
    """The newest version for this host that *source* can give. Raises *error* where there is none."""
    from .sources.fetch import available

    there = {a.version: a.source for a in available(source, terms_of(host, roots, asked))} if error.fits else {}
    found = next((there[version] for version in error.fits if version in there), None)
    if found is None:
        raise error
    asked.progress(f"the newest version is for another host; taking {found.text}")
    return found
