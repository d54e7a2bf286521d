"""One pass over a bundle: what counts, what is refused, and that nothing can be swapped (spec 20)."""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from msd_host.limits import Limits
from msd_host.trust.hashing import bundle_hash, path_bytes
from msd_host.trust.snapshot import Snapshot, Unverifiable

Bundle = Callable[..., Path]
Take = Callable[..., Snapshot]

DEMO = {"capability.json": "{}", "hooks/run.py*": "print()", "fragments/a.md": "text", "empty": None}


def rehashed(snapshot: Snapshot) -> str:
    """The hash of what the snapshot holds."""
    files = [(path_bytes(p), f.data, f.executable) for p, f in snapshot.files.items()]
    return bundle_hash([*files, *((path_bytes(p), None, False) for p in snapshot.folders)])


def kind_of(take: Take, folder: Path, *args: Any) -> str:
    with pytest.raises(Unverifiable) as caught:
        take(folder, *args)
    assert caught.value.message
    return caught.value.reason_kind


class TestContent:
    def test_everything_is_there(self, bundle: Bundle, take: Take) -> None:
        snapshot = take(bundle(DEMO))
        assert {p: (f.data, f.executable) for p, f in snapshot.files.items()} == {
            "capability.json": (b"{}", False),
            "fragments/a.md": (b"text", False),
            "hooks/run.py": (b"print()", True),
        }
        assert snapshot.folders == ("empty", "fragments", "hooks")
        assert snapshot.size == len("{}print()text")
        assert rehashed(snapshot) == snapshot.content_hash

    def test_paths_are_in_byte_order(self, bundle: Bundle, take: Take) -> None:
        names = ["a/b", "a-b", "a.b", "é", "z", "Z", "\U0001f600", "￿"]
        snapshot = take(bundle(dict.fromkeys(names, b"")))
        assert list(snapshot.files) == sorted(names, key=os.fsencode)

    def test_digests_say_what_a_record_keeps(self, bundle: Bundle, take: Take) -> None:
        digests = take(bundle(DEMO)).digests()
        assert digests["hooks/run.py"].executable
        assert digests["hooks/run.py"].size == len("print()")
        assert len(digests["capability.json"].sha512) == 128

    def test_the_folder_stays_open(self, bundle: Bundle) -> None:
        from msd_host.reading.files import Files
        from msd_host.trust.snapshot import take_snapshot

        fd = os.open(bundle(DEMO), os.O_RDONLY)
        try:
            first = take_snapshot(Files(), fd, Limits())
            assert take_snapshot(Files(), fd, Limits()).content_hash == first.content_hash
        finally:
            os.close(fd)

    def test_no_descriptor_is_left_open(self, bundle: Bundle, take: Take) -> None:
        folder = bundle(DEMO)
        before = set(os.listdir("/dev/fd"))
        take(folder)
        (folder / "link").symlink_to("nowhere")
        kind_of(take, folder)
        assert set(os.listdir("/dev/fd")) == before

    def test_every_file_is_opened_and_read_once(self, bundle: Bundle, take: Take, spy: Any) -> None:
        files = spy()
        take(bundle(DEMO), files)
        opened = [what for call, what in files.calls if call == "open_file"]
        assert sorted(opened) == ["a.md", "capability.json", "run.py"]
        assert len([call for call, _ in files.calls if call == "read"]) == 3

    def test_reads_that_come_in_pieces_are_joined(self, bundle: Bundle, take: Take, spy: Any) -> None:
        class Piecemeal(spy):  # type: ignore[misc]
            def read(self, fd: int, size: int) -> bytes:
                return os.read(fd, min(size, 3))

        folder = bundle({"a": b"0123456789", "b": b""})
        assert take(folder, Piecemeal()).content_hash == take(folder).content_hash


class TestExclusions:
    @pytest.mark.parametrize(
        "extra",
        [
            {"__pycache__/a.cpython-311.pyc": b"x"},
            {"hooks/__pycache__/a.pyo": b"x"},
            {"__pycache__": None},
            {"__pycache__/__pycache__/a.pyc": b"x"},
            {"__pycache__/.DS_Store": b"x"},
            {".git/HEAD": b"x", ".hg/store": b"x", ".svn/entries": b"x"},
            {".git": b"gitdir: /elsewhere"},
            {".DS_Store": b"x", "hooks/Thumbs.db": b"x"},
        ],
        ids="+".join,
    )
    def test_case_16_by_products_do_not_count(
        self, bundle: Bundle, take: Take, spy: Any, extra: dict[str, bytes | None]
    ) -> None:
        plain = take(bundle(DEMO, "plain"))
        files = spy()
        dirty = take(bundle({**DEMO, **extra}, "dirty"), files)
        assert dirty.content_hash == plain.content_hash
        assert dict(dirty.files) == dict(plain.files)
        assert dirty.folders == plain.folders
        assert dirty.size == plain.size
        opened = {what for call, what in files.calls if call == "open_file"}
        assert opened == {"a.md", "capability.json", "run.py"}
        assert not {what for _, what in files.calls} & {".git", ".hg", ".svn"}

    @pytest.mark.parametrize(
        "extra",
        [
            {"__pycache__/evil.py": b"x"},
            {"x.pyc": b"x"},
            {"hooks/x.pyo": b"x"},
            {"__pycache__": b"a file"},
            {"__pycache__/sub/x.pyc": b"x"},
            {"__pycache__/sub": None},
            {"__PYCACHE__/x.pyc": b"x"},
            {"my__pycache__/x.pyc": b"x"},
            {"__pycache__/x.pyc": None},
            {"hooks/.git/HEAD": b"x"},
            {"hooks/.git": b"x"},
            {".hg": b"a file"},
            {".svn": b"a file"},
            {".gitignore": b"x"},
            {".DS_Store": None},
            {"Thumbs.db/x": b"x"},
            {"thumbs.db": b"x"},
            {".pytest_cache/x": b"x"},
        ],
        ids="+".join,
    )
    def test_case_16_everything_else_counts(self, bundle: Bundle, take: Take, extra: dict[str, bytes | None]) -> None:
        plain = take(bundle(DEMO, "plain"))
        assert take(bundle({**DEMO, **extra}, "dirty")).content_hash != plain.content_hash

    def test_a_mixed_bytecode_folder_counts_without_its_bytecode(self, bundle: Bundle, take: Take) -> None:
        one = take(bundle({"__pycache__/x.pyc": b"1", "__pycache__/a.txt": b"x"}, "one"))
        other = take(bundle({"__pycache__/x.pyc": b"2", "__pycache__/a.txt": b"x"}, "other"))
        assert one.content_hash == other.content_hash
        assert one.folders == ("__pycache__",)
        assert list(one.files) == ["__pycache__/a.txt"]

    @pytest.mark.parametrize("name", ["__pycache__/x.pyc", ".git", ".hg", ".DS_Store", "Thumbs.db", "__pycache__"])
    def test_a_link_is_never_excluded(self, bundle: Bundle, take: Take, name: str) -> None:
        folder = bundle(DEMO)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to("/etc")
        assert kind_of(take, folder) == "symlink"

    @pytest.mark.parametrize("name", [".DS_Store", ".git", "__pycache__/x.pyc"])
    def test_nor_is_a_special_file(self, bundle: Bundle, take: Take, name: str) -> None:
        folder = bundle(DEMO)
        (folder / name).parent.mkdir(exist_ok=True)
        os.mkfifo(folder / name)
        assert kind_of(take, folder) == "special-file"

    def test_what_is_excluded_does_not_count_toward_limits(self, bundle: Bundle, take: Take) -> None:
        many = {f"__pycache__/{i}.pyc": b"x" * 100 for i in range(20)}
        limits = Limits(bundle_entries=5, bundle_bytes=10, bundle_depth=1)
        folder = bundle({"a": b"x", "d": None, ".git/deep/er": b"x" * 99, "d/__pycache__/x.pyc": b"x", **many})
        assert take(folder, None, limits).size == 1


class TestRefusals:
    def test_a_link(self, bundle: Bundle, take: Take) -> None:
        folder = bundle(DEMO)
        (folder / "hooks/link").symlink_to("run.py")
        assert kind_of(take, folder) == "symlink"

    def test_a_pipe_without_hanging(self, bundle: Bundle, take: Take) -> None:
        folder = bundle(DEMO)
        os.mkfifo(folder / "pipe")
        assert kind_of(take, folder) == "special-file"

    def test_a_socket(self, bundle: Bundle, take: Take, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = bundle(DEMO)
        monkeypatch.chdir(folder)  # socket paths are short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
            assert kind_of(take, folder) == "special-file"

    def test_a_device(self, bundle: Bundle, take: Take) -> None:
        folder = bundle(DEMO)
        try:
            os.mknod(folder / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root makes devices")
        assert kind_of(take, folder) == "special-file"

    @pytest.mark.parametrize("call", ["open_file", "open_folder", "fstat", "read", "scan"])
    @pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ESTALE])
    def test_an_error_of_the_system(self, bundle: Bundle, take: Take, spy: Any, call: str, code: int) -> None:
        def fail(name: str, what: Any) -> None:
            if name == call:
                raise OSError(code, "simulated")

        assert kind_of(take, bundle(DEMO), spy(fail)) == "unreadable"

    @pytest.mark.parametrize(
        ("call", "code", "kind"),
        [
            ("open_file", errno.ENOENT, "vanished"),
            ("open_folder", errno.ENOENT, "vanished"),
            ("open_file", errno.ELOOP, "symlink"),
            ("open_folder", errno.ENOTDIR, "changed"),
            ("open_file", errno.ENXIO, "special-file"),
        ],
    )
    def test_an_error_that_says_more(
        self, bundle: Bundle, take: Take, spy: Any, call: str, code: int, kind: str
    ) -> None:
        def fail(name: str, what: Any) -> None:
            if name == call:
                raise OSError(code, "simulated")

        assert kind_of(take, bundle(DEMO), spy(fail)) == kind

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
    def test_no_right_to_read(self, bundle: Bundle, take: Take) -> None:
        folder = bundle(DEMO)
        (folder / "hooks/run.py").chmod(0)
        assert kind_of(take, folder) == "unreadable"

    @pytest.mark.parametrize(
        ("change", "kind"),
        [
            (lambda path: path.write_bytes(b"longer than before"), "changed"),
            (lambda path: path.write_bytes(b""), "changed"),
            (lambda path: path.write_bytes(b"PRINT()"), "changed"),
            (lambda path: path.chmod(0o644), "changed"),
        ],
        ids=["grows", "shrinks", "same size", "mode"],
    )
    def test_a_file_that_changes_while_it_is_read(
        self, bundle: Bundle, take: Take, spy: Any, change: Callable[[Path], object], kind: str
    ) -> None:
        folder = bundle({"run.py*": "print()"})
        os.utime(folder / "run.py", (1, 1))

        def meddle(call: str, what: Any) -> None:
            if call == "read":
                time.sleep(0.02)  # older kernels count time in such steps
                change(folder / "run.py")

        assert kind_of(take, folder, spy(meddle)) == kind

    @pytest.mark.parametrize("field", ["st_size", "st_mtime_ns", "st_ctime_ns"])
    def test_each_sign_of_a_change_is_one(self, bundle: Bundle, take: Take, spy: Any, field: str) -> None:
        class Signs(spy):  # type: ignore[misc]
            asked = 0

            def fstat(self, fd: int) -> Any:
                info = os.fstat(fd)
                names = ("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns")
                seen = SimpleNamespace(**{name: getattr(info, name) for name in names})
                self.asked += 1
                if self.asked == 2:
                    setattr(seen, field, getattr(seen, field) + 1)
                return seen

        assert kind_of(take, bundle({"a": "x"}), Signs()) == "changed"

    @pytest.mark.parametrize(
        ("make", "kind"),
        [
            (os.mkfifo, "special-file"),
            (os.mkdir, "special-file"),
            (lambda path: os.symlink("/etc/passwd", path), "symlink"),
        ],
        ids=["pipe", "folder", "link"],
    )
    def test_what_was_a_file_when_it_was_listed(
        self, bundle: Bundle, take: Take, spy: Any, make: Callable[[Path], None], kind: str
    ) -> None:
        folder = bundle({"a": ""})

        def meddle(call: str, what: Any) -> None:
            if call == "open_file":
                (folder / "a").unlink()
                make(folder / "a")

        assert kind_of(take, folder, spy(meddle)) == kind

    def test_what_was_a_folder_when_it_was_listed(self, bundle: Bundle, take: Take, spy: Any) -> None:
        folder = bundle({"d": None})

        def meddle(call: str, what: Any) -> None:
            if what == "d":
                (folder / "d").rmdir()
                (folder / "d").symlink_to("/etc")

        assert kind_of(take, folder, spy(meddle)) in ("changed", "symlink")

    def test_too_many_bytes(self, bundle: Bundle, take: Take, spy: Any) -> None:
        folder = bundle({"a": b"x" * 6, "b": b"x" * 6})
        assert take(folder, None, Limits(bundle_bytes=12)).size == 12
        files = spy()
        assert kind_of(take, folder, files, Limits(bundle_bytes=11)) == "too-large"
        assert len([call for call, _ in files.calls if call == "read"]) == 1

    def test_a_huge_sparse_file_is_not_read(self, bundle: Bundle, take: Take, spy: Any) -> None:
        folder = bundle({"a": b""})
        os.truncate(folder / "a", 1 << 40)
        files = spy()
        assert kind_of(take, folder, files) == "too-large"
        assert "read" not in [call for call, _ in files.calls]

    def test_more_bytes_than_the_root_has_left(self, bundle: Bundle, take: Take) -> None:
        folder = bundle({"a": b"x" * 6, "b": b"x" * 6})
        assert take(folder, None, Limits(), 12).size == 12
        with pytest.raises(Unverifiable) as caught:
            take(folder, None, Limits(), 11)
        assert caught.value.reason_kind == "over-budget"
        assert caught.value.bytes_read == 6

    def test_too_many_entries_are_counted_as_they_come(self, bundle: Bundle, take: Take, spy: Any) -> None:
        looked: list[str] = []

        class Counting(spy):  # type: ignore[misc]
            def each(self, found: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
                for entry in found:
                    looked.append(entry.name)
                    yield entry

        folder = bundle({str(i): b"" for i in range(50)})
        assert kind_of(take, folder, Counting(), Limits(bundle_entries=10)) == "too-many-entries"
        assert len(looked) == 11

    def test_too_many_entries_in_all_folders_together(self, bundle: Bundle, take: Take) -> None:
        folder = bundle({f"{i}/{j}": b"" for i in range(3) for j in range(3)})
        assert len(take(folder, None, Limits(bundle_entries=12)).files) == 9
        assert kind_of(take, folder, None, Limits(bundle_entries=11)) == "too-many-entries"

    def test_excluded_names_without_end(self, bundle: Bundle, take: Take) -> None:
        folder = bundle({f"__pycache__/{i}.pyc": b"" for i in range(40)})
        assert kind_of(take, folder, None, Limits(bundle_entries=3)) == "too-many-entries"

    def test_a_bytecode_folder_with_content_counts_itself(self, bundle: Bundle, take: Take) -> None:
        folder = bundle({"__pycache__/a.txt": b""})
        assert kind_of(take, folder, None, Limits(bundle_entries=1)) == "too-many-entries"

    def test_too_deep(self, bundle: Bundle, take: Take) -> None:
        folder = bundle({"a/b/c/x": b""})
        assert len(take(folder, None, Limits(bundle_depth=3)).folders) == 3
        assert kind_of(take, folder, None, Limits(bundle_depth=2)) == "too-deep"

    def test_bytecode_with_content_beyond_the_depth(self, bundle: Bundle, take: Take) -> None:
        folder = bundle({"a/__pycache__/x": b""})
        assert kind_of(take, folder, None, Limits(bundle_depth=1)) == "too-deep"

    def test_a_chain_of_bytecode_folders_ends_too(self, bundle: Bundle, take: Take) -> None:
        folder = bundle({"/".join(["__pycache__"] * 70): None})
        assert kind_of(take, folder) == "too-deep"

    def test_the_message_names_the_file_and_nothing_evil(self, bundle: Bundle, take: Take) -> None:
        folder = bundle(DEMO)
        (folder / "\x1b[31mlink\u202e`").symlink_to("x")
        with pytest.raises(Unverifiable) as caught:
            take(folder)
        assert '"[31mlink"' in str(caught.value)
        assert str(caught.value).isprintable()

    def test_a_refusal_pickles(self) -> None:
        again = pickle.loads(pickle.dumps(Unverifiable("changed", "it changed", 7)))
        assert (again.reason_kind, again.message, again.bytes_read, again.exit_code) == (
            "changed",
            "it changed",
            7,
            3,
        )


SECRET = b"a secret outside the bundle"


def _swap_file(folder: Path, data: bytes = b"evil()!") -> None:
    (folder.parent / "new").write_bytes(data)
    os.replace(folder.parent / "new", folder / "hooks/run.py")


def _link_file(folder: Path) -> None:
    (folder / "hooks/run.py").unlink(missing_ok=True)
    (folder / "hooks/run.py").symlink_to(folder.parent / "outside/run.py")


def _link_folder(folder: Path) -> None:
    if not (folder / "hooks").is_symlink():
        shutil.rmtree(folder / "hooks", ignore_errors=True)
        (folder / "hooks").symlink_to(folder.parent / "outside")


def _pipe(folder: Path) -> None:
    (folder / "hooks/run.py").unlink(missing_ok=True)
    os.mkfifo(folder / "hooks/run.py")


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"evil()")


MEDDLERS: dict[str, Callable[[Path], object]] = {
    "replace the file": _swap_file,
    "write into the file": lambda folder: (folder / "hooks/run.py").write_bytes(b"evil()!"),
    "append": lambda folder: _append(folder / "hooks/run.py"),
    "truncate": lambda folder: os.truncate(folder / "hooks/run.py", 0),
    "delete": lambda folder: (folder / "hooks/run.py").unlink(missing_ok=True),
    "link the file": _link_file,
    "link the folder": _link_folder,
    "a pipe": _pipe,
    "a folder for the file": lambda folder: (
        (folder / "hooks/run.py").unlink(),
        (folder / "hooks/run.py").mkdir(),
    ),
    "another file": lambda folder: (folder / "hooks/more.py").write_bytes(b"evil()!"),
    "execute bit": lambda folder: (folder / "hooks/run.py").chmod(0o644),
}


@pytest.mark.parametrize("meddler", MEDDLERS)
@pytest.mark.parametrize("back_after", [None, 1, 2, 3])
def test_case_83_no_swap_between_two_calls_gets_other_bytes_through(
    bundle: Bundle, take: Take, spy: Any, meddler: str, back_after: int | None
) -> None:
    """Whatever changes before whichever call, and changes back again: the agreed bytes, or no agreement."""
    content = {"capability.json": "{}", "hooks/run.py*": "print()"}
    agreed = take(bundle(content, "agreed"))
    outcomes = set()
    for moment in itertools.count():
        folder = bundle(content, f"{moment}/bundle")
        bundle({"run.py*": SECRET}, f"{moment}/outside")
        count = itertools.count()

        def meddle(call: str, what: Any, folder: Path = folder, moment: int = moment, count: Any = count) -> None:
            now = next(count)
            if now == moment:
                MEDDLERS[meddler](folder)
            if back_after is not None and now == moment + back_after:
                shutil.rmtree(folder)
                bundle(content, f"{moment}/bundle")

        try:
            snapshot = take(folder, spy(meddle))
        except Unverifiable:
            outcomes.add("unverifiable")
        else:
            assert rehashed(snapshot) == snapshot.content_hash
            assert all(SECRET not in file.data for file in snapshot.files.values())
            same = snapshot.content_hash == agreed.content_hash
            assert same is (dict(snapshot.files) == dict(agreed.files) and snapshot.folders == agreed.folders)
            outcomes.add("agreed" if same else "not agreed")
        if next(count) <= moment:
            break
    assert moment > 8
    assert outcomes - {"agreed"}
