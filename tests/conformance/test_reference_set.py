"""Our builder over the reference set gives every view that its own builder gave (spec 80, Conformance)."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from msd_host import Host, Registry
from tests.conformance.trees import product
from tests.shared import REFERENCE, needs_shared

VIEWS = (
    "version",
    "bySkill",
    "byAgent",
    "byLoopPoint",
    "configKeys",
    "configSchema",
    "runtimes",
    "commandFamilies",
    "capabilityClusters",
    "profileMembership",
)

pytestmark = needs_shared


@lru_cache(maxsize=1)
def expected() -> dict[str, Any]:
    return json.loads((REFERENCE / "expected-registry.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Host(product(), home=tmp_path, discover_extensions=False).load(cwd=tmp_path)


def text(value: Any) -> str:
    """JSON with every key in its place: equal texts are equal in value, in type and in the order of keys."""
    return json.dumps(value, ensure_ascii=False, indent=1)


def test_the_result_is_the_frozen_registry(registry: Registry, tmp_path: Path) -> None:
    assert registry.overlay is None
    assert list(registry.to_dict()) == [*_in_place(), "reviewers"]


def _in_place() -> list[str]:
    return ["version", "capabilities", *VIEWS[1:]]


def test_capabilities_in_order(registry: Registry) -> None:
    assert list(registry.to_dict()["capabilities"]) == expected()["capabilities"]


def test_every_manifest_with_its_fragments(registry: Registry) -> None:
    found = registry.to_dict()["capabilities"]
    assert text(found) == text({id: expected()["manifests"][id] for id in expected()["capabilities"]})


@pytest.mark.parametrize("view", VIEWS)
def test_view(registry: Registry, view: str) -> None:
    assert text(registry.to_dict()[view]) == text(expected()["views"][view])


def test_reviewers_are_the_lanes_of_the_manifests_by_slug(registry: Registry) -> None:
    """The reference derives them on demand; ours is a view (reference, section 4)."""
    lanes = {
        manifest["reviewer"]["slug"]: {"capId": id, **manifest["reviewer"]}
        for id, manifest in expected()["manifests"].items()
        if manifest.get("reviewer") is not None
    }
    assert text(registry.to_dict()["reviewers"]) == text(dict(sorted(lanes.items())))


def test_requires_closure(registry: Registry) -> None:
    closures = {id: sorted(registry.requires_closure(id)) for id in registry.capabilities}
    assert closures == {id: sorted(ids) for id, ids in expected()["views"]["requiresClosure"].items()}


def test_nothing_else_is_expected() -> None:
    assert set(expected()) == {"capabilities", "manifests", "views"}
    assert set(expected()["views"]) == {*VIEWS, "requiresClosure"}
