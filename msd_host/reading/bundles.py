"""Candidates on disk: what lies below both roots, and a folder somebody asks about (spec 10, Discover)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..model.candidate import Candidate
from ..model.fault import Diagnostic
from ..model.scope import Scope
from ..text import clean
from .bundle import Bundle
from .ground import Ground
from .ledger import LedgerView, read_ledger
from .roots import Canonical
from .scan import Scan
from .sources import Probe, Sources

__all__ = ["find_candidates"]


def find_candidates(sources: Sources) -> tuple[list[Candidate], list[Diagnostic]]:
    """Every candidate below both roots, global before project, by name; and notes about the roots."""
    found: list[Candidate] = []
    notes: list[Diagnostic] = []
    for scan in _scans(sources):
        found.extend(scan.candidates())
        ledger = scan.ground.ledger
        if ledger.problem is not None:
            notes.append(Diagnostic("*", "ledger", clean(ledger.problem), ledger.path))
    probe = sources.probe
    if probe is not None and not any(c.where == probe.path for c in found):
        probed = _probed(sources, probe)
        found = [c for c in found if (c.scope, c.id) != (probed.scope, probed.id)]
        found.append(probed)
    return found, notes


def _scans(sources: Sources) -> Iterator[Scan]:
    """Both roots, the global one first; an absent one still has a ledger or grants that name what is gone."""
    roots = sources.roots
    yield _scan(sources, roots.global_root, Scope.GLOBAL, roots.home_path)
    if roots.project_root is not None and not roots.one_folder:
        yield _scan(sources, roots.project_root, Scope.PROJECT, roots.served_path or "")


def _scan(sources: Sources, root: Canonical, scope: Scope, owner: str) -> Scan:
    """*owner* is the folder the root belongs to: the home or the served project."""
    path = root.path or root.given
    ledger = read_ledger(sources.files, owner, sources.product.ledger_name, sources.product.limits)
    probe = sources.probe
    probed = os.path.basename(probe.path) if probe is not None and os.path.dirname(probe.path) == path else None
    return Scan(Ground(sources, path, scope, ledger, probed), root)


def _probed(sources: Sources, probe: Probe) -> Candidate:
    """The candidate a folder outside both roots would be: its manifest says its id, unless it lies where a name does."""
    files, product = sources.files, sources.product
    where = files.realpath(probe.path)
    root, name = os.path.split(where)
    named = os.path.basename(root) == "capabilities" and os.path.basename(os.path.dirname(root)) == product.folder
    ground = Ground(sources, root, probe.scope, LedgerView(""), name)
    fd = files.open_folder(where)
    try:
        info = files.fstat(fd)
        decisions = ground.decisions(name)
        consent = ground.consent(decisions, name, None)
        seen = Candidate(name, probe.scope, root, where, consent, place=(info.st_dev, info.st_ino))
        return Bundle(ground, seen, fd, decisions, named=named).look()
    finally:
        files.close(fd)
