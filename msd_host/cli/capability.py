"""`capability list|show|explain|check|remove`; `trust` has a module of its own (spec 60)."""

from __future__ import annotations

import os
from typing import Any

from ..errors import NotFound
from ..explain import Explanation
from ..explain import explain as explain_id
from ..model.cohort import Skip
from ..model.frozen import thaw
from ..model.scope import Scope
from ..remedies import is_valid_id
from ..text import clean, nearest, quoted
from .activation import disable, enable, leg, set_state, state
from .lifecycle import install, outdated, remove, rollback, update
from .session import Parser, Session
from .strict import finish, skips_of
from .trust import trust

__all__ = ["VERBS"]

_SCOPES = {scope.label: scope for scope in Scope}


def _rows(session: Session) -> list[dict[str, Any]]:
    """One row per capability; states are those of composition, never guessed from a ledger."""
    composition = session.composition
    registry = composition.registry
    activation = session.host.activation(composition)
    accepted = registry.overlay.accepted if registry.overlay is not None else {}
    sources = {c.key: c.source for c in composition.cohort.candidates}
    sources.update({(c.root, c.id): c.source for c in composition.seen})
    by_id = {c.id: c for c in composition.cohort.candidates}
    rows: list[dict[str, Any]] = []
    for id, capability in registry.capabilities.items():
        scope = accepted.get(id, Scope.FIRST_PARTY)
        source = by_id[id].source if id in accepted else None
        on = activation.capability(id)
        rows.append(
            {
                "id": id,
                "version": capability.version,
                "role": capability.role,
                "tier": capability.tier,
                "scope": scope.label,
                "state": "first-party" if scope is Scope.FIRST_PARTY else "active",
                "code": None,
                "reason": None,
                "remedy": None,
                "source": clean(source) if source else scope.label,
                "title": clean(capability.title),
                "enabled": on.enabled,
                "active": on.active,
                "inactive": on.reason or None,
            }
        )
    rows.extend(
        {**_skip_row(skip), "enabled": activation.capability(skip.id).surfaced}
        for skip in skips_of(session)
        if skip.id != "*"
    )
    return rows


def _skip_row(skip: Skip) -> dict[str, Any]:
    return {
        "id": skip.id,
        "version": None,
        "role": None,
        "tier": None,
        "scope": skip.scope.label,
        "state": "denied" if skip.muted else "skipped",
        "code": skip.code.value,
        "reason": skip.reason,
        "remedy": skip.remedy,
        "source": None,
        "title": None,
        "enabled": True,
        "active": False,
        "inactive": skip.reason,
    }


def list_all(session: Session, words: list[str]) -> int:
    """Every capability, where it comes from and its state."""
    parser = Parser(session, "capability list", "Every capability and its state.", "capability list --scope project")
    parser.add_argument("--scope", choices=sorted(_SCOPES))
    given = parser.parse_args(words)
    rows = [r for r in _rows(session) if given.scope in (None, r["scope"])]

    def text() -> None:
        head = ["ID", "VERSION", "ROLE", "TIER", "SCOPE", "STATE", "CODE", "SOURCE"]
        names = ("id", "version", "role", "tier", "scope", "state", "code", "source")
        shown = sorted(rows, key=lambda r: r["scope"] == "first-party")  # overlays are what a person looks for
        table = [[str(r[n] or "-") for n in names] for r in shown]
        session.out.table(head, table, less=["SOURCE", "TIER", "ROLE", "VERSION", "SCOPE"])

    session.answer(rows, text)
    _tell_whole_set(session)
    if not session.options.json:
        for row in rows:
            if row["state"] == "skipped" and row["enabled"]:
                fix = f"  ({row['remedy']})" if row["remedy"] else ""
                session.out.talk(f"{row['id']}: {row['reason']} [{row['code']}]{fix}")
    return finish(session)


def _tell_whole_set(session: Session) -> None:
    for skip in skips_of(session):
        if skip.id == "*":
            fix = f" -- {skip.remedy}" if skip.remedy else ""
            session.out.warn(f"{session.product.command}: warning: {skip.reason} [{skip.code}]{fix}")


def _known_ids(session: Session) -> list[str]:
    return [*session.composition.registry.capabilities, *(s.id for s in skips_of(session) if is_valid_id(s.id))]


def _not_found(session: Session, id: str) -> NotFound:
    close = nearest(id, _known_ids(session))
    hint = f"; did you mean {quoted(close)}?" if close else ""
    return NotFound(
        f"there is no capability {quoted(id)} here{hint}",
        nearest=close,
        remedy=f"{session.host.command(session.cwd)} capability list",
    )


def show(session: Session, words: list[str]) -> int:
    """One capability: what it declares, or why it is not there."""
    parser = Parser(session, "capability show", "What one capability declares.", "capability show research")
    parser.add_argument("id", metavar="ID")
    id = parser.parse_args(words).id
    rows = [r for r in _rows(session) if r["id"] == id]
    if not rows:
        raise _not_found(session, id)
    capability = session.composition.registry.capabilities.get(id)
    document = {**rows[0], "manifest": None if capability is None else thaw(capability.raw), "sightings": rows}

    def text() -> None:
        out = session.out
        if capability is None:
            out.line(f"{out.style(id, 'bold')}  {rows[0]['state']} ({rows[0]['scope']}): {rows[0]['reason']}")
            if rows[0]["remedy"]:
                out.line(f"  {rows[0]['remedy']}")
            return
        out.line(f"{out.style(id, 'bold')} {capability.version}  {clean(capability.title)}")
        out.prose(f"  {clean(capability.description)}")
        out.line(f"  {rows[0]['role']}, tier {rows[0]['tier']}, scope {rows[0]['scope']}")
        for name, values in _declared(capability.raw).items():
            if values:
                out.prose(f"  {name}: {', '.join(clean(v, 80) for v in values)}")

    session.answer(document, text)
    return finish(session)


def _declared(raw: Any) -> dict[str, Any]:
    hooks = {kind: [h["point"] for h in raw.get(kind, ())] for kind in ("steps", "contributions", "gates")}
    return {
        "requires": raw.get("requires", ()),
        "skills": raw.get("skills", ()),
        "agents": raw.get("agents", ()),
        **hooks,
        "commands": [c["family"] for c in raw.get("commands", ())],
        "config": [*raw.get("config", {})],
    }


def explain(session: Session, words: list[str]) -> int:
    """The whole way of an id through composition, also of one that was never found."""
    parser = Parser(
        session, "capability explain", "The whole way of an id through composition.", "capability explain acme"
    )
    parser.add_argument("id", metavar="ID")
    id = parser.parse_args(words).id
    found = explain_id(session.composition, id)
    on = leg(session, id)

    def text() -> None:
        _explained(session, found)
        if on is not None and not on["active"]:
            session.out.line(f"  not active: {on['reason']}")

    session.answer({**found.to_dict(), "activation": on}, text)
    if found.state == "not-found":
        close = nearest(id, _known_ids(session))
        if close:
            session.out.talk(f'did you mean "{close}"?')
        return 5
    return finish(session)


def _explained(session: Session, found: Explanation) -> None:
    out = session.out
    color = {"active": "green", "first-party": "green", "skipped": "yellow"}.get(found.state, "red")
    out.line(f"{out.style(clean(found.id, 80), 'bold')}: {out.style(found.state, color)}")
    for sighting in found.found:
        out.line(f"  {sighting['scope']}  {clean(sighting['where'] or '(ships with the host)', 400)}")
        if sighting.get("scope_why"):
            out.prose(f"    scope: {sighting['scope_why']}")
        for verdict in sighting["verdicts"]:
            code = f" [{verdict['code']}]" if verdict.get("code") else ""
            reason = f": {verdict['reason']}" if verdict.get("reason") else ""
            mark = out.style(verdict["verdict"], "yellow" if verdict["verdict"] == "skipped" else "green")
            out.prose(f"    {verdict['stage']:<17} {mark}{reason}{code}")
        for name in ("content_hash", "source", "claims", "requires", "gates", "culprits", "notes", "see"):
            value = sighting.get(name)
            if value:
                out.prose(f"    {name}: {value if isinstance(value, str) else ', '.join(value)}")
        if sighting.get("remedy"):
            out.line(f"    to resolve it: {out.style(sighting['remedy'], 'cyan')}")
    for place in found.looked_in if found.state == "not-found" else ():
        out.line(f"  looked in {clean(place, 400)}")
    roots = found.roots
    out.prose(f"  overlays of the home count as {roots['global_scope']}: {clean(roots['global_why'], 400)}")
    if roots["store_refusal"]:
        out.prose(f"  no agreement lasts here: {clean(roots['store_refusal'], 400)}")


def check(session: Session, words: list[str]) -> int:
    """What a load would say of the folder PATH if the user agreed to it. Writes nothing."""
    parser = Parser(
        session, "capability check", "What a load would say of a folder. Writes nothing.", "capability check ./acme"
    )
    parser.add_argument("path", metavar="PATH")
    parser.add_argument("--scope", choices=["global", "project"], help="the scope it would be installed in")
    given = parser.parse_args(words)
    base = session.here
    result = session.host.check(
        os.path.join(base, given.path), cwd=session.cwd, scope=_SCOPES[given.scope] if given.scope else None
    )

    def text() -> None:
        out = session.out
        name = clean(result.id or given.path, 200)
        if result.ok:
            out.line(f"{out.style('ok', 'green')}  {name} would be accepted in {result.scope.label} scope")
        else:
            out.line(f"{out.style('refused', 'red')}  {name}: {result.code}")
        for fault in result.faults:
            place = f"{given.path}/capability.json" + (f":{fault.line}:{fault.column}" if fault.line else "")
            out.line(f"  {clean(place, 300)}: {fault.path or '$'}: {clean(fault.message)} [{fault.code}]")
        for note in result.notes:
            out.line(f"  note: {note.path} {clean(note.message)}")

    session.answer(result.to_dict(), text)
    return 0 if result.ok else 3


VERBS = {
    "list": list_all,
    "show": show,
    "explain": explain,
    "check": check,
    "install": install,
    "update": update,
    "rollback": rollback,
    "outdated": outdated,
    "remove": remove,
    "state": state,
    "set": set_state,
    "enable": enable,
    "disable": disable,
    "trust": trust,
}
