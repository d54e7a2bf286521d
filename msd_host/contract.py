"""The loop host contract as data: steps, points in order, agent roles, artifacts (reference, section 2)."""

from __future__ import annotations

from attrs import field, frozen

from .model.frozen import FrozenDict

__all__ = ["LoopContract", "LoopStep"]


@frozen
class LoopStep:
    """One step of the loop. What it `produces` becomes available at its last point."""

    name: str
    points: tuple[str, ...]
    agent_roles: tuple[str, ...]
    produces: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()


def _index(contract: LoopContract) -> FrozenDict[str, int]:
    return FrozenDict({point: i for i, point in enumerate(contract.points)})


def _roles(contract: LoopContract) -> FrozenDict[str, tuple[str, ...]]:
    return FrozenDict({p: step.agent_roles for step in contract.steps for p in step.points})


def _available(contract: LoopContract) -> FrozenDict[str, int]:
    position = {point: i for i, point in enumerate(contract.points)}
    return FrozenDict({a: position[step.points[-1]] for step in contract.steps for a in step.produces})


@frozen
class LoopContract:
    """The steps in pipeline order; `unwired` lists points that no host workflow calls yet."""

    steps: tuple[LoopStep, ...]
    unwired: frozenset[str] = frozenset()
    points: tuple[str, ...] = field(init=False, eq=False, repr=False)
    index: FrozenDict[str, int] = field(init=False, eq=False, repr=False)  # point -> its place in the order
    roles: FrozenDict[str, tuple[str, ...]] = field(init=False, eq=False, repr=False)  # point -> agent roles
    available: FrozenDict[str, int] = field(init=False, eq=False, repr=False)  # host artifact -> first point index

    def __attrs_post_init__(self) -> None:
        put = object.__setattr__
        put(self, "points", tuple(p for step in self.steps for p in step.points))
        put(self, "index", _index(self))
        put(self, "roles", _roles(self))
        put(self, "available", _available(self))
