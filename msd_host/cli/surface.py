"""`surface show|profile|enable|disable|add|remove|apply` (spec 40, Profiles and surface; spec 60)."""

from __future__ import annotations

from ..activation.projection import Projected
from ..activation.surface import Shown
from ..text import clean
from .activation import disable, enable
from .session import Parser, Session
from .settings import add_layer, layer_of
from .strict import finish

__all__ = ["VERBS"]

_PARTLY = 6


def _parser(session: Session, verb: str, description: str, example: str) -> Parser:
    return Parser(session, f"surface {verb}", description, f"surface {example}")


def show(session: Session, words: list[str]) -> int:
    """The profile, what is on and off, and the skills that follow from it."""
    _parser(session, "show", "What people and agents get to see.", "show").parse_args(words)
    shown = session.host.surface.show(session.composition)
    session.answer(shown.to_dict(), lambda: _told(session, shown))
    return finish(session)


def _told(session: Session, shown: Shown) -> None:
    out = session.out
    out.line(f"{out.style('profile', 'bold')}: {shown.profile}")
    for name, stems in (("added", shown.added), ("removed", shown.removed)):
        if stems:
            out.line(f"{out.style(name, 'bold')}: {', '.join(stems)}")
    rows = [[s, "skill", id] for s, id in shown.skills.items()]
    rows += [[s, "agent", id] for s, id in shown.agents.items()]
    out.table(["SEEN", "KIND", "CAPABILITY"], rows)
    if shown.off:
        out.line()
        out.table(["OFF", "WHY"], [[id, reason] for id, reason in shown.off.items()], below=True)


def profile(session: Session, words: list[str]) -> int:
    """A small, usual or whole set."""
    parser = _parser(session, "profile", "Choose a set of capabilities: core, standard or full.", "profile standard")
    parser.add_argument("name", metavar="NAME", help="core, standard or full")
    add_layer(parser, "for every project", "for this project (the default where there is one)")
    given = parser.parse_args(words)
    changed = session.host.surface.profile(session.composition, given.name, layer=layer_of(given))
    _changed(session, {"profile": given.name, "changed": changed}, f"profile: {given.name}", changed)
    return 0


def _stem_verb(session: Session, words: list[str], verb: str, about: str, *, wanted: bool) -> int:
    parser = _parser(session, verb, about, f"{verb} research")
    parser.add_argument("stem", metavar="STEM", help="the name of a skill")
    add_layer(parser, "for every project", "for this project (the default where there is one)")
    given = parser.parse_args(words)
    surface = session.host.surface
    change = surface.add if wanted else surface.remove
    stem = change(session.composition, given.stem, layer=layer_of(given))
    seen = stem in surface.show(session.composition).skills
    said = f"{stem}: {'seen' if seen else 'not seen'}"
    _changed(session, {"stem": stem, "seen": seen}, said, True)
    if seen is not wanted:
        session.out.warn(f"{session.product.command}: note: it is not seen, as its capability is not active")
    return 0


def add(session: Session, words: list[str]) -> int:
    """One more skill than the profile gives, with its capability and what that requires."""
    return _stem_verb(session, words, "add", "Show one more skill than the profile gives.", wanted=True)


def remove(session: Session, words: list[str]) -> int:
    """One skill less; its capability stays on."""
    return _stem_verb(session, words, "remove", "Show one skill less; its capability stays on.", wanted=False)


def _changed(session: Session, document: dict[str, object], said: str, changed: bool) -> None:
    session.answer(document, lambda: session.out.line(said if changed else f"{said} (nothing to change)"))
    session.out.talk(f"{session.product.command}: coding tools see it after: {_apply(session)}")


def _apply(session: Session) -> str:
    return f"{session.host.command(session.cwd)} surface apply --runtime NAME"


def apply(session: Session, words: list[str]) -> int:
    """Bring skills and agents of active capabilities into a coding tool's folder."""
    parser = _parser(
        session,
        "apply",
        "Bring the skills and agents of active capabilities into a coding tool's folder. Files that others put there"
        "\nor edited stay as they are and are named (exit 6).",
        "apply --runtime claude --dry-run",
    )
    parser.add_argument("--runtime", metavar="NAME", required=True, help="the coding tool, as `capability list` has it")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--config-dir", metavar="DIR", help="its folder, if not where it usually is")
    place.add_argument("--local", action="store_true", help="its folder in this project, project overlays included")
    parser.add_argument("--dry-run", action="store_true", help="write nothing; say what would be")
    given = parser.parse_args(words)
    done = session.host.surface.apply(
        session.composition,
        given.runtime,
        config_dir=given.config_dir,
        local=given.local,
        dry_run=given.dry_run,
    )
    session.answer(done.to_dict(), lambda: _applied(session, done))
    return finish(session, 0 if done.is_whole else _PARTLY)


def _applied(session: Session, done: Projected) -> None:
    out, would = session.out, "would be " if done.dry_run else ""
    for plan in done.plans:
        out.line(out.style(clean(plan.base, 400), "bold"))
        for one in plan.writes:
            out.line(f"  {out.style('+', 'green')} {clean(one.path, 400)}  ({one.owner})")
        for path in plan.removes:
            out.line(f"  {out.style('-', 'red')} {clean(path, 400)}")
        for path, why in plan.kept:
            out.line(f"  {out.style('!', 'yellow')} {clean(path, 400)}: left alone: {clean(why)}")
        counts = f"{len(plan.writes)} {would}written, {len(plan.removes)} {would}removed, {len(plan.same)} unchanged"
        out.line(f"  {counts}" + (f", {len(plan.kept)} left alone" if plan.kept else ""))
    for what, why in done.left_out:
        out.warn(f"{session.product.command}: left out: {clean(what, 200)}: {clean(why)}")


VERBS = {
    "show": show,
    "profile": profile,
    "enable": lambda session, words: enable(session, words, "surface"),
    "disable": lambda session, words: disable(session, words, "surface"),
    "add": add,
    "remove": remove,
    "apply": apply,
}
