"""An MSD stage: overlays that the organisation's policy does not want are vetoed.

The policy is read once, when the host loads this package, from `MSD_POLICY_FILE` or `/etc/msd/policy.toml`. No
file means no policy. A file that cannot be used makes the import fail, which a host with
`plugins.required = ["msd-policy"]` answers by accepting no overlay at all.
"""

from __future__ import annotations

import os
from pathlib import Path

from msd_host import ReviewCandidate, Veto, hookimpl

from .rules import Policy, PolicyError, judge, policy_from

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

__all__ = ["Policy", "PolicyError", "judge", "msd_review", "policy_from", "read_policy"]

DEFAULT_FILE = "/etc/msd/policy.toml"


def read_policy(path: Path) -> Policy:
    """The policy in *path*. Raises `PolicyError`, naming the file, for anything that is not one."""
    try:
        return policy_from(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, PolicyError) as error:
        raise PolicyError(f"{path}: {error}") from None


def _configured() -> Policy:
    named = os.environ.get("MSD_POLICY_FILE")
    if named:
        return read_policy(Path(named))
    path = Path(DEFAULT_FILE)
    return read_policy(path) if path.exists() else Policy()


_POLICY = _configured()


@hookimpl
def msd_review(candidate: ReviewCandidate) -> Veto | None:
    """Veto what the policy does not want; the hot path looks at values only."""
    reason = judge(_POLICY, candidate)
    return None if reason is None else Veto(reason)
