"""`new capability|stage|observer NAME`: a start that passes its own tests (spec 50, 60)."""

from __future__ import annotations

from ..testing.scaffold import KINDS, scaffold
from .session import Parser, Session

__all__ = ["VERBS"]


def new(session: Session, words: list[str]) -> int:
    """Write a new capability, stage or observer into a folder of its name."""
    parser = Parser(session, "new", "Begin a capability, a stage or an observer.", "new capability acme-rules")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", metavar="NAME")
    given = parser.parse_args(words)
    written = scaffold(session.product, given.kind, given.name, session.here)

    def text() -> None:
        for path in written:
            session.out.line(f"  {path}")
        session.out.talk(f"now: cd {given.name} && python -m pytest tests")

    session.answer({"kind": given.kind, "name": given.name, "files": written}, text)
    return 0


VERBS = {"": new}
