"""Two machines compare their compositions by one digest (spec 10, Build)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from ..model.registry import Registry

__all__ = ["canonical_bytes", "composition_digest", "registry_digest"]


def canonical_bytes(value: Any) -> bytes:
    """The one JSON text of *value*: keys sorted, no blanks, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def registry_digest(registry: Registry) -> str:
    """`sha256-<hex>` over every view, the overlay report left out."""
    document = registry.to_dict()
    document.pop("_overlay", None)
    return "sha256-" + hashlib.sha256(canonical_bytes(document)).hexdigest()


def composition_digest(
    overlays: Iterable[tuple[str, str, str, str]], host_version: str, first_party_digest: str
) -> str:
    """`sha256-<hex>` over the sorted (id, version, scope, content hash), the host version and the first-party digest."""
    document = [sorted(list(o) for o in overlays), host_version, first_party_digest]
    return "sha256-" + hashlib.sha256(canonical_bytes(document)).hexdigest()
