"""`hook run|serve`: what a coding tool's settings start (spec 30, Shared files). Silent and 0 where nothing may start."""

from __future__ import annotations

import os
import sys

from ..errors import MSDError, Refused
from ..launch import Start, start_of_hook, start_of_server
from ..text import clean
from .session import Parser, Session

__all__ = ["VERBS"]


def run(session: Session, words: list[str]) -> int:
    """Start the hook SCRIPT of ID at EVENT, if the user still agrees to exactly its bytes."""
    parser = Parser(
        session, "hook run", "What a coding tool starts for a hook of an overlay.", "hook run acme Stop a.sh"
    )
    parser.add_argument("id", metavar="ID")
    parser.add_argument("event", metavar="EVENT")
    parser.add_argument("script", metavar="SCRIPT")
    try:
        given, rest = parser.parse_known_args(words)
        start = start_of_hook(session.host, session.composition, given.id, given.event, given.script)
        return _become(start, rest)
    except Refused as refusal:
        return _silenced(session, words[0], refusal)
    except MSDError as error:  # a tool may take exit 2, which means a wrong line here, for a hook that says no
        session.fail(error)
        return 1


def serve(session: Session, words: list[str]) -> int:
    """Start the server NAME of ID, if the user still agrees to the manifest that names it."""
    parser = Parser(
        session, "hook serve", "What a coding tool starts for a server of an overlay.", "hook serve acme docs"
    )
    parser.add_argument("id", metavar="ID")
    parser.add_argument("name", metavar="NAME")
    given, rest = parser.parse_known_args(words)
    try:
        start = start_of_server(session.host, session.composition, given.id, given.name)
    except Refused as refusal:
        _silenced(session, given.id, refusal)
        return refusal.exit_code  # a tool that waits for a server must learn that there is none
    return _become(start, rest)


def _silenced(session: Session, id: str, refusal: MSDError) -> int:
    """A hook that may not run is no failure of the tool that asks for it."""
    if session.options.verbose:
        session.out.warn(f"{session.product.command}: hook of {clean(id, 80)} not started: {clean(refusal.message)}")
    return 0


def _become(start: Start, rest: list[str]) -> int:
    """This process becomes the program, so that signals, input and exit status are its own."""
    sys.stdout.flush()
    if start.folder is not None:
        os.chdir(start.folder)
    argv = [*start.argv, *rest]
    try:
        os.execvpe(argv[0], argv, {**os.environ, **start.env})  # noqa: S606 - what this verb is for
    except OSError as error:
        raise MSDError(f"{clean(argv[0], 200)} cannot be started: {error.strerror}") from None


VERBS = {"run": run, "serve": serve}
