"""Ratios measured in one run: what the host costs over the interpreter, raw reading and raw hashing (spec 80, Speed).

Prints one table; `--json FILE` stores the figures. Whole processes are timed in interleaved pairs against
`python -c pass` of the same interpreter, and medians are compared, because machines are shared and noisy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msd_host import MSD, Host

Row = dict[str, Any]


def bundle(id: str) -> dict[str, Any]:
    switch = {"type": "boolean", "default": True, "description": "A switch."}
    return {
        "id": id,
        "role": "feature",
        "version": "1.0.0",
        "title": f"Title of {id}",
        "description": f"About {id}, in a sentence of ordinary length.",
        "tier": "full",
        "requires": [],
        "engines": {"msd": ">=1.0.0"},
        "runtimeCompat": {"supported": ["*"], "unsupported": []},
        "skills": [f"{id}-one", f"{id}-two"],
        "agents": [f"{id}-agent"],
        "config": {f"{id}.on": switch, f"{id}.two": switch},
        "steps": [
            {
                "point": "plan:pre",
                "ref": {"skill": f"{id}-one"},
                "produces": [f"{id}.md"],
                "consumes": ["CONTEXT.md"],
                "when": f"{id}.on",
                "onError": "skip",
            }
        ],
        "contributions": [
            {
                "point": "plan:pre",
                "into": "planner",
                "produces": [],
                "consumes": [],
                "fragment": {"path": "fragments/plan.md"},
            }
        ],
        "gates": [
            {
                "point": "ship:pre",
                "check": {"query": f"{id}.gate"},
                "blocking": True,
                "onError": "halt",
                "when": f"{id}.two",
            }
        ],
    }


class Ground:
    """A throwaway home and project with overlays in one of them."""

    def __init__(self, root: Path, count: int, *, project: bool = False) -> None:
        self.home, self.project = root / "home", root / "project"
        owner = self.project if project else self.home
        self.folder = owner / ".msd" / "capabilities"
        (self.project / ".planning").mkdir(parents=True)
        self.home.mkdir(exist_ok=True)
        self.folder.mkdir(parents=True)
        self.ids = [f"cap-{i:05d}" for i in range(count)]
        for id in self.ids:
            folder = self.folder / id
            (folder / "fragments").mkdir(parents=True)
            (folder / "capability.json").write_text(json.dumps(bundle(id), indent=2))
            (folder / "fragments" / "plan.md").write_text("A line of a fragment that is put into a prompt.\n" * 20)
            if project:  # what is hashed besides what is read: skills and an agent of 2 KB each
                for name in ("skills/one/SKILL.md", "skills/two/SKILL.md", "agents/agent.md"):
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_text("A line of instructions for an agent.\n" * 55)
        self.host = Host(MSD, home=self.home, discover_extensions=False)
        if project:
            for id in self.ids:
                self.host.trust.grant(self.project, id)

    def load(self) -> Any:
        return self.host.load(cwd=self.project)


def best_of(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The fastest of interleaved rounds of each, in seconds."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for at, work in enumerate(works):
            started = time.perf_counter()
            work()
            times[at].append(time.perf_counter() - started)
    return [min(t) for t in times]


def raw_read(ground: Ground) -> None:
    for id in ground.ids:
        folder = f"{ground.folder}/{id}"
        with open(f"{folder}/capability.json", "rb") as stream:
            json.loads(stream.read())
        with open(f"{folder}/fragments/plan.md", "rb") as stream:
            stream.read()


def raw_hash(ground: Ground) -> None:
    for id in ground.ids:
        digest = hashlib.sha512()
        queue = [f"{ground.folder}/{id}"]
        while queue:
            with os.scandir(queue.pop()) as scan:
                for entry in scan:
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
                        continue
                    fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW)
                    digest.update(os.read(fd, os.fstat(fd).st_size))
                    os.close(fd)


def composing(root: Path) -> list[Row]:
    rows: list[Row] = []
    per_overlay: dict[int, float] = {}
    for count in (400, 4000):
        ground = Ground(root / f"global-{count}", count)
        ground.load()
        ours, raw = best_of(4, ground.load, lambda ground=ground: raw_read(ground))  # type: ignore[misc]
        accepted = len(ground.load().overlay.accepted)
        if accepted != count:
            raise SystemExit(f"only {accepted} of {count} overlays were accepted")
        per_overlay[count] = ours / count
        rows.append(
            {
                "what": f"compose {count} global overlays",
                "cost": f"{ours / count * 1e6:.0f} µs each",
                "against": "open + read + json.loads of the same files",
                "ratio": ours / raw,
                "reach": 6,
            }
        )
    growth = per_overlay[4000] / per_overlay[400]
    rows.append(
        {"what": "cost of each at 4 000", "cost": "", "against": "cost of each at 400", "ratio": growth, "reach": 1.3}
    )
    return rows


def telling(root: Path) -> list[Row]:
    """What is told of a composition, after it: every state, and one point rendered."""
    from msd_host.loop.render import envelope
    from msd_host.loop.resolve import resolve

    costs: dict[str, dict[int, float]] = {"state": {}, "render": {}}
    for count in (100, 1000):
        ground = Ground(root / f"told-{count}", count)
        composition = ground.host.compose(ground.project)

        def state(host: Host = ground.host, composition: Any = composition) -> None:
            activation = host.activation(composition)
            for id in composition.registry.capabilities:
                activation.hooks(id)

        def render(host: Host = ground.host, composition: Any = composition) -> None:
            envelope(resolve(composition.registry, "plan:pre", host.activation(composition)))

        for name, seconds in zip(costs, best_of(5, state, render)):
            costs[name][count] = seconds / count
    return [
        {
            "what": f"{name} with 1 000 overlays",
            "cost": f"{cost[1000] * 1e6:.0f} µs each",
            "against": "cost of each with 100",
            "ratio": cost[1000] / cost[100],
            "reach": 1.3,
        }
        for name, cost in costs.items()
    ]


def hashing(root: Path) -> list[Row]:
    from msd_host.reading.files import Files
    from msd_host.trust.snapshot import take_snapshot

    ground = Ground(root / "project-400", 400, project=True)
    files = Files()

    def snapshots() -> None:
        for id in ground.ids:
            fd = files.open_folder(f"{ground.folder}/{id}")
            take_snapshot(files, fd, MSD.limits)
            files.close(fd)

    ours, raw, load = best_of(4, snapshots, lambda: raw_hash(ground), ground.load)
    if len(ground.load().overlay.accepted) != 400:
        raise SystemExit("not every project overlay was accepted")
    return [
        {
            "what": "snapshot 400 project overlays",
            "cost": f"{ours / 400 * 1e6:.0f} µs each",
            "against": "scandir + open + fstat + read + sha512",
            "ratio": ours / raw,
            "reach": 1.7,
        },
        {
            "what": "compose 400 granted project overlays",
            "cost": f"{load / 400 * 1e6:.0f} µs each",
            "against": "scandir + open + fstat + read + sha512",
            "ratio": load / raw,
            "reach": None,
        },
    ]


def seconds(argv: list[str], cwd: Path, env: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def processes(root: Path, rounds: int) -> list[Row]:
    script = shutil.which("msd", path=os.path.dirname(sys.executable))
    msd = [sys.executable, script or str(Path(__file__).parents[1] / "bin" / "msd")]
    empty, ten, hundred = (Ground(root / f"process-{n}", n) for n in (0, 10, 100))
    render = ["loop", "render-hooks", "plan:pre"]
    wanted: list[tuple[str, list[str], Ground, float, bool]] = [
        ("msd --version", ["--version"], empty, 1.3, True),
        ("msd --help", ["--help"], empty, 2.5, True),
        ("render-hooks, 0 overlays, unchanged", render, empty, 1.35, True),
        ("render-hooks, 10 overlays, unchanged", render, ten, 1.35, True),
        ("render-hooks, 100 overlays, unchanged", render, hundred, 2.2, True),
        ("render-hooks, 0 overlays, changed", render, empty, 7, False),
        ("render-hooks, 10 overlays, changed", render, ten, 12, False),
        ("render-hooks, 100 overlays, changed", render, hundred, 16, False),
    ]
    rows: list[Row] = []
    for name, words, ground, reach, memo in wanted:
        env = {**os.environ, "MSD_HOME": str(ground.home), "MSD_NO_MEMO": "" if memo else "1"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed host has its bytecode
        seconds([*msd, *words], ground.project, env)
        ours, bare = [], []
        for _ in range(rounds):
            bare.append(seconds([sys.executable, "-c", "pass"], ground.project, env))
            ours.append(seconds([*msd, *words], ground.project, env))
        middle = statistics.median(ours)
        rows.append(
            {
                "what": name,
                "cost": f"{middle * 1000:.0f} ms",
                "against": "python -c pass",
                "ratio": middle / statistics.median(bare),
                "reach": reach,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="store the figures there")
    parser.add_argument("--rounds", type=int, default=15, help="pairs of processes per row")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="msd-bench-") as folder:
        root = Path(folder).resolve()
        rows = [*composing(root), *telling(root), *hashing(root), *processes(root, given.rounds)]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs")
    print(f"{'what':<40} {'cost':>12}  {'ratio':>6}  {'reach':>6}  against")
    for row in rows:
        reach = "" if row["reach"] is None else f"≤ {row['reach']}"
        print(f"{row['what']:<40} {row['cost']:>12}  {row['ratio']:>6.2f}  {reach:>6}  {row['against']}")
    if given.json:
        Path(given.json).write_text(json.dumps({"python": sys.version.split()[0], "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
