"""Installed extensions of the host: broken, slow, demanded and absent, out of the host's sight (spec 50)."""

from __future__ import annotations

from collections.abc import Iterator

from ..extending.desk import Checked, PluginDesk
from ..text import quoted, shell_word
from .values import NOTE, WARNING, Finding, Ground, finding

__all__ = ["check"]

SLOW_SECONDS = 0.5  # every run of the command line pays for it


def check(ground: Ground) -> Iterator[Finding]:
    """Every extension that is on is imported in a process of its own, never in this one."""
    desk = PluginDesk(ground.host, ground.cwd, off=ground.plugins_off)
    rows, warnings = desk.list()
    for warning in warnings:
        yield finding("extension-warning", WARNING, warning, warning, command=ground.run("plugins list"))
    for row in rows:
        if row.state == "missed":
            message = f"the extension {quoted(row.name)} is installed, and the host cannot load it: {row.reason}"
            yield finding("extension-missed", WARNING, row.name, message, command=ground.run("plugins list"))
    for row in rows if not ground.plugins_off else ():
        if row.state == "on":
            for one in desk.check(row.name):
                yield from _judged(ground, one)


def _judged(ground: Ground, one: Checked) -> Iterator[Finding]:
    disable = ground.run("plugins disable", shell_word(one.name))
    if not one.ok:
        message = f"the extension {quoted(one.name)} does not work: {one.reason}"
        yield finding("extension-broken", WARNING, one.name, message, command=disable)
    elif one.seconds > SLOW_SECONDS:
        message = f"importing the extension {quoted(one.name)} takes {one.seconds:.1f} s of every run"
        yield finding("extension-slow", NOTE, one.name, message, command=disable)
