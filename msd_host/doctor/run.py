"""Every check in turn, whatever each of them meets, and the fixes where they were asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from attrs import evolve

from ..model.frozen import FrozenDict
from ..text import clean
from . import bundles, changes, composing, configuration, consent, extensions, homes, installation, ledgers, roots
from .values import WARNING, Diagnosis, Finding, Ground, finding

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["THEMES", "diagnose"]

_ROUNDS = 3  # what one fix lays open, such as a store that can be read again, is for the next

Check = Callable[[Ground], Iterator[Finding]]

THEMES: FrozenDict[str, Check] = FrozenDict(
    {
        "home and stores": homes.check,
        "roots": roots.check,
        "changes": changes.check,
        "ledgers": ledgers.check,
        "bundles": bundles.check,
        "consent": consent.check,
        "configuration": configuration.check,
        "composition": composing.check,
        "extensions": extensions.check,
        "installation": installation.check,
    }
)


def diagnose(
    host: Host, cwd: str | os.PathLike[str] | None = None, *, fix: bool = False, plugins_off: bool = False
) -> Diagnosis:
    """Look at everything; with *fix* put right what can be, then look again. Total: a check that fails is a finding."""
    seen = _look(host, cwd, plugins_off)
    tried: dict[str, Finding] = {}
    for _ in range(_ROUNDS if fix else 0):
        fresh = {f.id: _mended(f) for f in seen.findings if f.mend is not None and f.id not in tried}
        if not fresh:
            break
        tried.update(fresh)
        seen = _look(host, cwd, plugins_off)
    left = {f.id for f in seen.findings}
    fixed = [evolve(f, fixed=True) for id, f in tried.items() if id not in left]
    return Diagnosis.of([*fixed, *(tried.get(f.id, f) for f in seen.findings)], seen.themes)


def _look(host: Host, cwd: str | os.PathLike[str] | None, plugins_off: bool) -> Diagnosis:
    ground = Ground(host, cwd, plugins_off=plugins_off)
    return Diagnosis.of([f for theme, check in THEMES.items() for f in _checked(theme, check, ground)], tuple(THEMES))


def _checked(theme: str, check: Check, ground: Ground) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(check(ground))  # what it had found before it failed stays
    except Exception as error:
        message = f"looking at {theme} came to no end: {type(error).__name__}: {clean(error, 200)}"
        command = f"{ground.product.name.upper().replace('-', '_')}_DEBUG=1 {ground.run('capability list')}"
        found.append(finding("check-failed", WARNING, theme, message, command=command))
    return found


def _mended(one: Finding) -> Finding:
    """Carry the fix out; a failure is told in the message, and the next look says what is left."""
    assert one.mend is not None
    try:
        one.mend()
    except Exception as error:
        return evolve(one, message=clean(f"{one.message}; it could not be mended: {error}", 800))
    return one
