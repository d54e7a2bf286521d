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
    return json.loads((REFERENCE / "expected-registry.json").read_text())  # type: ignore[no-any-return]


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Host(product(), home=tmp_path, discover_extensions=False).load(cwd=tmp_path)


def test_every_manifest_with_its_fragments(registry: Registry) -> None:
    document = registry.to_dict()["capabilities"]
    assert list(document) == expected()["capabilities"]
    assert document == expected()["manifests"]


@pytest.mark.parametrize("view", VIEWS)
def test_view(registry: Registry, view: str) -> None:
    ours, theirs = registry.to_dict()[view], expected()["views"][view]
    assert ours == theirs
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)


def test_requires_closure(registry: Registry) -> None:
    assert {id: list(registry.requires_closure(id)) for id in registry.capabilities} == expected()["views"][
        "requiresClosure"
    ]


def test_nothing_else_is_expected() -> None:
    assert set(expected()["views"]) == {*VIEWS, "requiresClosure"}
