"""The crash sweep: every changing verb killed after each changing call, then the next verb (spec 30, Law 4; spec 80).

`python -m tests.lifecycle.sweep` prints the table.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msd_host import Scope
from msd_host.lifecycle.values import Request
from tests.lifecycle.ground import Bench
from tests.lifecycle.killing import killed_at

__all__ = ["VERBS", "Swept", "ends_of", "sweep", "told_of"]


def _install(bench: Bench) -> None:
    bench.install(bench.root / "sources" / "acme")


def _rollback(bench: Bench) -> None:
    with bench.lifecycle.rolling_back("acme", scope=bench.scope) as prepared:
        bench.lifecycle.commit(prepared, agreed="terminal")


def _first(bench: Bench) -> None:
    bench.source()


def _newer(bench: Bench) -> None:
    bench.install(bench.source())
    bench.source(version="1.1.0", text="two")


def _updated(bench: Bench) -> None:
    _newer(bench)
    bench.update()


def _installed(bench: Bench) -> None:
    bench.install(bench.source())


SETTINGS = '{\n  "theme": "dark"\n}\n'


def _shared(bench: Bench, *, hooked: str = "run.sh") -> Path:
    """A source with a hook and a server, and the settings file of a tool."""
    folder = bench.source(hooks=[{"event": "Stop", "script": hooked}], mcpServers={"docs": {"command": "docs"}})
    (folder / hooked).write_text("#!/bin/sh\n")
    file = bench.project / "tool" / "settings.json"
    if not file.exists():
        file.parent.mkdir()
        file.write_text(SETTINGS)
    return folder


def _install_shared(bench: Bench) -> None:
    bench.install(bench.root / "sources" / "acme", request=Request(shared_files=("tool/settings.json",)))


def _shared_newer(bench: Bench) -> None:
    _shared(bench)
    _install_shared(bench)
    folder = _shared(bench, hooked="other.sh")
    (folder / "run.sh").unlink()


def _shared_there(bench: Bench) -> None:
    _shared(bench)
    _install_shared(bench)


#: verb -> (what is there before, the verb)
VERBS: dict[str, tuple[Callable[[Bench], object], Callable[[Bench], Any]]] = {
    "install": (_first, _install),
    "update": (_newer, lambda bench: bench.update()),
    "rollback": (_updated, _rollback),
    "remove": (_installed, lambda bench: bench.remove()),
    "install+settings": (_shared, _install_shared),
    "update+settings": (_shared_newer, lambda bench: bench.update()),
    "remove+settings": (_shared_there, lambda bench: bench.remove()),
}


class Swept:
    """What the sweep of one verb in one scope found."""

    def __init__(self) -> None:
        self.points = 0
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []


def sweep(verb: str, scope: Scope, root: Path, step: int = 1) -> Swept:
    """Kill *verb* at every *step*-th point; after each, recovery must end in old or new with nothing left over."""
    before, act = VERBS[verb]
    old, new = ends_of(verb, scope, root / "ends")
    found = Swept()
    number = 1
    while True:
        bench = Bench(root / f"at-{number}", scope)
        before(bench)
        if not killed_at(number, lambda bench=bench: act(bench)):  # type: ignore[misc]
            return found
        found.points += 1
        found.outcomes[_outcome(bench, old, new, number, found)] += 1
        number += step


def ends_of(verb: str, scope: Scope, root: Path) -> tuple[Any, Any]:
    """The state before *verb*, and after it went through."""
    before, act = VERBS[verb]
    bench = Bench(root, scope)
    before(bench)
    old = told_of(bench)
    act(bench)
    return old, told_of(bench)


def told_of(bench: Bench) -> Any:
    """The state, with paths and hashes of this very world taken out."""
    state = bench.state()
    entries = {id: (e["version"], e["contentHash"]) for id, e in state["entries"].items()}
    file = bench.project / "tool" / "settings.json"
    settings = file.read_text() if file.exists() else None
    return (state["files"], entries, [g[2] for g in state["grants"]], state["accepted"], settings)


def _outcome(bench: Bench, old: Any, new: Any, number: int, found: Swept) -> str:
    live = told_of(bench)
    if live[3] and live[0] not in (old[0], new[0]):
        found.wrong.append(f"point {number}: something half done was in force before recovery")
    bench.lifecycle.reconcile()
    told = told_of(bench)
    leftovers = bench.leftovers()
    if leftovers:
        found.wrong.append(f"point {number}: left over: {leftovers}")
    if told == new:
        return "new"
    if told == old:
        return "old"
    found.wrong.append(f"point {number}: neither old nor new: {told}")
    return "neither"


def main() -> int:
    bad = 0
    print(f"{'verb':<16} {'scope':<8} {'points':>6} {'old':>5} {'new':>5} {'wrong':>6}")
    with tempfile.TemporaryDirectory(prefix="msd-sweep-") as folder:
        for verb in VERBS:
            for scope in (Scope.GLOBAL, Scope.PROJECT):
                found = sweep(verb, scope, Path(folder) / f"{verb}-{scope.label}")
                told = found.outcomes
                print(
                    f"{verb:<16} {scope.label:<8} {found.points:>6} {told['old']:>5} {told['new']:>5} {len(found.wrong):>6}"
                )
                for line in found.wrong[:5]:
                    print("   ", line)
                bad += len(found.wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
