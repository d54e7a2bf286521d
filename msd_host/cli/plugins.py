"""`plugins list|check|enable|disable`: never imports what it manages (spec 50, 60)."""

from __future__ import annotations

from ..extending.desk import PluginDesk
from ..loop.shell import ending_whole
from ..text import clean
from .session import Parser, Session

__all__ = ["VERBS"]


def _desk(session: Session) -> PluginDesk:
    return PluginDesk(session.host, session.cwd, off=session.options.no_plugins)


def list_all(session: Session, words: list[str]) -> int:
    """Every installed extension and whether it is on."""
    Parser(session, "plugins list", "Every installed extension; none is imported.", "plugins list").parse_args(words)
    rows, warnings = _desk(session).list()

    def text() -> None:
        if not rows:
            session.out.line(f"no extension is installed (entry-point group {session.product.extension_group})")
            return
        head = ["NAME", "VERSION", "STATE", "REQUIRED", "REASON"]
        table = [[r.name, r.version, r.state, "yes" if r.required else "-", r.reason or "-"] for r in rows]
        session.out.table(head, table, less=["VERSION", "REQUIRED"], below=True)

    session.answer([r.to_dict() for r in rows], text)
    for warning in warnings:
        session.out.warn(f"{session.product.command}: warning: {clean(warning, 400)}")
    return 0


def check(session: Session, words: list[str]) -> int:
    """Import extensions in a child process each, and say whether the host would take them."""
    parser = Parser(session, "plugins check", "Try extensions out, each in a process of its own.", "plugins check")
    parser.add_argument("name", metavar="NAME", nargs="?")
    name, desk = parser.parse_args(words).name, _desk(session)
    with ending_whole():
        checked = desk.check(name)
    lacking = desk.lacking() if name is None else ()

    def text() -> None:
        for one in checked:
            mark = session.out.style("ok", "green") if one.ok else session.out.style("broken", "red")
            session.out.line(f"{one.name}: {mark}  {clean(one.reason or ', '.join(one.hooks), 400)}")
        if not checked:
            session.out.line("no extension is installed")

    session.answer([c.to_dict() for c in checked], text)
    for problem in lacking:
        session.out.warn(f"{session.product.command}: {clean(problem, 400)}")
    if not all(c.ok for c in checked):
        return 3
    return 0 if not lacking else 7 if desk.controls().problems else 8


def _switch(session: Session, words: list[str], on: bool) -> int:
    verb = "enable" if on else "disable"
    state = "on" if on else "off"
    parser = Parser(session, f"plugins {verb}", f"Switch an extension {state} for this user.", f"plugins {verb} NAME")
    parser.add_argument("name", metavar="NAME", help="distribution, entry point, or distribution:entry")
    name = parser.parse_args(words).name
    changed = _desk(session).switch(name, on=on)
    document = {"name": name, "state": state, "changed": changed}
    session.answer(document, lambda: session.out.line(f"{clean(name, 80)}: {state}{'' if changed else ' already'}"))
    return 0


VERBS = {
    "list": list_all,
    "check": check,
    "enable": lambda session, words: _switch(session, words, True),
    "disable": lambda session, words: _switch(session, words, False),
}
