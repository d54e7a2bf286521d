"""Constrained strings and numbers of a manifest, each a type of its own (spec 10, Manifest)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NewType

from attrs import frozen

from ..model.frozen import FrozenDict

__all__ = [
    "PROTOTYPE_NAMES",
    "WORDS",
    "ConfigKey",
    "Depth",
    "DotName",
    "DottedKey",
    "Family",
    "Flag",
    "Id",
    "Integrity",
    "Matcher",
    "Module",
    "Point",
    "Positive",
    "Range",
    "RelativePath",
    "Router",
    "RuntimeId",
    "ScriptPath",
    "SemVer",
    "Slug",
    "Stem",
    "Text",
    "is_reserved",
    "reserved_names",
]

Text = NewType("Text", str)
Id = NewType("Id", str)
RuntimeId = NewType("RuntimeId", str)
Stem = NewType("Stem", str)
Family = NewType("Family", str)
Module = NewType("Module", str)
Router = NewType("Router", str)
SemVer = NewType("SemVer", str)
Range = NewType("Range", str)
Integrity = NewType("Integrity", str)
ConfigKey = NewType("ConfigKey", str)
DottedKey = NewType("DottedKey", str)
ScriptPath = NewType("ScriptPath", str)
RelativePath = NewType("RelativePath", str)
Matcher = NewType("Matcher", str)
DotName = NewType("DotName", str)
Slug = NewType("Slug", str)
Flag = NewType("Flag", str)
Point = NewType("Point", str)  # judged against the grammar, not by a pattern
Positive = NewType("Positive", int)
Depth = NewType("Depth", int)

#: Names with a meaning of their own in other languages' objects; kept out everywhere.
PROTOTYPE_NAMES = frozenset(["__proto__", "constructor", "prototype"])

#: Names that a Windows file system takes for devices, with any extension.
_DEVICES = frozenset(["con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))])


def reserved_names() -> tuple[str, ...]:
    """Every name that `is_reserved` refuses, in lower case."""
    return tuple(sorted(_DEVICES | PROTOTYPE_NAMES))


def is_reserved(name: str) -> bool:
    """Whether nobody may have *name*, in any case and with any extension."""
    head = name.partition(".")[0].lower()
    return head in _DEVICES or head in PROTOTYPE_NAMES


def _is_prototype_key(key: str) -> bool:
    return not PROTOTYPE_NAMES.isdisjoint(key.split("."))


def _leads_away(path: str) -> bool:
    return path[:1] in ("/", "\\") or path[1:2] == ":" or ".." in path.replace("\\", "/").split("/")


def _is_unsafe_script(path: str) -> bool:
    return _leads_away(path) or any(part.startswith("-") for part in path.split("/"))


@frozen
class Word:
    """A string type: the pattern it matches whole, what a value must be in words, what else is refused."""

    pattern: str
    expected: str
    refused: Callable[[str], bool] | None = None
    because: str = "is a reserved name"


_NUMERIC = "(?:0|[1-9][0-9]*)"
_PRE = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = "[0-9A-Za-z-]+"
_TRIPLE = rf"{_NUMERIC}\.{_NUMERIC}\.{_NUMERIC}"
_SEMVER = rf"(?=.{{5,256}}$){_TRIPLE}(?:-{_PRE}(?:\.{_PRE})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?"
_SEGMENT = "[a-z][a-z0-9_-]*"
_LOWER_NAME = 'a lower-case letter, then such letters, digits or "-"; 64 at most'
_AWAY = "leads out of the bundle"

WORDS: Mapping[Any, Word] = FrozenDict(
    {
        Text: Word(r"[\s\S]+", "text that is not empty"),
        Id: Word(r"[a-z][a-z0-9-]{0,63}", f"an id ({_LOWER_NAME})", is_reserved),
        RuntimeId: Word(r"\*|[a-z][a-z0-9-]{0,63}", 'the id of a runtime or "*"', is_reserved),
        Stem: Word(
            r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
            'a name (a letter or digit, then letters, digits, ".", "_" or "-"; 64 at most)',
            is_reserved,
        ),
        Family: Word(r"[a-z][a-z0-9-]{0,63}", f"a command family ({_LOWER_NAME})", is_reserved),
        Module: Word(
            r"[a-z_][a-z0-9_]*\.py",
            'the name of a Python file in the bundle (lower-case letters, digits or "_", then ".py")',
            is_reserved,
        ),
        Router: Word(r"[A-Za-z_][A-Za-z0-9_]*", "the name of a Python function"),
        SemVer: Word(_SEMVER, "a semantic version such as 1.2.3"),
        Range: Word(
            r"(?=[^0-9]*[0-9]|\s*[*xX]\s*$)[0-9A-Za-z.\-+ |<>=~^*(),!]{1,1024}",
            "a version range such as >=1.2.0",
        ),
        Integrity: Word(r"sha512-[A-Za-z0-9+/]{86}==", "sha512- and 86 characters of base64 and =="),
        ConfigKey: Word(
            rf"{_SEGMENT}(?:\.{_SEGMENT}){{0,7}}",
            'a config key (1 to 8 dotted parts: a lower-case letter, then such letters, digits, "_" or "-")',
            _is_prototype_key,
        ),
        DottedKey: Word(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*", "a dotted configuration key"),
        ScriptPath: Word(
            r"[A-Za-z0-9._/-]+",
            'a path in the bundle of letters, digits, ".", "_", "-" and "/"',
            _is_unsafe_script,
            'is absolute, has a ".." in it, or a part that begins with "-"',
        ),
        RelativePath: Word(r"[\s\S]+", "a path in the bundle", _leads_away, _AWAY),
        Matcher: Word(r"[^\x00-\x1f\x7f]+", "text without control characters"),
        DotName: Word(r"\.[\s\S]*", 'a folder name that begins with "."'),
        Slug: Word(
            r"[a-z0-9][a-z0-9_-]*",
            'a slug (a lower-case letter or digit, then such letters, digits, "_" or "-")',
            PROTOTYPE_NAMES.__contains__,
        ),
        Flag: Word(r"--[a-z0-9][a-z0-9-]*", 'a flag ("--", then lower-case letters, digits or "-")'),
    }
)
