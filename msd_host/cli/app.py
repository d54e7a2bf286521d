"""From words to a verb, and from whatever happens to an exit code (spec 60)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import MSDError, UsageError
from ..product import Product
from ..text import clean, nearest
from .options import SHORT, Options, split
from .streams import answering, is_lost_answer
from .words import GROUPS, OPTIONS, overview

if TYPE_CHECKING:
    from ..memo.record import Watch

__all__ = ["run"]


def run(product: Product, argv: list[str], *, remember: bool = False) -> int:
    """Run one command line of *product*; returns the exit code and lets no traceback out unless asked.

    With *remember* a render leaves a memo, for a program that asks for it the next time (`memo.replay.answer`).
    """
    return answering(product.command, lambda: _attempt(product, argv, remember))


def _attempt(product: Product, argv: list[str], remember: bool) -> int:
    debug = os.environ.get(f"{product.name.upper().replace('-', '_')}_DEBUG") == "1" or "--debug" in argv
    try:
        return _remembered(product, argv) if remember else _run(product, argv)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return 130
    except UsageError as error:
        return _plain_failure(product, argv, error)
    except MSDError as error:
        if debug:
            raise
        return _plain_failure(product, argv, error)
    except Exception as error:
        if debug or is_lost_answer(error):
            raise
        return _plain_failure(product, argv, _internal(product, error))


def _internal(product: Product, error: Exception) -> MSDError:
    variable = f"{product.name.upper().replace('-', '_')}_DEBUG"
    return MSDError(f"internal error: {type(error).__name__}: {clean(error)} (set {variable}=1 for a traceback)")


def _plain_failure(product: Product, argv: list[str], error: MSDError) -> int:
    from .session import Session

    try:
        options, _ = split(argv)
    except UsageError:
        options = Options(json="--json" in argv)
    return Session(product, options).fail(error)


def _remembered(product: Product, argv: list[str]) -> int:
    from ..memo.replay import is_memorable

    if not is_memorable(argv, os.environ, product.name.upper().replace("-", "_")):
        return _run(product, argv)
    from ..memo.record import Watch

    watch = Watch(argv)
    with watch.listening():
        code = _run(product, argv, watch)
    watch.keep(code)
    return code


def _run(product: Product, argv: list[str], watch: Watch | None = None) -> int:
    ours, theirs = _divided(argv)
    options, words = split(ours)
    words = [*words, *theirs]
    if words[:1] == ["--version"]:
        sys.stdout.write(f"{product.command} {product.version}\n")
        return 0
    if words[:1] == ["help"] and len(words) > 1:
        words = [*words[1:], "--help"]
    if not words or words[0] in ("--help", "-h", "help"):
        sys.stdout.write(overview(product.command, product.title))
        return 0 if words else 2
    verb, rest = _verb(product, words)
    from .session import Session

    session = Session(product, options, watch)
    try:
        return verb(session, rest)
    except SystemExit as finished:  # argparse, once it has printed a verb's help
        return int(finished.code or 0)
    except MSDError as error:
        if options.debug and not isinstance(error, UsageError):
            raise
        return _plain_failure(product, argv, error) if theirs else session.fail(error)


def _divided(argv: list[str]) -> tuple[list[str], list[str]]:
    """*argv* cut behind the name of a command family: what follows is its own, also where it looks like ours."""
    at, sure = 0, False
    while at < len(argv) and argv[at] != "--":
        word = argv[at]
        option = OPTIONS.get(SHORT.get(word, word))
        if option is not None or word.startswith("-"):
            at += 2 if option is not None and option[0] else 1
        elif word == "x" and not sure:
            at, sure = at + 1, True
        elif sure or word not in GROUPS:
            return argv[: at + 1], argv[at + 1 :]
        else:
            break
    return argv, []


def _verb(product: Product, words: list[str]) -> tuple[Callable[..., int], list[str]]:
    group = words[0]
    if group not in GROUPS:
        return _family(product, words)
    module, verbs = GROUPS[group]
    name, rest = ("", words[1:]) if "" in verbs else (words[1] if len(words) > 1 else "--help", words[2:])
    if name in ("--help", "-h"):
        name, rest = "help", []
    elif name not in verbs:
        raise _unknown(f"{group} command", name, verbs, f"{product.command} {group} --help")
    from importlib import import_module

    home = import_module(f"{__package__}.{module}")
    if name == "help":
        return lambda *_: _group_help(product, group), rest
    return home.VERBS[name], rest


def _family(product: Product, words: list[str]) -> tuple[Callable[..., int], list[str]]:
    """A first word that is none of ours. One that is close to ours is taken for a slip, before anything is loaded."""
    from ..remedies import is_valid_id  # families are spelled like ids

    word, known = words[0], [group for group in GROUPS if len(group) > 1]
    if not is_valid_id(word) or word in product.reserved_families or nearest(word, known):
        raise _unknown("command", word, known, f"{product.command} --help")
    from .x import family

    return family, words


def _group_help(product: Product, group: str) -> int:
    verbs = GROUPS[group][1]
    lines = [f"  {product.command} {group} {verb}".ljust(36) + line for verb, line in verbs.items()]
    example = f"example: {product.command} {group} {next(iter(verbs))} --help"
    sys.stdout.write("\n".join(["usage:", *lines, "", "each takes --help and says what it needs", example, ""]))
    return 0


def _unknown(what: str, word: str, known: object, remedy: str) -> UsageError:
    names = list(known)  # type: ignore[call-overload]
    close = nearest(word, names)
    hint = f'; did you mean "{close}"?' if close else f"; there are: {', '.join(names)}"
    return UsageError(f'unknown {what} "{clean(word, 80)}"{hint}', remedy=remedy)
