"""A recorded bundle looked at on its own, apart from anything our host thinks of it.

What a rule of the conformance notes says about a tree ("begins with a byte order mark", "is a link") is
checked here with plain means, so that a fault of our own reading cannot explain itself.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from attrs import frozen

from tests.conformance.trees import Run, content_of, product

__all__ = ["MISSING", "Bundle", "at_path", "document_faults"]

MANIFEST = "capability.json"
MISSING = object()  # null is a value, too
_STEP = re.compile(r'\.([^.\[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]')


@frozen(eq=False, slots=False)
class Bundle:
    """The entries of a tree below one capability folder, by their path inside it."""

    entries: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, run: Run, folder: str) -> Bundle:
        """The bundle at *folder*, a canonical path."""
        start = folder + os.sep
        return cls({path[len(start) :]: entry for path, entry in run.entries.items() if path.startswith(start)})

    def kind(self, name: str = MANIFEST) -> str:
        """`regular`, `symlink`, `fifo`, `dir`, or `missing`."""
        if any(path.startswith(name + "/") for path in self.entries):
            return "dir"
        return str(self.entries[name]["kind"]) if name in self.entries else "missing"

    def has_irregular(self) -> bool:
        """Whether something in it has no content of its own to vouch for."""
        return any(entry["kind"] in ("symlink", "fifo") for entry in self.entries.values())

    def data(self, name: str = MANIFEST) -> bytes:
        return content_of(self.entries[name]) if self.kind(name) == "regular" else b""

    @cached_property
    def manifest(self) -> Any:
        """The manifest as a lenient reader sees it (a repeated key's last value), None where there is none."""
        try:
            return json.loads(self.data().decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            return None

    @property
    def declared_gates(self) -> set[str] | None:
        """The known gate points of every `gates` member, None where the manifest is no JSON at all."""
        try:
            pairs = json.loads(self.data().decode("utf-8-sig", "replace"), object_pairs_hook=tuple)
        except (ValueError, RecursionError):
            return None
        lists = [value for key, value in _members(pairs) if key == "gates" and isinstance(value, list)]
        named = [v for gates in lists for gate in gates for k, v in _members(gate) if k == "point"]
        return {point for point in named if isinstance(point, str)} & set(product().contract.points)

    def hooks(self, kind: str) -> list[dict[str, Any]]:
        found = self.manifest.get(kind, ()) if isinstance(self.manifest, dict) else ()
        return [hook for hook in found if isinstance(hook, dict)]


def _members(value: object) -> list[tuple[str, Any]]:
    """The members of an object that was read as a tuple of pairs (an array is a list)."""
    return list(value) if isinstance(value, tuple) else []


def at_path(document: Any, path: str) -> tuple[list[str], Any]:
    """The steps of a JSON path as it is shown in messages, and the value there, `MISSING` where there is none."""
    steps: list[str] = []
    for name, index, quoted in _STEP.findall(path[1:]):
        step = name or index or json.loads(f'"{quoted}"')
        steps.append(step)
        if isinstance(document, list):
            document = document[int(step)] if step.isdigit() and int(step) < len(document) else MISSING
        else:
            document = document.get(step, MISSING) if isinstance(document, dict) else MISSING
    return steps, document


def document_faults(data: bytes) -> set[str]:
    """What a strict reader must refuse in a text that a lenient one takes for JSON (spec 10, Reading)."""
    faults: set[str] = set()
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return {"not UTF-8"}

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            faults.add("a key twice")
        return dict(pairs)

    try:
        document = json.loads(text, object_pairs_hook=members, parse_constant=lambda word: faults.add("no JSON"))
    except ValueError:
        return {"no JSON"}
    except RecursionError:
        return {"too deep"}
    _look_into(document, faults)
    return faults


def _look_into(document: Any, faults: set[str]) -> None:
    """Without recursion: interpreters differ in how deep a text their decoder takes."""
    waiting = [(document, 1)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, (dict, list)):
            if depth > 64:
                faults.add("too deep")
            inner = [*value, *value.values()] if isinstance(value, dict) else value
            waiting.extend((item, depth + 1) for item in inner)
        elif isinstance(value, str):
            faults |= {name for name, bad in _STRINGS.items() if bad(value)}
        elif isinstance(value, float) and value in (float("inf"), float("-inf")):
            faults.add("too large a number")
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            faults.add("more than 64 bits")


_STRINGS: dict[str, Callable[[str], bool]] = {
    "half a surrogate pair": lambda text: any("\ud800" <= c <= "\udfff" for c in text),
    "NUL": lambda text: "\0" in text,
    "too long a string": lambda text: len(text) > 64 * 1024,
}
