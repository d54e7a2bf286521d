"""What the host raises, split by whose fault it is (spec 70; design, section 3.8).

A load raises only when it was called wrongly; everything an overlay can do wrong is a value
(`msd_host.model.cohort.Skip`). Each error carries a stable `code`, the process exit code the
command line answers with (spec 60), and, where there is one, a remedy that works when pasted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

__all__ = [
    "BusyError",
    "ConsentNeeded",
    "ConsentStoreError",
    "DamagedState",
    "ExtensionRefused",
    "HostIntegrityError",
    "LifecycleError",
    "MSDError",
    "ManifestError",
    "NotFound",
    "Refused",
    "UsageError",
]


class MSDError(Exception):
    """Root of everything the host raises on purpose."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:
        return (_restore, (type(self), self.args, self.__dict__))


def _restore(cls: type[MSDError], args: tuple[object, ...], state: dict[str, object]) -> MSDError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UsageError(MSDError):
    """The caller asked for something that has no meaning (a wrong argument, an unknown point)."""

    code = "usage"
    exit_code = 2


class NotFound(MSDError):
    """No such capability, key or point. `nearest` is the closest known name, if any is close."""

    code = "not-found"
    exit_code = 5

    def __init__(self, message: str, *, nearest: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.nearest = nearest


class Refused(MSDError):
    """Validation, policy or a rule of composition said no; nothing was changed."""

    code = "refused"
    exit_code = 3


class ConsentNeeded(MSDError):
    """A person has to decide, and nobody was there to ask (spec 20, Disclosure and asking)."""

    code = "consent-needed"
    exit_code = 4


class DamagedState(MSDError):
    """A file of ours on disk is damaged or not ours; nothing was overwritten."""

    code = "damaged-state"
    exit_code = 7


class ConsentStoreError(DamagedState):
    """A decision could not be written. Reading never raises: it says that nothing is on record."""

    code = "consent-store"


class LifecycleError(MSDError):
    """An overlay could not be fetched, installed, updated or removed, and nothing was changed (spec 30).

    `code` says why in a word that scripts may rely on; `exit_code` is 3 (refused) unless said otherwise.
    """

    code = "lifecycle"
    exit_code = 3

    def __init__(self, code: str, message: str, *, remedy: str | None = None, exit_code: int = 3) -> None:
        super().__init__(message, remedy=remedy)
        self.__dict__.update(code=code, exit_code=exit_code)  # one class, many codes: each error carries its own


class BusyError(MSDError):
    """Another process holds the lock."""

    code = "busy"
    exit_code = 9


class HostIntegrityError(MSDError):
    """The host itself is not whole: a broken seal, a shadowed contract, a law of narrowing broken."""

    code = "host-integrity"


class ExtensionRefused(MSDError):
    """A downstream object asks for more than an extension may have."""

    code = "extension-refused"
    exit_code = 3


class ManifestError(Refused):
    """One document and all its faults, each with a path (spec 10, Reading)."""

    code = "manifest-invalid"

    def __init__(self, message: str, *, faults: Sequence[object] = (), remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.faults = tuple(faults)
