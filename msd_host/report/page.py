"""The page as one file of HTML: nothing is fetched, nothing from outside can run or break out (spec 60, `report`).

Every value goes through `_e`. The policy in the head allows exactly the style and the script of ours, by their hash,
so even what escaping might miss would not run.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from typing import Any

from .gather import Page

__all__ = ["to_html"]

_HERE = os.path.dirname(__file__)


def to_html(page: Page) -> str:
    """The whole document; the same for the same page."""
    style, script = _own("style.css"), _own("script.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    body = "\n".join(
        [
            _head(page),
            _nav(page),
            '<main id="main">',
            _loud(page),
            _loop(page),
            _capabilities(page),
            _skips(page),
            _trust(page),
            _more(page),
            "</main>",
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_e(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{_e(page.title)}: what is on, what is skipped</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">To the content</a>\n{body}\n{_foot(page)}\n<script>{script}</script>\n</body>\n</html>\n'
    )


def _own(name: str) -> str:
    with open(os.path.join(_HERE, name), encoding="utf-8") as stream:
        return stream.read()


def _hash(text: str) -> str:
    import hashlib

    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _e(value: object) -> str:
    return escape(str(value), quote=True)


def _head(page: Page) -> str:
    active = sum(1 for c in page.capabilities if c["state"] == "active")
    project = f"Project <code>{_e(page.project)}</code>" if page.project else "No project"
    return (
        f'<header class="top"><h1>{_e(page.title)} at a glance</h1>'
        f'<p class="meta">{project} · home <code>{_e(page.home)}</code> · {_e(page.title)} {_e(page.version)}</p>'
        f'<p class="meta">{len(page.capabilities)} capabilities, {active} active · {len(page.skips)} skipped ·'
        f" {_count(len(page.loud), 'gate')} not in force</p></header>"
    )


def _nav(page: Page) -> str:
    places = [
        ("loud", "Gates"),
        ("loop", "Loop"),
        ("capabilities", "Capabilities"),
        ("skipped", "Skipped"),
        ("trust", "Trust"),
        ("more", "More"),
    ]
    links = "".join(f'<li><a href="#{name}">{word}</a></li>' for name, word in places)
    return f'<nav aria-label="On this page"><ul>{links}<li class="end"><button id="theme" hidden>Dark</button></li></ul></nav>'


def _section(id: str, title: str, body: str, kind: str = "") -> str:
    cls = f' class="{kind}"' if kind else ""
    return f'<section id="{id}"{cls} aria-labelledby="{id}-title"><h2 id="{id}-title">{title}</h2>{body}</section>'


def _remedy(command: str | None) -> str:
    if not command:
        return ""
    return (
        f'<div class="remedy"><code>{_e(command)}</code>'
        '<button type="button" data-copy hidden aria-label="Copy this command">Copy</button></div>'
    )


def _loud(page: Page) -> str:
    if not page.loud:
        return _section("loud", "Every gate is in force", "<p>No skipped capability declares one.</p>", "fine")
    items = "".join(
        f"<li><strong>{_e(g['point'])}</strong>: the gate of <strong>{_e(_named(g['id']))}</strong>"
        f' {_tag(g["scope"])} is <strong>not in force</strong>: {_e(g["reason"])} <span class="soft">[{_e(g["code"])}]</span>'
        f"{_remedy(g['remedy'])}</li>"
        for g in page.loud
    )
    verb = "is" if len(page.loud) == 1 else "are"
    return _section("loud", f"{_count(len(page.loud), 'gate')} {verb} not in force", f"<ul>{items}</ul>", "loud")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _named(id: str) -> str:
    return "every overlay" if id == "*" else id


def _tag(scope: str) -> str:
    return f'<span class="tag {_e(scope)}">{_e(scope)}</span>'


def _loop(page: Page) -> str:
    steps: dict[str, list[dict[str, Any]]] = {}
    for point in page.points:
        steps.setdefault(point["step"], []).append(point)
    items = "".join(
        f'<li class="step"><h3>{_e(step)}</h3>{"".join(_point(p) for p in points)}</li>'
        for step, points in steps.items()
    )
    return _section("loop", "The loop, point by point", f'<ol class="loop">{items}</ol>')


def _point(point: dict[str, Any]) -> str:
    silent = f'<span class="bad">{point["silent"]} not in force</span>' if point["silent"] else ""
    groups = "".join(_group(kind, [h for h in point["hooks"] if h["kind"] == kind]) for kind in _KINDS)
    inside = groups or '<p class="none">nothing active</p>'
    return f'<div class="point"><h4><span>{_e(point["point"])}</span>{silent}</h4>{inside}</div>'


_KINDS = {"step": "Steps", "contribution": "Contributions", "gate": "Gates"}


def _group(kind: str, hooks: list[dict[str, Any]]) -> str:
    items = "".join(_hook(hook) for hook in hooks)
    return f'<p class="kind {kind}-kind">{_KINDS[kind]}</p><ul>{items}</ul>' if items else ""


def _hook(hook: dict[str, Any]) -> str:
    about = f' <span class="soft">{_e(hook["about"])}</span>' if hook["about"] else ""
    makes = f' <span class="soft">→ {_e(hook["makes"])}</span>' if hook["makes"] else ""
    scope = "" if hook["scope"] == "first-party" else f" {_tag(hook['scope'])}"
    return f"<li>{_e(hook['id'])}{scope}{about}{makes}</li>"


def _table(caption: str, head: Iterable[str], rows: Iterable[str]) -> str:
    heads = "".join(f'<th scope="col">{_e(word)}</th>' for word in head)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_e(caption)}"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _capabilities(page: Page) -> str:
    find = (
        '<div class="find" id="finding" hidden><label for="find">Filter</label>'
        '<input id="find" type="search" autocomplete="off" placeholder="name, scope, state…">'
        '<span id="found" class="soft" role="status" aria-live="polite"></span></div>'
    )
    rows = (
        f'<tr data-find="{_e(_words(c))}"><th scope="row">{_e(c["id"])}<span class="soft">{_e(c["title"])}</span></th>'
        f'<td>{_tag(c["scope"])}</td><td>{_state(c)}</td><td class="short">{_e(c["version"])}</td>'
        f'<td class="short">{_e(c["tier"])}</td>'
        f"<td>{c['hooks'] or ''}</td><td>{_e(c['description'])}</td></tr>"
        for c in page.capabilities
    )
    head = ("Capability", "Scope", "State", "Version", "Tier", "Hooks", "What it is for")
    return _section("capabilities", "Capabilities", find + _table("Capabilities", head, rows))


def _words(capability: dict[str, Any]) -> str:
    names = ("id", "title", "scope", "state", "tier", "role", "description")
    return " ".join(str(capability[name]) for name in names).lower()


def _state(capability: dict[str, Any]) -> str:
    if capability["state"] == "active":
        return '<span class="ok">active</span>'
    return f'<span class="bad">not active</span><span class="soft">{_e(capability["reason"])}</span>'


def _skips(page: Page) -> str:
    if not page.skips:
        return _section("skipped", "Skipped", "<p>Nothing was skipped.</p>")
    rows = (
        f'<tr><th scope="row">{_e(_named(s["id"]))}<span class="soft">{_e(s["where"])}</span></th><td>{_tag(s["scope"])}</td>'
        f'<td>{_e(s["code"])}<span class="soft">{_e(s["stage"])}{" · muted" if s["muted"] else ""}</span></td>'
        f"<td>{_e(s['reason'])}{_remedy(s['remedy'])}</td><td>{_e(', '.join(s['gates']))}</td></tr>"
        for s in page.skips
    )
    head = ("Overlay", "Scope", "Code", "Reason and what to do", "Gates")
    return _section("skipped", "Skipped", _table("Skipped overlays", head, rows))


def _trust(page: Page) -> str:
    states = (
        f'<tr><th scope="row">{_e(t["id"])}</th><td>{_tag(t["scope"])}</td><td>{_e(t["state"])}</td>'
        f"<td><code>{_e(t['contentHash'] or '')}</code></td><td>{_remedy(t['remedy'])}</td></tr>"
        for t in page.trust
    )
    records = (
        f'<tr><th scope="row">{_e(r["id"])}</th><td>{_e(r["what"])}</td><td>{_e(r["version"])}</td><td>{_e(r["when"])}</td>'
        f"<td>{_e(r['where'])}</td></tr>"
        for r in page.records
    )
    now = (
        _table("Trust states", ("Overlay", "Scope", "State", "Content hash", "Next"), states)
        if page.trust
        else "<p>No overlays here.</p>"
    )
    kept = ""
    if page.records:
        table = _table("Decisions on record", ("Overlay", "Decision", "Version", "When", "Where"), records)
        kept = f"<h3>Decisions on record</h3>{table}"
    return _section("trust", "Trust", now + kept)


def _more(page: Page) -> str:
    parts = []
    if page.extensions:
        parts.append(f"<p>Extensions of the host: {_e(', '.join(page.extensions))}</p>")
    if page.notes:
        parts.append(f"<h3>Worth knowing</h3><ul>{''.join(f'<li>{_e(note)}</li>' for note in page.notes)}</ul>")
    if page.trace:
        rows = (
            f'<tr><th scope="row">{_e(t["stage"])}</th><td>{t["kept"]}</td><td>{t["dropped"]}</td></tr>'
            for t in page.trace
        )
        parts.append(
            f"<details><summary>How it was composed</summary>{_table('Stages', ('Stage', 'Kept', 'Dropped'), rows)}</details>"
        )
    return _section("more", "More", "".join(parts) or "<p>Nothing else to say.</p>")


def _foot(page: Page) -> str:
    return f"<footer><p>Made by {_e(page.title)} {_e(page.version)}. This file holds everything it shows; it asks nobody.</p></footer>"
