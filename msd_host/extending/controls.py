"""Which installed extensions may run: the user's word only, never a repository's (spec 50, Controls)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from ..model.frozen import EMPTY

__all__ = ["UNREADABLE", "Controls", "controls_from"]


@frozen
class Controls:
    """`off` loads none; `only` (None: no such list) and `deny` hold names; `required` must be there and work."""

    off: bool = False
    only: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def allows(self, names: Iterable[str]) -> bool:
        """Whether an extension known by *names* may be imported. Denial wins; an empty list of allowed ones means none."""
        known = {n.casefold() for n in names}
        if self.off or known & {d.casefold() for d in self.deny}:
            return False
        return self.only is None or bool(known & {o.casefold() for o in self.only})

    def why_off(self, names: Iterable[str]) -> str:
        """Why an extension known by *names* may not be imported; empty when it may."""
        known = [*names]
        if self.allows(known):
            return ""
        if self.off:
            return "extensions are switched off for this run"
        if {n.casefold() for n in known} & {d.casefold() for d in self.deny}:
            return "denied by the user's configuration"
        return "not in the list of allowed extensions"


#: Stands for a list of required extensions that cannot be read: nothing answers to it.
UNREADABLE = "(plugins.required cannot be read)"
_LISTS = ("allow", "deny", "required")
_NO_OBJECT = "plugins in the user's configuration is not an object; no extension is loaded"


def controls_from(user: Mapping[str, Any], variable: str, *, off: bool = False, damage: str | None = None) -> Controls:
    """From the user's configuration, the plugins variable of the process, and `--no-plugins`.

    *damage* says why the configuration cannot be read; then nobody is allowed, as who was denied is not known.
    """
    if damage is not None:
        words = f"{damage}; no extension is loaded, as the lists of them are in there"
        return Controls(off, (), required=(UNREADABLE,), problems=(words,))
    section = user.get("plugins", EMPTY)
    problems: list[str] = []
    if not isinstance(section, Mapping):
        return Controls(off, (), required=(UNREADABLE,), problems=(_NO_OBJECT,))
    lists = {name: _names(section, name, problems) for name in _LISTS}
    broken = [name for name in _LISTS if name in section and lists[name] is None]
    # what cannot be read allows nobody: a typing error must not switch a control off
    only = () if {"allow", "deny"} & {*broken} else lists["allow"]
    named = variable.strip()
    if named.casefold() == "off":
        off = True
    elif named:
        wanted = tuple(n.strip() for n in named.split(",") if n.strip())
        only = wanted if only is None else tuple(n for n in wanted if n.casefold() in {o.casefold() for o in only})
    required = (UNREADABLE,) if "required" in broken else lists["required"] or ()
    return Controls(off, only, lists["deny"] or (), required, tuple(problems))


def _names(section: Mapping[str, Any], name: str, problems: list[str]) -> tuple[str, ...] | None:
    value = section.get(name, ())
    if isinstance(value, tuple) and all(isinstance(v, str) for v in value):
        return value if name in section else None
    meant = "no overlay is accepted" if name == "required" else "no extension is loaded"
    problems.append(f"plugins.{name} in the user's configuration is not a list of names; {meant}")
    return None
