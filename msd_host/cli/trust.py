"""`capability trust …`: looking, agreeing, refusing (spec 20, Disclosure and asking)."""

from __future__ import annotations

from typing import Any

from ..errors import ConsentNeeded, ManifestError, NotFound, Refused, UsageError
from ..model.scope import Scope
from ..text import clean, nearest, quoted, shell_word
from ..trust.desk import Sighting, TrustState
from .session import Parser, Session

__all__ = ["VERBS", "trust"]

_SCOPES = {"global": Scope.GLOBAL, "project": Scope.PROJECT}
_COLORS = {"granted": "green", "first-party": "green", "global": "green", "denied": "red"}


def trust(session: Session, words: list[str]) -> int:
    """Dispatch `trust VERB`."""
    name = words[0] if words else "--help"
    if name in ("--help", "-h"):
        start = f"  {session.product.command} capability trust"
        lines = [f"{start} {v}".ljust(36) + (verb.__doc__ or "").partition("\n")[0] for v, verb in VERBS.items()]
        example = f"example: {session.product.command} capability trust show acme"
        session.out.line("\n".join(["usage:", *lines, "", "each takes --help and says what it needs", example]))
        return 0
    if name not in VERBS:
        close = nearest(name, VERBS)
        hint = f"; did you mean {quoted(close)}?" if close else f"; there are: {', '.join(VERBS)}"
        remedy = f"{session.product.command} capability trust --help"
        raise UsageError(f"unknown trust command {quoted(name)}{hint}", remedy=remedy)
    return VERBS[name](session, words[1:])


def _parser(session: Session, verb: str, description: str, example: str) -> Parser:
    return Parser(session, f"capability trust {verb}", description, f"capability trust {example}")


def status(session: Session, words: list[str]) -> int:
    """Exactly one state per overlay."""
    _parser(session, "status", "Exactly one state per capability, with what leads on.", "status --json").parse_args(
        words
    )
    states = session.host.trust.states(session.bare_composition())

    def text() -> None:
        rows = [s for s in states if s.state != "first-party"]
        if not rows:
            session.out.line("no overlays here; first-party capabilities need no consent")
            return
        session.out.table(
            ["ID", "SCOPE", "STATE", "NEXT"],
            [[s.id, s.scope.label, _colored(session, s), s.remedy or "-"] for s in rows],
            below=True,
        )

    session.answer([s.to_dict() for s in states], text)
    problem = session.host.trust.store_problem(session.cwd)
    if problem:
        session.out.warn(f"{session.product.command}: warning: {problem}")
    return 0


def _colored(session: Session, state: TrustState) -> str:
    return session.out.style(state.state, _COLORS.get(state.state, "yellow"))


def list_records(session: Session, words: list[str]) -> int:
    """Every decision on record, for every project of this home."""
    _parser(session, "list", "Every decision on record.", "list").parse_args(words)
    desk = session.host.trust
    records = desk.records(session.cwd)
    path = desk.store_path(session.cwd)
    document = {
        "store": path,
        "grants": [
            {
                "id": g.id,
                "root": g.root,
                "version": g.version,
                "contentHash": g.content_hash,
                "grantedAt": g.granted_at,
                "how": g.how,
                "gates": [*g.gates],
            }
            for g in records.grants
        ],
        "denials": [{"id": d.id, "root": d.root, "scope": d.scope, "deniedAt": d.denied_at} for d in records.denials],
        "ignored": [*records.ignored],
    }

    def text() -> None:
        out = session.out
        out.line(f"store: {clean(path, 400)}")
        rows = [[g.id, "granted", g.version, g.granted_at, clean(g.root, 400)] for g in records.grants]
        rows += [[d.id, "denied", "-", d.denied_at, clean(d.root, 400)] for d in records.denials]
        if rows:
            head = ["ID", "DECISION", "VERSION", "WHEN", "WHERE"]
            out.table(head, rows, less=["VERSION", "WHEN"], below=True)
        else:
            out.line("nothing on record")

    session.answer(document, text)
    for note in records.ignored:
        session.out.warn(f"{session.product.command}: warning: {clean(note)}")
    return 0


def show(session: Session, words: list[str]) -> int:
    """Everything a person needs to decide about an overlay."""
    parser = _parser(session, "show", "Everything needed to decide about an overlay.", "show acme")
    parser.add_argument("id", metavar="ID")
    seen = session.host.trust.show(parser.parse_args(words).id, session.cwd, trust=session.trusted())
    session.answer(_document(session, seen), lambda: _disclosed(session, seen))
    return 0


def diff(session: Session, words: list[str]) -> int:
    """What changed since the last time the user agreed."""
    parser = _parser(session, "diff", "What changed since the last time you agreed.", "diff acme")
    parser.add_argument("id", metavar="ID")
    id = parser.parse_args(words).id
    desk = session.host.trust
    seen = desk.show(id, session.cwd)
    if not seen.earlier:
        raise NotFound(
            f"nothing was agreed to for {quoted(id)} here, so there is nothing to compare with",
            remedy=f"{session.host.command(session.cwd)} capability trust show {id}",
        )
    if seen.snapshot is None:
        raise Refused(f"the bytes of {quoted(id)} cannot be vouched for: {seen.problem}")
    changes = desk.changes(seen, session.cwd)
    assert changes is not None
    lines = changes.lines() or ["nothing changed"]
    session.answer({"id": id, **changes.to_dict()}, lambda: session.out.line("\n".join(lines)))
    return 0


def _document(session: Session, seen: Sighting) -> dict[str, Any]:
    changes = session.host.trust.changes(seen, session.cwd)
    return {
        **seen.state.to_dict(),
        "contentHash": seen.content_hash,
        "problem": seen.problem,
        "faults": [{"path": f.path, "message": f.message, "line": f.line, "column": f.column} for f in seen.faults],
        "disclosure": None if seen.disclosure is None else seen.disclosure.to_dict(),
        "earlierGrants": [{"contentHash": g.content_hash, "grantedAt": g.granted_at} for g in seen.earlier],
        "changes": None if changes is None else changes.to_dict(),
    }


def _disclosed(session: Session, seen: Sighting) -> None:
    out = session.out
    out.line(f"{out.style(seen.id, 'bold')}: {_colored(session, seen.state)}")
    if seen.disclosure is not None:
        for line in seen.disclosure.lines():
            out.line(f"  {line}")
    else:
        out.line(f"  folder: {clean(seen.where, 400)}")
    if seen.problem is not None:
        out.line(f"  its bytes cannot be vouched for: {seen.problem}")
    for fault in seen.faults:
        out.line(f"  does not decode: {clean(fault)}")
    for grant in seen.earlier:
        out.line(f"  agreed to before: version {clean(grant.version, 40)}, {grant.content_hash}, {grant.granted_at}")
    for line in _changed(session, seen):
        out.line(f"  {line}")
    command = session.host.command(session.cwd)
    if seen.state.state == "granted":
        out.line(f"  to take it back: {command} capability trust revoke {seen.id}")
    elif seen.disclosure is not None and seen.scope is Scope.PROJECT:
        problem = session.host.trust.store_problem(session.cwd)
        if problem is not None:
            out.line(f"  no agreement lasts here: {clean(problem)}")
            out.line(f"  to agree for one run:     {command} --trust {seen.id}@{seen.content_hash} capability list")
            return
        out.line(f"  to agree, at a terminal:  {command} capability trust grant {seen.id}")
        out.line(
            f"  to agree, in a script:    {command} capability trust grant {seen.id} --yes --hash {seen.content_hash}"
        )
        out.line(f"  to refuse for good:       {command} capability trust deny {seen.id}")


def _changed(session: Session, seen: Sighting) -> list[str]:
    """The difference to what was agreed to before, where there is one to show."""
    changes = session.host.trust.changes(seen, session.cwd)
    if changes is None or any(g.content_hash == seen.content_hash for g in seen.earlier):
        return []
    return ["changed since you last agreed:", *(f"  {line}" for line in changes.lines())]


def grant(session: Session, words: list[str]) -> int:
    """Agree to the bytes that lie there now, after a look at what they can do."""
    parser = _parser(session, "grant", "Agree to exactly the bytes that lie there now.", "grant acme")
    parser.add_argument("id", metavar="ID", nargs="?")
    parser.add_argument("--all", action="store_true", help="one disclosure and one question each")
    parser.add_argument("--yes", action="store_true", help="do not ask; needs --hash")
    parser.add_argument("--hash", metavar="SHA512", help="the bytes agreed to, as `trust show` prints them")
    parser.add_argument("--scope", choices=["global", "project"], help="global only lifts a denial")
    given = parser.parse_args(words)
    if given.all == (given.id is not None):
        raise UsageError("name one ID, or --all")
    if given.all and (given.yes or given.hash):
        raise UsageError("--all asks about each; it takes neither --yes nor --hash")
    if given.yes and not given.hash:
        raise UsageError("--yes needs --hash, so that it is clear which bytes are meant")
    if given.scope == "global":
        if given.all:
            raise UsageError("--scope global lifts the denial of one ID; --all is for project overlays")
        return _lift_global(session, given.id)
    if not given.all:
        return _grant_one(session, given.id, given.yes, given.hash)
    waiting = [
        s.id for s in session.host.trust.states(session.bare_composition()) if s.state in ("unconsented", "changed")
    ]
    codes = [_grant_one(session, id, False, None) for id in waiting]
    if not waiting:
        session.out.line("nothing waits for consent")
    return 0 if not any(codes) else 4 if all(codes) else 6


def _lift_global(session: Session, id: str) -> int:
    if not session.host.trust.lift_denial(session.here, id, scope=Scope.GLOBAL):
        raise NotFound(f"{quoted(id)} is not denied in global scope, so there is nothing to lift")
    session.answer({"id": id, "lifted": True}, lambda: session.out.line(f"{id}: no longer denied"))
    return 0


def _grant_one(session: Session, id: str, yes: bool, content_hash: str | None) -> int:
    desk = session.host.trust
    seen = desk.show(id, session.cwd)
    if seen.scope is not Scope.PROJECT:
        if seen.state.state == "denied":
            return _lift_global(session, id)
        raise Refused(f"{quoted(id)} is a global overlay; it needs no consent")
    if seen.snapshot is None:
        raise Refused(f"{quoted(id)} cannot be agreed to: {seen.problem}")
    if seen.capability is None:
        first = seen.faults[0] if seen.faults else "it does not decode"
        raise ManifestError(
            f"{quoted(id)} cannot be agreed to: {clean(first)}",
            faults=seen.faults,
            remedy=f"{session.host.command(session.cwd)} capability check {shell_word(seen.where)}",
        )
    if not yes:
        if not session.interactive:
            raise ConsentNeeded(
                f"agreeing to {quoted(id)} is a person's decision, and nobody is here to ask; look at it first",
                remedy=f"{session.host.command(session.cwd)} capability trust show {id}",
            )
        for line in seen.disclosure.lines() if seen.disclosure else ():
            session.out.warn(f"  {line}")
        for line in _changed(session, seen):
            session.out.warn(f"  {line}")
        if not session.ask(f"agree to these bytes of {id}?"):
            session.out.warn("nothing was recorded")
            return 4
    record = desk.grant_sighting(seen, session.cwd, content_hash=content_hash, how="hash" if yes else "terminal")
    document = {"id": id, "state": "granted", "contentHash": record.content_hash, "root": record.root}
    session.answer(document, lambda: session.out.line(f"{id}: granted, {record.content_hash}"))
    return 0


def deny(session: Session, words: list[str]) -> int:
    """Refuse an overlay for good, whatever its content becomes."""
    parser = _parser(session, "deny", "Refuse an overlay for good, whatever its content becomes.", "deny acme")
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--scope", choices=["global", "project"], default="project")
    given = parser.parse_args(words)
    if given.id in session.host.baseline.capabilities:
        raise Refused(
            f"{quoted(given.id)} ships with the host; there is nothing to refuse",
            remedy=f"{session.host.command(session.cwd)} capability disable {given.id}",
        )
    session.host.trust.deny(session.here, given.id, scope=_SCOPES[given.scope], how="terminal")
    session.answer({"id": given.id, "state": "denied"}, lambda: session.out.line(f"{given.id}: denied"))
    return 0


def revoke(session: Session, words: list[str]) -> int:
    """Take every grant for an overlay back."""
    parser = _parser(session, "revoke", "Take every grant for an overlay back.", "revoke acme")
    parser.add_argument("id", metavar="ID")
    given = parser.parse_args(words)
    count = session.host.trust.revoke(session.here, given.id)
    if count == 0:
        raise NotFound(f"no grant for {quoted(given.id)} is on record here")
    session.answer(
        {"id": given.id, "revoked": count}, lambda: session.out.line(f"{given.id}: {count} grant(s) revoked")
    )
    return 0


def gc(session: Session, words: list[str]) -> int:
    """Drop what is on record for bundles and projects that are gone."""
    _parser(session, "gc", "Drop records of bundles and projects that are gone.", "gc").parse_args(words)
    gone = session.host.trust.gc(session.cwd)
    session.answer(
        {"dropped": [{"id": r.id, "root": r.root} for r in gone]},
        lambda: session.out.line(f"{len(gone)} record(s) dropped"),
    )
    return 0


VERBS = {
    "status": status,
    "list": list_records,
    "show": show,
    "diff": diff,
    "grant": grant,
    "deny": deny,
    "revoke": revoke,
    "gc": gc,
}
