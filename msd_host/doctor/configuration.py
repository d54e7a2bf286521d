"""Configuration that cannot be read, and what the user demands that is not there (spec 10, 40)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..activation.config import USER
from ..text import clean
from .values import ERROR, WARNING, Finding, Ground, finding

__all__ = ["check"]


def check(ground: Ground) -> Iterator[Finding]:
    """Each layer's file, problems that no single file is to blame for, and values that do not fit their keys."""
    told = set()
    for layer in ground.config.layers:
        if layer.problem is None:
            continue
        told.add(layer.path)
        severity = ERROR if layer.name == USER else WARNING
        fault = layer.problem.removeprefix(f"{os.path.basename(layer.path)} ")
        message = f"the {layer.name}'s configuration {layer.path} {fault}; nothing in it counts"
        yield finding("config-damaged", severity, layer.path, message, command=ground.edit(layer.path))
    for problem in ground.host.activation(ground.composition).survey():
        if not any(path and clean(path) in problem for path in told):
            yield finding("config-problem", WARNING, problem, problem, command=ground.run("settings list"))
