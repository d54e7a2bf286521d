"""What a load says that only the doctor can help with, and how much it leaves out (spec 10, Skips)."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.codes import SkipCode
from ..model.cohort import Skip
from ..remedies import is_valid_id
from ..text import joined, shell_word
from .values import ERROR, NOTE, WARNING, Finding, Ground, finding

__all__ = ["check"]

_TOLD_ELSEWHERE = (SkipCode.PENDING, SkipCode.BUNDLE_MISSING)


def check(ground: Ground) -> Iterator[Finding]:
    """One finding for each skip whose remedy is the doctor, one for all that say themselves what to do."""
    overlay = ground.composition.registry.overlay
    skips = () if overlay is None else overlay.warnings
    plain: list[str] = []
    for skip in skips:
        if skip.code in _LOOKED_INTO:
            yield _LOOKED_INTO[skip.code](ground, skip)
        elif skip.code is not SkipCode.DENIED and skip.code not in _TOLD_ELSEWHERE:
            plain.append(skip.id)
    if plain:
        message = f"{len(plain)} skipped, each for a reason of its own: {joined(sorted(plain))}"
        yield finding("skipped", NOTE, "overlays", message, command=ground.run("capability list"))


def _linked(ground: Ground, skip: Skip) -> Finding:
    message = f"{skip.where} is a link, and bundles are never followed through one"
    return finding("bundle-linked", WARNING, skip.where, message, command=f"ls -ld {shell_word(skip.where)}")


def _too_many(ground: Ground, skip: Skip) -> Finding:
    message = f"{skip.where}: {skip.reason}"
    return finding("too-many-candidates", WARNING, skip.where, message, command=f"ls {shell_word(skip.where)}")


def _whole_set(ground: Ground, skip: Skip) -> Finding:
    culprit = next((id for id in skip.culprits if is_valid_id(id)), None)
    command = ground.run(f"capability explain {culprit}" if culprit else "capability list")
    return finding("whole-set", WARNING, "overlays", skip.reason, command=command)


def _internal(ground: Ground, skip: Skip) -> Finding:
    command = ground.run(f"capability explain {skip.id}") if is_valid_id(skip.id) else ground.run("capability list")
    return finding("internal-error", ERROR, f"{skip.scope.label} {skip.id}", skip.reason, command=command)


_LOOKED_INTO = {
    SkipCode.BUNDLE_SYMLINK: _linked,
    SkipCode.TOO_MANY_CANDIDATES: _too_many,
    SkipCode.WHOLE_SET: _whole_set,
    SkipCode.INTERNAL_ERROR: _internal,
}
