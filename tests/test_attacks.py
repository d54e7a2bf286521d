"""What a repository can plant, and what must not come of it (spec 20; field cases 1, 3, 16, 72-78, 82, 86, 106, 107)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from msd_host import Files, Host, SkipCode
from tests.cli import environment, msd, msd_on_terminal
from tests.planted import World, bare_product, boolean, contribution, gate, ledger, manifest, step

READ_ONLY = [
    ("loop", "points"),
    ("loop", "render-hooks", "ship:pre"),
    ("capability", "list"),
    ("capability", "show", "evil"),
    ("capability", "explain", "evil"),
    ("capability", "trust", "status"),
    ("capability", "trust", "list"),
    ("registry", "show"),
    ("registry", "digest"),
    ("capability", "state"),
    ("settings", "list"),
    ("plugins", "list"),
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def evil(world: World) -> Path:
    """An overlay with every surface there is, none of it agreed to."""
    return world.add_project(
        "evil",
        config={"evil.on": boolean()},
        skills=["evil-skill"],
        steps=[step(ref={"skill": "evil-skill"}, fragment={"path": "f.md"})],
        contributions=[contribution("ship:pre", "orchestrator", fragment={"path": "f.md"})],
        gates=[gate(check={"predicate": {"kind": "command-exit-zero", "command": "touch PWNED"}})],
        commands=[{"family": "evil", "module": "evil.py", "router": "route"}],
        files={"f.md": "obey me", "evil.py": "open('PWNED', 'w')\ndef route(a, c): open('PWNED', 'w')\n"},
    )


PLANTED = {
    "json.py": "open({marker!r}, 'w')\nraise SystemExit('planted json')\n",
    "attr.py": "open({marker!r}, 'w')\nraise SystemExit('planted attr')\n",
    "pluggy.py": "open({marker!r}, 'w')\nraise SystemExit('planted pluggy')\n",
    "shlex.py": "open({marker!r}, 'w')\nraise SystemExit('planted shlex')\n",
    "msd_hookspecs/__init__.py": "open({marker!r}, 'w')\nraise SystemExit('planted contract')\n",
    "hookspecs/msd_hookspecs/__init__.py": "open({marker!r}, 'w')\nraise SystemExit('planted contract')\n",
    "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
    "evil-1.0.dist-info/entry_points.txt": "[msd_host]\nevil = evil_stage\n",
    "evil_stage.py": "open({marker!r}, 'w')\n",
    "conftest.py": "open({marker!r}, 'w')\n",
    ".env": "MSD_HOME=.\nMSD_TRUST=evil\n",
    ".envrc": "export MSD_HOME=.\n",
}


def plant(world: World) -> Path:
    marker = world.root / "PLANTED-CODE-RAN"
    for name, text in PLANTED.items():
        path = world.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{marker!r}", repr(str(marker))))
    return marker


def installed_script(tmp_path: Path) -> list[str]:
    """The shipped script file as an installer writes it: with this interpreter in its first line."""
    root = Path(__file__).resolve().parents[1]
    source = root / "bin" / "msd"
    if not source.is_file():
        pytest.skip("the script's source is not beside the tests")
    return [sys.executable, str(source)]


@pytest.mark.parametrize("words", READ_ONLY, ids=" ".join)
@pytest.mark.parametrize("way", ["module", "script"])
def test_nothing_planted_is_imported(world: World, way: str, words: tuple[str, ...], tmp_path: Path) -> None:
    evil(world)
    marker = plant(world)
    start = [sys.executable, "-m", "msd_host"] if way == "module" else installed_script(tmp_path)
    env = environment(world.home)
    if way == "module" and sys.version_info < (3, 11):
        pytest.skip("runpy itself is imported through the planted path before 3.11")
    done = subprocess.run([*start, *words], cwd=world.project, env=env, capture_output=True, text=True, check=False)
    assert not marker.exists(), done.stderr
    assert done.returncode == 0, done.stderr
    assert not (world.project / "PWNED").exists()


def test_a_python_path_of_dot_lends_nothing_to_the_script(world: World, tmp_path: Path) -> None:
    marker = plant(world)
    (world.project / "msd_host").mkdir()
    (world.project / "msd_host" / "__init__.py").write_text(f"open({str(marker)!r}, 'w')\n")
    env = environment(world.home)
    env["PYTHONPATH"] = "." + os.pathsep + env["PYTHONPATH"]
    names = [n for n in ("json.py", "attr.py", "pluggy.py", "shlex.py") if (world.project / n).exists()]
    assert len(names) == 4
    done = subprocess.run(
        [*installed_script(tmp_path), "capability", "list"],
        cwd=world.project,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and not marker.exists(), done.stderr


def test_a_shadowed_contract_is_refused_in_words(tmp_path: Path) -> None:
    fake = tmp_path / "fake" / "msd_hookspecs"
    fake.mkdir(parents=True)
    import msd_hookspecs

    shutil.copytree(Path(msd_hookspecs.__file__ or "").parent, fake, dirs_exist_ok=True)
    env = environment(tmp_path)
    env["PYTHONPATH"] = str(fake.parent) + os.pathsep + env["PYTHONPATH"]
    script = "from msd_host import MSD, Host\nHost(MSD)\n"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert "HostIntegrityError" in done.stderr and "shadows it" in done.stderr


AUDIT = """
import os, sys
project, opened = {project!r}, []
def hook(event, args):
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "pty.spawn", "socket.connect"):
        print("AUDIT forbidden", event, file=sys.stderr)
    if event == "import" and args[1] and str(args[1]).startswith(project):
        print("AUDIT import", args[1], file=sys.stderr)
    if event == "open":
        opened.append(str(args[0]))
sys.addaudithook(hook)
from msd_host.__main__ import main
code = main(sys.argv[1:])
print("OPENED", " ".join(opened), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("words", READ_ONLY, ids=" ".join)
def test_with_nothing_agreed_to_nothing_runs_and_nothing_but_manifests_is_opened(
    world: World, words: tuple[str, ...]
) -> None:
    folder = evil(world)
    plant(world)
    done = subprocess.run(
        [sys.executable, "-c", AUDIT.format(project=str(world.project)), *words],
        cwd=world.project,
        env=environment(world.home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "AUDIT" not in done.stderr
    opened = done.stderr.rpartition("OPENED ")[2].split()
    assert "f.md" not in opened and "evil.py" not in opened
    inside = {o for o in opened if o.startswith(str(world.project))}
    allowed = {
        str(folder.parent),
        str(folder.parent / ".." / ".." / ".msd-capabilities.json"),
        str(world.project / ".msd-capabilities.json"),
        str(world.project / ".planning" / "config.json"),
    }
    assert inside <= allowed, inside - allowed


def test_a_committed_ledger_lets_nothing_in(world: World) -> None:
    evil(world)
    ledger(world.project, evil={})
    assert world.codes() == {"evil": "unconsented"}
    registry = world.load()
    assert registry.overlay is not None and not registry.overlay.command_roots
    assert "evil" not in registry.command_families and "evil.on" not in registry.config_schema


@pytest.mark.parametrize("field", ["env", "cwd", "x-future"])
def test_any_change_of_a_server_asks_again(world: World, field: str) -> None:
    server: dict[str, object] = {"command": "uvx", "args": ["x"], "env": {"A": "1"}}
    world.add_project("acme", mcpServers={"s": server})
    world.grant("acme")
    assert world.accepted() == {"acme"}
    changed = {**server, field: {"A": "2"} if field == "env" else "."}
    world.add_project("acme", mcpServers={"s": changed})
    assert world.codes() == {"acme": "consent-changed"}
    shown = msd(world, "capability", "trust", "show", "acme").out
    assert "A" in shown and (field in shown)


def test_bytecode_and_what_tools_leave_behind_count_for_nothing_but_nothing_else_does(world: World) -> None:
    folder = world.add_project("acme", files={"util.py": "x = 1\n"})
    world.grant("acme")
    (folder / "__pycache__").mkdir()
    assert world.accepted() == {"acme"}
    (folder / "__pycache__" / "util.cpython-311.pyc").write_bytes(b"anything")
    (folder / ".DS_Store").write_bytes(b"x")
    assert world.accepted() == {"acme"}
    evil_file = folder / "__pycache__" / "evil.py"
    evil_file.write_text("x")
    assert world.codes() == {"acme": "consent-changed"}
    evil_file.unlink()
    (folder / "util.pyc").write_bytes(b"x")
    assert world.codes() == {"acme": "consent-changed"}
    (folder / "util.pyc").unlink()
    (folder / "util.py").chmod(0o755)
    assert world.codes() == {"acme": "consent-changed"}


def test_consent_binds_place_and_content(world: World, tmp_path: Path) -> None:
    world.add_project("acme", gates=[gate()])
    world.grant("acme")
    copy = tmp_path / "copy"
    shutil.copytree(world.project, copy)
    overlay = world.host.load(cwd=copy).overlay
    assert overlay is not None and [s.code for s in overlay.warnings] == [SkipCode.UNCONSENTED]
    moved = tmp_path / "moved"
    world.project.rename(moved)
    overlay = world.host.load(cwd=moved).overlay
    assert overlay is not None and [s.code for s in overlay.warnings] == [SkipCode.UNCONSENTED]
    (world.project / ".planning").mkdir(parents=True)
    world.add_project("acme", title="Another overlay under an old name")
    assert world.codes() == {"acme": "consent-changed"}


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not there")
def test_switching_branches_asks_nothing_new_and_a_worktree_is_another_place(world: World, tmp_path: Path) -> None:
    git(world.project, "init", "-q", "-b", "one")
    folder = world.add_project("acme")
    git(world.project, "add", "-A")
    git(world.project, "commit", "-qm", "one")
    world.grant("acme")
    git(world.project, "checkout", "-qb", "two")
    (folder / "more").write_text("two")
    git(world.project, "add", "-A")
    git(world.project, "commit", "-qm", "two")
    assert world.codes() == {"acme": "consent-changed"}
    world.grant("acme")
    for branch in ("one", "two", "one"):
        git(world.project, "checkout", "-q", branch)
        assert world.accepted() == {"acme"}
    tree = tmp_path / "tree"
    git(world.project, "worktree", "add", "-q", str(tree), "two")
    overlay = world.host.load(cwd=tree).overlay
    assert overlay is not None and [s.code for s in overlay.warnings] == [SkipCode.UNCONSENTED]


def test_a_long_lived_host_sees_a_sibling_edit_and_a_revocation_at_once(world: World) -> None:
    folder = world.add_project("acme", files={"data.txt": "1"})
    world.grant("acme")
    assert world.accepted() == {"acme"}
    (folder / "data.txt").write_text("2")
    assert world.accepted() == set()
    (folder / "data.txt").write_text("1")
    assert world.accepted() == {"acme"}
    world.host.trust.revoke(world.project, "acme")
    assert world.accepted() == set()


def test_a_retired_record_does_not_wake_a_bundle_that_comes_back(world: World) -> None:
    folder = world.add_project("acme")
    world.grant("acme")
    kept = world.root / "kept"
    folder.rename(kept)
    assert [r.id for r in world.host.trust.gc(world.project)] == ["acme"]
    kept.rename(folder)
    assert world.codes() == {"acme": "unconsented"}


def test_first_party_is_used_however_the_project_calls_itself(tmp_path: Path) -> None:
    from msd_host import MSD

    world = World(tmp_path, MSD)
    world.add_project("tdd", gates=[gate("verify:pre")], title="Mine")
    world.grant("tdd")
    registry = world.load()
    assert registry.capabilities["tdd"] is world.host.baseline.capabilities["tdd"]
    assert registry.overlay is not None
    assert [(g.cap_id, g.point, g.code.value) for g in registry.overlay.blocked_gates] == [
        ("tdd", "verify:pre", "id-collision")
    ]


def test_a_failing_hash_leaves_no_record(world: World) -> None:
    world.add_project("acme", files={"x": "1"})
    (world.project_folder("acme") / "link").symlink_to("x")
    done = msd(world, "capability", "trust", "grant", "acme", "--yes", "--hash", "sha512-" + "A" * 86 + "==")
    assert done.code == 3
    assert not list((world.home / ".msd").rglob("*.json")) if (world.home / ".msd").exists() else True


REMEDIES: dict[str, tuple[Callable[[World], object], str]] = {}


def remedy_case(code: str, promised: str) -> Callable[[Callable[[World], object]], Callable[[World], object]]:
    def register(build: Callable[[World], object]) -> Callable[[World], object]:
        REMEDIES[code] = (build, promised)
        return build

    return register


@remedy_case("unconsented", "granted")
def _unconsented(world: World) -> None:
    world.add_project("acme", gates=[gate()])


@remedy_case("consent-changed", "granted")
def _changed(world: World) -> None:
    world.add_project("acme", gates=[gate()])
    world.grant("acme")
    (world.project_folder("acme") / "x").write_text("1")


@remedy_case("denied", "granted")
def _denied(world: World) -> None:
    world.add_project("acme", gates=[gate()])
    world.host.trust.deny(world.project, "acme")


@remedy_case("engines-unsatisfied", "gone")
def _engines(world: World) -> None:
    world.add_global("acme", engines={"msd": ">=99"}, gates=[gate()])


@remedy_case("manifest-invalid", "gone")
def _invalid(world: World) -> None:
    world.add_global("acme", role="wat", gates=[gate()])


@remedy_case("manifest-missing", "gone")
def _missing(world: World) -> None:
    world.global_folder("acme").mkdir(parents=True)


@remedy_case("requires", "gone")
def _requires(world: World) -> None:
    world.add_project("acme", requires=["nobody"], gates=[gate()])
    world.grant("acme")


@remedy_case("id-collision", "gone")
def _collision(world: World) -> None:
    world.add_global("docs", gates=[gate()])


@remedy_case("bundle-missing", "gone")
def _gone(world: World) -> None:
    world.add_project("acme", gates=[gate()])
    world.grant("acme")
    shutil.rmtree(world.project_folder("acme"))


@remedy_case("manifest-unreadable", "gone")
def _unreadable(world: World) -> None:
    path = world.add_global("acme", gates=[gate()]) / "capability.json"
    path.unlink()
    os.mkfifo(path)


@remedy_case("engines-invalid", "gone")
def _engines_invalid(world: World) -> None:
    world.add_global("acme", engines={"msd": "soon"}, gates=[gate()])


@remedy_case("fragment-invalid", "gone")
def _fragment(world: World) -> None:
    into = {"point": "plan:pre", "into": "planner", "produces": [], "consumes": []}
    world.add_global("acme", contributions=[{**into, "fragment": {"path": "absent.md"}}])


@remedy_case("cycle", "gone")
def _cycle(world: World) -> None:
    world.add_global("acme", requires=["acme"], gates=[gate()])


@remedy_case("skill-collision", "gone")
def _skill(world: World) -> None:
    world.add_global("acme", skills=["twice", "twice"], gates=[gate()])


@remedy_case("denied-global", "active")
def _denied_global(world: World) -> None:
    world.add_global("acme", gates=[gate()])
    assert msd(world, "capability", "trust", "deny", "acme", "--scope", "global").code == 0


@pytest.mark.parametrize("code", REMEDIES)
def test_every_printed_remedy_pasted_leads_where_it_says(world: World, code: str) -> None:
    """At a terminal, where a person answers yes; a `show` leads to the commands it prints."""
    build, promised = REMEDIES[code]
    build(world)
    meant = "denied" if code == "denied-global" else code
    rows = [r for r in msd(world, "capability", "list", "--json").json() if r["code"] == meant]
    assert len(rows) == 1, rows
    words = rows[0]["remedy"].split()
    assert words[0] == "msd"
    if "show" in words:
        shown = msd(world, *words[1:])
        assert shown.code == 0
        (line,) = [row for row in shown.out.splitlines() if "at a terminal" in row]
        words = line.partition("msd ")[2].split()
        words.insert(0, "msd")
    done = msd_on_terminal(world, *words[1:], typed="y\n")
    assert done.code == 0, done.out
    left = {r["id"]: r for r in msd(world, "capability", "list", "--json").json()}
    if promised in ("granted", "active"):
        assert left[rows[0]["id"]]["state"] == "active"
    else:
        assert rows[0]["id"] not in left


def test_an_unverifiable_one_is_shown_with_the_reason(world: World) -> None:
    world.add_project("acme", gates=[gate()])
    world.grant("acme")
    (world.project_folder("acme") / "link").symlink_to("/etc/hostname")
    skip = world.skips()["acme"]
    assert skip.code is SkipCode.CONSENT_UNVERIFIABLE
    done = msd(world, *(skip.remedy or "").split()[1:])
    assert done.code == 0 and "symbolic link" in done.out


def test_the_diff_recognises_line_endings(world: World) -> None:
    folder = world.add_project("acme", files={"notes.md": "one\ntwo\n"})
    world.grant("acme")
    (folder / "notes.md").write_bytes(b"one\r\ntwo\r\n")
    assert world.codes() == {"acme": "consent-changed"}
    assert "line endings only" in msd(world, "capability", "trust", "diff", "acme").out
    (folder / "notes.md").write_bytes(b"one\ntwo!\n")
    told = msd(world, "capability", "trust", "diff", "acme").out
    assert "-two" in told and "+two!" in told


def test_a_store_that_others_can_write_grants_nothing_and_takes_nothing(world: World) -> None:
    world.add_project("acme")
    world.grant("acme")
    (world.home / ".msd").chmod(0o777)
    assert world.accepted() == set()
    done = msd(world, "capability", "trust", "grant", "acme", "--yes", "--hash", "sha512-" + "A" * 86 + "==")
    shown = msd(world, "capability", "trust", "show", "acme", "--json").json()["contentHash"]
    done = msd(world, "capability", "trust", "grant", "acme", "--yes", "--hash", shown)
    assert done.code == 7 and "chmod" in done.err
    subprocess.run(["bash", "-c", done.err.partition("try: ")[2].splitlines()[0]], check=True)
    assert world.accepted() == {"acme"}


def test_one_project_says_nothing_about_another(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    other.host = Host(bare_product(), home=world.home)
    world.add_project("acme")
    other.plant(other.project_folder("acme"), manifest("acme"))
    world.grant("acme")
    overlay = other.host.load(cwd=other.project).overlay
    assert overlay is not None and [s.code.value for s in overlay.warnings] == ["unconsented"]
    assert json.loads(msd(world, "capability", "trust", "list", "--json").out)["grants"][0]["root"] == str(
        world.project
    )


def test_a_hard_link_is_the_file_it_is_and_an_edit_by_its_other_name_is_seen(world: World) -> None:
    folder = world.add_project("acme", files={"data.txt": "one"})
    other = world.root / "outside.txt"
    other.write_text("one")
    (folder / "data.txt").unlink()
    os.link(other, folder / "data.txt")
    world.grant("acme")
    assert world.accepted() == {"acme"}
    other.write_text("two")
    assert world.codes() == {"acme": "consent-changed"}


class Swapping(Files):
    """Does *mischief* just before the n-th call to the operating system."""

    def __init__(self, at: int, mischief: Callable[[], object]) -> None:
        self.left, self.mischief = at, mischief

    def _tick(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.mischief()

    def open_file(self, name: str, dir_fd: int | None = None) -> int:
        self._tick()
        return super().open_file(name, dir_fd)

    def open_folder(self, name: str, dir_fd: int | None = None, *, follow: bool = False) -> int:
        self._tick()
        return super().open_folder(name, dir_fd, follow=follow)

    def fstat(self, fd: int) -> os.stat_result:
        self._tick()
        return super().fstat(fd)

    def read(self, fd: int, size: int) -> bytes:
        self._tick()
        return super().read(fd, size)

    def close(self, fd: int) -> None:
        self._tick()
        super().close(fd)

    def stat(self, path: str, *, follow: bool = True, dir_fd: int | None = None) -> os.stat_result:
        self._tick()
        return super().stat(path, follow=follow, dir_fd=dir_fd)

    def realpath(self, path: str) -> str:
        self._tick()
        return super().realpath(path)


GOOD, EVIL = "the text that was agreed to\n", "the text that was never agreed\n"


def _mischiefs(world: World) -> dict[str, Callable[[], object]]:
    """Ways to swap a file or folder of the bundle; each keeps names and, where it can, sizes."""
    folder = world.project_folder("acme")
    fragment, manifest_file = folder / "sub" / "f.md", folder / "capability.json"
    evil_manifest = manifest_file.read_text().replace('"Title of acme"', '"EVIL of acme"')
    outside = world.root / "outside"
    outside.mkdir()
    (outside / "f.md").write_text(EVIL)
    other = world.plant(world.root / "other", evil_manifest, {"sub/f.md": EVIL})

    def replace(path: Path, text: str) -> None:
        spare = path.with_name("spare")
        spare.write_text(text)
        spare.replace(path)

    def link(path: Path, target: Path) -> None:
        path.rename(world.root / "moved")
        path.symlink_to(target)

    return {
        "write-in-place": lambda: fragment.write_text(EVIL),
        "rename-over": lambda: replace(fragment, EVIL),
        "file-link": lambda: link(fragment, outside / "f.md"),
        "folder-link": lambda: link(fragment.parent, outside),
        "hard-link": lambda: (fragment.unlink(), os.link(outside / "f.md", fragment)),
        "manifest": lambda: replace(manifest_file, evil_manifest),
        "whole-bundle": lambda: (folder.rename(world.root / "moved"), other.rename(folder)),
        "bundle-link": lambda: link(folder, other),
    }


SWAPS = "write-in-place rename-over file-link folder-link hard-link manifest whole-bundle bundle-link".split()


@pytest.mark.parametrize("name", SWAPS)
def test_a_swap_between_any_two_calls_lets_the_agreed_bytes_act_or_nothing(tmp_path: Path, name: str) -> None:
    acted = inert = 0
    for at in range(1, 200):
        world = World(tmp_path / str(at))
        part = contribution("ship:pre", "orchestrator", fragment={"path": "sub/f.md"})
        world.add_project("acme", contributions=[part], files={"sub/f.md": GOOD})
        world.grant("acme")
        swapping = Swapping(at, _mischiefs(world)[name])
        world.host.files = swapping
        registry = world.load()
        if "acme" in registry.capabilities:
            acted += 1
            assert registry.capabilities["acme"].contributions[0]["fragment"]["inline"] == GOOD
            assert registry.capabilities["acme"].title == "Title of acme"
        else:
            inert += 1
        if swapping.left > 0:
            break  # the load was over before the swap
    assert swapping.left > 0
    assert acted and inert, (acted, inert)
    print(f"{name}: {acted + inert} interleavings, {acted} with the agreed bytes, {inert} inert")


def test_a_repository_cannot_have_a_folder_outside_it_removed(world: World) -> None:
    victim = world.root / "victim"
    victim.mkdir()
    (world.project / ".msd").mkdir()
    (world.project / ".msd" / "capabilities").symlink_to("../..")
    ledger(world.project, victim={})
    assert msd(world, "capability", "remove", "victim", "--yes").code == 3
    assert victim.is_dir()


@pytest.mark.parametrize("how", ["dangling", "to-folder", "other-gate"])
def test_a_granted_gate_is_not_silenced_by_a_swap(world: World, how: str) -> None:
    folder = world.add_project("acme", gates=[gate("plan:pre")])
    world.grant("acme")
    if how == "other-gate":
        world.add_project("acme", gates=[gate("ship:post")])
    else:
        target = world.root / "elsewhere"
        folder.rename(target if how == "to-folder" else world.root / "gone")
        folder.symlink_to(target)
    overlay = world.load().overlay
    assert overlay is not None and "plan:pre" in {g.point for g in overlay.blocked_gates}
