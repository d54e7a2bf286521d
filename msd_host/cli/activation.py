"""`capability state|set|enable|disable`: what is on, and changing it (spec 40, Axes; spec 60)."""

from __future__ import annotations

from typing import Any

from ..activation.change import Change, Changed
from ..activation.state import Activation
from ..activation.values import parse_flag
from ..errors import NotFound, UsageError
from ..remedies import is_valid_id
from ..text import clean, nearest, quoted
from .session import Parser, Session
from .settings import add_layer, layer_of
from .strict import finish, skips_of

__all__ = ["disable", "enable", "leg", "set_state", "state"]


def _row(session: Session, activation: Activation, id: str) -> dict[str, Any]:
    known = activation.capability(id)
    capability = session.composition.registry.capabilities[id]
    return {
        "id": id,
        "tier": capability.raw.get("tier", "unknown"),
        "scope": activation.scope(id).label,
        "installed": known.installed,
        "surfaced": known.surfaced,
        "enabled": known.enabled,
        "active": known.active,
        "reason": known.reason or None,
        "hooks": [hook.to_dict() for hook in activation.hooks(id)],
    }


def _skipped(session: Session, activation: Activation) -> list[dict[str, Any]]:
    """Skipped overlays, known by what may be said of them; *muted* ones warn at no point."""
    muted = {g.cap_id: g.reason for g in activation.blocked_gates() if g.muted}
    return [
        {
            "id": skip.id,
            "scope": skip.scope.label,
            "code": skip.code.value,
            "reason": muted.get(skip.id, skip.reason),
            "remedy": skip.remedy,
            "gates": list(skip.gates),
            "muted": skip.id in muted or skip.muted,
            "enabled": activation.capability(skip.id).surfaced,
        }
        for skip in skips_of(session)
    ]


def state(session: Session, words: list[str]) -> int:
    """What is on and what is not, with the reason, down to each hook."""
    parser = Parser(session, "capability state", "What is on, and why or why not.", "capability state research")
    parser.add_argument("id", metavar="ID", nargs="?")
    id = parser.parse_args(words).id
    composition = session.composition
    activation = session.host.activation(composition)
    rows = [_row(session, activation, i) for i in sorted(composition.registry.capabilities) if id in (None, i)]
    skipped = [s for s in _skipped(session, activation) if id in (None, s["id"])]
    if id is not None and not rows and not skipped:
        known = [*composition.registry.capabilities, *(s.id for s in skips_of(session) if is_valid_id(s.id))]
        close = nearest(id, known)
        hint = f"; did you mean {quoted(close)}?" if close else ""
        raise NotFound(f"there is no capability {quoted(id)} here{hint}", nearest=close)
    warnings = list(activation.survey())
    document = {"capabilities": rows, "skipped": skipped, "warnings": warnings}
    session.answer(document, lambda: _stated(session, rows, skipped, whole=id is None))
    for warning in warnings:
        session.out.warn(f"{session.product.command}: warning: {warning}")
    return finish(session)


def _stated(session: Session, rows: list[dict[str, Any]], skipped: list[dict[str, Any]], *, whole: bool) -> None:
    out = session.out
    if whole:
        table = [
            [r["id"], r["tier"], r["scope"], _yes(r["enabled"]), _yes(r["active"]), r["reason"] or "-"] for r in rows
        ]
        table += [[s["id"], "-", s["scope"], _yes(s["enabled"]), "no", f"skipped: {s['reason']}"] for s in skipped]
        head = ["ID", "TIER", "SCOPE", "ENABLED", "ACTIVE", "WHY NOT"]
        out.table(head, _overlays_first(table), less=["TIER", "SCOPE", "ENABLED"], below=True)
        return
    for row in rows:
        mark = out.style("active", "green") if row["active"] else out.style("not active", "yellow")
        out.line(f"{out.style(row['id'], 'bold')}: {mark}{': ' + row['reason'] if row['reason'] else ''}")
        for hook in row["hooks"]:
            when = f", {clean(hook['when'], 80)} ({hook['layer']})" if hook["when"] else ""
            out.line(f"  {hook['point']:<18} {hook['kind']:<13} {'fires' if hook['active'] else 'silent'}{when}")
    for skip in skipped:
        out.line(f"{out.style(skip['id'], 'bold')}: skipped: {skip['reason']} [{skip['code']}]")


def _overlays_first(rows: list[list[str]]) -> list[list[str]]:
    """What somebody added is what a person looks for; what ships comes after it."""
    return sorted(rows, key=lambda row: row[2] == "first-party")


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def leg(session: Session, id: str) -> dict[str, Any] | None:
    """The state of one accepted capability without its hooks, for `explain`; None for any other id."""
    if id not in session.composition.registry.capabilities:
        return None
    row = _row(session, session.host.activation(session.composition), id)
    return {name: row[name] for name in ("installed", "surfaced", "enabled", "active", "reason")}


def set_state(session: Session, words: list[str]) -> int:
    """Switch a capability on or off and set its gates, all of it or nothing."""
    parser = Parser(
        session,
        "capability set",
        "Switch a capability on or off and set its gates, all of it or nothing.",
        "capability set tdd --on --gate tdd.require_green=false",
    )
    parser.add_argument("id", metavar="ID")
    switch = parser.add_mutually_exclusive_group()
    switch.add_argument("--on", dest="on", action="store_true", default=None)
    switch.add_argument("--off", dest="on", action="store_false")
    parser.add_argument(
        "--gate", metavar="KEY=BOOL", action="append", default=[], help="a boolean key of ID; repeatable"
    )
    add_layer(parser, "for every project", "for this project (the default where there is one)")
    given = parser.parse_args(words)
    if given.on is None and not given.gate:
        raise UsageError("say --on, --off or --gate KEY=BOOL", remedy=f"{parser.prog} --help")
    return _change(session, Change(given.id, given.on, _gates(given.gate)), layer_of(given))


def _gates(words: list[str]) -> dict[str, bool]:
    gates: dict[str, bool] = {}
    for word in words:
        key, _, text = word.partition("=")
        value = parse_flag(text)
        if not key or key.startswith("-") or value is None:
            raise UsageError(f"--gate takes KEY=true or KEY=false, not {quoted(word)}")
        if gates.setdefault(key, value) is not value:
            raise UsageError(f"--gate {quoted(key)} is given twice with different values")
    return gates


def enable(session: Session, words: list[str], group: str = "capability") -> int:
    """Switch a capability on; its gates are as they were."""
    return _flip(session, words, f"{group} enable", "Switch a capability on; its gates are as they were.", on=True)


def disable(session: Session, words: list[str], group: str = "capability") -> int:
    """Switch a capability off, with everything it has; a skipped overlay is muted."""
    about = "Switch a capability off, with everything it has; a skipped overlay is muted."
    return _flip(session, words, f"{group} disable", about, on=False)


def _flip(session: Session, words: list[str], verb: str, about: str, *, on: bool) -> int:
    parser = Parser(session, verb, about, f"{verb} research")
    parser.add_argument("id", metavar="ID")
    add_layer(parser, "for every project", "for this project (the default where there is one)")
    given = parser.parse_args(words)
    return _change(session, Change(given.id, on), layer_of(given))


def _change(session: Session, change: Change, layer: str | None) -> int:
    done = session.host.settings.change(session.composition, [change], layer=layer)[0]
    session.answer(done.to_dict(), lambda: session.out.line(_sentence(done)))
    for note in done.notes:
        session.out.warn(f"{session.product.command}: note: {note}")
    return 0


def _sentence(done: Changed) -> str:
    state = done.state
    on = "active" if state.active else f"not active: {state.reason}" if state.reason else "not active"
    return f"{done.id}: {on}" if done.changed else f"{done.id}: nothing to change; {on}"
