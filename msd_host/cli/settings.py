"""`settings list|get|set|unset|explain` (spec 60; spec 40, Config activation)."""

from __future__ import annotations

import json
from typing import Any

from ..activation.answers import Explained, Written
from ..activation.config import PROJECT, USER
from ..text import clean
from .session import Parser, Session

__all__ = ["VERBS", "add_layer", "layer_of", "shown"]


def shown(value: Any) -> str:
    """A value for a person or a script: text as it is, anything else as JSON, nothing for none."""
    if value is None:
        return ""
    return clean(value, 2000) if isinstance(value, str) else json.dumps(value)


def add_layer(parser: Parser, user: str, project: str) -> None:
    """`--user` and `--project`, of which at most one may be given."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--user", action="store_true", help=user)
    group.add_argument("--project", action="store_true", help=project)


def layer_of(given: Any) -> str | None:
    """The layer that was asked for, None for the usual one."""
    return USER if given.user else PROJECT if given.project else None


def _parser(session: Session, verb: str, description: str, example: str) -> Parser:
    return Parser(session, f"settings {verb}", description, f"settings {example}")


def _writer(session: Session, verb: str, description: str, example: str) -> Parser:
    parser = _parser(session, verb, description, example)
    parser.add_argument("key", metavar="KEY")
    add_layer(parser, "the user's file, for every project", "the project's file (the default where there is a project)")
    return parser


def list_all(session: Session, words: list[str]) -> int:
    """Every key, its value and the layer it comes from."""
    _parser(session, "list", "Every key, its value and the layer it comes from.", "list").parse_args(words)
    settings, composition = session.host.settings, session.composition
    rows, unknown = settings.list(composition), settings.unknown(composition)
    config = settings.config(composition)
    problems = list(dict.fromkeys((*config.problems, *(p for r in rows for p in r.setting.problems))))
    document = {
        "settings": [
            {"key": r.key, "value": r.setting.value, "layer": r.setting.layer, "owner": r.owner} for r in rows
        ],
        "layers": [
            {"layer": x.name, "path": x.path, "there": x.there, "problem": x.problem and clean(x.problem)}
            for x in config.layers
        ],
        "unknown": [{"layer": layer, "key": key} for layer, key in unknown],
        "problems": problems,
    }

    def text() -> None:
        table = [[r.key, clean(shown(r.setting.value), 60), r.setting.layer, r.owner or "-"] for r in rows]
        session.out.table(["KEY", "VALUE", "LAYER", "OWNER"], table, less=["OWNER", "VALUE"])

    session.answer(document, text)
    _warn(session, problems)
    _warn(session, [f'nobody declares "{clean(key, 80)}" ({layer}); it has no effect' for layer, key in unknown])
    return 0


def _warn(session: Session, sentences: list[str]) -> None:
    for sentence in sentences:
        session.out.warn(f"{session.product.command}: warning: {clean(sentence, 900)}")


def get(session: Session, words: list[str]) -> int:
    """The value of a key, alone on its line."""
    parser = _parser(session, "get", "The value of a key.", "get research.depth")
    parser.add_argument("key", metavar="KEY")
    setting = session.host.settings.get(session.composition, parser.parse_args(words).key)
    document = {"key": setting.key, "value": setting.value, "layer": setting.layer}
    session.answer(document, lambda: session.out.line(shown(setting.value)))
    _warn(session, list(setting.problems))
    return 0


def _numbers_last(words: list[str]) -> list[str]:
    """*words* so that a negative number such as -2.5e3 is not taken for an option."""
    numbers = [w for w in words if w.startswith("-") and w[1:2].isdecimal()]
    return words if "--" in words or not numbers else [*(w for w in words if w not in numbers), "--", *numbers]


def put(session: Session, words: list[str]) -> int:
    """Write a value that fits into the project's or the user's file."""
    parser = _writer(
        session, "set", "Write a value into the project's or the user's configuration.", "set research.depth deep"
    )
    parser.add_argument("value", metavar="VALUE", help="as JSON, or as plain text where a text is wanted")
    given = parser.parse_args(_numbers_last(words))
    settings, composition = session.host.settings, session.composition
    value = settings.parse(composition, given.key, given.value)
    return _written(session, settings.set(composition, given.key, value, layer=layer_of(given)), "written to")


def unset(session: Session, words: list[str]) -> int:
    """Take a value out of one file again."""
    parser = _writer(session, "unset", "Take a value out of a configuration file.", "unset research.depth")
    given = parser.parse_args(words)
    done = session.host.settings.unset(session.composition, given.key, layer=layer_of(given))
    return _written(session, done, "taken out of")


def _written(session: Session, done: Written, words: str) -> int:
    def text() -> None:
        what = f"{words} {clean(done.path, 400)}" if done.changed else f"nothing to change in {clean(done.path, 400)}"
        session.out.line(f"{done.key} = {shown(done.setting.value)} ({done.setting.layer}); {what}")

    session.answer(done.to_dict(), text)
    for note in done.notes:
        session.out.talk(f"{session.product.command}: note: {note}")
    _warn(session, list(done.setting.problems))
    return 0


def explain(session: Session, words: list[str]) -> int:
    """What every layer says of a key, and which one wins."""
    parser = _parser(
        session, "explain", "What every layer says of a key, and which one wins.", "explain research.enabled"
    )
    parser.add_argument("key", metavar="KEY")
    add_layer(parser, "only what the user's file says", "only what the project's file says")
    given = parser.parse_args(words)
    found = session.host.settings.explain(session.composition, given.key)
    document, only = found.to_dict(), layer_of(given)
    if only is not None:
        document["layers"] = [layer for layer in document["layers"] if layer["layer"] == only]
    problems = list(session.host.settings.config(session.composition).problems)
    document["problems"] += problems
    session.answer(document, lambda: _explained(session, found, document))
    _warn(session, problems)
    return 0


def _explained(session: Session, found: Explained, document: dict[str, Any]) -> None:
    out, setting = session.out, found.setting
    out.line(f"{out.style(found.key, 'bold')} = {shown(setting.value)} ({setting.layer})")
    if found.declared is not None:
        among = f", one of {', '.join(clean(v, 40) for v in document['values'])}" if document["values"] else ""
        out.line(f"  {document['description']}")
        out.line(f"  of {found.owner}: {document['type']}{among}, default {shown(document['default'])}")
    if found.users_first:
        out.line("  a gate of an overlay hangs on it, so the user's word counts more than the project's")
    for layer in document["layers"]:
        value = shown(layer["value"]) if layer["present"] else "-"
        mark = out.style(" <- this one", "green") if layer["wins"] else ""
        out.line(f"  {layer['layer']:<11} {clean(value, 200)}{mark}  {clean(layer['path'], 400)}".rstrip())
        if layer["problem"]:
            out.line(f"    {out.style('ignored', 'yellow')}: it {layer['problem']}")
    if setting.layer == "default":
        out.line(f"  default     {shown(document['default'])}{out.style(' <- this one', 'green')}")
    for note in found.notes:
        out.line(f"  note: {note}")


VERBS = {"list": list_all, "get": get, "set": put, "unset": unset, "explain": explain}
