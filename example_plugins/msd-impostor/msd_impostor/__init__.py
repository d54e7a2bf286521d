"""What an extension may not do. Each class tries one thing; `REFUSALS` says what the host answers to it."""

from __future__ import annotations

from typing import Any

import pluggy

from msd_host import hookimpl

sealed = pluggy.HookimplMarker("msd_host.sealed")


class Wrapper:
    """Would see and change every answer."""

    @staticmethod
    @hookimpl(wrapper=True)
    def msd_review(candidate: Any) -> Any:
        return (yield)


class OldWrapper:
    """The same in the old way."""

    @staticmethod
    @hookimpl(hookwrapper=True)
    def msd_review(candidate: Any) -> Any:
        yield


class First:
    """Would answer before everybody else."""

    @staticmethod
    @hookimpl(tryfirst=True)
    def msd_review(candidate: Any) -> None: ...


class Last:
    """Would have the last word."""

    @staticmethod
    @hookimpl(trylast=True)
    def msd_review(candidate: Any) -> None: ...


class Optional:
    """Would silently never run."""

    @staticmethod
    @hookimpl(optionalhook=True)
    def msd_no_such_hook() -> None: ...


class Renamed:
    """Would come in under another name."""

    @staticmethod
    @hookimpl(specname="msd_review")
    def look_at(candidate: Any) -> None: ...


class Stage:
    """Would put itself in the place of a stage."""

    @staticmethod
    @hookimpl
    def msd_stage_consent(cohort: Any, context: Any) -> Any:
        return cohort


class Forger:
    """Carries the mark of the sealed stages, which anybody can set, and nothing else."""

    @staticmethod
    @sealed
    def msd_stage_consent(cohort: Any, context: Any) -> Any:
        return cohort


class Typo:
    """A check that would silently never run."""

    @staticmethod
    @hookimpl
    def msd_reviw(candidate: Any) -> None: ...


class Greedy:
    """Asks for the registry itself."""

    @staticmethod
    @hookimpl
    def msd_review(candidate: Any, registry: Any) -> None: ...


class Anything:
    """Asks for whatever there is."""

    @staticmethod
    @hookimpl
    def msd_review(**everything: Any) -> None: ...


class Coroutine:
    """Its answer would be a coroutine object."""

    @staticmethod
    @hookimpl
    async def msd_review(candidate: Any) -> None: ...


class Generator:
    """Its answer would be a generator object."""

    @staticmethod
    @hookimpl
    def msd_review(candidate: Any) -> Any:
        yield


class Nothing:
    """Implements nothing of the host."""


class Half:
    """One good hook and one that may not be: neither is taken."""

    @staticmethod
    @hookimpl
    def msd_observe(event: Any) -> None:
        raise AssertionError("half an extension was registered")

    @staticmethod
    @hookimpl
    def msd_stage_build(cohort: Any, context: Any) -> Any: ...


class Liar:
    """Is admitted, and then tries to say yes: an answer that is no Veto vetoes in its own name."""

    @staticmethod
    @hookimpl
    def msd_review(candidate: Any) -> Any:
        return True


REFUSALS = {
    "wrapper": "wrappers are not available",
    "old-wrapper": "wrappers are not available",
    "first": "tryfirst is not available",
    "last": "trylast is not available",
    "optional": "optionalhook is not available",
    "renamed": "specname is not available",
    "stage": "the stages of the host are sealed",
    "forger": "implements no hook of the host",
    "typo": "there is no such hook; did you mean msd_review?",
    "greedy": "unknown argument registry",
    "anything": "name the arguments",
    "coroutine": "async is not supported",
    "generator": "a generator cannot be a hook",
    "nothing": "implements no hook of the host",
    "half": "the stages of the host are sealed",
    "gone": "AttributeError",
}
