"""`doctor`: what is wrong around the host, and with --fix what can be put right (spec 60)."""

from __future__ import annotations

from ..doctor.run import diagnose
from ..doctor.values import ERROR, NOTE, WARNING, Diagnosis, Finding
from .session import Parser, Session

__all__ = ["VERBS"]

_DAMAGED_EXIT = 7
_COLORS = {ERROR: "red", WARNING: "yellow", NOTE: "cyan"}
_ABOUT = """Look at homes, stores, ledgers, consent, configuration, extensions and the installation itself.

Nothing is changed without --fix, and with it only what a finding says it mends. Exit 7 when an error is left: state
on disk that is damaged or not ours, or a host that is not whole. Warnings and notes are told, and exit 0."""


def doctor(session: Session, words: list[str]) -> int:
    """Every finding, the worst first, each with its fix or a command."""
    parser = Parser(session, "doctor", _ABOUT, "doctor --fix")
    parser.add_argument("--fix", action="store_true", help="mend what can be mended, then look again")
    given = parser.parse_args(words)
    found = diagnose(session.host, session.cwd, fix=given.fix, plugins_off=session.options.no_plugins)
    session.answer(found.to_dict(), lambda: _told(session, found))
    return _DAMAGED_EXIT if found.damaged else 0


def _told(session: Session, found: Diagnosis) -> None:
    out = session.out
    for one in found.findings:
        mark = out.style("fixed", "green") if one.fixed else out.style(one.severity, _COLORS[one.severity])
        out.prose(f"{mark}: {one.message} [{one.code}]")
        for line in _ways(session, one) if not one.fixed else ():
            out.line(f"    {line}")
    left = len(found.open)
    if not found.findings:
        out.prose(f"{out.style('nothing to tell', 'green')}: {', '.join(found.themes)}")
    elif left:
        out.line(f"{left} to look at, {len(found.findings) - left} fixed" if left < len(found.findings) else _sum(left))
    else:
        out.line(f"all {len(found.findings)} fixed")


def _sum(left: int) -> str:
    return "1 to look at" if left == 1 else f"{left} to look at"


def _ways(session: Session, one: Finding) -> list[str]:
    ways = [f"--fix will {one.fix}"] if one.fix else []
    return [*ways, session.out.style(one.command, "cyan")] if one.command else ways


VERBS = {"": doctor}
