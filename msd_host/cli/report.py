"""`report --html FILE`: one page for people who rather look (spec 60)."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from ..errors import Refused
from ..reading.roots import absolute
from ..text import clean
from ..trust.private import spare_name
from .session import Parser, Session
from .strict import finish

__all__ = ["VERBS"]


def report(session: Session, words: list[str]) -> int:
    """Write the page, whole or not at all."""
    parser = Parser(
        session,
        "report",
        "One page: what is on, what is skipped and why, who was agreed to.",
        "report --html report.html",
    )
    parser.add_argument("--html", metavar="FILE", required=True, help="where to write it; - for standard output")
    given = parser.parse_args(words)
    from ..report.gather import gather
    from ..report.page import to_html

    text = to_html(gather(session.host, session.composition))
    if given.html == "-":
        sys.stdout.write(text)
        return finish(session)
    path = absolute(os.path.join(session.here, given.html))
    _write(path, text)
    session.answer(
        {"written": path, "bytes": len(text.encode())}, lambda: session.out.line(f"written: {clean(path, 400)}")
    )
    return finish(session)


def _write(path: str, text: str) -> None:
    """Beside its place, then renamed into it. A link is not written through and not replaced."""
    if os.path.islink(path):
        raise Refused(f"{clean(path, 400)} is a link; name the file itself: {clean(os.path.realpath(path), 400)}")
    folder, name = os.path.split(path)
    spare = os.path.join(folder, spare_name(f".{name[:80]}.tmp-"))
    try:
        with open(spare, "x", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(spare, path)
    except OSError as error:
        raise Refused(f"{clean(path, 400)} could not be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            os.unlink(spare)


VERBS = {"": report}
