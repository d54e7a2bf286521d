"""Fake homes and repositories, planted on disk: the ground that tests of the host stand on."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import attrs

from msd_host import MSD, FirstParty, Product, testing
from msd_host.product import CentralSchema
from msd_host.testing import sample_manifest as manifest

__all__ = ["World", "bare_product", "boolean", "contribution", "gate", "is_root", "ledger", "manifest", "step"]


def gate(point: str = "ship:pre", **fields: Any) -> dict[str, Any]:
    return {"point": point, "check": {"query": "q"}, "blocking": True, "onError": "halt", **fields}


def step(point: str = "plan:pre", **fields: Any) -> dict[str, Any]:
    return {"point": point, "ref": {"agent": "a"}, "produces": [], "consumes": [], "onError": "skip", **fields}


def contribution(point: str = "plan:pre", into: str = "planner", **fields: Any) -> dict[str, Any]:
    base = {"point": point, "into": into, "produces": [], "consumes": [], "fragment": {"inline": "text"}}
    return {**base, **fields}


def boolean(default: bool = True) -> dict[str, Any]:
    return {"type": "boolean", "default": default, "description": "A switch."}


def bare_product(**fields: Any) -> Product:
    """MSD without any first-party capability or central key, so that a test's overlays are all there is."""
    empty = FirstParty(lambda: ())
    return attrs.evolve(MSD, first_party=empty, central_schema=CentralSchema(lambda: (frozenset(), ())), **fields)


class World(testing.World):
    """A world without first-party capabilities, unless a test asks for a product of its own."""

    def __init__(self, root: Path, product: Product | None = None, **host_fields: Any) -> None:
        super().__init__(root, product or bare_product(), **host_fields)


def ledger(scope_root: Path, **entries: Any) -> None:
    """Write a ledger; an entry given as `{}` is a whole, committed one."""
    whole = {
        id: {"id": id, "version": "1.0.0", "source": "path:./x", "integrity": "", "files": [], "sharedEdits": [], **e}
        for id, e in entries.items()
    }
    (scope_root / ".msd-capabilities.json").write_text(json.dumps({"version": "1", "entries": whole}))


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
