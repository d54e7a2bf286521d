"""Run on its own: real processes that die between two system calls, and many that write at once.

`python processes.py crash SCENARIO FOLDER` kills a child before its 1st, 2nd, 3rd … changing system call until
one lives; `python processes.py crowd FOLDER` lets several work on one store. Both print what was found as JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msd_host.limits import Limits
from msd_host.model.frozen import FrozenDict
from msd_host.reading.files import Files
from msd_host.trust.consent import ConsentStore, Grant
from msd_host.trust.hashing import from_hex
from msd_host.trust.snapshot import Snapshot, take_snapshot
from msd_host.trust.store import BundleStore

KILLED = 77
CHANGING = ("mkdir", "write", "fsync", "rename", "unlink", "rmdir")


def consent(home: Path) -> ConsentStore:
    return ConsentStore(str(home), "msd", Files(), Limits())


def bundles(home: Path) -> BundleStore:
    return BundleStore(str(home), "msd", Files(), Limits())


def grant(number: int, id: str = "demo", root: str = "/srv/p") -> Grant:
    return Grant(root=root, id=id, content_hash=from_hex(f"{number:0128x}"), gates=("plan:pre",))


def bundle(home: Path) -> Snapshot:
    folder = home.parent / "bundle"
    if not folder.exists():
        (folder / "hooks").mkdir(parents=True)
        (folder / "capability.json").write_text("{}")
        (folder / "hooks/run.py").write_text("print()")
    fd = os.open(folder, os.O_RDONLY)
    try:
        return take_snapshot(Files(), fd, Limits())
    finally:
        os.close(fd)


def damaged(home: Path) -> None:
    path = Path(bundles(home).put(bundle(home)))
    (path / "capability.json").chmod(0o600)
    (path / "capability.json").write_text("evil")


def facts(home: Path) -> Any:
    """What a reader sees, as JSON."""
    found = consent(home).decisions("/srv/p", "demo")
    whole = bundles(home).verify(bundle(home).content_hash)
    return {
        "denied": found.denied,
        "grants": sorted(int(g.content_hash != grant(1).content_hash) + 1 for g in found.grants),
        "ignored": len(found.ignored),
        "listed": len(consent(home).records_for_root("/srv/p")),
        "bundle": whole is not None,
    }


def nothing(home: Path) -> None:
    return None


def granted(home: Path) -> None:
    consent(home).grant(grant(1))


def granted_twice(home: Path) -> None:
    consent(home).grant(grant(1))
    consent(home).grant(grant(2))


def denied(home: Path) -> None:
    consent(home).grant(grant(1))
    consent(home).deny("/srv/p", "demo")


#: name: what was there, what happens
SCENARIOS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "first grant": (nothing, granted),
    "second grant": (granted, lambda home: consent(home).grant(grant(2))),
    "grant over denial": (denied, lambda home: consent(home).grant(grant(2))),
    "deny": (granted_twice, lambda home: consent(home).deny("/srv/p", "demo")),
    "revoke": (granted_twice, lambda home: consent(home).revoke("/srv/p", "demo")),
    "revoke one": (
        granted_twice,
        lambda home: consent(home).revoke("/srv/p", "demo", grant(1).content_hash),
    ),
    "lift": (denied, lambda home: consent(home).lift_denial("/srv/p", "demo")),
    "gc": (granted_twice, lambda home: consent(home).gc(gone=lambda root, id: True, stale_after=-1)),
    "put": (nothing, lambda home: bundles(home).put(bundle(home))),
    "put over damage": (damaged, lambda home: bundles(home).put(bundle(home))),
}


def die_before(moment: int) -> None:
    """Let this process die before its *moment*-th changing call, as if the power went."""
    count = itertools.count(1)

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if next(count) == moment:
                os._exit(KILLED)
            return real(*args, **kwargs)

        return call

    real_open = os.open

    def opening(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & os.O_CREAT and next(count) == moment:
            os._exit(KILLED)
        return real_open(path, flags, *args, **kwargs)

    for name in CHANGING:
        setattr(os, name, guarded(getattr(os, name)))
    os.open = opening


def at_once(jobs: list[Callable[[], object]]) -> list[int]:
    """Every job in a process of its own; their exit codes."""
    children = []
    for job in jobs:
        child = os.fork()
        if not child:
            try:
                job()
                os._exit(0)
            except BaseException:  # a child must never return into the parent's loop
                traceback.print_exc()
                os._exit(1)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def crash(name: str, folder: Path) -> dict[str, Any]:
    prepare, act = SCENARIOS[name]
    outcomes: list[Any] = []
    home = folder / "home"

    def fresh() -> None:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        prepare(home)

    fresh()
    old = facts(home)
    act(home)
    new = facts(home)
    for moment in itertools.count(1):
        fresh()

        def work(moment: int = moment) -> None:
            die_before(moment)
            act(home)

        (code,) = at_once([work])
        outcomes.append({"code": code, "facts": facts(home)})
        if code != KILLED:
            break
        act(home)
        outcomes[-1]["again"] = facts(home)
        consent(home).gc(gone=lambda root, id: False, stale_after=-1)
        bundles(home).gc([bundle(home).content_hash], stale_after=-1)
        outcomes[-1]["litter"] = [p.name for p in home.rglob(".*") if p.name.startswith((".tmp-", ".gone-"))]
    return {"old": old, "new": new, "outcomes": outcomes}


def crowd(folder: Path, workers: int = 6, rounds: int = 12) -> dict[str, Any]:
    """Everybody works on one id of their own and on a shared one, while a reader looks on; then all on the shared."""
    home = folder / "home"
    home.mkdir()
    bundle(home)

    def work(me: int) -> None:
        store = consent(home)
        for turn in range(rounds):
            store.grant(grant(me * 1000 + turn, id=f"mine-{me}"))
            store.grant(grant(me * 1000 + turn, id="shared"))
            if turn % 3 == 1:
                store.revoke("/srv/p", f"mine-{me}")
            if turn % 4 == 2:
                store.deny("/srv/p", f"mine-{me}")
            if me == 0:
                store.revoke("/srv/p", "shared")
        bundles(home).put(bundle(home))

    def read() -> None:
        for _ in range(60):
            ignored = consent(home).records().ignored
            assert ignored == (), ignored

    def finish(me: int) -> None:
        consent(home).grant(grant(me * 1000 + 999, id="shared"))

    codes = at_once([*(lambda me=me: work(me) for me in range(workers)), read])
    codes += at_once([lambda me=me: finish(me) for me in range(workers)])
    store = consent(home)
    last = [grant(me * 1000 + 999).content_hash for me in range(workers)]
    shared = {g.content_hash for g in store.decisions("/srv/p", "shared").grants}
    expected = FrozenDict({f"mine-{me}": sorted(_expected(me, rounds)) for me in range(workers)})
    return {
        "codes": codes,
        "shared": [content_hash in shared for content_hash in last],
        "mine": {id: sorted(g.content_hash for g in store.decisions("/srv/p", id).grants) for id in expected},
        "expected": dict(expected),
        "ignored": list(store.records().ignored),
        "listed": sorted({g.id for g in store.records_for_root("/srv/p")}),
        "bundle": bundles(home).verify(bundle(home).content_hash) is not None,
        "litter": [p.name for p in home.rglob(".*") if p.name.startswith((".tmp-", ".gone-"))],
    }


def _expected(me: int, rounds: int) -> set[str]:
    """What one worker's own id must end with, whatever the others did."""
    found: set[str] = set()
    for turn in range(rounds):
        if turn and (turn - 1) % 4 == 2:
            found.clear()  # the grant after a denial starts anew
        found.add(grant(me * 1000 + turn).content_hash)
        if turn % 3 == 1 or turn % 4 == 2:
            found.clear()
    return found


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    answer = crash(rest[0], Path(rest[1])) if what == "crash" else crowd(Path(rest[0]))
    sys.stdout.write(json.dumps(answer))
