"""Putting a capability's entries into a settings text and taking them out again, byte for byte (spec 30, Shared files).

Pure. Only entries that carry the capability's mark are ever touched; what a person wrote between stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import LifecycleError
from ...limits import Limits
from ...model.frozen import FrozenDict
from ...reading.jsontext import JsonFault, decode
from ...text import clean
from .entries import HOOKS, SERVERS, Entries
from .spans import Node, Span, insert, parse, take_out

__all__ = ["EMPTY_FILE", "checked", "spliced", "unspliced"]

EMPTY_FILE = "{}\n"


def checked(data: bytes, path: str, limits: Limits) -> str:
    """*data* as the text of a settings file. Raises `LifecycleError` (`settings-not-json`) for anything else.

    Comments, trailing commas and a byte order mark would not survive a change, so such a file is left alone.
    """
    what = None
    if data.startswith(b"\xef\xbb\xbf"):
        what = "it begins with a byte order mark"
    else:
        try:
            document = decode(data, limits)
        except JsonFault as fault:
            what = str(fault)
        else:
            what = _misshapen(document)
    if what is not None:
        raise LifecycleError(
            "settings-not-json", f"{clean(path, 300)} is not strict JSON as it must be to be changed: {clean(what)}"
        )
    return data.decode()


def _misshapen(document: object) -> str | None:
    """Why a tool would not read *document* as its settings, or None."""
    if not isinstance(document, FrozenDict):
        return "it is no object"
    for name in (HOOKS, SERVERS):
        if not isinstance(document.get(name, FrozenDict({})), FrozenDict):
            return f"{name} is no object"
    if not all(isinstance(groups, tuple) for groups in document.get(HOOKS, FrozenDict({})).values()):
        return f"something in {HOOKS} is no list"
    return None


def spliced(text: str, entries: Entries, marker: str) -> tuple[str, tuple[str, ...]]:
    """(*text* with *entries*, the containers that had to be made), as paths such as `hooks` and `hooks/Stop`."""
    made: list[str] = []
    for event, group in entries.hooks:
        text = _contained(text, (HOOKS,), {}, made)
        text = _contained(text, (HOOKS, event), [], made)
        roomy = f"{HOOKS}/{event}" in made
        text = insert(text, _at(parse(text), (HOOKS, event)), None, {marker: entries.id, **group}, 3, roomy=roomy)
    for name, config in entries.servers:
        text = _contained(text, (SERVERS,), {}, made)
        servers = _at(parse(text), (SERVERS,))
        if servers.get(name) is None:  # a name that a person gave to a server is theirs
            text = insert(text, servers, name, {**config, marker: entries.id}, 2, roomy=SERVERS in made)
    return text, tuple(made)


def _contained(text: str, path: tuple[str, ...], empty: object, made: list[str]) -> str:
    parent = _at(parse(text), path[:-1])
    if parent.get(path[-1]) is not None:
        return text
    roomy = "/".join(path[:-1]) in made
    made.append("/".join(path))
    return insert(text, parent, path[-1], empty, len(path), roomy=roomy)


def _at(node: Node, path: Iterable[str]) -> Node:
    for key in path:
        below = node.get(key)
        assert below is not None
        node = below
    return node


def unspliced(text: str, id: str, marker: str, made: Iterable[str] = ()) -> str:
    """*text* without the entries of *id*, and without the containers in *made* that are empty then.

    The last one that was put in goes first, so that a text nobody touched is exactly what it was.
    """
    while True:
        found = _last_of(text, id, marker)
        if found is None:
            break
        text = take_out(text, *found)
    for path in reversed([*made]):
        text = _without_empty(text, tuple(path.split("/", 1)))
    return text


def _last_of(text: str, id: str, marker: str) -> tuple[Node, Span] | None:
    root = parse(text)
    found: list[tuple[Node, Span]] = []
    hooks, servers = root.get(HOOKS), root.get(SERVERS)
    for event in hooks.parts if hooks is not None else ():
        found += [(event.node, part) for part in event.node.parts if _is_marked(text, part, id, marker)]
    for part in servers.parts if servers is not None else ():
        if servers is not None and _is_marked(text, part, id, marker):
            found.append((servers, part))
    return max(found, key=lambda one: one[1].start, default=None)


def _is_marked(text: str, part: Span, id: str, marker: str) -> bool:
    mark = part.node.get(marker) if part.node.kind == "object" else None
    return mark is not None and json.loads(text[mark.start : mark.end]) == id


def _without_empty(text: str, path: tuple[str, ...]) -> str:
    root = parse(text)
    parent: Node | None = root
    for key in path[:-1]:
        parent = parent.get(key) if parent is not None else None
    part = next((p for p in parent.parts if p.key == path[-1]), None) if parent is not None else None
    if parent is None or part is None or part.node.parts or part.node.kind == "scalar":
        return text
    return take_out(text, parent, part)


def is_bare(text: str) -> bool:
    """Whether nothing is said in *text*."""
    document: Mapping[str, Any] = json.loads(text)
    return not document
