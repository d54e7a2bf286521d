"""`loop check`: the gates of one point evaluated, exit 10 when one of them says no (spec 40, Loop; spec 60)."""

from __future__ import annotations

from ..loop.gates import BLOCKED, PASSED, GateReport, check_gates
from ..loop.resolve import check_point
from ..loop.shell import ending_whole
from ..text import clean
from .session import Parser, Session
from .strict import finish

__all__ = ["check"]

_BLOCKED_EXIT = 10
_COLORS = {PASSED: "green", BLOCKED: "red"}
_ABOUT = """Evaluate the gates that are active at a point of the loop. Exit 0: nothing blocks; 10: blocked.

The commands of gates run in the project's folder with your rights, those of overlays you agreed to as well;
they find the phase in PHASE_NUMBER, PHASE_DIR and PHASE_REQ_IDS. What a gate asks of an agent or a person is
listed as unanswered; it blocks if the gate does. A gate that is not in force is told, and is no pass."""


def check(session: Session, words: list[str]) -> int:
    """The verdict of every active gate at a point; what is not in force is loud beside it."""
    parser = Parser(session, "loop check", _ABOUT, "loop check ship:pre --phase-dir .planning/phases/03-login")
    parser.add_argument("point", metavar="POINT")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    parser.add_argument("--phase-number", metavar="N", default="", help="the phase, as commands see it")
    parser.add_argument("--phase-dir", metavar="DIR", help="its folder in the project; artifacts are looked for there")
    parser.add_argument("--phase-req-ids", metavar="IDS", default="", help="its requirements, comma-separated")
    given = parser.parse_args(words)
    check_point(given.point, session.product.contract.points)  # before anything is composed
    composition = session.composition
    with ending_whole():
        report = check_gates(
            session.host,
            composition,
            given.point,
            session.here,
            phase_number=given.phase_number,
            phase_dir=given.phase_dir,
            phase_req_ids=given.phase_req_ids,
        )
    for warning in (w for w in report.warnings if w["kind"] != "extension"):  # `finish` tells those
        session.out.warn(f"{session.product.command}: warning: {warning['message']}")
    if session.options.json or given.format == "json":
        session.out.json(report.to_dict(times=session.options.verbose))
    else:
        _told(session, report)
    return finish(session, 0 if report.passed else _BLOCKED_EXIT)


def _told(session: Session, report: GateReport) -> None:
    out, times = session.out, session.options.verbose
    for gate in report.gates:
        outcome = out.style(f"{gate.outcome:<10}", _COLORS.get(gate.outcome, "yellow"))
        took = f" ({gate.seconds:.2f} s)" if times else ""
        blocking = "blocking" if gate.blocking else "advisory"
        out.line(f"{outcome}  {gate.cap_id} ({gate.scope}, {blocking}) {gate.kind}{took}: {clean(gate.message, 2100)}")
    absent = any(w["kind"] in ("gate-skipped", "gate-error", "gate-off") for w in report.warnings)
    verdict = "nothing blocks" if report.passed else "blocked"
    out.line(f"{report.point}: {verdict}{', but not every gate is in force' if absent else ''}")
