"""A repeated render: quick, and never anything but what a real run would print (spec 80, Speed)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from msd_host import MSD
from msd_host.__main__ import NAMES
from tests.cli import Done, environment, msd
from tests.planted import World, boolean, contribution, gate, is_root, ledger

WORDS = ("loop", "render-hooks", "plan:pre")


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, MSD)
    world.add_global(
        "acme",
        config={"acme.on": boolean()},
        contributions=[contribution(fragment={"path": "f.md"}, when="acme.on")],
        files={"f.md": "one"},
    )
    world.add_project("proj", contributions=[contribution(fragment={"path": "p.md"})], files={"p.md": "two"})
    world.add_project("inert", gates=[gate("plan:pre")])
    world.grant("proj")
    (world.root / "site").mkdir()
    return world


def render(world: World, *words: str, **env: str) -> Done:
    """One render, with a folder on the import path in which a distribution may turn up."""
    path = os.pathsep.join([environment(world.home)["PYTHONPATH"], str(world.root / "site")])
    return msd(world, *(words or WORDS), **{"PYTHONPATH": path, **env})


def real(world: World, *words: str, **env: str) -> Done:
    return render(world, *words, MSD_NO_MEMO="1", **env)


def memos(world: World) -> list[Path]:
    return sorted((world.home / ".msd" / "cache" / "render").glob("*"))


def spoil(world: World) -> None:
    """Make every memo give another answer, so that using one is seen."""
    from msd_host.memo.witness import digest

    for path in memos(world):
        body = path.read_bytes()[32:].replace(b"plan:pre", b"plan:PRE")
        path.write_bytes(digest(body) + body)


def used(world: World, *words: str, **env: str) -> bool:
    spoil(world)
    return "plan:PRE" in render(world, *words, **env).out


def test_the_second_run_repeats_the_first_with_its_warnings(world: World) -> None:
    first = render(world)
    assert "inert" in first.err and '"acme"' in first.out
    assert len(memos(world)) == 1
    assert render(world) == first == real(world)
    assert used(world)


def test_what_the_program_is_told_of_the_product_is_the_product() -> None:
    assert NAMES == (MSD.folder, MSD.home_variable, MSD.project_markers)


def test_a_repeated_render_imports_no_engine(world: World) -> None:
    render(world)
    script = (
        "import sys; from msd_host.__main__ import main\n"
        f"code = main({list(WORDS)!r})\n"
        "heavy = ('attr', 'pluggy', 'json', 're', 'argparse', 'inspect', 'typing', 'collections.abc', 'hashlib',\n"
        "         'msd_host.product', 'msd_host.pipeline', 'msd_host.cli.app', 'msd_hookspecs', 'importlib.metadata')\n"
        "sys.stderr.write('MODULES ' + ' '.join(m for m in heavy if m in sys.modules))\n"
    )
    (world.root / "run.py").write_text(script)
    path = os.pathsep.join([environment(world.home)["PYTHONPATH"], str(world.root / "site")])

    def run() -> str:
        done = subprocess.run(
            [sys.executable, "-s", str(world.root / "run.py")],
            cwd=world.project,
            env=environment(world.home, PYTHONPATH=path),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stderr.rpartition("MODULES")[2].strip()

    assert "attr" in run().split()  # the import path is another one, so this one is a real run
    assert set(run().split()) <= {"collections.abc", "re", "typing"}  # what a `.pth` file of the environment brings


def _grant_inert(world: World) -> None:
    world.grant("inert")


def _revoke(world: World) -> None:
    world.host.trust.revoke(world.project, "proj")


def _deny(world: World) -> None:
    world.host.trust.deny(world.project, "acme")
    world.host.trust.deny(world.project, "proj")


def _edit(path: Callable[[World], Path], text: str) -> Callable[[World], None]:
    def change(world: World) -> None:
        target = path(world)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    return change


def _same_size(world: World) -> None:
    target = world.global_folder("acme") / "f.md"
    before = target.stat()
    target.write_text("eno")
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))


def _link(world: World) -> None:
    target = world.global_folder("acme") / "f.md"
    target.rename(world.root / "f.md")
    target.symlink_to(world.root / "f.md")


def _linked_bundle(world: World) -> None:
    world.global_folder("acme").rename(world.root / "acme")
    world.global_folder("acme").symlink_to(world.root / "acme")


def _no_project(world: World) -> None:
    (world.project / ".planning").rmdir()


def _installed(world: World) -> None:
    info = world.root / "site" / "ext-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ext\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[msd_host]\next = ext_module\n")
    (world.root / "site" / "ext_module.py").write_text("raise RuntimeError('loaded')\n")


def _loose_store(world: World) -> None:
    (world.home / ".msd" / "consent").chmod(0o777)


CHANGES: dict[str, Callable[[World], object]] = {
    "a fragment": _edit(lambda w: w.global_folder("acme") / "f.md", "another"),
    "a fragment, its size and time kept": _same_size,
    "a byte of a granted bundle": _edit(lambda w: w.project_folder("proj") / "notes.txt", "x"),
    "a manifest": lambda w: w.add_global("acme", version="2.0.0"),
    "a new global overlay": lambda w: w.add_global("more", contributions=[contribution()]),
    "a new project overlay": lambda w: w.add_project("more", gates=[gate("plan:pre")]),
    "an overlay gone": lambda w: (w.global_folder("acme") / "capability.json").unlink(),
    "a grant": _grant_inert,
    "a revocation": _revoke,
    "a denial": _deny,
    "a ledger": lambda w: ledger(w.home, acme={"_pending": True}),
    "a project ledger": lambda w: ledger(w.project, proj={"_pending": True}),
    "the project's configuration": _edit(lambda w: w.project / ".planning" / "config.json", '{"acme": {"on": false}}'),
    "the user's configuration": _edit(lambda w: w.home / ".msd" / "config.json", '{"acme": {"on": false}}'),
    "a switch": lambda w: msd(w, "capability", "disable", "acme"),
    "a file that is a link now": _link,
    "a bundle that is a link now": _linked_bundle,
    "no project any more": _no_project,
    "a nearer project": lambda w: (w.project / ".git").mkdir(),
    "an extension": _installed,
    "a store that others can write": _loose_store,
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_seen(world: World, name: str) -> None:
    before = render(world)
    CHANGES[name](world)
    after = render(world)
    assert after == real(world)
    if name not in ("a ledger", "a nearer project"):
        assert (after.out, after.err) != (before.out, before.err)
    assert render(world) == after


@pytest.mark.parametrize(
    "env", [{"MSD_WORKSTREAM": "x"}, {"MSD_PLUGINS": "none"}, {"HOME": "/nowhere"}, {"COLUMNS": "40"}, {"LANG": "C"}]
)
def test_every_variable_that_is_read_counts(world: World, env: dict[str, str]) -> None:
    render(world)
    assert render(world, **env) == real(world, **env)


class TestNeverUsed:
    def test_for_consent_that_counts_for_one_run(self, world: World) -> None:
        found = world.host.trust.show("inert", cwd=world.project).content_hash
        word = f"inert@{found}"
        assert "inert" in render(world, *WORDS, "--trust", word).out
        assert "inert" in render(world, MSD_TRUST=word).out
        assert not memos(world)

    def test_where_the_home_may_be_the_project_s(self, world: World) -> None:
        render(world)
        inside = world.project / "home"
        world.home.rename(inside)
        for cwd in (world.project, world.project / "home"):
            world.home = inside
            spoil(world)
            done = msd(world, "--home", str(inside), *WORDS, cwd=cwd)
            assert "plan:PRE" not in done.out

    def test_where_others_may_write(self, world: World) -> None:
        render(world)
        (world.home / ".msd" / "cache").chmod(0o777)
        assert not used(world)

    @pytest.mark.skipif(not is_root(), reason="only root may give a file away")
    def test_where_it_belongs_to_somebody_else(self, world: World) -> None:
        render(world)
        os.chown(memos(world)[0], 12345, -1)
        assert not used(world)

    def test_where_an_extension_is_installed(self, world: World) -> None:
        _installed(world)
        render(world)
        assert not memos(world)

    @pytest.mark.parametrize("damage", [b"", b"x" * 40, None])
    def test_when_damaged(self, world: World, damage: bytes | None) -> None:
        first = render(world)
        (path,) = memos(world)
        whole = path.read_bytes()
        path.write_bytes(damage if damage is not None else whole[:-1] + bytes([whole[-1] ^ 1]))
        assert render(world) == first
        assert path.read_bytes() == whole  # and it is mended

    def test_by_a_host_with_another_text(self, world: World) -> None:
        for module in ("msd_host", "msd_hookspecs"):
            home = Path(sys.modules[module].__file__ or "").parent
            shutil.copytree(home, world.root / "copy" / module, ignore=shutil.ignore_patterns("__pycache__"))
        path = str(world.root / "copy")
        first = msd(world, *WORDS, PYTHONPATH=path)
        assert len(memos(world)) == 1
        resolver = world.root / "copy" / "msd_host" / "loop" / "resolve.py"
        resolver.write_text(resolver.read_text() + "\n\ndef resolve(*_: object) -> None:\n    raise SystemExit(77)\n")
        assert (first.code, msd(world, *WORDS, PYTHONPATH=path).code) == (0, 77)


def test_a_home_without_anything_of_ours_stays_so(tmp_path: Path) -> None:
    world = World(tmp_path, MSD)
    assert msd(world, *WORDS) == msd(world, *WORDS)
    assert list(world.home.iterdir()) == []


def test_old_memos_are_forgotten(world: World) -> None:
    render(world)
    (first,) = memos(world)
    for number in range(80):
        (first.parent / f"{number:064}").write_bytes(b"old")
        os.utime(first.parent / f"{number:064}", (number, number))
    _same_size(world)
    render(world)
    assert len(memos(world)) == 64 and first in memos(world)


def test_a_watched_run_takes_down_all_it_sees(world: World) -> None:
    """Files and environment are the only ways in: nothing of the engine looks past them during a render."""
    script = (
        "import os, sys\n"
        "seen = []\n"
        "def hook(event, args):\n"
        "    if event in ('open', 'os.listdir', 'os.scandir') and isinstance(args[0], (str, bytes)):\n"
        "        seen.append(os.fsdecode(args[0]))\n"
        "from msd_host.memo.record import Watch\n"
        "from msd_host import MSD\n"
        "from msd_host.cli import app, loop\n"
        "watch = Watch(['loop', 'render-hooks', 'plan:pre'])\n"
        "sys.addaudithook(hook)\n"
        "app._run(MSD, ['loop', 'render-hooks', 'plan:pre'], watch)\n"
        "noted = {path for _, path in watch._notes.seen}\n"
        "import json\n"
        "places = [os.environ['MSD_HOME'], os.getcwd()]\n"
        "names = {os.path.basename(p) for p in noted}\n"
        "print('\\n' + json.dumps([p for p in seen if os.path.basename(p) not in names and not p.endswith(('.py', '.pyc'))\n"
        "       and '__pycache__' not in p and os.path.isabs(p) and any(p.startswith(q) for q in places)]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-s", "-c", script],
        cwd=world.project,
        env=environment(world.home),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_the_same_words_in_another_project_are_another_question(world: World) -> None:
    render(world)
    other = world.root / "other"
    (other / ".git").mkdir(parents=True)
    assert '"proj"' not in msd(world, *WORDS, cwd=other).out
    assert len(memos(world)) == 2
