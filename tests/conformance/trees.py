"""The recorded overlay trees: read, written to disk, composed by our host."""

from __future__ import annotations

import base64
import gzip
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs

from msd_host import MSD, Host, MSDError, Product, central_schema_from, first_party_from
from msd_host.composition import Composition
from tests.shared import REFERENCE, SHARED

CASES = SHARED / "conformance" / "cases.jsonl.gz"


def cases() -> list[dict[str, Any]]:
    if not CASES.is_file():
        return []
    with gzip.open(CASES, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@lru_cache(maxsize=1)
def product() -> Product:
    """MSD's shape over the reference set and its central schema."""
    return attrs.evolve(
        MSD,
        version="1.10.0",
        first_party=first_party_from(REFERENCE),
        central_schema=central_schema_from(REFERENCE / "central-config-schema.json"),
    )


def path_of(root: Path, entry: dict[str, Any]) -> str:
    name = os.fsdecode(base64.b64decode(entry["path_b64"])) if "path_b64" in entry else entry["path"]
    return os.path.join(root, name)


def content_of(entry: dict[str, Any]) -> bytes:
    if "content" not in entry:
        return str(entry["text"]).encode()
    return b"".join(base64.b64decode(s["b64"]) * s.get("repeat", 1) for s in entry["content"])


def write(root: Path, tree: list[dict[str, Any]]) -> None:
    """Every entry below *root*; folder modes last, so that a shut folder can still be filled."""
    modes: list[tuple[str, int]] = []
    for entry in tree:
        path = path_of(root, entry)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mode = int(entry.get("mode", "0644"), 8)
        if entry["kind"] == "dir":
            os.makedirs(path, exist_ok=True)
            modes.append((path, mode))
        elif entry["kind"] == "fifo":
            os.mkfifo(path)
        elif entry["kind"] == "symlink":
            os.symlink(entry["target"].replace("{{ROOT}}", str(root)), path)
        else:
            Path(path).write_bytes(content_of(entry))
            os.chmod(path, mode)
    for path, mode in modes:
        os.chmod(path, mode)


@attrs.frozen(eq=False)
class Run:
    """One case as our host decided it. `refused` holds grants that could not be recorded, with the reason."""

    case: dict[str, Any]
    root: Path
    composition: Composition
    refused: dict[str, str]

    def placed(self, text: str) -> str:
        return text.replace("{ROOT}", str(self.root))


def run(case: dict[str, Any], root: Path) -> Run:
    write(root, case["tree"])
    given = {k: v.replace("{ROOT}", str(root)) if isinstance(v, str) else v for k, v in case["input"].items()}
    host = Host(product(), home=given["home"], discover_extensions=False)
    refused: dict[str, str] = {}
    for grant in case["grants"]:
        project = grant["project_root"].replace("{ROOT}", str(root))
        try:
            _grant(host, project, grant["id"], matches=grant["matches_bytes"])
        except MSDError as error:
            refused[grant["id"]] = error.message
    composition = host.compose(
        given.get("cwd"), config_home=given.get("config_home"), host_version=given.get("host_version")
    )
    return Run(case, root, composition, refused)


def _grant(host: Host, project: str, id: str, *, matches: bool) -> None:
    """Agree to the bytes as they lie, or to others that are then put back."""
    folder = host.trust.show(id, project).where
    other = os.path.join(folder, "was-here-when-it-was-granted")
    if not matches:
        Path(other).touch()
    try:
        host.trust.grant(project, id)
    finally:
        if not matches:
            os.unlink(other)
