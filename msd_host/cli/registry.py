"""`registry show|digest|build`, and `graph` (spec 60; spec 10, Build)."""

from __future__ import annotations

from typing import Any

from ..errors import NotFound, Refused
from ..model.registry import VIEWS
from ..text import nearest, quoted
from .graph import graph
from .session import Parser, Session
from .strict import finish, tell_skips

__all__ = ["VERBS"]


def show(session: Session, words: list[str]) -> int:
    """The composed registry, or one view of it, as JSON."""
    parser = Parser(session, "registry show", "The composed registry as JSON.", "registry show --view byLoopPoint")
    parser.add_argument("--view", metavar="NAME", help=f"one of {', '.join(VIEWS)}, _overlay")
    given = parser.parse_args(words)
    document: Any = session.composition.registry.to_dict()
    if given.view is not None:
        if given.view not in (*VIEWS, "_overlay"):
            close = nearest(given.view, [*VIEWS, "_overlay"])
            hint = f"; did you mean {quoted(close)}?" if close else ""
            raise NotFound(f"the registry has no view {quoted(given.view)}{hint}", nearest=close)
        document = document.get(given.view)
    session.out.json(document)
    tell_skips(session)
    return finish(session)


def digest(session: Session, words: list[str]) -> int:
    """One digest over everything accepted, to compare two machines by."""
    Parser(session, "registry digest", "One digest to compare two machines by.", "registry digest").parse_args(words)
    from ..digest import digest_of

    found = digest_of(session.composition, session.host.files)
    document = {"digest": found.digest, "firstParty": found.first_party, "overlays": [list(o) for o in found.overlays]}
    session.answer(document, lambda: session.out.line(found.digest))
    tell_skips(session)
    return finish(session)


def build(session: Session, words: list[str]) -> int:
    """Freeze the first-party set into its module; with --check fail when the committed one has drifted."""
    parser = Parser(session, "registry build", "Freeze the first-party set.", "registry build --check")
    parser.add_argument("--check", action="store_true", help="write nothing; fail on drift")
    given = parser.parse_args(words)
    from ..registry import generate

    text = generate.generate(session.product.contract, session.product.name)
    drift = generate.drift(text)
    if given.check and drift is not None:
        raise Refused(f"the frozen registry has drifted: {drift}", remedy=f"{session.product.command} registry build")
    if not given.check and drift is not None:
        generate.write(text)
    state = "up to date" if drift is None else "written"
    session.answer({"state": state, "target": generate.TARGET}, lambda: session.out.line(f"{generate.TARGET}: {state}"))
    return 0


VERBS = {"show": show, "digest": digest, "build": build, "graph": graph}
