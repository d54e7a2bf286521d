"""Tests to inherit from: what every good capability, and every good stage or observer, stands up to.

from pathlib import Path
from msd_host.testing import CapabilitySuite

class TestMine(CapabilitySuite):
bundle = Path(__file__).parent.parent / "my-capability"
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, ClassVar

from ..extending.admission import admit
from ..extending.values import EVENT_KINDS, Event, ReviewCandidate, ReviewContext, Veto
from ..host import Host
from ..model.frozen import FrozenDict, freeze
from ..msd import MSD
from ..product import Product
from .world import World, sample_manifest

__all__ = ["CapabilitySuite", "ExtensionSuite"]


class CapabilitySuite:
    """Set `bundle` to the capability's folder; set `product` when it is not made for MSD."""

    bundle: ClassVar[Path]
    product: ClassVar[Product] = MSD

    def _manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.bundle / "capability.json").read_text(encoding="utf-8")))

    def _world(self, tmp_path: Path) -> World:
        return World(tmp_path, self.product)

    def test_the_host_would_accept_it(self, tmp_path: Path) -> None:
        result = self._world(tmp_path).host.check(self.bundle, cwd=tmp_path)
        assert result.ok, "\n".join(str(f) for f in result.faults)

    def test_it_has_no_unknown_fields(self, tmp_path: Path) -> None:
        result = self._world(tmp_path).host.check(self.bundle, cwd=tmp_path)
        assert not [n for n in result.notes if n.code == "unknown-field"]

    def test_every_declared_file_is_there(self) -> None:
        manifest = self._manifest()
        wanted = [f"skills/{s}/SKILL.md" for s in manifest.get("skills", [])]
        wanted += [f"agents/{a}.md" for a in manifest.get("agents", [])]
        wanted += [h["script"] for h in manifest.get("hooks", [])]
        wanted += [c["module"] for c in manifest.get("commands", [])]
        assert not [name for name in wanted if not (self.bundle / name).is_file()]

    def test_it_is_in_the_registry_like_a_first_party_one(self, tmp_path: Path) -> None:
        world, manifest = self._world(tmp_path), self._manifest()
        world.copy_global(self.bundle, manifest["id"])
        registry = world.load()
        assert manifest["id"] in registry.capabilities
        for skill in manifest.get("skills", []):
            assert registry.by_skill[skill] == manifest["id"]
        for key in manifest.get("config", {}):
            assert registry.config_schema[key]["owner"] == manifest["id"]

    def test_in_a_repository_it_is_inert_until_these_bytes_are_agreed_to(self, tmp_path: Path) -> None:
        world, id = self._world(tmp_path), self._manifest()["id"]
        folder = world.copy_project(self.bundle, id)
        assert world.codes()[id] == "unconsented"
        world.grant(id)
        assert id in world.accepted()
        (folder / "one-more-file").write_text("x")
        assert world.codes()[id] == "consent-changed"

    def test_every_hook_that_is_on_renders_at_its_point(self, tmp_path: Path) -> None:
        world, manifest = self._world(tmp_path), self._manifest()
        world.copy_global(self.bundle, manifest["id"])
        defaults = {k: s.get("default") for k, s in manifest.get("config", {}).items()}
        if not defaults.get(manifest.get("activationKey", ""), True):
            return  # off by default as a whole
        for field in ("steps", "contributions", "gates"):
            for hook in manifest.get(field, []):
                if defaults.get(hook.get("when", ""), True):
                    hooks = world.render(hook["point"])["activeHooks"]
                    assert manifest["id"] in {h["capId"] for h in hooks}, f"{field} at {hook['point']}"

    def test_its_gates_are_loud_when_it_does_not_load(self, tmp_path: Path) -> None:
        world, manifest = self._world(tmp_path), self._manifest()
        broken = {**manifest, "engines": {self.product.name: ">=9999"}}
        world.plant(world.global_folder(manifest["id"]), broken)
        overlay = world.load().overlay
        assert overlay is not None
        silenced = {g.point for g in overlay.blocked_gates if g.cap_id == manifest["id"]}
        assert {g["point"] for g in manifest.get("gates", [])} <= silenced


class ExtensionSuite:
    """Set `extension` to the object, class instance or module that the entry point names."""

    extension: ClassVar[object]

    def _candidates(self) -> list[ReviewCandidate]:
        shapes: list[dict[str, Any]] = [
            {},
            {"license": "MIT", "author": {"name": "A"}},
            {"license": 5, "author": None, "mcpServers": {"s": {"command": "x"}}},
            {"gates": [{"point": "ship:pre", "check": {"query": "q"}, "blocking": True, "onError": "halt"}]},
        ]
        made = []
        for number, (shape, scope) in enumerate(itertools.product(shapes, ("global", "project"))):
            manifest = freeze(sample_manifest(f"sample-{number}", **shape))
            content_hash = "sha512-" + "A" * 86 + "==" if scope == "project" else None
            made.append(
                ReviewCandidate(f"sample-{number}", "1.0.0", scope, f"/x/{number}", manifest, content_hash, None, False)
            )
        return made

    def test_the_host_admits_it(self) -> None:
        admit(self.extension, "suite:extension")

    def test_its_review_answers_with_a_veto_or_nothing_and_the_same_twice(self) -> None:
        review = admit(self.extension, "suite:extension").review
        if review is None:
            return
        context = ReviewContext("1.0.0", "msd", "/somewhere")
        for candidate in self._candidates():
            answers = [review(candidate=candidate, context=context) for _ in range(2)]
            assert all(a is None or type(a) is Veto for a in answers), candidate.id
            assert answers[0] == answers[1]

    def test_its_observer_takes_every_event(self) -> None:
        observe = admit(self.extension, "suite:extension").observe
        if observe is None:
            return
        for kind, fields in EVENT_KINDS.items():
            observe(event=Event(kind, FrozenDict({f: _sample(f) for f in fields}), 0.0))

    def test_it_only_ever_takes_away(self, tmp_path: Path) -> None:
        world = World(tmp_path)
        for id in ("one", "two"):
            world.add_global(id)
        without = world.accepted()
        host = Host(MSD, home=world.home, extensions=[("suite", self.extension)])
        composition = host.compose(world.project)
        overlay = composition.registry.overlay
        assert overlay is not None
        assert set(overlay.accepted) <= without
        assert not composition.advisories


def _sample(field: str) -> Any:
    if field in ("seconds", "kept", "dropped", "accepted", "skipped", "count", "hooks", "warnings", "exit"):
        return 1
    if field in ("fell_back", "run_only"):
        return False
    return ("x",) if field in ("gates", "culprits") else "x"
