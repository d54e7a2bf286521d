"""One run of the command line: its options, its host, and what it composed, once."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..composition import Composition
from ..errors import MSDError, UsageError
from ..host import Host, parse_trust
from ..product import Product
from ..reading.roots import absolute
from ..text import clean
from .options import Options
from .output import Output

if TYPE_CHECKING:
    from ..memo.record import Watch

__all__ = ["Described", "Parser", "Session"]


class Described(Exception):
    """What a verb takes, before it does anything (`completion`)."""

    def __init__(self, parser: Parser) -> None:
        super().__init__()
        self.parser = parser


class _Prose(argparse.HelpFormatter):
    """Paragraphs are filled to the terminal's width; examples and what is indented stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled = super()._fill_text
        parts = text.split("\n\n")
        return "\n\n".join(p if p.startswith(("example:", "  ")) else filled(p, width, indent) for p in parts)


class Parser(argparse.ArgumentParser):
    """Says what is wrong by raising, so that every error is put the same way."""

    def __init__(self, session: Session, verb: str, description: str, example: str) -> None:
        super().__init__(
            prog=f"{session.product.command} {verb}",
            description=description,
            epilog=f"example: {session.product.command} {example}",
            allow_abbrev=False,
            formatter_class=_Prose,
        )
        self._described = session.describing
        self.color = session.out.color  # newer Pythons colour help by a judgement of their own

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        """The words of the verb; in a session that only asks what a verb takes, `Described`."""
        if self._described:
            raise Described(self)
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise UsageError(clean(message), remedy=f"{self.prog} --help")


class Session:
    """What every verb gets. `composition` is made on first use and only then."""

    def __init__(self, product: Product, options: Options, watch: Watch | None = None) -> None:
        self.watch = watch
        self.describing = False
        self.product = product
        self.options = options
        self.out = Output(no_color=options.no_color, quiet=options.quiet)
        files, env = (None, None) if watch is None else (watch.files, watch.env)
        self.host = Host(product, home=options.home, plugins_off=options.no_plugins, files=files, env=env)
        self._composition: Composition | None = None

    @property
    def cwd(self) -> str | None:
        return self.options.cwd

    @property
    def here(self) -> str:
        """The absolute folder this run starts from."""
        return absolute(self.options.cwd)

    @property
    def interactive(self) -> bool:
        """Whether there is a person to ask."""
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    def trusted(self) -> dict[str, frozenset[str]]:
        """What `--trust` and the trust variable name for this run; the real process environment only."""
        variable = f"{self.product.name.upper().replace('-', '_')}_TRUST"
        return parse_trust([*self.options.trust, *os.environ.get(variable, "").split()])

    @property
    def composition(self) -> Composition:
        if self._composition is None:
            self._composition = self.host.compose(self.cwd, trust=self.trusted())
            if self.watch is not None:
                self.watch.composition = self._composition
        return self._composition

    def bare_composition(self) -> Composition:
        """A composition that imports no extension: for the verbs that must work with any of them broken."""
        return self.host.compose(self.cwd, trust=self.trusted(), extensions=False)

    def ask(self, question: str) -> bool:
        """A question whose default is no; only y and yes, in any case, mean yes."""
        try:
            sys.stderr.write(f"{question} [y/N] ")
            sys.stderr.flush()
            answer = sys.stdin.readline()
        except KeyboardInterrupt:
            sys.stderr.write("\n")
            return False
        if not answer.endswith("\n"):
            sys.stderr.write("\n")
        return answer.strip().lower() in ("y", "yes")

    def answer(self, document: Any, text: Any) -> None:
        """The JSON *document* with --json, else whatever *text* (a callable) prints."""
        if self.options.json:
            self.out.json(document)
        else:
            text()

    def fail(self, error: MSDError) -> int:
        """Put *error* to the user; returns its exit code."""
        if self.options.json:
            import json

            document = {"ok": False, "code": error.code, "message": clean(error.message, 2000), "remedy": error.remedy}
            self.out.warn(json.dumps(document))
        else:
            self.out.warn(f"{self.product.command}: {clean(error.message, 2000)}")
            if error.remedy:
                self.out.warn(f"  try: {error.remedy}")
        return error.exit_code
