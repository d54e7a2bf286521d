"""The closed list of reasons for which an overlay is skipped (spec 10, Skips). Match on these, never on prose."""

from __future__ import annotations

from enum import Enum

__all__ = ["SkipCode"]


class SkipCode(str, Enum):
    """Why a candidate is not part of the registry. The value is the stable text used in JSON."""

    MANIFEST_MISSING = "manifest-missing"
    MANIFEST_UNREADABLE = "manifest-unreadable"
    MANIFEST_INVALID = "manifest-invalid"
    BUNDLE_MISSING = "bundle-missing"
    INVALID_ID = "invalid-id"
    ID_MISMATCH = "id-mismatch"
    RESERVED_ID = "reserved-id"
    ID_COLLISION = "id-collision"
    SKILL_COLLISION = "skill-collision"
    AGENT_COLLISION = "agent-collision"
    CONFIG_COLLISION = "config-collision"
    FAMILY_COLLISION = "family-collision"
    REVIEWER_COLLISION = "reviewer-collision"
    PRODUCES_COLLISION = "produces-collision"
    ENGINES_UNSATISFIED = "engines-unsatisfied"
    ENGINES_INVALID = "engines-invalid"
    PENDING = "pending"
    UNCONSENTED = "unconsented"
    CONSENT_CHANGED = "consent-changed"
    CONSENT_UNVERIFIABLE = "consent-unverifiable"
    DENIED = "denied"
    FRAGMENT_INVALID = "fragment-invalid"
    CONTRACT = "contract"
    CONFINEMENT = "confinement"
    REQUIRES = "requires"
    CONSUMES = "consumes"
    CYCLE = "cycle"
    TIER = "tier"
    RUNTIME_COMPAT = "runtime-compat"
    VETOED = "vetoed"
    STAGE_ERROR = "stage-error"
    PLUGINS_REQUIRED = "plugins-required"
    BUNDLE_SYMLINK = "bundle-symlink"
    TOO_MANY_CANDIDATES = "too-many-candidates"
    INTERNAL_ERROR = "internal-error"
    WHOLE_SET = "whole-set"

    def __str__(self) -> str:
        return self.value


#: A project overlay nobody has said yes to. Such a one is known only by id, scope, folder and gate points.
CONSENT_CODES = frozenset(
    [SkipCode.UNCONSENTED, SkipCode.CONSENT_CHANGED, SkipCode.CONSENT_UNVERIFIABLE, SkipCode.DENIED]
)

#: A claim that somebody else owns.
COLLISION_CODES = frozenset(code for code in SkipCode if code.value.endswith("-collision"))
