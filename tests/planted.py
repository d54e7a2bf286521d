"""Fake homes and repositories, planted on disk: the ground that tests of the host stand on."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from msd_host import MSD, FirstParty, Host, Product, Registry, Skip
from msd_host.product import CentralSchema


def manifest(id: str, **fields: Any) -> dict[str, Any]:
    """The smallest valid feature manifest with *fields* put over it."""
    base: dict[str, Any] = {
        "id": id,
        "role": "feature",
        "version": "1.0.0",
        "title": f"Title of {id}",
        "description": f"About {id}",
        "tier": "full",
        "requires": [],
        "engines": {"msd": ">=1.0.0"},
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [],
        "agents": [],
        "config": {},
        "steps": [],
        "contributions": [],
        "gates": [],
    }
    return {**base, **copy.deepcopy(fields)}


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


class World:
    """A home, a project with a marker, and a host over them."""

    def __init__(self, root: Path, product: Product | None = None, **host_fields: Any) -> None:
        self.root = root.resolve()
        self.home = self.root / "home"
        self.project = self.root / "project"
        self.home.mkdir(parents=True, exist_ok=True)
        (self.project / ".planning").mkdir(parents=True, exist_ok=True)
        self.host = Host(product or bare_product(), home=self.home, discover_extensions=False, **host_fields)

    def global_folder(self, id: str) -> Path:
        return self.home / ".msd" / "capabilities" / id

    def project_folder(self, id: str) -> Path:
        return self.project / ".msd" / "capabilities" / id

    def plant(self, folder: Path, document: object, files: Mapping[str, str] | None = None) -> Path:
        """Write a bundle; *document* is a manifest, or text to take its place byte for byte."""
        folder.mkdir(parents=True, exist_ok=True)
        text = document if isinstance(document, str) else json.dumps(document, indent=2)
        (folder / "capability.json").write_text(text, encoding="utf-8")
        for name, content in (files or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return folder

    def add_global(self, id: str, files: Mapping[str, str] | None = None, **fields: Any) -> Path:
        return self.plant(self.global_folder(id), manifest(id, **fields), files)

    def add_project(self, id: str, files: Mapping[str, str] | None = None, **fields: Any) -> Path:
        return self.plant(self.project_folder(id), manifest(id, **fields), files)

    def grant(self, id: str) -> None:
        self.host.trust.grant(self.project, id)

    def load(self, **fields: Any) -> Registry:
        return self.host.load(cwd=self.project, **fields)

    def skips(self, **fields: Any) -> dict[str, Skip]:
        """Skips by id of one load."""
        overlay = self.load(**fields).overlay
        return {} if overlay is None else {s.id: s for s in overlay.warnings}

    def codes(self, **fields: Any) -> dict[str, str]:
        return {id: skip.code.value for id, skip in self.skips(**fields).items()}

    def accepted(self, **fields: Any) -> set[str]:
        overlay = self.load(**fields).overlay
        return set() if overlay is None else set(overlay.accepted)


def ledger(scope_root: Path, **entries: Any) -> None:
    """Write a ledger; an entry given as `{}` is a whole, committed one."""
    whole = {
        id: {"id": id, "version": "1.0.0", "source": "path:./x", "integrity": "", "files": [], "sharedEdits": [], **e}
        for id, e in entries.items()
    }
    (scope_root / ".msd-capabilities.json").write_text(json.dumps({"version": "1", "entries": whole}))


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
