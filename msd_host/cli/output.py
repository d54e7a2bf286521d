"""stdout carries the answer, stderr the talk (spec 60)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

__all__ = ["Output"]

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Output:
    """Where one run writes to. Colours and tables only on a terminal, and never against `NO_COLOR`."""

    def __init__(self, *, no_color: bool = False, quiet: bool = False) -> None:
        self.quiet = quiet
        plain = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.color = not plain and sys.stdout.isatty()
        self.talk_color = not plain and sys.stderr.isatty()

    def line(self, text: str = "") -> None:
        """One line of the answer."""
        sys.stdout.write(_printable(text, sys.stdout.encoding) + "\n")

    def prose(self, text: str) -> None:
        """One line of the answer that is no command: on a terminal it is broken at blanks, elsewhere never."""
        if not sys.stdout.isatty():
            self.line(text)
            return
        from .table import wrapped  # only where there is a width to keep to

        for line in wrapped(text, _columns()):
            self.line(line)

    def json(self, document: Any) -> None:
        """The answer as one JSON document."""
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=True) + "\n")

    def progress(self, text: str) -> None:
        """What is going on, for a person who watches; nobody else is told."""
        if not self.quiet and sys.stderr.isatty():
            self.warn(f"… {text}")

    def talk(self, text: str) -> None:
        """Something a person may want to know; left out with --quiet."""
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Something a person must know."""
        sys.stdout.flush()
        with suppress(OSError):  # talk that cannot be written must not cost the answer
            sys.stderr.write(_printable(text, sys.stderr.encoding) + "\n")

    def style(self, text: str, *names: str) -> str:
        """*text* in the given styles when stdout is a terminal."""
        codes = ";".join(_STYLES[n] for n in names)
        return f"\x1b[{codes}m{text}\x1b[0m" if self.color and codes else text

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], *, less: Sequence[str] = (), below: bool = False
    ) -> None:
        """Aligned columns; on a terminal they are made to fit as `table.laid_out` says, elsewhere nothing is cut."""
        from .table import laid_out  # a render has no tables

        room = _columns() if sys.stdout.isatty() else None
        mark = "…" if _printable("…", sys.stdout.encoding) == "…" else ">"
        lines = laid_out(head, rows, room, less=less, below=below, mark=mark)
        self.line(self.style(next(lines), "bold"))
        for line in lines:
            self.line(line)


def _columns() -> int:
    from shutil import get_terminal_size  # only where there is a terminal to measure

    return get_terminal_size((100, 24)).columns


def _printable(text: str, encoding: str | None) -> str:
    """*text* as the stream can take it; what it has no letter for is escaped, never an error."""
    name = encoding or "utf-8"
    return text.encode(name, "backslashreplace").decode(name)
