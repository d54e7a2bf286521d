"""Importing what was found and may run: each on its own, against a deadline, all or nothing (spec 50)."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import frozen

from ..errors import ExtensionRefused
from ..text import clean
from .admission import Admitted, admit
from .controls import Controls
from .discovery import Found
from .values import told
from .workers import Late, Worker

__all__ = ["State", "load_found", "missing_of"]

IMPORT_SECONDS = 10.0


@frozen(eq=False)
class State:
    """What became of one found extension: `loaded`, `off` or `failed`, with the reason."""

    found: Found
    state: str
    reason: str = ""
    admitted: Admitted | None = None


def load_found(found: Iterable[Found], controls: Controls) -> list[State]:
    """Import every allowed extension; what fails is one state with its cause, and never stops another."""
    return [
        _load(one) if controls.allows(one.names) else State(one, "off", controls.why_off(one.names)) for one in found
    ]


def _load(found: Found) -> State:
    worker = Worker(f"import of {found.name}")
    try:
        outcome = worker.call(_import, found, seconds=IMPORT_SECONDS)
    except Late:
        return State(found, "failed", f"its import took longer than {IMPORT_SECONDS:g} s")
    if outcome.error is not None:
        return State(found, "failed", f"its import failed: {told(outcome.error)}")
    try:
        return State(found, "loaded", admitted=admit(outcome.value, found.name))
    except ExtensionRefused as refusal:
        return State(found, "failed", clean(refusal.message))
    except Exception as error:
        return State(found, "failed", f"it cannot be looked at: {told(error)}")


def _import(found: Found) -> object:
    from importlib_metadata import EntryPoint  # one behaviour on every Python; dear, so only with an extension to load

    return EntryPoint(name=found.entry, value=found.target, group="").load()


def missing_of(required: Iterable[str], states: Iterable[State]) -> tuple[str, ...]:
    """Those of *required* that no loaded extension answers to."""
    there = {n.casefold() for s in states if s.state == "loaded" for n in s.found.names}
    return tuple(name for name in required if name.casefold() not in there)
