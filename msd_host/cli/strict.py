"""What a run owes beyond its answer: silenced skips on stderr, and exit 8 where a control is required (spec 10, 60)."""

from __future__ import annotations

from typing import Any

from ..activation.config import read_layer, user_config_path
from ..model.cohort import Skip
from .session import Session

__all__ = ["finish", "skips_of", "tell_skips"]

REQUIRED_KEY = ("capabilities", "required")


def skips_of(session: Session) -> tuple[Skip, ...]:
    """Every skip of this run's composition."""
    overlay = session.composition.registry.overlay
    return () if overlay is None else overlay.warnings


def tell_skips(session: Session) -> None:
    """One line per skip on stderr."""
    for skip in skips_of(session):
        if not skip.muted:
            fix = f" -- {skip.remedy}" if skip.remedy else ""
            session.out.talk(
                f"{session.product.command}: {skip.id} ({skip.scope.label}) skipped: {skip.reason} [{skip.code}]{fix}"
            )


def required(session: Session) -> tuple[str, ...]:
    """Ids that the user's own configuration says must be there; never a repository's (spec 10)."""
    path = user_config_path(session.product, session.composition.roots)
    at: Any = read_layer(session.host.files, "user", path, session.product.limits).values if path else {}
    for name in REQUIRED_KEY:
        at = at.get(name, {}) if isinstance(at, dict) else {}
    return tuple(id for id in at if isinstance(id, str)) if isinstance(at, tuple) else ()


def finish(session: Session, code: int = 0) -> int:
    """*code*, or 8 when something required is not there, or anything is skipped under --strict."""
    for advisory in session.composition.advisories:
        session.out.warn(f"{session.product.command}: warning: {advisory}")
    if code != 0:
        return code
    registry = session.composition.registry
    absent = [id for id in required(session) if id not in registry.capabilities]
    for id in absent:
        session.out.warn(f"{session.product.command}: required, and not in the registry: {id}")
    skipped = [s for s in skips_of(session) if s.id != "*"] if session.options.strict else []
    if skipped:
        session.out.warn(
            f"{session.product.command}: --strict: {len(skipped)} skipped: {', '.join(s.id for s in skipped[:5])}"
        )
    return 8 if absent or (session.options.strict and skips_of(session)) else 0
