"""`demo`: the whole story in a throwaway home and project, on the real engine (spec 60)."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from ..host import Host
from ..loop.resolve import PointState, resolve
from ..text import clean
from .session import Parser, Session

__all__ = ["VERBS"]

_POINT = "ship:pre"

_MANIFEST: dict[str, Any] = {
    "id": "acme-release",
    "role": "feature",
    "version": "1.2.0",
    "title": "Acme release rules",
    "description": "What Acme wants to be true before anything ships.",
    "tier": "full",
    "requires": [],
    "engines": {},
    "runtimeCompat": {"supported": ["*"], "unsupported": []},
    "skills": [],
    "agents": [],
    "config": {
        "acme-release.enabled": {"type": "boolean", "default": True, "description": "Check Acme's release rules."}
    },
    "steps": [],
    "contributions": [
        {
            "point": _POINT,
            "into": "orchestrator",
            "produces": [],
            "consumes": [],
            "fragment": {"path": "fragments/ship.md"},
        }
    ],
    "gates": [
        {
            "point": _POINT,
            "check": {"predicate": {"kind": "command-exit-zero", "command": "test -f CHANGELOG.md"}},
            "blocking": True,
            "onError": "halt",
            "when": "acme-release.enabled",
        }
    ],
}


class _Stage:
    """The throwaway home and project, and what the audience sees of them."""

    def __init__(self, session: Session, folder: str) -> None:
        self.out = session.out
        self.talks = not session.options.json
        self.command = session.product.command
        self.home = os.path.join(folder, "home")
        self.project = os.path.join(folder, "project")
        self.bundle = os.path.join(self.project, session.product.folder, "capabilities", "acme-release")
        os.makedirs(os.path.join(self.project, ".planning"))
        os.mkdir(self.home)
        self.host = Host(session.product, home=self.home, env=os.environ, command=self.command)
        self.seen: list[dict[str, Any]] = []

    def write(self, name: str, text: str) -> None:
        path = os.path.join(self.bundle, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)

    def point(self) -> PointState:
        composition = self.host.compose(self.project)
        return resolve(composition.registry, _POINT, self.host.activation(composition))

    def line(self, text: str = "") -> None:
        """What the audience reads; with --json only the answer at the end is wanted."""
        if self.talks:
            self.out.line(text)

    def scene(self, title: str, typed: str) -> PointState:
        """One look at the point: what is in force of the overlay there, and what is said about it."""
        state = self.point()
        live = [h for h in state.hooks if h.cap_id == "acme-release"]
        out = self.out
        self.line(out.style(title, "bold"))
        self.line(f"  $ {out.style(typed, 'cyan')}")
        for hook in live:
            self.line(f"    {out.style('in force', 'green')}  {hook.kind} of acme-release at {_POINT}")
        for warning in state.warnings:
            self.line(f"    {out.style('warning', 'yellow')}   {clean(warning['message'], 400)}")
        if not live and not state.warnings:
            self.line("    only what ships with the host is in force")
        self.line()
        self.seen.append(
            {"scene": title, "inForce": [h.kind for h in live], "warnings": [w["code"] for w in state.warnings]}
        )
        return state


def demo(session: Session, words: list[str]) -> int:
    """Compose, look at an inert repository overlay, agree, render, tamper, see it go inert, remove."""
    Parser(session, "demo", "The whole story in a throwaway home and project.", "demo").parse_args(words)
    with tempfile.TemporaryDirectory(prefix=f"{session.product.name}-demo-") as folder:
        stage = _Stage(session, os.path.realpath(folder))
        acts = (_first_party, _inert, _agreed, _tampered, _explained, _removed)
        for act in acts:
            act(stage)
        if session.options.json:
            session.out.json(stage.seen)
    return 0


def _first_party(stage: _Stage) -> None:
    stage.scene("1. Only what ships with the host", f"{stage.command} loop render-hooks {_POINT}")


def _inert(stage: _Stage) -> None:
    stage.write("capability.json", json.dumps(_MANIFEST, indent=2))
    stage.write("fragments/ship.md", "Name the release manager in the pull request.\n")
    stage.scene(
        "2. A repository brings an overlay: inert until you agree, and its gate is missed aloud",
        f"{stage.command} loop render-hooks {_POINT}",
    )


def _agreed(stage: _Stage) -> None:
    stage.host.trust.grant(stage.project, "acme-release")
    stage.scene(
        "3. You look at it and agree to exactly these bytes", f"{stage.command} capability trust grant acme-release"
    )


def _tampered(stage: _Stage) -> None:
    stage.write("fragments/ship.md", "Name the release manager in the pull request!\n")
    stage.scene("4. One byte of it changes: inert again, and you are told", "git pull")


def _explained(stage: _Stage) -> None:
    found = stage.host.explain("acme-release", stage.project)
    out = stage.out
    stage.line(out.style("5. Why? Ask", "bold"))
    stage.line(f"  $ {out.style(f'{stage.command} capability explain acme-release', 'cyan')}")
    for sighting in found.found:
        for verdict in sighting["verdicts"]:
            reason = f": {verdict['reason']} [{verdict['code']}]" if verdict.get("code") else ""
            stage.line(f"    {verdict['stage']:<17} {verdict['verdict']}{reason}")
    stage.line()
    stage.seen.append({"scene": "explain", "state": found.state})


def _removed(stage: _Stage) -> None:
    from ..lifecycle.remove import plan_removal, remove_overlay

    remove_overlay(stage.host, plan_removal(stage.host, stage.project, "acme-release", None))
    stage.scene(
        "6. Removed: exactly the first-party registry is left", f"{stage.command} capability remove acme-release"
    )


VERBS = {"": demo}
