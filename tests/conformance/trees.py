"""The recorded overlay trees: read, written to disk, agreed to, and composed by our host through its pinned API."""

from __future__ import annotations

import base64
import gzip
import json
import os
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import attrs

from msd_host import MSD, Host, MSDError, Product, Registry, central_schema_from, first_party_from
from tests.shared import REFERENCE, SHARED

__all__ = ["Asked", "Case", "Run", "cases", "content_of", "path_of", "product", "run", "write"]

CASES = SHARED / "conformance" / "cases.jsonl.gz"
CENTRAL = REFERENCE / "central-config-schema.json"

Case = dict[str, Any]
Entry = dict[str, Any]


@lru_cache(maxsize=1)
def cases() -> tuple[Case, ...]:
    """Every recorded case; none where the shared data is absent."""
    if not CASES.is_file():
        return ()
    with gzip.open(CASES, "rt", encoding="utf-8") as stream:
        return tuple(json.loads(line) for line in stream)


@lru_cache(maxsize=1)
def product() -> Product:
    """MSD's shape over the reference set and its central schema."""
    return attrs.evolve(
        MSD, version="1.10.0", first_party=first_party_from(REFERENCE), central_schema=central_schema_from(CENTRAL)
    )


def path_of(root: Path, entry: Entry) -> str:
    name = os.fsdecode(base64.b64decode(entry["path_b64"])) if "path_b64" in entry else entry["path"]
    return os.path.join(root, name)


def content_of(entry: Entry) -> bytes:
    """The bytes of a regular file, its repeated segments written out."""
    if "content" not in entry:
        return str(entry["text"]).encode()
    return b"".join(base64.b64decode(s["b64"]) * s.get("repeat", 1) for s in entry["content"])


def write(root: Path, tree: list[Entry]) -> None:
    """Every entry below *root*; folder modes last, so that a shut folder can still be filled."""
    modes: list[tuple[str, int]] = []
    for entry in tree:
        path = path_of(root, entry)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry["kind"] == "symlink":
            os.symlink(entry["target"].replace("{{ROOT}}", str(root)), path)
            continue
        if entry["kind"] == "dir":
            os.makedirs(path, exist_ok=True)
        elif entry["kind"] == "fifo":
            os.mkfifo(path)
        else:
            Path(path).write_bytes(content_of(entry))
        modes.append((path, int(entry["mode"], 8)))
    for path, mode in reversed(modes):
        os.chmod(path, mode)


@attrs.frozen
class Asked:
    """A recorded grant and what came of it here: `granted`, `stale` (for other bytes), `refused`, or `absent` (no bundle)."""

    id: str
    outcome: str
    error: MSDError | None = None


@attrs.frozen(eq=False, slots=False)
class Run:
    """One case as our host decided it."""

    case: Case
    root: Path
    host: Host
    registry: Registry
    asked: dict[str, Asked]
    _told: dict[str, dict[str, Any]] = attrs.field(factory=dict, repr=False)

    def placed(self, text: str) -> str:
        return text.replace("{ROOT}", str(self.root))

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """The tree's entries by the canonical path of each; of a link, the one of the link itself."""
        folders: dict[str, str] = {}
        found: dict[str, Entry] = {}
        for entry in self.case["tree"]:
            folder, name = os.path.split(path_of(self.root, entry))
            if folder not in folders:
                folders[folder] = os.path.realpath(folder)
            found[os.path.join(folders[folder], name)] = entry
        return found

    def explain(self, id: str) -> dict[str, Any]:
        """What `explain` says of *id*, asked once."""
        if id not in self._told:
            self._told[id] = self.host.explain(id, cwd=self.placed(self.case["input"]["cwd"])).to_dict()
        return self._told[id]

    @property
    def roots(self) -> dict[str, Any]:
        """Where our host looked and why, as `explain` tells it of any word."""
        return dict(self.explain("no-such-capability")["roots"])


def run(case: Case, root: Path) -> Run:
    """*case* below *root*, an empty folder given by its canonical path.

    Raises `RuntimeError` where *root* lies in a project: every tree would then have that one for an ancestor.
    """
    for above in root.parents:
        if any((above / marker).exists() for marker in (".planning", ".git")):
            raise RuntimeError(f"a recorded tree cannot be judged inside the project {above}")
    write(root, case["tree"])
    given = {name: value.replace("{ROOT}", str(root)) for name, value in case["input"].items()}
    host = Host(attrs.evolve(product(), version=given["host_version"]), home=given["home"], discover_extensions=False)
    asked = {g["id"]: _ask(host, g["project_root"].replace("{ROOT}", str(root)), g) for g in case["grants"]}
    registry = host.load(cwd=given["cwd"], config_home=given.get("config_home"))
    return Run(case, root, host, registry, asked)


def _ask(host: Host, project: str, grant: dict[str, Any]) -> Asked:
    """Agree to the bytes as they lie, or to others that are then put back."""
    id, matches = str(grant["id"]), bool(grant["matches_bytes"])
    folder = os.path.join(project, ".msd", "capabilities", id)
    if not os.path.isdir(folder):
        return Asked(id, "absent")
    other = os.path.join(folder, "was-here-when-it-was-granted")
    if not matches:
        Path(other).touch()
    try:
        host.trust.grant(project, id)
    except MSDError as error:
        return Asked(id, "refused", error)
    finally:
        if not matches:
            os.unlink(other)
    return Asked(id, "granted" if matches else "stale")
