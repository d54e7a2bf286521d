"""What a run owes beyond its answer: silenced skips on stderr, and exit 8 where a control is required (spec 10, 60)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..activation.config import read_layer, user_config_path
from ..errors import DamagedState
from ..extending.controls import UNREADABLE
from ..model.cohort import Skip
from ..model.frozen import EMPTY
from ..text import clean
from .session import Session

__all__ = ["finish", "skips_of", "tell_skips"]

REQUIRED_KEY = ("capabilities", "required")


def skips_of(session: Session) -> tuple[Skip, ...]:
    """Every skip of this run's composition."""
    overlay = session.composition.registry.overlay
    return () if overlay is None else overlay.warnings


def tell_skips(session: Session) -> None:
    """One line per skip on stderr, but for those the user has said no to or switched off."""
    activation = session.host.activation(session.composition)
    for skip in skips_of(session):
        if not skip.muted and activation.capability(skip.id).surfaced:
            fix = f" -- {skip.remedy}" if skip.remedy else ""
            session.out.talk(
                f"{session.product.command}: {skip.id} ({skip.scope.label}) skipped: {skip.reason} [{skip.code}]{fix}"
            )


def required(session: Session) -> tuple[str, ...]:
    """Ids that the user's own configuration says must be there; never a repository's (spec 10).

    Raises `DamagedState` where that cannot be told: a control must not vanish with a typing error.
    """
    path = user_config_path(session.product, session.composition.roots)
    if path is None:
        return ()
    layer = read_layer(session.host.files, "user", path, session.product.limits)
    section: Any = layer.values.get(REQUIRED_KEY[0], EMPTY)
    ids = section.get(REQUIRED_KEY[1], ()) if isinstance(section, Mapping) else None
    problem = layer.problem
    if problem is None and not (isinstance(ids, tuple) and all(isinstance(id, str) for id in ids)):
        problem = f"{'.'.join(REQUIRED_KEY)} is not a list of ids"
    if problem is not None:
        raise DamagedState(f"what is required here cannot be told: {clean(path, 400)}: {clean(problem)}")
    return tuple(ids or ())


def _absent(session: Session) -> list[str]:
    """What is required and not there: extensions that do not work, ids that no capability has."""
    extensions = session.composition.extensions
    missing = () if extensions is None else extensions.missing
    ids = required(session)
    if UNREADABLE in missing:
        raise DamagedState("what is required here cannot be told: plugins.required in the user's configuration")
    registry = session.composition.registry
    return [
        *(f"an extension that works: {clean(name, 80)}" for name in missing),
        *(f"in the registry: {clean(id, 80)}" for id in ids if id not in registry.capabilities),
    ]


def finish(session: Session, code: int = 0) -> int:
    """*code*, or 8 when something required is not there, or anything is skipped under --strict; 7 when nobody can tell."""
    for advisory in session.composition.advisories:
        session.out.warn(f"{session.product.command}: warning: {advisory}")
    if code != 0:
        return code
    try:
        absent = _absent(session)
    except DamagedState as error:
        session.out.warn(f"{session.product.command}: {error.message}")
        return error.exit_code
    for what in absent:
        session.out.warn(f"{session.product.command}: required, and not {what}")
    skipped = [s for s in skips_of(session) if s.id != "*"] if session.options.strict else []
    if skipped:
        session.out.warn(
            f"{session.product.command}: --strict: {len(skipped)} skipped: {', '.join(s.id for s in skipped[:5])}"
        )
    return 8 if absent or (session.options.strict and skips_of(session)) else 0
