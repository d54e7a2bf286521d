"""The reference, written from the package itself: what it says cannot be out of date.

`write_pages(FOLDER)` writes `cli.md`, `codes.md`, `manifest.md`, `hookspecs.md` and `api.md`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msd_hookspecs

import msd_host
from msd_host import errors
from msd_host.model.codes import SkipCode
from msd_host.model.scope import Scope
from msd_host.remedies import remedy_for

__all__ = ["PAGES", "write_pages"]

#: What each reason for a skip means, for somebody who meets it the first time.
MEANING = {
    SkipCode.MANIFEST_MISSING: "The folder has no `capability.json`.",
    SkipCode.MANIFEST_UNREADABLE: "`capability.json` is there and cannot be read: no rights, no regular file, too large, no UTF-8.",
    SkipCode.MANIFEST_INVALID: "`capability.json` is not JSON or breaks the manifest's shape; the reason names line and column.",
    SkipCode.BUNDLE_MISSING: "A ledger lists an overlay whose folder is gone.",
    SkipCode.INVALID_ID: "The folder's name is no valid id.",
    SkipCode.ID_MISMATCH: "The manifest's `id` is not the folder's name.",
    SkipCode.RESERVED_ID: "The id is kept for the product or for its command line.",
    SkipCode.ID_COLLISION: "The id belongs to a first-party capability or to an overlay that comes first.",
    SkipCode.SKILL_COLLISION: "A skill of that name belongs to somebody else.",
    SkipCode.AGENT_COLLISION: "An agent of that name belongs to somebody else.",
    SkipCode.CONFIG_COLLISION: "A configuration key belongs to somebody else, or lies above or below one that does.",
    SkipCode.FAMILY_COLLISION: "A command family belongs to somebody else.",
    SkipCode.REVIEWER_COLLISION: "A reviewer of that name belongs to somebody else.",
    SkipCode.PRODUCES_COLLISION: "A step makes an artifact that another step makes.",
    SkipCode.ENGINES_UNSATISFIED: "It needs another version of the host.",
    SkipCode.ENGINES_INVALID: "Its `engines` is no range of versions.",
    SkipCode.PENDING: "A change of this overlay was stopped half way and has not been ended.",
    SkipCode.UNCONSENTED: "A project overlay that the user of this machine has not agreed to.",
    SkipCode.CONSENT_CHANGED: "Its bytes are not the ones that were agreed to.",
    SkipCode.CONSENT_UNVERIFIABLE: "Whether it was agreed to cannot be told: the store or the bundle cannot be trusted or read.",
    SkipCode.DENIED: "The user refused it.",
    SkipCode.FRAGMENT_INVALID: "A fragment is missing, too large, no UTF-8 or outside the bundle.",
    SkipCode.CONTRACT: "It names a loop point, an agent role or an artifact that the loop does not have.",
    SkipCode.CONFINEMENT: "A path in it leads out of its bundle.",
    SkipCode.REQUIRES: "A capability it requires is not there or was skipped.",
    SkipCode.CONSUMES: "It consumes an artifact that nothing before it makes.",
    SkipCode.CYCLE: "It is part of a circle of requirements or of steps.",
    SkipCode.TIER: "It requires a capability of a wider tier than its own.",
    SkipCode.RUNTIME_COMPAT: "It names a runtime that is not there, or contradicts itself about runtimes.",
    SkipCode.VETOED: "A stage of an installed extension vetoed it; the reason names which.",
    SkipCode.STAGE_ERROR: "A stage of an installed extension failed while it judged this overlay, which counts as a veto.",
    SkipCode.PLUGINS_REQUIRED: "An extension that `plugins.required` names is not in force, so no overlay is accepted.",
    SkipCode.BUNDLE_SYMLINK: "The bundle is, or holds, a link where none may be.",
    SkipCode.TOO_MANY_CANDIDATES: "A root holds more folders than are looked at.",
    SkipCode.INTERNAL_ERROR: "The host failed on this overlay. That is a fault of the host; please report it.",
    SkipCode.WHOLE_SET: "The whole set could not be built, so exactly the first-party registry is in force.",
}

EXITS = [
    (0, "it worked"),
    (1, "it failed, or the answer is no"),
    (2, "the command line was wrong"),
    (3, "refused: the overlay, the value or the state does not allow it"),
    (4, "a person has to agree, and nobody was there to ask"),
    (5, "no such thing"),
    (7, "state on disk is damaged or somebody else's"),
    (8, "`--strict`, and something was skipped"),
    (9, "busy: another process is changing it"),
    (10, "a gate blocks"),
    (130, "stopped by Ctrl-C; 128 and the signal's number for another signal"),
]


def write_pages(folder: Path) -> None:
    """Write every page into *folder*; a page that is as it was is left alone."""
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        path, text = folder / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def cli_page() -> str:
    """Every verb with its own help."""
    from msd_host.cli.words import GROUPS, OPTIONS

    parts = [
        "# Command line\n",
        "Every verb takes these options, before or after its own words:\n",
        *(f"- `{name}{' VALUE' if takes else ''}`: {what}" for name, (takes, what) in OPTIONS.items()),
        "\nstdout carries the answer, stderr the talk. Exit codes are in [](codes.md).\n",
    ]
    for group, (_, verbs) in GROUPS.items():
        parts.append(f"## {group}\n")
        for verb, what in verbs.items():
            words = [group, verb] if verb else [group]
            if verb:
                parts.append(f"### {' '.join(words)}\n")
            parts += [f"{what[0].upper()}{what[1:]}.\n", _fenced(_help(words))]
            parts += [
                f"#### {' '.join(words)} {deeper}\n\n{_fenced(_help([*words, deeper]))}" for deeper in _deeper(words)
            ]
    return "\n".join(parts) + "\n"


def _deeper(words: list[str]) -> list[str]:
    """The verbs below `capability trust`, the one group within a group."""
    if words != ["capability", "trust"]:
        return []
    from msd_host.cli import trust

    return [verb for verb in trust.VERBS if verb]


def _help(words: list[str]) -> str:
    return _said([*words, "--help"])


def _said(words: list[str]) -> str:
    from msd_host import MSD, cli_main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        cli_main(MSD, words)
    return out.getvalue()


def codes_page() -> str:
    """Skip codes, exit codes, errors of the API."""
    rows = []
    for code in SkipCode:
        remedy, _ = remedy_for("msd", code, "acme", Scope.PROJECT, "/project/.msd/capabilities/acme")
        rows.append(f"| `{code.value}` | {MEANING[code]} | {f'`{remedy}`' if remedy else '–'} |")
    exits = [f"| {number} | {what} |" for number, what in EXITS]
    kinds = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.MSDError)]
    raised = [f"| `{k.__name__}` | `{k.code}` | {k.exit_code} | {_first(k)} |" for k in kinds]
    return "\n".join(
        [
            "# Codes\n",
            "Match on codes, never on prose: a code is stable, a message may become better.\n",
            "## Why an overlay is skipped\n",
            "The remedy is the command for an overlay `acme` of a project; it works when pasted.\n",
            "| code | what it means | remedy |\n| --- | --- | --- |",
            *rows,
            "\n## Exit codes\n",
            "| code | meaning |\n| --- | --- |",
            *exits,
            "\n## Errors of the API\n",
            "All derive from `MSDError` and have `code`, `exit_code`, `remedy`.\n",
            "| class | code | exit | raised when |\n| --- | --- | --- | --- |",
            *raised,
            "",
        ]
    )


def manifest_page() -> str:
    """The manifest, field by field, from its JSON Schema."""
    schema = json.loads(_said(["schema"]))
    parts = [
        "# The manifest, `capability.json`\n",
        "This page and `msd schema` are written from the same classes as the decoder that every load uses.\n",
    ]
    defined = schema["$defs"]
    begin = [name for name in ("Feature", "Runtime", "Reviewer") if name in defined]
    for name in [*begin, *sorted(set(defined) - set(begin))]:
        parts += _fields(name, defined[name])
    return "\n".join(parts) + "\n"


def _fields(title: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}\n"
    if schema.get("description"):
        yield f"{schema['description']}\n"
    if not schema.get("properties"):
        yield f"{_type(schema)}\n"
        return
    needed = schema.get("required", [])
    yield "| field | type | needed | meaning |\n| --- | --- | --- | --- |"
    for name, one in schema["properties"].items():
        one = one if isinstance(one, dict) else {"description": "Not for a manifest of this kind."}
        yield f"| `{name}` | {_type(one)} | {'yes' if name in needed else ''} | {_cell(one.get('description', ''))} |"
    yield ""


def _type(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "nothing"
    if "$ref" in schema:
        return f"[{schema['$ref'].rsplit('/', 1)[1]}](#{schema['$ref'].rsplit('/', 1)[1].lower()})"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(one)}`" for one in schema["enum"])
    for many in ("anyOf", "oneOf"):
        if many in schema:
            return " or ".join(dict.fromkeys(_type(one) for one in schema[many]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items') or {})}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    kind = schema.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def hookspecs_page() -> str:
    """What a downstream package may implement, and the sealed stages it may not."""
    parts = [
        "# Hookspecs\n",
        "A package implements these with `from msd_host import hookimpl` and names its module in the entry-point group",
        "`msd_host`. [Why it can only veto or observe](../explanation/veto-only.md).\n",
    ]
    for name in ("reviews", "observers", "predicates", "stages"):
        module = importlib.import_module(f"{msd_hookspecs.__name__}.{name}")
        title = "The sealed stages: the host's alone" if name == "stages" else name.capitalize()
        parts += [f"## {title}\n", _prose(module)]
        for public in module.__all__:
            one = getattr(module, public)
            if inspect.isfunction(one):
                parts += [f"### {public}\n", _fenced(f"{public}{inspect.signature(one)}"), _prose(one)]
    return "\n".join(parts) + "\n"


def api_page() -> str:
    """Every public name with its signature, its fields and methods, and their docstrings."""
    parts = ["# Python API\n", "Everything below is imported from `msd_host`; anything else may change.\n"]
    for name in sorted(msd_host.__all__, key=str.lower):
        one = getattr(msd_host, name)
        parts.append(f"## {name}\n")
        if inspect.isclass(one):
            parts += _class(one)
        elif inspect.isfunction(one):
            parts += [_fenced(f"{name}{inspect.signature(one)}"), _prose(one)]
        else:
            parts.append(f"A value of type `{type(one).__name__}`.\n")
    return "\n".join(parts) + "\n"


def _class(one: type) -> Iterator[str]:
    yield _prose(one)
    annotations = {n: t for n, t in getattr(one, "__annotations__", {}).items() if not n.startswith("_")}
    if annotations:
        yield _fenced(
            "\n".join(f"{n}: {t if isinstance(t, str) else getattr(t, '__name__', t)}" for n, t in annotations.items())
        )
    for name, member in vars(one).items():
        if name.startswith("_"):
            continue
        if isinstance(member, (staticmethod, classmethod)):
            member = member.__func__
        if inspect.isfunction(member):
            yield f"### {one.__name__}.{name}\n\n{_fenced(f'{name}{inspect.signature(member)}')}\n{_prose(member)}"
        elif isinstance(member, property) and member.fget is not None and member.fget.__doc__:
            yield f"### {one.__name__}.{name}\n\n{_prose(member.fget)}"


def _prose(one: ModuleType | type | Any) -> str:
    """A docstring as Markdown; indented code in it stays code."""
    text = inspect.getdoc(one) or ""
    if isinstance(one, type) and text.startswith("Method generated by attrs"):
        text = ""
    return re.sub(r"([<>*])", r"\\\1", text) + "\n" if "    " not in text else _fenced(text)


def _first(one: Any) -> str:
    return _cell((inspect.getdoc(one) or "").split("\n\n")[0])


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


PAGES = {
    "cli.md": cli_page,
    "codes.md": codes_page,
    "manifest.md": manifest_page,
    "hookspecs.md": hookspecs_page,
    "api.md": api_page,
}
