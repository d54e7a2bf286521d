"""Sources, worlds and what may lie in them after a change: the ground of the lifecycle tests."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from msd_host import MSD, Scope
from msd_host.lifecycle.desk import Lifecycle
from msd_host.lifecycle.values import Done
from tests.planted import World, gate, manifest

__all__ = ["Bench"]


class Bench(World):
    """A world with sources beside it. *scope* is where things are installed by default."""

    def __init__(self, root: Path, scope: Scope = Scope.GLOBAL) -> None:
        super().__init__(root, MSD)
        self.scope = scope

    @property
    def lifecycle(self) -> Lifecycle:
        return self.host.lifecycle(self.project)

    @property
    def owner(self) -> Path:
        return self.home if self.scope is Scope.GLOBAL else self.project

    @property
    def folder_of(self) -> Any:
        return self.global_folder if self.scope is Scope.GLOBAL else self.project_folder

    def source(self, id: str = "acme", version: str = "1.0.0", *, text: str = "one", **fields: Any) -> Path:
        """A bundle to install from; called again it is the same folder with another content."""
        fields.setdefault("gates", [gate("plan:pre")])
        folder = self.root / "sources" / id
        skills = [f"{id}-skill"]
        files = {f"skills/{id}-skill/SKILL.md": f"---\nname: {id}-skill\n---\n{text}\n"}
        return self.plant(folder, manifest(id, version=version, skills=skills, **fields), files)

    def agreed(self, prepared: Any) -> str | None:
        return "terminal"

    def install(self, spec: str | Path, **fields: Any) -> Done:
        with self.lifecycle.preparing(str(spec), scope=self.scope, **fields) as prepared:
            return self.lifecycle.commit(prepared, agreed="terminal")

    def update(self, id: str = "acme", **fields: Any) -> Done:
        with self.lifecycle.updating(id, scope=self.scope, **fields) as prepared:
            return self.lifecycle.commit(prepared, agreed="terminal")

    def remove(self, id: str = "acme", *, purge: bool = False) -> dict[str, Any]:
        from msd_host.lifecycle.remove import plan_removal, remove_overlay

        return remove_overlay(self.host, plan_removal(self.host, self.project, id, self.scope), purge=purge)

    def ledger(self) -> dict[str, Any]:
        path = self.owner / ".msd-capabilities.json"
        return json.loads(path.read_text())["entries"] if path.exists() else {}

    def state(self) -> dict[str, Any]:
        """Everything that decides what is in force, as values; times left out."""
        grants = self.host.trust.records(self.project).grants
        folder: Path = self.folder_of("acme")
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        entries = {id: {k: v for k, v in e.items() if k != "installedAt"} for id, e in self.ledger().items()}
        return {
            "files": files,
            "entries": entries,
            "grants": sorted((g.id, g.root, g.content_hash) for g in grants),
            "accepted": "acme" in self.accepted(),
        }

    def leftovers(self) -> list[str]:
        """Whatever lies there that is neither a bundle nor a record; what stores keep is swept by age alone."""
        found: list[str] = []
        stores = tuple(str(self.home / ".msd" / name) for name in ("store", "previous", "consent"))
        for top in (self.home, self.project):
            for path in sorted(top.rglob("*")):
                name = path.name
                if str(path).startswith(stores):
                    continue
                if ".tmp-" in name or name.startswith((".old-", ".gone-", ".staging", ".aside-")):
                    found.append(str(path))
        found += [str(p) for p in (self.home / ".msd" / "intents").glob("*")]
        return found


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every path below *folder* with its bytes, None for folders."""
    return {
        os.path.relpath(p, folder): p.read_bytes() if p.is_file() and not p.is_symlink() else None
        for p in sorted(folder.rglob("*"))
    }
