"""The policy as a value, and the pure judgement of one candidate by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from msd_host import ReviewCandidate

__all__ = ["Policy", "PolicyError", "judge", "policy_from"]

TIERS = ("core", "standard", "full")
SURFACES = ("hooks", "commands", "mcp-servers", "gates-with-commands", "reviewers")
SCOPES = ("global", "project")


class PolicyError(ValueError):
    """The file is not a policy; the text says where and why."""


def _names(**kwargs: Any) -> Any:
    return field(default=frozenset(), **kwargs)


@frozen
class Policy:
    """`None` means that nothing is said about it. Allow lists are exhaustive; denials win over them."""

    allow_ids: frozenset[str] | None = None
    deny_ids: frozenset[str] = _names()
    allow_sources: tuple[str, ...] | None = None
    pinned_hashes: Mapping[str, frozenset[str]] = field(factory=dict)
    deny_surfaces: frozenset[str] = _names()
    allow_licences: frozenset[str] | None = None
    max_tier: str | None = None
    scopes: frozenset[str] = frozenset(SCOPES)


_KEYS = {
    "allow-ids",
    "deny-ids",
    "allow-sources",
    "pinned-hashes",
    "deny-surfaces",
    "allow-licences",
    "max-tier",
    "scopes",
}


def policy_from(document: Mapping[str, Any]) -> Policy:
    """The policy in a TOML *document*. Raises `PolicyError`: a policy that is half read is no policy."""
    unknown = sorted(set(document) - _KEYS)
    if unknown:
        raise PolicyError(f"unknown key {unknown[0]!r}; there are {', '.join(sorted(_KEYS))}")
    pins = document.get("pinned-hashes", {})
    if not isinstance(pins, dict):
        raise PolicyError("pinned-hashes is not a table of id to list of hashes")
    tier = document.get("max-tier")
    if tier is not None and tier not in TIERS:
        raise PolicyError(f"max-tier is one of {', '.join(TIERS)}")
    return Policy(
        allow_ids=_listed(document, "allow-ids"),
        deny_ids=_listed(document, "deny-ids") or frozenset(),
        allow_sources=tuple(sorted(sources)) if (sources := _listed(document, "allow-sources")) is not None else None,
        pinned_hashes={id: _hashes(id, hashes) for id, hashes in pins.items()},
        deny_surfaces=_listed(document, "deny-surfaces", SURFACES) or frozenset(),
        allow_licences=_listed(document, "allow-licences"),
        max_tier=tier,
        scopes=_listed(document, "scopes", SCOPES) if "scopes" in document else frozenset(SCOPES),
    )


def _listed(document: Mapping[str, Any], key: str, known: tuple[str, ...] = ()) -> frozenset[str] | None:
    value = document.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise PolicyError(f"{key} is not a list of strings")
    wrong = sorted(set(value) - set(known)) if known else []
    if wrong:
        raise PolicyError(f"{key} has {wrong[0]!r}; there are {', '.join(known)}")
    return frozenset(value)


def _hashes(id: str, value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(v, str) and v.startswith("sha512-") for v in value):
        raise PolicyError(f"pinned-hashes.{id} is not a list of sha512-… texts")
    return frozenset(value)


def judge(policy: Policy, candidate: ReviewCandidate) -> str | None:
    """Why *policy* does not want *candidate*, all reasons in one text; None when it has nothing against it."""
    reasons = list(_reasons(policy, candidate))
    return "; ".join(reasons) if reasons else None


def _reasons(policy: Policy, candidate: ReviewCandidate) -> Iterator[str]:
    manifest = candidate.manifest
    if candidate.id in policy.deny_ids:
        yield f"{candidate.id} is denied"
    if policy.allow_ids is not None and candidate.id not in policy.allow_ids:
        yield f"{candidate.id} is not among the allowed capabilities"
    if candidate.scope not in policy.scopes:
        yield f"overlays in {candidate.scope} scope are not allowed"
    if policy.allow_sources is not None and not _from_allowed(policy.allow_sources, candidate):
        yield f"its source is not allowed ({candidate.source or 'unknown'})"
    pins = policy.pinned_hashes.get(candidate.id)
    if pins is not None and candidate.content_hash not in pins:
        yield "its content is not one of the pinned versions"
    if policy.allow_licences is not None and manifest.get("license") not in policy.allow_licences:
        yield f"its licence is not allowed ({manifest.get('license') or 'none given'})"
    if policy.max_tier is not None and TIERS.index(manifest["tier"]) > TIERS.index(policy.max_tier):
        yield f"its tier {manifest['tier']} is above {policy.max_tier}"
    for surface in sorted(policy.deny_surfaces & set(_surfaces(manifest))):
        yield f"it declares {surface}, which are not allowed"


def _from_allowed(allowed: tuple[str, ...], candidate: ReviewCandidate) -> bool:
    """In project scope the ledger is the repository's own word, so it vouches for nothing."""
    source = candidate.source
    return source is not None and candidate.source_trusted and any(source.startswith(a) for a in allowed)


def _surfaces(manifest: Mapping[str, Any]) -> Iterator[str]:
    if manifest.get("hooks"):
        yield "hooks"
    if manifest.get("commands"):
        yield "commands"
    if manifest.get("mcpServers"):
        yield "mcp-servers"
    if manifest.get("reviewer") is not None:
        yield "reviewers"
    kinds = [g["check"].get("predicate", {}).get("kind") for g in manifest.get("gates", ())]
    if "command-exit-zero" in kinds:
        yield "gates-with-commands"
