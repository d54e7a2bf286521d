"""`registry graph`: the composed registry as a picture (spec 60)."""

from __future__ import annotations

from ..registry.graph import graph_of, to_dot, to_mermaid
from .session import Parser, Session
from .strict import finish, tell_skips

__all__ = ["graph"]


def graph(session: Session, words: list[str]) -> int:
    """Who requires whom, whose skills make up a cluster, and where each capability comes from."""
    parser = Parser(
        session,
        "registry graph",
        "The composed registry as a graph: requirements, clusters of skills, scopes.",
        "registry graph --format svg > registry.svg",
    )
    parser.add_argument("--format", choices=["mermaid", "dot", "svg"], default="mermaid")
    given = parser.parse_args(words)
    found = graph_of(session.composition.registry)
    if given.format == "svg":
        from ..registry.svg import to_svg

        text = to_svg(found, f"{session.product.title} {session.product.version}: {len(found.nodes)} capabilities")
    else:
        text = to_dot(found) if given.format == "dot" else to_mermaid(found)
    session.answer({"format": given.format, "text": text}, lambda: session.out.line(text.rstrip("\n")))
    tell_skips(session)
    return finish(session)
