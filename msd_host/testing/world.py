"""A home and a project on disk, and a host over them: the ground that tests stand on."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..host import Host
from ..loop.render import envelope
from ..loop.resolve import resolve
from ..model.cohort import Skip
from ..model.registry import Registry
from ..msd import MSD
from ..product import Product

__all__ = ["World", "sample_manifest"]


def sample_manifest(id: str, **fields: Any) -> dict[str, Any]:
    """The smallest valid feature manifest of *id*, as JSON values, with *fields* put over it."""
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


class World:
    """`home` and `project` below *root*, the project with its marker, and `host` over both.

    *extensions* are given to the host as they are; installed ones are left out, so that a test means what it says.
    """

    def __init__(self, root: Path, product: Product = MSD, **host_fields: Any) -> None:
        self.root = root.resolve()
        self.home = self.root / "home"
        self.project = self.root / "project"
        self.home.mkdir(parents=True, exist_ok=True)
        (self.project / ".planning").mkdir(parents=True, exist_ok=True)
        host_fields.setdefault("discover_extensions", False)
        self.host = Host(product, home=self.home, **host_fields)

    @property
    def folder(self) -> str:
        return self.host.product.folder

    def global_folder(self, id: str) -> Path:
        """Where the global overlay *id* lies."""
        return self.home / self.folder / "capabilities" / id

    def project_folder(self, id: str) -> Path:
        """Where the project overlay *id* lies."""
        return self.project / self.folder / "capabilities" / id

    def plant(self, folder: Path, document: object, files: Mapping[str, str] | None = None) -> Path:
        """Write a bundle; *document* is a manifest, or text to take its place letter by letter."""
        folder.mkdir(parents=True, exist_ok=True)
        text = document if isinstance(document, str) else json.dumps(document, indent=2)
        (folder / "capability.json").write_text(text, encoding="utf-8")
        for name, content in (files or {}).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return folder

    def add_global(self, id: str, files: Mapping[str, str] | None = None, **fields: Any) -> Path:
        """Plant a global overlay with a sample manifest."""
        return self.plant(self.global_folder(id), sample_manifest(id, **fields), files)

    def add_project(self, id: str, files: Mapping[str, str] | None = None, **fields: Any) -> Path:
        """Plant a project overlay with a sample manifest; it is inert until `grant`."""
        return self.plant(self.project_folder(id), sample_manifest(id, **fields), files)

    def copy_global(self, bundle: Path, id: str) -> Path:
        """Copy an author's bundle into the global root as *id*."""
        return Path(shutil.copytree(bundle, self.global_folder(id)))

    def copy_project(self, bundle: Path, id: str) -> Path:
        """Copy an author's bundle into the project as *id*."""
        return Path(shutil.copytree(bundle, self.project_folder(id)))

    def grant(self, id: str) -> None:
        """Agree to the bytes of the project overlay *id* as they lie there now."""
        self.host.trust.grant(self.project, id)

    def load(self, **fields: Any) -> Registry:
        """`Host.load` from the project."""
        return self.host.load(cwd=self.project, **fields)

    def skips(self, **fields: Any) -> dict[str, Skip]:
        """Skips by id of one load."""
        overlay = self.load(**fields).overlay
        return {} if overlay is None else {s.id: s for s in overlay.warnings}

    def codes(self, **fields: Any) -> dict[str, str]:
        """Skip codes by id of one load."""
        return {id: skip.code.value for id, skip in self.skips(**fields).items()}

    def accepted(self, **fields: Any) -> set[str]:
        """Ids of the accepted overlays of one load."""
        overlay = self.load(**fields).overlay
        return set() if overlay is None else set(overlay.accepted)

    def render(self, point: str) -> dict[str, Any]:
        """The envelope of one point, as `loop render-hooks` prints it."""
        composition = self.host.compose(self.project)
        return envelope(resolve(composition.registry, point, self.host.activation(composition)))
