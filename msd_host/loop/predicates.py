"""What the host can check by itself: one evaluator for each kind of gate predicate (reference, section 1.4).

A check says yes or no; a file that is missing, damaged or out of reach is a no. What cannot be checked at all (an
unknown kind, a malformed payload, a shell that does not start) raises `Unanswerable`: the gate's `onError` decides.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from attrs import frozen

from ..model.frozen import FrozenDict
from ..reading.files import ReadFault, fault_of
from ..text import clean, joined, quoted
from .frontmatter import NoScalar, is_equal, scalar_at
from .ground import Ground, artifacts
from .shell import run_command

__all__ = ["EVALUATORS", "Evaluator", "Unanswerable", "Verdict", "evaluate"]

_COMMAND_CHARS = 4096
_SECONDS = 30.0
_MOST_SECONDS = 600.0  # a gate that needs more belongs into a build, not between two steps of a loop
_NAME_CHARS = 255

Json = Mapping[str, Any]


class Unanswerable(Exception):
    """Why a check could not be made."""


@frozen
class Verdict:
    """The answer of one check, and what to say about it."""

    passed: bool
    message: str


Evaluator = Callable[[Json, Ground], Verdict]


def evaluate(predicate: Json, evaluators: Mapping[str, Evaluator], ground: Ground) -> Verdict:
    """Check *predicate* by the evaluator of its kind. Raises `Unanswerable`."""
    kind = predicate["kind"]
    evaluator = evaluators.get(kind)
    if evaluator is None:
        raise Unanswerable(f"there is no evaluator for the predicate kind {quoted(kind)}")
    return evaluator(predicate, ground)


def _command_exit_zero(predicate: Json, ground: Ground) -> Verdict:
    command = _text(predicate, "command", _COMMAND_CHARS)
    seconds = _seconds(predicate.get("timeout", _SECONDS))
    phase = ground.phase.environment()
    try:
        ran = run_command(command, ground.folder, {**os.environ, **phase}, seconds, tuple(phase.values()))
    except (OSError, ValueError) as error:
        raise Unanswerable(f"the command could not be run ({type(error).__name__}: {clean(error)})") from None
    told = f": {ran.output}" if ran.output else ""
    if ran.status is None:
        return Verdict(False, f"the command did not end within {seconds:g} s and was killed{told}")
    if ran.status < 0:
        return Verdict(False, f"the command was ended by {_signal_name(-ran.status)}{told}")
    return Verdict(ran.status == 0, f"exit {ran.status}{told}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _text(predicate: Json, name: str, most: int) -> str:
    value = predicate.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Unanswerable(f"its {name} is not text")
    if len(value) > most:
        raise Unanswerable(f"its {name} has {len(value)} characters; the limit is {most}")
    return value


def _seconds(value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or value <= 0:
        raise Unanswerable("its timeout is not a positive number of seconds")
    return float(min(value, _MOST_SECONDS))


def _artifact_frontmatter_equals(predicate: Json, ground: Ground) -> Verdict:
    """Every file found must say so: one that does is no excuse for one that does not."""
    suffix, field = _text(predicate, "artifact", _NAME_CHARS), _text(predicate, "field", _NAME_CHARS)
    if not {"/", "\\", "\0"}.isdisjoint(suffix):
        raise Unanswerable("its artifact is not the end of a file name")
    wanted = predicate.get("equals", ...)
    if wanted is not None and not isinstance(wanted, (str, int, float)):
        raise Unanswerable("its equals is missing or is not a plain value")
    try:
        return _compared(ground, suffix, field, wanted)
    except ReadFault as fault:
        return Verdict(False, fault.message)
    except OSError as error:
        return Verdict(False, fault_of(error, "a folder of the project").message)


def _compared(ground: Ground, suffix: str, field: str, wanted: Any) -> Verdict:
    names: list[str] = []
    for name, content in artifacts(ground, suffix):
        if isinstance(content, ReadFault):
            raise content
        problem = _difference(content, field, wanted)
        if problem is not None:
            return Verdict(False, f"{name} {problem}")
        names.append(name)
    if not names:
        return Verdict(False, f"there is no file that ends in {quoted(suffix)} {_where(ground)}")
    return Verdict(True, f"{quoted(field)} is {quoted(wanted)} in {joined(names)}")


def _where(ground: Ground) -> str:
    folder = ground.phase.folder
    return f"in {clean(folder)}" if folder is not None else f"in the project or a folder of {ground.phases}"


def _difference(content: bytes, field: str, wanted: Any) -> str | None:
    try:
        scalar = scalar_at(content, field)
    except NoScalar as why:
        return str(why)
    if is_equal(scalar, wanted):
        return None
    return f"says {quoted(field)} is {quoted(scalar.text)}, not {quoted(wanted)}"


#: The one vocabulary: `Product.gate_kinds` names what is here, and what composition notes goes by the same names.
EVALUATORS: FrozenDict[str, Evaluator] = FrozenDict(
    {
        "command-exit-zero": _command_exit_zero,
        "artifact-frontmatter-equals": _artifact_frontmatter_equals,
    }
)
