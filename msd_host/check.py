"""`check`: the acceptance of a load for one folder, with every fault in its place (spec 30, law 3; spec 60)."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from .errors import NotFound
from .model.codes import SkipCode
from .model.cohort import Skip
from .model.fault import Diagnostic, Fault
from .model.scope import Scope
from .reading.files import ReadFault, read_path
from .reading.ground import MANIFEST
from .reading.positions import locate
from .reading.sources import Probe
from .text import clean, quoted

if TYPE_CHECKING:
    from .composition import Composition
    from .host import Host
    from .model.candidate import Candidate
    from .reading.roots import Roots

__all__ = ["CheckResult", "check", "judge"]


@frozen
class CheckResult:
    """`ok` when a load would accept the folder; else `code` and every fault, with line and column where known."""

    id: str
    scope: Scope
    where: str
    ok: bool
    code: SkipCode | None
    faults: tuple[Fault, ...]
    notes: tuple[Diagnostic, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "id": self.id,
            "scope": self.scope.label,
            "where": self.where,
            "code": None if self.code is None else self.code.value,
            "faults": [
                {"code": f.code.value, "path": f.path, "line": f.line, "column": f.column, "message": f.message}
                for f in self.faults
            ],
            "notes": [{"code": n.code, "path": n.path, "message": n.message} for n in self.notes],
        }


def check(host: Host, path: str, cwd: str | os.PathLike[str] | None, scope: Scope | None) -> CheckResult:
    """See `Host.check`."""
    where, placed = _where(host, path, host.roots(cwd))
    if placed is not None:
        return _result(host, host.compose(cwd, probe=Probe(where, placed)), where, placed)
    return judge(host, where, Scope.GLOBAL if scope is None else scope, cwd)[0]


def judge(host: Host, where: str, scope: Scope, cwd: str | os.PathLike[str] | None) -> tuple[CheckResult, Composition]:
    """What a load would say of the folder *where* if it were installed in *scope*: over what that scope would see.

    `install` and `update` ask here as well (spec 30, law 3). A global one is judged without the project's overlays;
    where one of those has what is missing, the message says so. One that would push out what is accepted now is
    refused: an earlier name in the order of candidates is no right to another's place.
    """
    alone = scope is Scope.GLOBAL
    composition = host.compose(cwd, probe=Probe(where, scope), alone=alone)
    result = _result(host, composition, where, scope)
    if result.ok:
        pushed = _pushed_out(host.compose(cwd, alone=alone, extensions=False), composition, result.id)
        if pushed:
            result = evolve(result, ok=False, code=pushed[0].code, faults=pushed, notes=())
    if scope is Scope.GLOBAL and result.code in (SkipCode.REQUIRES, SkipCode.RUNTIME_COMPAT):
        result = evolve(result, faults=_beyond_reach(host, result.faults, cwd))
    return result, composition


def _pushed_out(before: Composition, after: Composition, id: str) -> tuple[Fault, ...]:
    """A fault for each overlay that is accepted *before*, and *after* falls because of the folder called *id*."""
    was, now = before.registry.overlay, after.registry.overlay
    if was is None or now is None:
        return ()
    gone = {s.id: s for s in now.warnings if s.id in was.accepted and s.id not in now.accepted and id in s.culprits}
    return tuple(
        Fault(s.code, f"it would push out {quoted(s.id)}, which is accepted now: {s.reason}", culprits=(s.id,))
        for s in gone.values()
    )


def _beyond_reach(host: Host, faults: tuple[Fault, ...], cwd: str | os.PathLike[str] | None) -> tuple[Fault, ...]:
    overlay = host.load(cwd).overlay
    here = {id for id, scope in overlay.accepted.items() if scope is Scope.PROJECT} if overlay is not None else set()
    words = "; this project has it, but a project overlay cannot satisfy one for every project"
    return tuple(evolve(f, message=f.message + words) if f.details.get("needs") in here else f for f in faults)


def _where(host: Host, path: str, roots: Roots) -> tuple[str, Scope | None]:
    """The folder that *path* names and the scope of the capability root it lies in.

    In a root a bundle that is a link stays one, as a load does not follow it; anywhere else the user's link is
    followed to the folder that would be installed.
    """
    files = host.files
    try:
        parent, name = os.path.split(path)
        spelled = os.path.join(files.realpath(parent), name)
        scope = _scope_in(spelled, roots)
        if scope is not None:
            files.stat(spelled, follow=False)
            return spelled, scope
        where = files.realpath(path)
        files.close(files.open_folder(where))
    except (OSError, ValueError):
        raise NotFound(f"there is no folder {quoted(path)}") from None
    return where, _scope_in(where, roots)


def _scope_in(where: str, roots: Roots) -> Scope | None:
    """The scope of the root that *where* lies in directly; that of the project where both roots are one."""
    parent, project = os.path.dirname(where), roots.project_root
    if project is not None and project.there and project.path == parent:
        return Scope.PROJECT
    return Scope.GLOBAL if roots.global_root.there and roots.global_root.path == parent else None


def _result(host: Host, composition: Composition, where: str, scope: Scope) -> CheckResult:
    seen = next((c for c in composition.seen if c.where == where), None)
    overlay = composition.registry.overlay
    skips = overlay.warnings if overlay is not None else ()
    skip = next((s for s in skips if s.where == where), None)
    if skip is None and seen is None:
        skip = next((s for s in skips if s.code is SkipCode.WHOLE_SET), None)
    id = seen.id if seen is not None else os.path.basename(where)
    notes = overlay.diagnostics if overlay is not None else ()
    return CheckResult(
        clean(id, 80),
        scope if seen is None else seen.scope,
        where,
        skip is None and seen is not None,
        skip.code if skip is not None else None,
        tuple(_placed(host, where, skip, seen)),
        tuple(n for n in notes if n.id == id) if skip is None else (),
    )


def _placed(host: Host, where: str, skip: Skip | None, seen: Candidate | None) -> list[Fault]:
    """The skip's faults, each with its place in the manifest."""
    if skip is None:
        return []
    if skip.code is SkipCode.CONSENT_UNVERIFIABLE and seen is not None:
        return [Fault(skip.code, seen.consent.message or skip.reason)]  # whoever names the folder may hear of it
    faults = list(skip.faults) or [Fault(skip.code, skip.reason)]
    try:
        text = read_path(host.files, os.path.join(where, MANIFEST), host.product.limits.manifest_bytes).decode()
    except (ReadFault, UnicodeDecodeError):
        return faults
    paths = {f.path: _parsed(f.path) for f in faults if f.line is None and f.path}
    places = locate(text.removeprefix("\ufeff"), paths.values())
    return [_with_place(f, places.get(paths.get(f.path, ()))) if f.line is None else f for f in faults]


def _with_place(fault: Fault, place: tuple[int, int] | None) -> Fault:
    return fault if place is None or not fault.path else evolve(fault, line=place[0], column=place[1])


_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]{1,9})\]|\[\"([^\"]*)\"\]")


def _parsed(path: str) -> tuple[str | int, ...]:
    """A JSON path such as `$.steps[0].when` or `$.config["a.b"]` as keys and indices."""
    return tuple(int(m[2]) if m[2] is not None else m[1] or m[3] or "" for m in _STEP.finditer(path))
