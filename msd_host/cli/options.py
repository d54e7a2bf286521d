"""Global options, wherever on the line they stand, taken out before a verb sees its own words (spec 60)."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import UsageError
from .words import OPTIONS

__all__ = ["SHORT", "Options", "split"]

SHORT = {"-C": "--cwd", "-q": "--quiet", "-v": "--verbose"}


class Options(NamedTuple):
    """The global options of one run. `trust` holds `ID@sha512-…` words."""

    home: str | None = None
    cwd: str | None = None
    json: bool = False
    no_plugins: bool = False
    strict: bool = False
    trust: tuple[str, ...] = ()
    no_color: bool = False
    quiet: bool = False
    verbose: bool = False
    debug: bool = False


def split(words: list[str]) -> tuple[Options, list[str]]:
    """(the global options, every other word in order). Words after `--` are left alone."""
    values: dict[str, str | bool | list[str]] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest += [word, *queue]
            break
        name, equals, attached = word.partition("=")
        name = SHORT.get(name, name)
        if name not in OPTIONS or (equals and not OPTIONS[name][0]):
            rest.append(word)
            continue
        if not OPTIONS[name][0]:
            values[name] = True
            continue
        if not equals and not queue:
            raise UsageError(f"{name} needs a value")
        value = attached if equals else queue.pop(0)
        _set(values, name, value)
    return _options(values), rest


def _set(values: dict[str, str | bool | list[str]], name: str, value: str) -> None:
    if not value or "\0" in value:
        raise UsageError(f"{name} needs a value")
    if name == "--trust":
        known = values.setdefault(name, [])
        assert isinstance(known, list)
        known.append(value)
    elif name in values and values[name] != value:
        raise UsageError(f"{name} is given twice with different values")
    else:
        values[name] = value


def _options(values: dict[str, str | bool | list[str]]) -> Options:
    given = {name.lstrip("-").replace("-", "_"): value for name, value in values.items()}
    trust = given.pop("trust", [])
    assert isinstance(trust, list)
    return Options(trust=tuple(trust), **given)  # type: ignore[arg-type]
