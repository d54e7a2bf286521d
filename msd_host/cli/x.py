"""`x FAMILY …`, and `FAMILY …` for what is no word of the host: the commands that capabilities bring (spec 40, Dispatch)."""

from __future__ import annotations

import gc
import select
import sys

from ..dispatch import CommandFailed, dispatch
from ..errors import NotFound, UsageError
from .session import Session
from .strict import finish

__all__ = ["VERBS", "family"]

_HELP = """usage: {command} [options] x FAMILY [words for it …]

Run a command of a capability. It must be installed as a whole, active, and, if it comes from the project,
agreed to; it then runs with your rights. Every word behind FAMILY is its own, whatever it looks like.

example: {command} x acme build
"""


def x(session: Session, words: list[str]) -> int:
    """Run a command family by its sure name."""
    words = words[1:] if words[:1] == ["--"] else words
    if words and words[0] not in ("--help", "-h"):
        return _run(session, words)
    sys.stdout.write(_HELP.format(command=session.product.command))
    return 0 if words else 2


def family(session: Session, words: list[str]) -> int:
    """The same for a first word that is none of the host's; one that nobody has is an unknown command."""
    try:
        return _run(session, words)
    except NotFound as error:
        hint = str(error).replace("there is no command family", "unknown command", 1)
        raise UsageError(hint, remedy=error.remedy) from None


def _run(session: Session, words: list[str]) -> int:
    gc.enable()  # `run` switched it off for a short run; somebody else's may be a long one
    try:
        code = dispatch(session.host, session.composition, words, session.here)
    except CommandFailed as error:
        if isinstance(error.__cause__, BrokenPipeError) and _reader_has_gone():
            raise error.__cause__ from None
        raise
    return finish(session, code)


def _reader_has_gone() -> bool:
    """Whether it is our own output that nobody takes any more, and not some pipe of the command's."""
    try:
        looking = select.poll()
        looking.register(sys.stdout.fileno(), 0)  # what is told without being asked for: hang-up and error
        return bool(looking.poll(0))
    except (OSError, ValueError):
        return False


VERBS = {"": x}
