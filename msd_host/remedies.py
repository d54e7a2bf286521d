"""The command that resolves a skip when pasted, and those that tell more (spec 10, Skips)."""

from __future__ import annotations

from .model.codes import SkipCode
from .model.scope import Scope
from .text import shell_word

__all__ = ["is_valid_id", "remedy_for"]

_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_ID_CHARS = _LOWER | frozenset("0123456789-")

_ASK = frozenset([SkipCode.UNCONSENTED, SkipCode.CONSENT_CHANGED, SkipCode.CONSENT_UNVERIFIABLE])
_CHECK_FIRST = frozenset(
    [
        SkipCode.MANIFEST_MISSING,
        SkipCode.MANIFEST_UNREADABLE,
        SkipCode.MANIFEST_INVALID,
        SkipCode.FRAGMENT_INVALID,
        SkipCode.CONTRACT,
        SkipCode.CONFINEMENT,
        SkipCode.REQUIRES,
        SkipCode.CONSUMES,
        SkipCode.CYCLE,
        SkipCode.TIER,
        SkipCode.RUNTIME_COMPAT,
    ]
)
_HOST_TROUBLE = frozenset(
    [SkipCode.BUNDLE_SYMLINK, SkipCode.TOO_MANY_CANDIDATES, SkipCode.INTERNAL_ERROR, SkipCode.WHOLE_SET]
)
_EXTENSIONS = frozenset([SkipCode.VETOED, SkipCode.STAGE_ERROR, SkipCode.PLUGINS_REQUIRED])


def is_valid_id(id: str) -> bool:
    """Whether *id* fits the id grammar, so that it may stand in a command (spec 10, Manifest)."""
    return 0 < len(id) <= 64 and id[0] in _LOWER and _ID_CHARS.issuperset(id)


def remedy_for(
    command: str, code: SkipCode, id: str, scope: Scope, where: str, culprits: tuple[str, ...] = ()
) -> tuple[str | None, tuple[str, ...]]:
    """(the resolving command or None, commands that tell more) for one skip."""
    if code is SkipCode.PENDING:
        return f"{command} doctor --fix", ()
    if code in _HOST_TROUBLE:
        return f"{command} doctor", ()
    if code in _EXTENSIONS:
        return f"{command} plugins check", ()
    if id == "*":
        return f"{command} doctor", ()
    if not is_valid_id(id):
        return None, ()
    if code in _ASK:
        return f"{command} capability trust show {id}", ()
    flag = " --scope project" if scope is Scope.PROJECT else ""
    if code is SkipCode.DENIED:
        return f"{command} capability trust grant {id}{'' if flag else ' --scope global'}", ()
    remove = f"{command} capability remove {id}{flag}"
    if code in _CHECK_FIRST:
        return remove, (f"{command} capability check {shell_word(where)}",)
    if code in (SkipCode.ENGINES_UNSATISFIED, SkipCode.ENGINES_INVALID):
        return remove, (f"{command} capability update {id}{flag}",)
    others = tuple(f"{command} capability explain {other}" for other in culprits if is_valid_id(other))
    return remove, others
