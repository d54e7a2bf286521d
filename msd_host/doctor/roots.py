"""Where overlays may lie, how the places relate, and what that does to scope and consent (spec 10, Roots)."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.scope import Scope
from ..text import shell_word
from .values import NOTE, WARNING, Finding, Ground, finding

__all__ = ["check"]


def check(ground: Ground) -> Iterator[Finding]:
    """Escalation, a store that is not used, links, and roots that cannot be listed."""
    roots = ground.roots
    if roots.served is not None and roots.global_scope is Scope.PROJECT:
        message = f"overlays of the home count as project overlays and need consent: {roots.global_why}"
        yield finding("home-escalated", NOTE, roots.home_path, message, command=ground.run("capability trust status"))
    if roots.store_refusal is not None:
        message = f"no agreement is read or kept here, only --trust counts: {roots.store_refusal}"
        yield finding("store-refused", WARNING, ground.own, message, command=_elsewhere(ground))
    for note in roots.notes:
        yield finding("root-linked", NOTE, roots.served_path or "", note, command=ground.run("capability list"))
    for root in (roots.global_root, roots.project_root):
        if root is not None and root.state == "unknown":
            message = f"{root.given} cannot be looked into ({root.why}); its overlays are out of reach"
            yield finding("root-unreadable", WARNING, root.given, message, command=f"ls -ld {shell_word(root.given)}")


def _elsewhere(ground: Ground) -> str:
    """The same look with the user's usual home where another one was named; else what counts here at all."""
    named = ground.host.env.get(ground.product.home_variable)
    if named:
        return f"env -u {ground.product.home_variable} {ground.product.command} doctor"
    return ground.run("capability trust status")
