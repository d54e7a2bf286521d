"""`capability install|update|rollback|outdated|remove` (spec 30; spec 60)."""

from __future__ import annotations

from typing import Any

from ..errors import ConsentNeeded, MSDError, UsageError
from ..lifecycle.desk import Lifecycle
from ..lifecycle.prepared import Prepared
from ..lifecycle.values import Done, Request, consent_of
from ..model.scope import Scope
from ..remedies import is_valid_id
from ..text import clean, quoted, shell_word
from .session import Parser, Session

__all__ = ["install", "outdated", "remove", "rollback", "update"]

_SCOPES = {"global": Scope.GLOBAL, "project": Scope.PROJECT}
_PARTLY = 6


def _parser(session: Session, verb: str, description: str, example: str) -> Parser:
    return Parser(session, f"capability {verb}", description, f"capability {verb} {example}")


def _add_consent(parser: Parser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask; in a project this needs --hash")
    parser.add_argument("--hash", metavar="SHA512", help="the bytes agreed to, as --dry-run prints them")
    parser.add_argument("--dry-run", action="store_true", help="change nothing; print the plan")


def _add_source(parser: Parser) -> None:
    parser.add_argument("--integrity", metavar="SHA512", help="refuse an archive or package with another digest")
    parser.add_argument("--shared-file", metavar="F", action="append", default=[], help="a coding tool's settings file")
    parser.add_argument("--allow-insecure-loopback", action="store_true", help="http to this machine, for development")


def _request(session: Session, given: Any) -> Request:
    return Request(
        integrity=given.integrity,
        shared_files=tuple(given.shared_file),
        allow_insecure_loopback=given.allow_insecure_loopback,
        allow_downgrade=getattr(given, "allow_downgrade", False),
        progress=session.out.progress,
    )


def install(session: Session, words: list[str]) -> int:
    """Fetch, judge, disclose, ask, and put in place; nothing of the capability runs."""
    parser = _parser(
        session,
        "install",
        "Install an overlay: from ./FOLDER, git+https://…#tag:v1, https://….tgz, pypi:NAME or npm:NAME.",
        "./acme --scope project",
    )
    parser.add_argument("spec", metavar="SPEC")
    parser.add_argument("--scope", choices=["global", "project"], default="global")
    _add_consent(parser)
    _add_source(parser)
    given = parser.parse_args(words)
    again = f"install {shell_word(given.spec)} --scope {given.scope}"
    lifecycle = session.host.lifecycle(session.cwd)
    _recovered(session, lifecycle, given)
    with lifecycle.preparing(given.spec, scope=_SCOPES[given.scope], request=_request(session, given)) as prepared:
        return _carry_out(session, lifecycle, prepared, given, again)


def _carry_out(session: Session, lifecycle: Lifecycle, prepared: Prepared, given: Any, again: str) -> int:
    again += _as_given(given)
    if given.dry_run:
        document = {**prepared.to_dict(), "dryRun": True}
        session.answer(
            document, lambda: session.out.line("\n".join([*prepared.lines(), _hint(session, prepared, again)]))
        )
        return 0
    done = lifecycle.commit(prepared, agreed=_consent(session, prepared, given, again))
    session.answer(done.to_dict(), lambda: session.out.line(_sentence(done)))
    for note in done.notes:
        session.out.warn(f"{session.product.command}: note: {clean(note)}")
    return 0


def _as_given(given: Any) -> str:
    """The options of this run that a printed command needs to do the same."""
    words = [word for file in getattr(given, "shared_file", ()) for word in ("--shared-file", shell_word(file))]
    if getattr(given, "integrity", None):
        words += ["--integrity", shell_word(given.integrity)]
    for name in ("allow_downgrade", "allow_insecure_loopback"):
        if getattr(given, name, False):
            words.append(f"--{name.replace('_', '-')}")
    return "".join(f" {word}" for word in words)


def _hint(session: Session, prepared: Prepared, again: str) -> str:
    if prepared.same:
        return "nothing would change: exactly these bytes are in place"
    return f"to do it in a script: {session.host.command(session.cwd)} capability {_in_script(prepared, again)}"


def _in_script(prepared: Prepared, again: str) -> str:
    return f"{again} --yes --hash {prepared.content_hash}"


def _consent(session: Session, prepared: Prepared, given: Any, again: str) -> str | None:
    """How the user agrees to exactly these bytes; asks where there is somebody to ask."""
    named = consent_of(prepared, given.hash, agreed=given.yes)
    if prepared.same and not prepared.needs_consent:
        return named
    if given.yes and named is not None:
        return named
    command = f"{session.host.command(session.cwd)} capability {_in_script(prepared, again)}"
    if given.yes or not session.interactive:
        why = "--yes in a project needs --hash" if given.yes else "nobody is here to ask"
        for line in prepared.lines():
            session.out.talk(f"  {line}")
        raise ConsentNeeded(f"agreeing to {quoted(prepared.id)} is a person's decision, and {why}", remedy=command)
    for line in prepared.lines():
        session.out.warn(f"  {line}")
    if not session.ask(f"{prepared.kind} these bytes of {prepared.id}?"):
        raise ConsentNeeded("nothing was changed")
    return "terminal"


def _sentence(done: Done) -> str:
    where = f"{done.version} ({done.scope.label})"
    if done.status == "unchanged":
        return f"{done.id}: nothing to do, {where} is in place"
    before = f" (before: {done.from_version})" if done.from_version else ""
    return f"{done.id}: {done.status} {where}{before}"


def _recovered(session: Session, lifecycle: Lifecycle, given: Any) -> None:
    """Tell what an earlier, killed change left, before a dry run that leaves it alone."""
    for intent in lifecycle.pending():
        session.out.warn(
            f"{session.product.command}: an earlier {intent.kind} of {intent.id} was cut off;"
            f" {'it is ended first' if not given.dry_run else 'the next change ends it'}"
        )


def update(session: Session, words: list[str]) -> int:
    """Fetch what the source has now, show what differs, ask, and put it in place."""
    parser = _parser(session, "update", "Bring an installed overlay up to date from its source.", "acme")
    parser.add_argument("id", metavar="ID", nargs="?")
    parser.add_argument("--all", action="store_true", help="every installed overlay; a row for each")
    parser.add_argument("--scope", choices=["global", "project"])
    parser.add_argument("--allow-downgrade", action="store_true", help="also to a lower version")
    _add_consent(parser)
    _add_source(parser)
    given = parser.parse_args(words)
    if given.all == (given.id is not None):
        raise UsageError("name one ID, or --all")
    if given.all and (given.hash or given.integrity or given.shared_file):
        raise UsageError("--hash, --integrity and --shared-file are about one overlay; none goes with --all")
    lifecycle = session.host.lifecycle(session.cwd)
    _recovered(session, lifecycle, given)
    if not given.all:
        return _update_one(session, lifecycle, given)
    return _update_all(session, lifecycle, given)


def _scope(given: Any) -> Scope | None:
    return _SCOPES[given.scope] if given.scope else None


def _flag(prepared: Prepared) -> str:
    return f" --scope {prepared.scope.label}"


def _update_one(session: Session, lifecycle: Lifecycle, given: Any) -> int:
    with lifecycle.updating(given.id, scope=_scope(given), request=_request(session, given)) as prepared:
        return _carry_out(session, lifecycle, prepared, given, f"update {given.id}{_flag(prepared)}")


def _update_all(session: Session, lifecycle: Lifecycle, given: Any) -> int:
    """Fetched side by side, then asked about and put in place one by one."""
    rows: list[dict[str, Any]] = []
    with lifecycle.updating_all(scope=_scope(given), request=_request(session, given)) as ready:
        for id, scope, outcome in ready:
            rows.append(_updated(session, lifecycle, given, id, scope, outcome))
    session.answer({"updated": rows}, lambda: _told(session, rows))
    failed = [row for row in rows if row["status"] == "failed"]
    return 0 if not failed else _PARTLY


def _updated(
    session: Session, lifecycle: Lifecycle, given: Any, id: str, scope: Scope, outcome: Prepared | MSDError
) -> dict[str, Any]:
    try:
        if isinstance(outcome, MSDError):
            raise outcome
        if given.dry_run:
            return {**outcome.to_dict(), "status": "unchanged" if outcome.same else "would-update", "reason": None}
        agreed = _consent(session, outcome, given, f"update {id}{_flag(outcome)}{_as_given(given)}")
        return {**lifecycle.commit(outcome, agreed=agreed).to_dict(), "reason": None}
    except MSDError as error:
        return {
            "id": id,
            "scope": scope.label,
            "status": "failed",
            "version": None,
            "fromVersion": None,
            "code": error.code,
            "reason": clean(error.message),
            "remedy": error.remedy,
        }


def _told(session: Session, rows: list[dict[str, Any]]) -> None:
    if not rows:
        session.out.line("nothing is installed")
        return
    table = [[r["id"], r["scope"], r["status"], r.get("version") or "-", r.get("reason") or "-"] for r in rows]
    session.out.table(["ID", "SCOPE", "STATUS", "VERSION", "REASON"], table)


def rollback(session: Session, words: list[str]) -> int:
    """Put the version back that was in place before the last update."""
    parser = _parser(session, "rollback", "Return to the version an overlay had before its last update.", "acme")
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--scope", choices=["global", "project"])
    _add_consent(parser)
    given = parser.parse_args(words)
    lifecycle = session.host.lifecycle(session.cwd)
    with lifecycle.rolling_back(given.id, scope=_scope(given)) as prepared:
        return _carry_out(session, lifecycle, prepared, given, f"rollback {given.id}{_flag(prepared)}")


def outdated(session: Session, words: list[str]) -> int:
    """What has a newer version at its source; changes nothing."""
    parser = _parser(session, "outdated", "What has a newer version at its source. Changes nothing.", "outdated")
    parser.add_argument("--scope", choices=["global", "project"])
    parser.add_argument("--allow-insecure-loopback", action="store_true", help="http to this machine, for development")
    given = parser.parse_args(words)
    request = Request(allow_insecure_loopback=given.allow_insecure_loopback, progress=session.out.progress)
    rows = [row.to_dict() for row in session.host.lifecycle(session.cwd).outdated(_scope(given), request)]
    session.answer(rows, lambda: _outdated(session, rows))
    return 0


def _outdated(session: Session, rows: list[dict[str, Any]]) -> None:
    if not rows:
        session.out.line("nothing is installed")
        return
    table = [
        [r["id"], r["scope"], r["sourceKind"], r["current"], r["latest"] or "-", r["status"], r["reason"] or "-"]
        for r in rows
    ]
    session.out.table(["ID", "SCOPE", "SOURCE", "CURRENT", "LATEST", "STATUS", "REASON"], table)


def remove(session: Session, words: list[str]) -> int:
    """Take an overlay out of its scope, its consent first."""
    from ..lifecycle.remove import plan_removal, remove_overlay

    parser = _parser(session, "remove", "Remove an overlay, its consent first.", "acme --scope project")
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--scope", choices=["global", "project"])
    parser.add_argument("--purge-data", action="store_true", help="delete what it stored, too")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    given = parser.parse_args(words)
    if not is_valid_id(given.id):
        raise UsageError(f"{quoted(given.id)} is not a capability id")
    plan = plan_removal(session.host, session.cwd, given.id, _scope(given))
    if plan.needs_question and not given.yes:
        for line in plan.lines():
            session.out.warn(line)
        if not session.interactive:
            raise ConsentNeeded(
                "nobody is here to ask; say it with --yes",
                remedy=f"{session.host.command(session.cwd)} capability remove {given.id}"
                f" --scope {plan.scope.label} --yes",
            )
        if not session.ask(f"remove {given.id}?"):
            session.out.warn("nothing was removed")
            return 4
    done = remove_overlay(session.host, plan, purge=given.purge_data)
    session.answer(done, lambda: session.out.line(f"removed {given.id} from {plan.scope.label} scope"))
    for left in done["leftAlone"]:
        session.out.warn(f"{session.product.command}: note: a settings file was left as it is: {clean(left)}")
    return 0
