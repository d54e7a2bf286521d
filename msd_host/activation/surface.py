"""What people and agents get to see, told and changed (spec 40, Profiles and surface; spec 60, `surface`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..composition import Composition
from ..errors import DamagedState, NotFound, Refused, UsageError
from ..model.capability import TIERS
from ..reading.roots import absolute
from ..text import nearest, quoted
from . import store
from .change import on_surface
from .config import PROJECT
from .projection import Projected, Projection, is_projected
from .switches import choose, surface_path, want

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Shown", "Surface"]


@frozen(unsafe_hash=False)
class Shown:
    """The surface of one composition. `skills` and `agents` map what is seen to its owner; `off` ids to reasons."""

    profile: str
    on: tuple[str, ...]
    off: dict[str, str]
    skills: dict[str, str]
    agents: dict[str, str]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "profile": self.profile,
            "on": list(self.on),
            "off": dict(self.off),
            "skills": dict(self.skills),
            "agents": dict(self.agents),
            "added": list(self.added),
            "removed": list(self.removed),
        }


class Surface:
    """Profiles, added and removed skills, and bringing it all into a coding tool. It never asks and never prints."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def show(self, composition: Composition) -> Shown:
        """What is on, what is not and why, and the skills and agents that follow from it."""
        activation = self._host.activation(composition)
        registry, switches = composition.registry, activation.switches
        states = {id: activation.capability(id) for id in sorted(registry.capabilities)}
        return Shown(
            switches.profile,
            tuple(id for id, state in states.items() if state.active),
            {id: state.reason for id, state in states.items() if not state.active},
            {s: id for s, id in sorted(registry.by_skill.items()) if is_projected(activation, id, s)},
            {s: id for s, id in sorted(registry.by_agent.items()) if states[id].active},
            tuple(sorted(switches.added)),
            tuple(sorted(switches.removed)),
        )

    def profile(self, composition: Composition, name: str, *, layer: str | None = None) -> bool:
        """Let the profile *name* count; whether that changed anything. *layer* as for `Settings.change`.

        Raises `NotFound` for a word that is no profile, `DamagedState` where the file cannot be changed safely.
        """
        if name not in TIERS:
            close = nearest(name, TIERS)
            hint = f"; did you mean {quoted(close)}?" if close else ""
            raise NotFound(
                f"there is no profile {quoted(name)}{hint or '; there are ' + ', '.join(TIERS)}", nearest=close
            )
        return self._write(composition, layer, lambda document, root: choose(document, name, root))

    def add(self, composition: Composition, stem: str, *, layer: str | None = None) -> str:
        """Want the skill *stem*, with its capability and all that leans on; returns the stem as it is listed.

        Raises `NotFound` for a skill nobody has, `Refused` where its capability is switched off by name.
        """
        known = self._stem(composition, stem)
        owner = composition.registry.by_skill[known]
        off = self._host.activation(composition).switches.why_off(owner)
        if off is not None:
            raise Refused(
                f"{quoted(known)} is a skill of {quoted(owner)}: {off}",
                remedy=f"{composition.context.command} surface enable {owner}",
            )
        self._write(composition, layer, lambda document, root: want(document, known, True, root))
        return known

    def remove(self, composition: Composition, stem: str, *, layer: str | None = None) -> str:
        """Take the skill *stem* out of sight; its capability stays on. Raises `NotFound` for a skill nobody has."""
        known = self._stem(composition, stem)
        self._write(composition, layer, lambda document, root: want(document, known, False, root))
        return known

    def apply(
        self,
        composition: Composition,
        runtime: str,
        *,
        config_dir: str | None = None,
        local: bool = False,
        dry_run: bool = False,
    ) -> Projected:
        """Bring skills and agents of active capabilities into the folder of *runtime*.

        Its usual folder, or *config_dir*, or with *local* the one in the served project. Raises `NotFound` for no
        runtime, `UsageError` where it has no such folder, `Refused` where consent counts for this run alone or
        there is too much, `DamagedState` where something cannot be read or written, `BusyError` as `Site.apply`.
        """
        if config_dir is not None and local:
            raise UsageError("a folder that is named, or the project's own; not both")
        folder = None if config_dir is None else absolute(config_dir)
        return Projection(self._host, composition, runtime, config_dir=folder, local=local).run(dry_run=dry_run)

    def _stem(self, composition: Composition, stem: str) -> str:
        """*stem* as the registry has it, also where it was given with the prefix that tools show."""
        by_skill, prefix = composition.registry.by_skill, self._host.product.skill_prefix
        for name in (stem, stem.removeprefix(prefix)):
            if name in by_skill:
                return name
        close = nearest(stem.removeprefix(prefix), by_skill)
        hint = f"; did you mean {quoted(close)}?" if close else ""
        raise NotFound(
            f"no capability here has a skill {quoted(stem)}{hint}",
            nearest=close,
            remedy=f"{composition.context.command} surface show",
        )

    def _write(
        self, composition: Composition, layer: str | None, change: Callable[[dict[str, Any], str | None], None]
    ) -> bool:
        roots, host = composition.roots, self._host
        path = surface_path(host.product, roots)
        if path is None:
            raise DamagedState(f"{roots.store_refusal}; nothing was changed")
        target = host.settings.layer_for(composition, "", layer)
        root = roots.served_path if target == PROJECT else None
        edit = store.Edit(path, on_surface(path, lambda document: change(document, root)), private=True)
        return store.apply(host.files, host.product.limits, [edit])[0]
