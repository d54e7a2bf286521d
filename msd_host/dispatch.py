"""Running a command that a capability brings: `router(args, context)` out of verified bytes (spec 40, Dispatch).

Only a module whose bytes are vouched for is compiled, and from exactly the buffer that was checked: of a project
overlay the stored copy, hashed once more; of a global one a single read below its own folder. Nothing is imported by
path: no bytecode is read or written, `sys.path` stays as it is, and a module cannot import another of its bundle.
What runs, runs with the rights of this process.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from inspect import isawaitable
from types import CoroutineType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from .composition import Composition
from .errors import MSDError, NotFound, Refused, UsageError
from .model.candidate import Candidate
from .model.scope import Scope
from .reading.bundle import snapshot_reader
from .reading.files import Files, ReadFault, read_at
from .text import clean, nearest, quoted
from .verified import opened, vouched

if TYPE_CHECKING:
    from .host import Host

__all__ = ["CommandContext", "CommandFailed", "dispatch"]

_MODULE = re.compile(r"[a-z_][a-z0-9_]*\.py")


@frozen
class CommandContext:
    """What a router is told. `project` is the served project or None, `product` the host's name, `id` and
    `version` the capability's own; `data_folder` is its to create and to keep things in.
    """

    cwd: str
    project: str | None
    product: str
    id: str
    version: str
    data_folder: str


class CommandFailed(MSDError):
    """A capability's own code failed. `__cause__` is what it raised, where it raised."""

    code: ClassVar[str] = "command-failed"

    def __init__(self, id: str, module: str, what: str) -> None:
        super().__init__(f"the command of {quoted(id)} failed in {module}: {what}")
        self.id = id
        self.module = module


def dispatch(host: Host, composition: Composition, args: Sequence[str], cwd: str) -> int:
    """Run the command family `args[0]` with all of *args*; the exit status its router asks for.

    Raises `NotFound` where nobody has that family, `Refused` where its capability may not run (not installed as a
    whole, switched off, bytes that cannot be vouched for), `CommandFailed` for whatever its code does wrong.
    """
    if not args or isinstance(args, str):
        raise UsageError("dispatch needs the name of a command family")
    family = args[0]
    found = composition.registry.command_families.get(family)
    if found is None:
        raise _unknown(composition, family)
    id, module = found["capId"], found["module"]
    state = host.activation(composition).capability(id)
    if not state.active:
        raise Refused(f"{quoted(family)} is a command of {quoted(id)}, which is not active: {state.reason}")
    if _MODULE.fullmatch(module) is None:
        raise Refused(f"{quoted(module)} is not the name of a Python file")
    source = _source(host, composition, family, id, module)
    code = _run(id, module, found["router"], source, list(args), _context(composition, id, cwd))
    if composition.extensions is not None:
        composition.extensions.emit("command-dispatched", family=family, id=id, exit=code)
    return code


def _unknown(composition: Composition, family: str) -> NotFound:
    """A skipped overlay's families are not looked at; one of that very name is worth a word."""
    overlay, command = composition.registry.overlay, composition.context.command
    for skip in overlay.warnings if overlay is not None else ():
        if skip.id == family:
            why = f"the overlay {quoted(family)} is skipped: {skip.reason} [{skip.code}]"
            return NotFound(f"there is no command family {quoted(family)}; {why}", remedy=skip.remedy)
    close = nearest(family, composition.registry.command_families)
    hint = f"; did you mean {quoted(close)}?" if close else ""
    remedy = f"{command} capability list"
    return NotFound(f"there is no command family {quoted(family)}{hint}", nearest=close, remedy=remedy)


def _context(composition: Composition, id: str, cwd: str) -> CommandContext:
    roots, product = composition.roots, composition.context.product
    of_project = _scope(composition, id) is Scope.PROJECT and roots.served_path is not None
    owner = roots.served_path if of_project else roots.home_path
    data = os.path.join(owner or "", product.folder, "capability-data", id)
    version = composition.registry.capabilities[id].version
    return CommandContext(os.path.abspath(cwd), roots.served_path, product.name, id, version, data)


def _scope(composition: Composition, id: str) -> Scope:
    overlay = composition.registry.overlay
    return Scope.FIRST_PARTY if overlay is None else overlay.accepted.get(id, Scope.FIRST_PARTY)


# The bytes


def _source(host: Host, composition: Composition, family: str, id: str, module: str) -> bytes:
    limit = host.product.limits.bundle_bytes
    try:
        if _scope(composition, id) is Scope.FIRST_PARTY:
            return _shipped(host, family, id, module, limit)
        candidate = _committed(composition, family, id)
        if candidate.scope is Scope.GLOBAL and candidate.content_hash is None:
            return _installed(host.files, candidate, module, limit)
        return snapshot_reader(vouched(host, composition, candidate), limit)(module)
    except ReadFault as fault:
        raise Refused(f"the module of the command {quoted(family)} cannot be used: {fault.message}") from None


def _shipped(host: Host, family: str, id: str, module: str, limit: int) -> bytes:
    """A module that ships with the product, beside its manifest."""
    folder = host.product.first_party_folder
    if not folder:
        raise Refused(f"the product does not say where the module of its command {quoted(family)} lies")
    return read_at(host.files, os.path.join(folder, id, module), limit, what=module)


def _committed(composition: Composition, family: str, id: str) -> Candidate:
    overlay = composition.registry.overlay
    candidate = next((c for c in composition.cohort.candidates if c.id == id), None)
    if overlay is None or candidate is None or id not in overlay.command_roots:
        raise Refused(
            f"{quoted(family)} is a command of {quoted(id)}, which no completed installation put there;"
            " what is only dropped into a folder runs no code",
            remedy=f"{composition.context.command} capability explain {id}",
        )
    return candidate


def _installed(files: Files, candidate: Candidate, module: str, limit: int) -> bytes:
    with opened(files, candidate) as fd:
        return read_at(files, module, limit, dir_fd=fd)


# The code


def _run(cap_id: str, module: str, router: str, source: bytes, args: list[str], context: CommandContext) -> int:
    """Compile, execute, call; everything that goes wrong in there carries the capability's name."""
    own = ModuleType(f"{context.product} command {cap_id}/{module}")
    own.__name__ += f" {id(own):x}"  # two of the same, loaded at the same time, are still two
    own.__package__ = ""  # so that a relative import says plainly that it has nothing to start from
    own.__file__ = label = f"<{cap_id}/{module}>"
    sys.modules[own.__name__] = own  # dataclasses and typing look there; nobody can import it by this name
    try:
        exec(compile(source, label, "exec", dont_inherit=True), own.__dict__)  # noqa: S102 - what this module is for
        answer = _own_function(own, router)(args, context)
        return _exit_status(answer)
    except KeyboardInterrupt:
        raise
    except _Unfit as error:
        raise CommandFailed(cap_id, module, str(error)) from None
    except BaseException as error:  # `SystemExit` of theirs too: they do not decide how the host ends
        raise CommandFailed(cap_id, module, _told(error)) from error
    finally:
        sys.modules.pop(own.__name__, None)


class _Unfit(Exception):
    """Code that ran and is not what a command has to be."""


def _own_function(module: ModuleType, router: str) -> Callable[..., Any]:
    function = vars(module).get(router)
    if function is None:
        raise _Unfit(f"it has no {quoted(router)}")
    if not callable(function):
        raise _Unfit(f"{quoted(router)} is not callable")
    return function  # type: ignore[no-any-return]


def _exit_status(answer: object) -> int:
    if answer is None:
        return 0
    if isawaitable(answer):
        if isinstance(answer, CoroutineType):
            answer.close()  # it would complain later that nobody waited for it
        raise _Unfit("its router must be synchronous; it answered with something to wait for")
    if isinstance(answer, bool) or not isinstance(answer, int):
        raise _Unfit(f"its router answered with {clean(type(answer).__name__, 80)}, not with an exit status or None")
    if not 0 <= answer <= 255:
        raise _Unfit(f"its router answered with {clean(answer, 40)}; an exit status is 0 to 255")
    return int(answer)


def _told(error: BaseException) -> str:
    name = clean(type(error).__name__, 80)
    try:
        words = clean(error)
    except Exception:  # their `__str__` may fail as well
        words = ""
    return f"{name}: {words}" if words else name
