"""The policy's rules, its file, and its effect on a composition."""

from __future__ import annotations

from pathlib import Path

import msd_policy
import pytest
from msd_policy import Policy, PolicyError, judge, policy_from, read_policy

from msd_host import ReviewCandidate, Veto, hookimpl
from msd_host.model.frozen import freeze
from msd_host.testing import ExtensionSuite, World, sample_manifest


class TestSuite(ExtensionSuite):
    extension = msd_policy


def candidate(scope: str = "global", source: str | None = None, **fields: object) -> ReviewCandidate:
    manifest = freeze(sample_manifest("acme", **fields))
    return ReviewCandidate("acme", "1.0.0", scope, "/x", manifest, None, source, scope == "global")


@pytest.mark.parametrize(
    ("document", "shape", "words"),
    [
        ({}, {}, None),
        ({"deny-ids": ["acme"]}, {}, "is denied"),
        ({"allow-ids": ["other"]}, {}, "not among the allowed"),
        ({"allow-ids": ["acme"]}, {}, None),
        ({"allow-ids": ["acme"], "deny-ids": ["acme"]}, {}, "is denied"),
        ({"scopes": ["global"]}, {"scope": "project"}, "project scope"),
        ({"allow-sources": ["git+https://ok/"]}, {"source": "git+https://ok/x"}, None),
        ({"allow-sources": ["git+https://ok/"]}, {"source": "git+https://bad/x"}, "source is not allowed"),
        ({"allow-sources": ["git+https://ok/"]}, {}, "source is not allowed"),
        ({"allow-sources": ["git+https://ok/"]}, {"scope": "project", "source": "git+https://ok/x"}, "source"),
        ({"pinned-hashes": {"acme": ["sha512-x"]}}, {}, "pinned"),
        ({"allow-licences": ["MIT"]}, {"license": "MIT"}, None),
        ({"allow-licences": ["MIT"]}, {}, "none given"),
        ({"max-tier": "standard"}, {}, "above standard"),
        ({"deny-surfaces": ["mcp-servers"]}, {"mcpServers": {"s": {"command": "x"}}}, "mcp-servers"),
        ({"deny-surfaces": ["hooks"]}, {"hooks": [{"event": "e", "script": "s.sh"}]}, "hooks"),
        (
            {"deny-surfaces": ["gates-with-commands"]},
            {
                "gates": [
                    {
                        "point": "ship:pre",
                        "check": {"predicate": {"kind": "command-exit-zero", "command": "true"}},
                        "blocking": True,
                        "onError": "halt",
                    }
                ]
            },
            "gates-with-commands",
        ),
    ],
)
def test_rules(document: dict[str, object], shape: dict[str, object], words: str | None) -> None:
    reason = judge(policy_from(document), candidate(**shape))  # type: ignore[arg-type]
    assert (reason is None) if words is None else (reason is not None and words in reason)


@pytest.mark.parametrize(
    "text",
    [
        "allow-idz = []",
        'allow-ids = "acme"',
        "deny-ids = [1]",
        'max-tier = "gold"',
        'scopes = ["moon"]',
        'deny-surfaces = ["x"]',
        "pinned-hashes = []",
        '[pinned-hashes]\nacme = ["md5-x"]',
        "= broken",
        b"\xff".decode("latin-1"),
    ],
)
def test_a_file_that_is_no_policy_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(PolicyError, match=r"policy\.toml"):
        read_policy(path)


def test_a_missing_named_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        read_policy(tmp_path / "gone.toml")


def test_it_changes_a_composition_and_explain_names_it(tmp_path: Path) -> None:
    policy = Policy(deny_ids=frozenset(["acme"]))

    class Stage:
        @hookimpl
        def msd_review(self, candidate: ReviewCandidate) -> Veto | None:
            reason = judge(policy, candidate)
            return None if reason is None else Veto(f"policy: {reason}")

    world = World(tmp_path, extensions=[("msd-policy:policy", Stage())])
    world.add_global("acme")
    world.add_global("leaning", requires=["acme"])
    assert world.codes() == {"acme": "vetoed", "leaning": "requires"}
    verdict = world.host.explain("acme", world.project).to_dict()["found"][0]["verdicts"][-1]
    assert verdict["by"] == "given:msd-policy:policy" and "acme is denied" in verdict["reason"]
