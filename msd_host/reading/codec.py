"""The one decoder of manifests: bytes to a `Capability`, or to every fault they have (spec 10, Reading).

Load, check, install and trust all come through here. What it decides is the shape of a single document;
what depends on the loop's contract, the host's version or other capabilities is judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..limits import Limits
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.fault import Diagnostic, Fault
from ..model.frozen import FrozenDict
from ..remedies import is_valid_id
from ..text import clean, quoted
from .jsontext import JsonFault, decode
from .schema import Finding, Grammar

if TYPE_CHECKING:
    from .schema_hooks import Shapes

__all__ = ["Codec", "Decoded", "Grammar", "salvage_points"]

MOST_FAULTS = 100  # of one document; nobody reads more


@frozen
class Decoded:
    """`capability` is there when nothing is wrong; `raw` whenever the text was JSON."""

    capability: Capability | None
    faults: tuple[Fault, ...]
    diagnostics: tuple[Diagnostic, ...]
    raw: object | None


#: Made beforehand: where stack or memory is short, nothing can be made.
_TOO_MUCH = Decoded(None, (Fault(SkipCode.MANIFEST_INVALID, "it is more than this process can look at"),), (), None)


class Codec:
    """Decodes manifests for one grammar. May be shared between threads."""

    def __init__(self, grammar: Grammar, limits: Limits) -> None:
        self.grammar = grammar
        self.limits = limits
        self._shapes: Shapes | None = None

    def decode(self, data: bytes, folder_id: str | None) -> Decoded:
        """*data* as a manifest of the bundle folder *folder_id* (None: not in a folder yet).

        Never raises, whatever the bytes are. Unknown fields are accepted and noted (spec 10, Reading).
        """
        try:
            return self._judged(decode(data, self.limits), data, folder_id)
        except JsonFault as fault:
            return Decoded(None, tuple(_text_faults(fault)), (), None)
        except (RecursionError, MemoryError):
            return _TOO_MUCH

    def _judged(self, raw: object, data: bytes, folder_id: str | None) -> Decoded:
        role = raw.get("role") if type(raw) is FrozenDict else None
        if self._shapes is None:
            from .schema_hooks import Shapes  # cattrs: paid for by the first manifest that is decoded

            self._shapes = Shapes(self.grammar)
        found, extras = self._shapes.judge(raw, _shape_of(role))
        if found or type(raw) is not FrozenDict or _is_elsewhere(raw, folder_id):
            faults = _located(_coded(raw, found, folder_id), data)
            return Decoded(None, faults, _notes(raw, folder_id, extras), raw)
        if role == "runtime":
            from .schema_runtime import unknown_converters

            extras = [*extras, *unknown_converters(raw)]
        return Decoded(Capability(raw), (), _notes(raw, folder_id, extras) if extras else (), raw)


def _is_elsewhere(raw: FrozenDict[str, Any], folder_id: str | None) -> bool:
    return folder_id is not None and raw["id"] != folder_id


def _shape_of(role: object) -> type:
    """The class of a role's manifests. Each role's module is imported when it first comes along."""
    if role == "feature":
        from .schema_feature import Feature

        return Feature
    if role == "runtime":
        from .schema_runtime import Runtime

        return Runtime
    if role == "reviewer":
        from .schema_reviewer import Reviewer

        return Reviewer
    from .schema_envelope import Envelope

    return Envelope


def _text_faults(error: JsonFault) -> Iterator[Fault]:
    for fault in error.faults:
        yield Fault(
            SkipCode.MANIFEST_INVALID,
            clean(fault.message),
            fault.path,
            fault.line,
            fault.column,
            FrozenDict({"json": True}),
        )


def _coded(raw: object, found: list[Finding], folder_id: str | None) -> Iterator[tuple[SkipCode, Finding]]:
    """*found* with the code of each; before them an id that is well-formed and not the folder's."""
    from .schema_words import is_reserved

    id = raw.get("id") if type(raw) is FrozenDict else None
    of_id = [finding for finding in found if finding.path == ("id",)]
    if type(id) is str and not of_id and folder_id is not None and id != folder_id:
        message = f"its id is {quoted(id)}, and its folder is {quoted(folder_id)}"
        yield SkipCode.ID_MISMATCH, Finding(("id",), message)
    for finding in found:
        reserved = finding in of_id and type(id) is str and is_valid_id(id) and is_reserved(id)
        yield SkipCode.RESERVED_ID if reserved else SkipCode.MANIFEST_INVALID, finding


def _located(coded: Iterable[tuple[SkipCode, Finding]], data: bytes) -> tuple[Fault, ...]:
    from .positions import locate, shown

    kept = list(coded)[:MOST_FAULTS]
    places = locate(data.decode("utf-8").removeprefix("\ufeff"), [found.path for _, found in kept])
    return tuple(
        Fault(code, clean(found.message), shown(found.path), *places.get(found.path, (None, None)))
        for code, found in kept
    )


def _notes(raw: object, folder_id: str | None, extras: list[Finding]) -> tuple[Diagnostic, ...]:
    """What is worth saying. Where the role is not known, neither is what its manifests may have."""
    if not extras or type(raw) is not FrozenDict or raw.get("role") not in ("feature", "runtime", "reviewer"):
        return ()
    from .positions import shown

    id = raw.get("id")
    name = id if type(id) is str and is_valid_id(id) else folder_id or ""
    kept = extras[:MOST_FAULTS]
    return tuple(Diagnostic(name, extra.code, clean(extra.message), shown(extra.path)) for extra in kept)


def salvage_points(raw: object, points: Iterable[str]) -> tuple[str, ...]:
    """The known *points* at which *raw* declares gates, in the order of *points*. Total over JSON values."""
    gates = raw.get("gates") if isinstance(raw, dict) else None
    if not isinstance(gates, (tuple, list)):
        return ()
    named = [gate.get("point") for gate in gates if isinstance(gate, dict)]
    declared = {point for point in named if isinstance(point, str)}
    return tuple(dict.fromkeys(point for point in points if point in declared))
