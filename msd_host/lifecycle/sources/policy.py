"""Which sources are allowed at all: `capabilities.strict_known_registries` (spec 30, Sources; reference, section 3.2).

The machine speaks first, then the user, then the project. Each of them that says something must allow a source,
so a project can tighten what its user allows and never loosen it. What cannot be read allows nothing but folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen

from ...activation.config import Layer, read_layer, user_config_path
from ...errors import LifecycleError
from ...limits import Limits
from ...product import Product
from ...reading.files import Files
from ...reading.roots import Roots
from ...text import clean, joined, quoted
from .source import Source

__all__ = ["KEY", "Rule", "Rules", "check_host", "check_policy", "read_rules", "rule_of"]

KEY = "capabilities.strict_known_registries"
_MACHINE = "/etc"


@frozen
class Rule:
    """What one configuration file allows: host names, and the words `npm` and `pypi`. `where` is the file."""

    where: str
    names: frozenset[str] = frozenset()
    problem: str | None = None

    def allows(self, name: str) -> bool:
        """Whether *name* is listed, or lies below a listed host."""
        name = name.lower().rstrip(".")
        return any(name == known or name.endswith("." + known) for known in self.names)


@frozen
class Rules:
    """Every rule that somebody made, the machine's first. None at all allows every source."""

    rules: tuple[Rule, ...] = ()

    def against(self, name: str) -> Rule | None:
        """The first rule that does not allow *name*."""
        return next((rule for rule in self.rules if not rule.allows(name)), None)


def check_policy(source: Source, rules: Rules) -> None:
    """Raise `LifecycleError` (`policy-refused`) unless every rule allows *source*. Folders are always allowed."""
    if source.kind in ("npm", "pypi"):
        _check(source.kind, rules)
    elif source.kind != "folder" and urlsplit(source.location).scheme != "file":
        check_host(urlsplit(source.location).hostname or "", rules)


def check_host(host: str, rules: Rules) -> None:
    """Raise `LifecycleError` (`policy-refused`) unless every rule allows what comes from *host*."""
    _check(host, rules)


def _check(name: str, rules: Rules) -> None:
    rule = rules.against(name)
    if rule is None:
        return
    where = clean(rule.where, 300)
    if rule.problem is not None:
        words = f"{where} {rule.problem}, so only local folders are allowed"
    else:
        listed = f"only {joined(sorted(rule.names))}" if rule.names else "only local folders"
        words = f"{KEY} in {where} allows {listed}"
    raise LifecycleError("policy-refused", f"the source {quoted(name)} is not allowed: {words}")


def read_rules(product: Product, files: Files, roots: Roots, machine: str = _MACHINE) -> Rules:
    """The rules that hold for this project and user; *machine* is where the machine's own configuration lies."""
    paths = [("machine", os.path.join(machine, product.name, "config.json"))]
    user = user_config_path(product, roots)
    if user is not None:
        paths.append(("user", user))
    if roots.served_path is not None:
        paths.append(("project", os.path.join(roots.served_path, product.project_config)))
    return Rules(_rules(files, paths, product.limits))


def _rules(files: Files, paths: Iterable[tuple[str, str]], limits: Limits) -> tuple[Rule, ...]:
    rules = [rule_of(read_layer(files, name, path, limits)) for name, path in paths]
    return tuple(rule for rule in rules if rule is not None)


def rule_of(layer: Layer) -> Rule | None:
    """What *layer* rules, None where it says nothing. A doubt is a rule that allows nothing."""
    if layer.problem is not None:
        return Rule(layer.path, problem=layer.problem)
    section, _, key = KEY.partition(".")
    held: Any = layer.values.get(section, {})
    flat = layer.values.get(KEY)
    if flat is not None:
        return Rule(layer.path, problem=f"writes {KEY} as one name with dots instead of nested objects")
    if not hasattr(held, "get"):
        return None if held is None else Rule(layer.path, problem=f"has no object in {quoted(section)}")
    said = held.get(key)
    if said is None:
        return None
    if isinstance(said, str) or not isinstance(said, (list, tuple)):
        return Rule(layer.path, problem=f"has no list of names in {KEY}")
    return Rule(layer.path, frozenset(filter(None, (_name(item) for item in said))))


def _name(item: Any) -> str:
    return item.strip().lower().rstrip(".") if isinstance(item, str) else ""
