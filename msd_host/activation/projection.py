"""Skills and agents of active capabilities as files for one coding tool (spec 40, Profiles and surface)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ..composition import Composition
from ..errors import DamagedState, NotFound, Refused
from ..model.capability import Capability
from ..model.scope import Scope
from ..text import nearest, quoted
from .layout import Place, Shelf, confined, shelves_of
from .material import Material
from .site import Site, SitePlan, Wanted
from .state import Activation

if TYPE_CHECKING:
    from ..host import Host

__all__ = ["Projected", "Projection", "is_projected", "marker_name", "with_name"]

_NAME = re.compile(rb"""(?:name|"name"|'name')[ \t]*:(?:[ \t\r]|$)""")


@frozen
class Projected:
    """What became of one `apply`: a plan for each base folder, and what was left out, with the reason."""

    runtime: str
    plans: tuple[SitePlan, ...]
    left_out: tuple[tuple[str, str], ...]
    dry_run: bool

    @property
    def is_whole(self) -> bool:
        """Whether nothing that is wanted is held up by something that lies there."""
        return not any(plan.kept for plan in self.plans)

    def to_dict(self) -> dict[str, Any]:
        return {
            "runtime": self.runtime,
            "dryRun": self.dry_run,
            "folders": [
                {
                    "base": plan.base,
                    "written": [{"path": w.path, "owner": w.owner} for w in plan.writes],
                    "unchanged": [{"path": w.path, "owner": w.owner} for w in plan.same],
                    "removed": [*plan.removes],
                    "kept": [{"path": path, "reason": why} for path, why in plan.kept],
                }
                for plan in self.plans
            ],
            "leftOut": [{"what": what, "reason": why} for what, why in self.left_out],
        }


def is_projected(activation: Activation, id: str, stem: str) -> bool:
    """Whether the skill *stem* of *id* belongs into a coding tool: its owner is active and it was not taken out."""
    return activation.capability(id).active and stem not in activation.switches.removed


class Projection:
    """One composition's skills and agents, as one runtime takes them.

    *config_dir* is a folder the user named; *local* asks for the runtime's folder in the served project.
    """

    def __init__(
        self,
        host: Host,
        composition: Composition,
        runtime: str,
        *,
        config_dir: str | None = None,
        local: bool = False,
    ) -> None:
        self._host = host
        self._composition = composition
        self._activation = host.activation(composition)
        self._material = Material(host, composition)
        self._runtime = _runtime(composition, runtime)
        project = composition.roots.served_path if local else None
        if local and project is None:
            raise NotFound("there is no project here, so there is no folder of one to fill")
        self._everything = local or config_dir is not None
        places, left = shelves_of(self._runtime, host.env, config_dir=config_dir, project=project)
        self._places = [confined(place, composition.roots) for place in places]
        self._left: list[tuple[str, str]] = [(what.partition(":")[0], what.partition(": ")[2]) for what in left]

    def run(self, *, dry_run: bool = False) -> Projected:
        """Apply, or with *dry_run* say what applying would do.

        Raises `Refused` where consent counts for this run alone: nothing lasting may come of it. `DamagedState`
        and `BusyError` as `Site.apply` does; the folders before it are done then.
        """
        problem = self._activation.switches.problem
        if problem is not None:
            raise DamagedState(f"what is wanted cannot be told: {problem}")
        plans = []
        for place in self._places:
            site = Site(self._host.files, self._host.product.limits, place, self._host.product.name)
            wanted = self._bounded(place)
            plans.append(site.plan(wanted) if dry_run else site.apply(wanted))
        if not any(shelf.kind == "agents" for place in self._places for shelf in place.shelves):
            self._leave_agents()
        left = tuple(dict.fromkeys(self._left))
        return Projected(self._runtime.id, tuple(plans), left, dry_run)

    def _bounded(self, place: Place) -> list[Wanted]:
        """What belongs there; of names that a file system may take for one, the first alone."""
        limit, total = self._host.product.limits.surface_bytes, 0
        wanted: dict[str, Wanted] = {}
        for one in self._wanted(place):
            first = wanted.setdefault(one.path.casefold(), one)
            if first is not one:
                self._left.append((f"{one.owner}: {one.path}", f"{quoted(first.path)} of {first.owner} lies there"))
                continue
            total += len(one.data)
            if total > limit:
                raise Refused(f"skills and agents hold more than {limit} bytes in all; nothing was changed")
        return [*wanted.values()]

    def _wanted(self, place: Place) -> Iterator[Wanted]:
        for capability in self._composition.registry.capabilities.values():
            if (capability.skills or capability.agents) and self._is_due(capability):
                for shelf in place.shelves:
                    yield from self._on_shelf(shelf, capability)

    def _is_due(self, capability: Capability) -> bool:
        id, activation = capability.id, self._activation
        if not activation.capability(id).active:
            return False
        compat = capability.runtime_compat
        if compat is not None and not _fits(compat["supported"], compat["unsupported"], self._runtime.id):
            self._left.append((id, f"its manifest does not support {self._runtime.id}"))
            return False
        if activation.scope(id) is Scope.PROJECT and not self._everything:
            self._left.append((id, "it belongs to this project alone; --local puts it into the project's own folder"))
            return False
        candidate = next((c for c in self._composition.cohort.candidates if c.id == id), None)
        if candidate is not None and candidate.consent.run_only:
            raise Refused(
                f"{quoted(id)} is agreed to for this run alone, and projecting it would last",
                remedy=f"{self._composition.context.command} capability trust show {id}",
            )
        return True

    def _leave_agents(self) -> None:
        agents = [
            agent for c in self._composition.registry.capabilities.values() if self._is_due(c) for agent in c.agents
        ]
        if agents:
            why = f"{self._runtime.id} takes agents in a form of its own, so {', '.join(sorted(agents))} stay out"
            self._left.append(("agents", why))

    def _on_shelf(self, shelf: Shelf, capability: Capability) -> Iterator[Wanted]:
        stems: Sequence[str] = capability.skills if shelf.kind == "skills" else capability.agents
        for stem in stems:
            try:
                if shelf.kind == "agents":
                    yield Wanted(shelf.path(stem), self._material.agent(capability.id, stem), capability.id)
                elif is_projected(self._activation, capability.id, stem):
                    yield from self._skill(shelf, capability.id, stem)
            except Refused as refusal:
                self._left.append((f"{capability.id}: {shelf.kind[:-1]} {stem}", refusal.message))

    def _skill(self, shelf: Shelf, id: str, stem: str) -> Iterator[Wanted]:
        files = self._material.skill(id, stem)
        yield Wanted(shelf.path(stem, marker_name(self._host.product.name)), f"{id}\n".encode(), id)
        for rest, file in files.items():
            data = with_name(file.data, f"{shelf.prefix}{stem}") if rest == "SKILL.md" else file.data
            yield Wanted(shelf.path(stem, rest), data, id, file.executable)


def marker_name(product: str) -> str:
    """The file in a skill's folder that names the capability it came from, for people and other tools."""
    return f".{product}-capability-skill"


def _fits(supported: Sequence[str], unsupported: Sequence[str], runtime: str) -> bool:
    return ("*" in supported or runtime in supported) and runtime not in unsupported


def _runtime(composition: Composition, name: str) -> Capability:
    found = composition.registry.capabilities.get(name)
    if found is None or found.role != "runtime":
        known = [c.id for c in composition.registry.capabilities.values() if c.role == "runtime"]
        close = nearest(name, known)
        hint = f"; did you mean {quoted(close)}?" if close else f"; there are: {', '.join(sorted(known))}"
        raise NotFound(f"there is no runtime {quoted(name)}{hint}", nearest=close)
    return found


def with_name(data: bytes, name: str) -> bytes:
    """*data* of a SKILL.md whose frontmatter calls it *name*: tools want a skill called like its folder.

    A file without frontmatter stays as it is.
    """
    lines = data.split(b"\n")
    if lines[0].rstrip().removeprefix(b"\xef\xbb\xbf") != b"---":
        return data
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in (b"---", b"...")), None)
    if end is None:
        return data
    tail = b"\r" if lines[0].endswith(b"\r") else b""
    head = lines[1:end]
    at = next((n for n, line in enumerate(head) if _NAME.match(line)), None)
    rest = head if at is None else head[:at] + head[_end_of_value(head, at) :]
    place = 0 if at is None else at
    named = [*rest[:place], b"name: " + name.encode() + tail, *rest[place:]]
    return b"\n".join([lines[0], *named, *lines[end:]])


def _end_of_value(lines: Sequence[bytes], at: int) -> int:
    """The line after the value that begins at *at*; what is indented or empty below it belongs to it."""
    return next((n for n in range(at + 1, len(lines)) if lines[n].strip() and lines[n][:1] not in b" \t"), len(lines))
