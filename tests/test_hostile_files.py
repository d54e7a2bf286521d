"""Any bytes and any kind of file under a capability root: a coded skip, never a traceback, never a hang (spec 10, Reading)."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from msd_host import Files, SkipCode
from tests.planted import World, contribution, gate, is_root, manifest

KNOWN = {code.value for code in SkipCode}


@pytest.fixture(autouse=True)
def never_hangs() -> Iterator[None]:
    """A read that blocks would block for ever; the alarm turns it into a failure."""

    def late(*_: object) -> None:
        raise TimeoutError("a read blocked")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    short = f"/proc/self/fd/{os.open(path.parent, os.O_RDONLY)}/{path.name}"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(short)


def sparse(path: Path) -> None:
    with open(path, "wb") as stream:
        stream.truncate(1 << 40)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "fifo": (fifo, "manifest-unreadable"),
    "socket": (a_socket, "manifest-unreadable"),
    "folder": (Path.mkdir, "manifest-unreadable"),
    "sparse": (sparse, "manifest-unreadable"),
    "device-link": (lambda p: p.symlink_to("/dev/zero"), "manifest-unreadable"),
    "link-outside": (lambda p: p.symlink_to("/etc/hostname"), "manifest-unreadable"),
    "link-to-itself": (lambda p: p.symlink_to(p.name), "manifest-unreadable"),
    "dangling": (lambda p: p.symlink_to("nowhere"), "manifest-unreadable"),
    "empty": (Path.touch, "manifest-invalid"),
    "nothing": (lambda p: None, "manifest-missing"),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("scope", ["global", "project"])
def test_whatever_stands_where_the_manifest_should(world: World, kind: str, scope: str) -> None:
    plant, code = ODD[kind]
    folder = world.global_folder("acme") if scope == "global" else world.project_folder("acme")
    folder.mkdir(parents=True)
    plant(folder / "capability.json")
    world.add_global("good")
    assert world.codes() == {"acme": code if scope == "global" else "unconsented"}
    assert world.accepted() == {"good"}


@pytest.mark.skipif(not is_root(), reason="only root may make device nodes")
def test_a_device_node_is_not_read(world: World) -> None:
    folder = world.global_folder("acme")
    folder.mkdir(parents=True)
    try:
        os.mknod(folder / "capability.json", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this environment allows no device nodes")
    assert world.codes() == {"acme": "manifest-unreadable"}


@pytest.mark.parametrize("kind", [k for k in ODD if k not in ("empty",)])
def test_whatever_stands_where_a_fragment_should(world: World, kind: str) -> None:
    world.add_global("acme", contributions=[contribution(fragment={"path": "sub/f.md"})], gates=[gate()])
    (world.global_folder("acme") / "sub").mkdir()
    ODD[kind][0](world.global_folder("acme") / "sub" / "f.md")
    skip = world.skips()["acme"]
    assert (skip.code.value, skip.gates) == ("fragment-invalid", ("ship:pre",))


def test_an_unconsented_fragment_is_not_even_opened(world: World) -> None:
    opened: list[str] = []

    class Watching(Files):
        def open_file(self, name: str, dir_fd: int | None = None) -> int:
            opened.append(name)
            return super().open_file(name, dir_fd)

    world.host.files = Watching()
    world.add_project("acme", contributions=[contribution(fragment={"path": "f.md"})])
    fifo(world.project_folder("acme") / "f.md")
    assert world.codes() == {"acme": "unconsented"}
    assert "f.md" not in opened and "capability.json" in opened


@pytest.mark.parametrize("path", ["link/f.md", "f-link.md", "sub/../../../etc/hostname", "/etc/hostname"])
def test_a_fragment_never_leaves_its_bundle(world: World, path: str) -> None:
    folder = world.add_global("acme", contributions=[contribution(fragment={"path": path})])
    outside = world.root / "outside"
    outside.mkdir()
    (outside / "f.md").write_text("SECRET")
    (folder / "link").symlink_to(outside)
    (folder / "f-link.md").symlink_to(outside / "f.md")
    assert world.codes()["acme"] in ("fragment-invalid", "manifest-invalid")
    assert "SECRET" not in json.dumps(world.load().to_dict())


def test_fragments_are_bounded_each_and_together(world: World) -> None:
    big = "x" * (1024 * 1024)
    world.add_global("one", contributions=[contribution(fragment={"path": "f"})], files={"f": big + "x"})
    world.add_global(
        "many",
        contributions=[contribution(fragment={"path": f"f{i}"}) for i in range(5)],
        files={f"f{i}": big for i in range(5)},
    )
    world.add_global("fits", contributions=[contribution(fragment={"path": "f"})], files={"f": big})
    assert world.codes() == {"one": "fragment-invalid", "many": "fragment-invalid"}


def test_a_fragment_must_be_utf8(world: World) -> None:
    folder = world.add_global("acme", contributions=[contribution(fragment={"path": "f"})])
    (folder / "f").write_bytes(b"ok \xff")
    assert world.codes() == {"acme": "fragment-invalid"}


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b'{"id": "acme", "id": "acme"}',
        b'{"n": NaN}',
        b'{"n": 1e400}',
        b'{"n": ' + b"9" * 5000 + b"}",
        b'{"s": "\\ud800"}',
        b'{"s": "\\u0000"}',
        b"\xff\xfe{\x00}\x00",
        b'{"s": "\xff"}',
        b"null",
        b"{} trailing",
        b'"' + b"a" * 100_000 + b'"',
    ],
    ids=lambda d: d[:16].decode("latin-1"),
)
def test_hostile_json_is_one_coded_skip(world: World, data: bytes) -> None:
    folder = world.global_folder("acme")
    folder.mkdir(parents=True)
    (folder / "capability.json").write_bytes(data)
    assert world.codes() == {"acme": "manifest-invalid"}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400))
def test_any_bytes_at_all(world: World, data: bytes) -> None:
    folder = world.global_folder("acme")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "capability.json").write_bytes(data)
    assert set(world.codes().values()) <= KNOWN - {"internal-error"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=250, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(manifest("acme"))), JSON)
def test_any_json_in_any_field(world: World, field: str, value: object) -> None:
    document = {**manifest("acme", gates=[gate()], contributions=[contribution()]), field: value}
    folder = world.global_folder("acme")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "capability.json").write_text(json.dumps(document))
    registry = world.load()
    json.dumps(registry.to_dict())
    codes = {s.code.value for s in registry.overlay.warnings} if registry.overlay else set()
    assert codes <= KNOWN - {"internal-error", "whole-set"}


def test_links_dot_folders_backups_files_and_odd_names(world: World) -> None:
    root = world.home / ".msd" / "capabilities"
    world.add_global("good")
    (root / "linked").symlink_to(world.global_folder("good"))
    (root / "linked-file").symlink_to("/etc/hostname")
    (root / "dangling").symlink_to("nowhere")
    world.plant(root / ".hidden", manifest("hidden"))
    world.plant(root / "good.old-20260101", manifest("good"))
    (root / "a-file").write_text("x")
    fifo(root / "a-fifo")
    (root / "Not An Id").mkdir()
    world.plant(root / "Bad;Id`$(x)", manifest("x", gates=[gate()]))
    overlay = world.load().overlay
    assert overlay is not None and set(overlay.accepted) == {"good"}
    assert {s.id: s.code.value for s in overlay.warnings} == {
        "linked": "bundle-symlink",
        "Bad;Id $(x)": "invalid-id",
    }
    bad = next(s for s in overlay.warnings if s.code is SkipCode.INVALID_ID)
    assert bad.remedy is None and bad.gates == ("ship:pre",)


def test_too_many_folders_contribute_nothing_and_are_loud_everywhere(tmp_path: Path) -> None:
    import attrs

    from msd_host import Limits
    from tests.planted import bare_product

    world = World(tmp_path, bare_product(limits=attrs.evolve(Limits(), candidates_per_root=20)))
    for i in range(20):
        world.add_global(f"c{i}")
    assert len(world.accepted()) == 20
    world.add_global("one-more")
    world.add_project("mine")
    world.grant("mine")
    overlay = world.load().overlay
    assert overlay is not None and set(overlay.accepted) == {"mine"}
    assert [(s.id, s.code.value) for s in overlay.warnings] == [("*", "too-many-candidates")]
    assert {g.point for g in overlay.blocked_gates} == set(world.host.product.contract.points)


class Sick(Files):
    """Fails with one error on the n-th call of one kind."""

    def __init__(self, call: str, code: int, at: int) -> None:
        self.call, self.code, self.left = call, code, at

    def _tick(self, call: str) -> None:
        if call == self.call:
            self.left -= 1
            if self.left == 0:
                raise OSError(self.code, os.strerror(self.code))

    def open_file(self, name: str, dir_fd: int | None = None) -> int:
        self._tick("open_file")
        return super().open_file(name, dir_fd)

    def open_folder(self, name: str, dir_fd: int | None = None, *, follow: bool = False) -> int:
        self._tick("open_folder")
        return super().open_folder(name, dir_fd, follow=follow)

    def fstat(self, fd: int) -> os.stat_result:
        self._tick("fstat")
        return super().fstat(fd)

    def read(self, fd: int, size: int) -> bytes:
        self._tick("read")
        return super().read(fd, size)

    def entries(self, fd: int) -> list[os.DirEntry[str]]:
        self._tick("entries")
        return super().entries(fd)

    def stat(self, path: str, *, follow: bool = True, dir_fd: int | None = None) -> os.stat_result:
        self._tick("stat")
        return super().stat(path, follow=follow, dir_fd=dir_fd)

    def realpath(self, path: str) -> str:
        self._tick("realpath")
        return super().realpath(path)


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.EMFILE, errno.ESTALE, errno.ENOENT])
@pytest.mark.parametrize("call", ["open_file", "open_folder", "fstat", "read", "entries", "stat", "realpath"])
def test_an_error_at_any_call_is_a_skip_and_lets_nothing_in(world: World, call: str, code: int) -> None:
    files = {"f.md": "text"}
    world.add_global("glob", contributions=[contribution(fragment={"path": "f.md"})], files=files)
    world.add_project("proj", contributions=[contribution(fragment={"path": "f.md"})], files=files, gates=[gate()])
    world.add_project("never", gates=[gate()])
    world.grant("proj")
    healthy = world.accepted()
    assert healthy == {"glob", "proj"}
    for at in range(1, 60):
        sick = Sick(call, code, at)
        world.host.files = sick
        overlay = world.load().overlay
        accepted = set(overlay.accepted) if overlay is not None else set()
        assert accepted <= healthy
        if overlay is not None:
            assert {s.code.value for s in overlay.warnings} <= KNOWN - {"internal-error"}
        if sick.left > 0:
            assert accepted == healthy
            return
    pytest.fail("more calls than expected")


def test_a_file_that_grows_while_it_is_read_is_not_taken(world: World) -> None:
    folder = world.add_global("acme")

    class Growing(Files):
        def read(self, fd: int, size: int) -> bytes:
            with open(folder / "capability.json", "ab") as stream:
                stream.write(b" ")
            return super().read(fd, size)

    world.host.files = Growing()
    assert world.codes() == {"acme": "manifest-unreadable"}


@pytest.mark.skipif(not is_root(), reason="only root can drop rights")
def test_unreadable_for_somebody_without_rights(world: World) -> None:
    world.add_global("open")
    world.add_global("shut-folder", gates=[gate()])
    world.add_global("shut-file")
    world.global_folder("shut-folder").chmod(0o000)
    (world.global_folder("shut-file") / "capability.json").chmod(0o000)
    for path in (world.root, *world.root.parents):
        if path.stat().st_mode & 0o055 != 0o055:
            path.chmod(path.stat().st_mode | 0o055)
    script = textwrap.dedent(
        f"""
        import os
        from tests.planted import bare_product
        from msd_host import Host
        host = Host(bare_product(), home={str(world.home)!r})
        host.load(cwd={str(world.project)!r})  # whatever is imported late is imported with rights
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        overlay = host.load(cwd={str(world.project)!r}).overlay
        print(sorted(overlay.accepted), sorted((s.id, s.code.value) for s in overlay.warnings))
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    expected = [("shut-file", "manifest-unreadable"), ("shut-folder", "manifest-unreadable")]
    assert done.stdout.strip() == f"['open'] {expected}", done.stderr


GATES = '"gates": [{"point": "ship:pre", "check": {"point": "plan:pre", "query": "q"}}, {"point": "nowhere"}]'


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2, ' + GATES + "}",
        '{"n": NaN, ' + GATES + "}",
        '{"deep": ' + "[" * 5000 + "]" * 5000 + ", " + GATES + "}",
        '{"s": "\\ud800", ' + GATES + "}",
        "{" + GATES + ', "cut": "off',
        "{" + GATES + ", trailing rubbish",
        '{"fake": "\\"gates\\": [{\\"point\\": \\"verify:pre\\"}]", "n": 1e999, ' + GATES + "}",
        "{" + GATES + ', "gates": []}',
    ],
    ids=["twice", "nan", "deep", "surrogate", "cut", "rubbish", "quoted", "repeated"],
)
@pytest.mark.parametrize("scope", ["global", "project"])
def test_the_gates_of_a_manifest_that_is_no_json_stay_loud(world: World, text: str, scope: str) -> None:
    folder = world.global_folder("acme") if scope == "global" else world.project_folder("acme")
    world.plant(folder, text)
    skip = world.skips()["acme"]
    assert skip.code.value == ("manifest-invalid" if scope == "global" else "unconsented")
    assert skip.gates == ("ship:pre",)


def test_a_file_where_the_capability_folder_should_be_is_an_empty_root(world: World) -> None:
    (world.home / ".msd").mkdir()
    (world.home / ".msd" / "capabilities").write_text("")
    world.add_project("acme")
    assert world.codes() == {"acme": "unconsented"}


@pytest.mark.parametrize("unit", [b'\\"', b'"', b'"a', b"\\", b'{"gates":[', b"[{"])
def test_no_text_of_the_largest_size_makes_salvaging_slow(world: World, unit: bytes) -> None:
    folder = world.project_folder("acme")
    folder.mkdir(parents=True)
    size = world.host.product.limits.manifest_bytes
    (folder / "capability.json").write_bytes((b'"' + unit * (size // len(unit)))[:size])
    assert world.codes() == {"acme": "unconsented"}


def test_what_unconsented_manifests_cost_is_bounded_and_none_of_their_gates_is_silent(tmp_path: Path) -> None:
    """Sixty broken manifests of nearly a mebibyte once cost a load nineteen seconds."""
    world = World(tmp_path)
    filler = '{"gates": [{"point": "ship:pre"}], "x": [' + "[]," * 320_000
    for number in range(40):
        world.plant(world.project_folder(f"c{number:02}"), filler)
    read: list[int] = []

    class Counting(Files):
        def read(self, fd: int, size: int) -> bytes:
            data = super().read(fd, size)
            read.append(len(data))
            return data

    limits = world.host.product.limits
    world.host.files = Counting()
    skips = world.skips()
    assert len(skips) == 40 and {s.code.value for s in skips.values()} == {"unconsented"}
    assert skips["c00"].gates == ("ship:pre",)
    assert skips["c39"].gates == world.host.product.contract.points
    assert sum(read) < limits.searched_bytes_per_root + limits.manifest_bytes


def test_sound_manifests_do_not_reach_the_bound(tmp_path: Path) -> None:
    world = World(tmp_path)
    for number in range(300):
        world.add_project(f"c{number:03}", gates=[gate()])
    assert {s.gates for s in world.skips().values()} == {("ship:pre",)}
