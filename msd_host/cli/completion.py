"""`completion bash|zsh|fish`: made from the words and the verbs' own parsers; loads no plugin (spec 60)."""

from __future__ import annotations

import argparse
import io
import os
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any

from ..errors import MSDError
from ..remedies import is_valid_id
from ..text import clean
from .options import SHORT
from .session import Described, Parser, Session
from .words import GROUPS, OPTIONS

__all__ = ["VERBS", "described", "table"]

#: Key -> (word, what it is). Keys: `sub PATH`, `opts PATH`, `val PATH OPTION`, `arg PATH NUMBER`; see `described`.
Table = dict[str, list[tuple[str, str]]]

_HELP = ("--help", "what it takes, with an example")
#: What a value stands for, by the name it has in help texts; a word with `@` is looked up when it is asked for.
_STANDS_FOR = {
    "ID": "@ids",
    "POINT": "@points",
    "KEY": "@keys",
    "K": "@keys",
    "PATH": "@files",
    "SPEC": "@files",
    "F": "@files",
    "FILE": "@files",
    "DIR": "@folders",
    "D": "@folders",
}
_BELOW = {"capability trust": "trust"}  # a verb with verbs of its own, and their module
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:@._-=/+")
_MOST = 4096


_ABOUT = """What a shell needs to complete words. To have it in every shell, one line in its start file:

  ~/.bashrc                       eval "$({command} completion bash)"
  ~/.zshrc, behind compinit       eval "$({command} completion zsh)"
  ~/.config/fish/config.fish      {command} completion fish | source"""


def completion(session: Session, words: list[str]) -> int:
    """The script on stdout; with --words what a script asks for while a person types."""
    parser = Parser(
        session,
        "completion",
        _ABOUT.format(command=session.product.command),
        "completion bash",
    )
    parser.add_argument("shell", nargs="?", choices=["bash", "zsh", "fish"])
    parser.add_argument("--also", metavar="NAME", action="append", default=[], help="another name of this program")
    parser.add_argument("--words", choices=sorted(_ASKED), help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.words is not None:
        for word in sorted(set(_ASKED[given.words](session))):
            session.out.line(word)
        return 0
    if given.shell is None:
        parser.error("say bash, zsh or fish")
    from .completion_scripts import script

    names = [session.product.command, *(name for name in given.also if _is_safe(name))]
    session.out.line(script(given.shell, names, table(session), SHORT).rstrip("\n"))
    return 0


def _is_safe(word: str) -> bool:
    """Whether *word* means itself in every shell."""
    return bool(word) and _SAFE.issuperset(word) and not word.startswith("=")


# What may come where


def table(session: Session) -> Table:
    """Every word that can be told beforehand, by the place it belongs to."""
    found: Table = {"sub ": [], "opts ": [(o, text) for o, (_, text) in OPTIONS.items()]}
    found["opts "] += [*((short, OPTIONS[full][1]) for short, full in SHORT.items()), _HELP]
    for option, (takes, _) in OPTIONS.items():
        if takes:
            found[f"val  {option}"] = [("@folders", "")] if option in ("--home", "--cwd") else []
    for group, (module, verbs) in GROUPS.items():
        first = verbs.get("", f"{', '.join(list(verbs)[:4])}{' …' if len(verbs) > 4 else ''}")
        found["sub "].append((group, first))
        home = import_module(f"{__package__}.{module}")
        if "" not in verbs:
            found[f"sub {group}"] = [*verbs.items()]
        for verb in verbs:
            _add(found, session, f"{group} {verb}".strip(), home.VERBS[verb])
    points = [(point, "") for point in session.product.contract.points]
    return {key: _told(points if words == [("@points", "")] else words) for key, words in found.items()}


def _told(words: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(word, clean(text, 100)) for word, text in words if _is_safe(word)]


def _add(found: Table, session: Session, path: str, verb: Any) -> None:
    if path in _BELOW:
        below = import_module(f"{__package__}.{_BELOW[path]}").VERBS
        found[f"sub {path}"] = [(name, (one.__doc__ or "").partition("\n")[0]) for name, one in below.items()]
        for name, one in below.items():
            _add(found, session, f"{path} {name}", one)
        return
    parser = described(session, verb)
    found[f"opts {path}"] = [_HELP]
    if parser is None:
        found[f"arg {path} 1"] = [("@files", "")]
        return
    for key, words in _taken(parser, path):
        found.setdefault(key, []).extend(words)


def described(session: Session, verb: Any) -> Parser | None:
    """The parser of *verb*, which does nothing else; None where it takes its words as they are."""
    asking = Session(session.product, session.options)
    asking.describing = True
    try:
        with redirect_stdout(io.StringIO()):
            verb(asking, ["--help"])
    except Described as told:
        return told.parser
    except (MSDError, SystemExit):
        return None
    return None


def _taken(parser: Parser, path: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    number = 0
    for action in parser._actions:
        shown = [o for o in action.option_strings if o not in ("-h", "--help")]
        if action.help == argparse.SUPPRESS:
            continue
        if not action.option_strings:
            number += 1
            place = "*" if action.nargs in ("*", "+", argparse.REMAINDER) else str(number)
            yield f"arg {path} {place}", _values(action)
        for option in shown:
            yield f"opts {path}", [(option, action.help or "")]
            if action.nargs != 0:
                yield f"val {path} {option}", _values(action)


def _values(action: argparse.Action) -> list[tuple[str, str]]:
    if action.choices is not None:
        return [(str(choice), "") for choice in action.choices]
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return [(_STANDS_FOR[name], "")] if name in _STANDS_FOR else []


# What is asked for while a person types: nothing is composed, nothing imported that is not ours


def _ids(session: Session) -> Iterator[str]:
    """First-party ids, and the names of folders in both roots that may be ids."""
    yield from (capability.id for capability in session.product.first_party.capabilities)
    roots = session.host.roots(session.cwd)
    for root in (roots.global_root, roots.project_root):
        if root is None or not root.there:
            continue
        try:
            with os.scandir(root.path) as entries:
                names = [entry.name for _, entry in zip(range(_MOST), entries)]
        except OSError:
            continue
        yield from filter(is_valid_id, names)


def _keys(session: Session) -> Iterator[str]:
    yield from filter(_is_safe, session.product.central_schema.keys)
    for capability in session.product.first_party.capabilities:
        yield from filter(_is_safe, capability.config)


_ASKED = {"ids": _ids, "keys": _keys}

VERBS = {"": completion}
