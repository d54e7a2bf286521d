"""From a downstream object to what the host may hold: it is looked at, refused or wrapped, never registered (spec 50).

The object's markers are read by pluggy's documented seam; whoever asks for more than an extension may have is
refused as a whole, each thing with its own message. What is admitted is only called through adapters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pluggy
from attrs import frozen
from msd_hookspecs import PROJECT, observers, predicates, reviews

from ..errors import ExtensionRefused
from ..text import clean, nearest

__all__ = ["OPEN_HOOKS", "Admitted", "admit"]

#: Hook name to the arguments it may ask for, read off the contract itself.
OPEN_HOOKS: dict[str, tuple[str, ...]] = {
    name: tuple(inspect.signature(getattr(module, name)).parameters)
    for module in (reviews, observers, predicates)
    for name in module.__all__
}

_REFUSED_OPTIONS = {
    "wrapper": "wrappers are not available to extensions",
    "hookwrapper": "wrappers are not available to extensions",
    "tryfirst": "tryfirst is not available to extensions: their order never matters",
    "trylast": "trylast is not available to extensions: their order never matters",
    "optionalhook": "optionalhook is not available to extensions: an unknown hook would silently never run",
    "specname": "specname is not available to extensions",
}


@frozen(eq=False)
class Admitted:
    """The open hooks of one downstream object, each as a call by keyword with the arguments it asked for."""

    name: str
    review: Callable[..., Any] | None = None
    observe: Callable[..., Any] | None = None
    predicate_kinds: Callable[..., Any] | None = None


def admit(plugin: object, name: str) -> Admitted:
    """Look *plugin* over; raises `ExtensionRefused` unless every hook of it may be had, all or nothing."""
    scanner = pluggy.PluginManager(PROJECT)  # never registered with; only used to read markers
    found: dict[str, Callable[..., Any]] = {}
    for attribute in _attributes(plugin, name):
        options = scanner.parse_hookimpl_opts(plugin, attribute)
        if options is not None:
            found[attribute] = _vetted(plugin, attribute, dict(options), f"{name}.{attribute}")
    if not found:
        close = [a for a in _attributes(plugin, name) if a.startswith("msd_")]
        hint = f"; is {clean(close[0], 60)} missing its @hookimpl?" if close else ""
        raise ExtensionRefused(f"{name} implements no hook of the host{hint}")
    return Admitted(name, found.get("msd_review"), found.get("msd_observe"), found.get("msd_predicate_kinds"))


def _attributes(plugin: object, name: str) -> list[str]:
    try:
        return [str(a) for a in dir(plugin)]
    except Exception as error:
        raise ExtensionRefused(f"{name} cannot be looked at: {type(error).__name__}") from None


def _vetted(plugin: object, attribute: str, options: dict[str, Any], where: str) -> Callable[..., Any]:
    for option, words in _REFUSED_OPTIONS.items():
        if options.get(option):
            raise ExtensionRefused(f"{where}: {words}")
    if attribute not in OPEN_HOOKS:
        if attribute.startswith("msd_stage_"):
            raise ExtensionRefused(f"{where}: the stages of the host are sealed")
        close = nearest(attribute, OPEN_HOOKS)
        hint = f"; did you mean {close}?" if close else ""
        raise ExtensionRefused(f"{where}: there is no such hook{hint}")
    function = getattr(plugin, attribute)
    for kind, test in _KINDS:
        if test(function):
            raise ExtensionRefused(f"{where}: {kind}")
    return _with_arguments(function, _wanted(function, OPEN_HOOKS[attribute], where))


_KINDS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("async is not supported; the host would get a coroutine instead of an answer", inspect.iscoroutinefunction),
    ("async is not supported; the host would get a generator instead of an answer", inspect.isasyncgenfunction),
    ("a generator cannot be a hook of the host", inspect.isgeneratorfunction),
)


def _wanted(function: Callable[..., Any], allowed: tuple[str, ...], where: str) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ExtensionRefused(f"{where}: its arguments cannot be read") from None
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise ExtensionRefused(f"{where}: name the arguments; there are {', '.join(allowed) or 'none'}")
        if parameter.name not in allowed:
            words = f"unknown argument {clean(parameter.name, 60)}; there are {', '.join(allowed) or 'none'}"
            raise ExtensionRefused(f"{where}: {words}")
    return tuple(p.name for p in parameters)


def _with_arguments(function: Callable[..., Any], wanted: tuple[str, ...]) -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        return function(**{name: given[name] for name in wanted})

    return call
