"""`loop points` and `loop render-hooks`; `check` has a module of its own (spec 40, Loop)."""

from __future__ import annotations

from typing import Any

from ..loop.render import envelope
from ..loop.resolve import check_point, resolve
from .session import Parser, Session
from .strict import finish

__all__ = ["VERBS"]


def points(session: Session, words: list[str]) -> int:
    """Every point with its step, its agent roles and what the host makes available there."""
    Parser(session, "loop points", "List the points of the loop, in order.", "loop points").parse_args(words)
    contract = session.product.contract
    rows: list[dict[str, Any]] = [
        {
            "point": point,
            "step": step.name,
            "agentRoles": list(step.agent_roles),
            "available": [a for a, at in contract.available.items() if at == contract.index[point]],
            "wired": point not in contract.unwired,
        }
        for step in contract.steps
        for point in step.points
    ]
    table = [[r["point"], r["step"], ", ".join(r["agentRoles"]), ", ".join(r["available"]) or "-"] for r in rows]
    head = ["POINT", "STEP", "AGENT ROLES", "ARTIFACT FROM HERE ON"]
    session.answer(rows, lambda: session.out.table(head, table, less=["STEP", "AGENT ROLES"]))
    return 0


def render_hooks(session: Session, words: list[str]) -> int:
    """The envelope of one point; every gate that is not in force is loud in it and on stderr."""
    parser = Parser(
        session,
        "loop render-hooks",
        "What is active at a point of the loop.",
        "loop render-hooks plan:pre --format md",
    )
    parser.add_argument("point", metavar="POINT")
    parser.add_argument("--active-cap", metavar="ID", help="print only whether ID is active there: true or false")
    parser.add_argument("--format", choices=["json", "md"], default="json")
    given = parser.parse_args(words)
    check_point(given.point, session.product.contract.points)
    composition = session.composition
    state = resolve(composition.registry, given.point, session.host.activation(composition))
    answer = envelope(state)
    if composition.extensions is not None:
        composition.extensions.emit(
            "hooks-rendered", point=given.point, hooks=len(state.hooks), warnings=len(state.warnings)
        )
    advisories = [{"kind": "extension", "code": "extension", "message": a} for a in composition.advisories]
    if advisories:
        answer["warnings"] = [*answer.get("warnings", []), *advisories]
    for warning in (w for w in answer.get("warnings", []) if w["kind"] != "extension"):  # `finish` tells those
        session.out.warn(f"{session.product.command}: warning: {warning['message']}")
    if given.active_cap is not None:
        session.out.line("true" if any(h.cap_id == given.active_cap for h in state.hooks) else "false")
    elif given.format == "md" and not session.options.json:
        session.out.line(answer["rendered"])
    else:
        session.out.json(answer)
    return finish(session)


def check(session: Session, words: list[str]) -> int:
    """The verdict of every active gate of one point."""
    from .gates import check as evaluate  # starting processes costs an import that rendering does not need

    return evaluate(session, words)


VERBS = {"points": points, "render-hooks": render_hooks, "check": check}
