"""The store of consented bytes: whole or nothing, whatever happens to it (spec 20, Snapshot)."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from msd_host.errors import ConsentStoreError, UsageError
from msd_host.limits import Limits
from msd_host.model.frozen import FrozenDict
from msd_host.reading.files import Files
from msd_host.trust.hashing import hex_of
from msd_host.trust.snapshot import Snapshot, SnapshotFile
from msd_host.trust.store import BundleStore

DEMO = {"capability.json": "{}", "hooks/run.py*": "print()", "a/b/c/deep.md": "text", "empty": None}


@pytest.fixture
def bundles(home: Path) -> BundleStore:
    return BundleStore(str(home), "msd", Files(), Limits())


@pytest.fixture
def snapshot(bundle: Callable[..., Path], take: Callable[..., Snapshot]) -> Snapshot:
    return take(bundle(DEMO))


def whole(bundles: BundleStore, snapshot: Snapshot) -> bool:
    found = bundles.verify(snapshot.content_hash)
    assert found is None or dict(found.files) == dict(snapshot.files)
    return found is not None


def test_what_was_put_is_there(bundles: BundleStore, snapshot: Snapshot, home: Path) -> None:
    path = bundles.put(snapshot)
    assert path == bundles.path_of(snapshot.content_hash)
    assert path == str(home / ".msd/store" / hex_of(snapshot.content_hash))
    found = bundles.verify(snapshot.content_hash)
    assert found is not None
    assert dict(found.files) == dict(snapshot.files)
    assert found.folders == snapshot.folders


def test_modes(bundles: BundleStore, snapshot: Snapshot, home: Path) -> None:
    bundles.put(snapshot)
    for path in (home / ".msd").rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o500 if path.name == "run.py" else 0o400), path


def test_bytes_and_names_are_on_the_disk_before_the_entry_is(
    bundles: BundleStore, bundle: Callable[..., Path], take: Callable[..., Snapshot], order: list[str]
) -> None:
    bundles.put(take(bundle({"x": "x"}, "first")))
    order.clear()
    bundles.put(take(bundle({"a": "1", "d/b": "2"}, "second")))
    assert order == ["file", "folder", "file", "folder", "rename", "folder"]


def test_putting_twice_writes_once(bundles: BundleStore, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bundles.put(snapshot)
    monkeypatch.setattr(os, "rename", None)
    monkeypatch.setattr(os, "write", None)
    assert bundles.put(snapshot) == path


def test_by_products_are_not_kept(
    bundles: BundleStore, bundle: Callable[..., Path], take: Callable[..., Snapshot]
) -> None:
    dirty = take(bundle({**DEMO, "__pycache__/x.pyc": "evil", ".git/HEAD": "x", ".DS_Store": "x"}, "dirty"))
    path = Path(bundles.put(dirty))
    assert {p.name for p in path.rglob("*")}.isdisjoint({"__pycache__", "x.pyc", ".git", ".DS_Store"})


def test_names_that_are_not_utf8(
    bundles: BundleStore, bundle: Callable[..., Path], take: Callable[..., Snapshot]
) -> None:
    try:
        folder = bundle({"\udcff/\udcfe": "x"}, "odd")
    except OSError:
        pytest.skip("this file system refuses names that are not UTF-8")
    odd = take(folder)
    bundles.put(odd)
    assert whole(bundles, odd)


def test_the_deepest_bundle_that_is_allowed(
    bundles: BundleStore, bundle: Callable[..., Path], take: Callable[..., Snapshot]
) -> None:
    deep = take(bundle({"/".join(["d" * 60] * 64) + "/x": "x"}, "deep"))
    bundles.put(deep)
    assert whole(bundles, deep)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a byte": lambda path: _write(path / "capability.json", b"[]"),
    "shorter": lambda path: _write(path / "capability.json", b""),
    "a file gone": lambda path: (path / "hooks/run.py").unlink(),
    "a file more": lambda path: (path / "more").write_text("x"),
    "a folder gone": lambda path: (path / "empty").rmdir(),
    "a folder more": lambda path: (path / "more").mkdir(),
    "execute bit": lambda path: (path / "capability.json").chmod(0o500),
    "no execute bit": lambda path: (path / "hooks/run.py").chmod(0o400),
    "a link": lambda path: (path / "link").symlink_to("/etc/passwd"),
    "a pipe": lambda path: os.mkfifo(path / "pipe"),
    "all gone": shutil.rmtree,
    "emptied": lambda path: [shutil.rmtree(path), path.mkdir()],
    "a file instead": lambda path: [shutil.rmtree(path), path.write_text("x")],
    "a link instead": lambda path: [path.rename(path.parent / "moved"), path.symlink_to("moved")],
    "a dangling link instead": lambda path: [shutil.rmtree(path), path.symlink_to("nowhere")],
}


def _write(path: Path, data: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(data)
    path.chmod(0o400)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_none_and_is_replaced(bundles: BundleStore, snapshot: Snapshot, damage: str) -> None:
    path = Path(bundles.put(snapshot))
    DAMAGE[damage](path)
    assert bundles.verify(snapshot.content_hash) is None
    assert bundles.put(snapshot) == str(path)
    assert whole(bundles, snapshot)
    assert not [p for p in path.parent.iterdir() if p.name.startswith(".")]


def test_planted_bytecode_is_not_part_of_what_is_verified(bundles: BundleStore, snapshot: Snapshot) -> None:
    path = Path(bundles.put(snapshot))
    (path / "__pycache__").mkdir()
    (path / "__pycache__/run.cpython-311.pyc").write_bytes(b"evil")
    found = bundles.verify(snapshot.content_hash)
    assert found is not None
    assert dict(found.files) == dict(snapshot.files)


def test_another_bundle_under_its_name(
    bundles: BundleStore, bundle: Callable[..., Path], take: Callable[..., Snapshot], snapshot: Snapshot
) -> None:
    other = take(bundle({"capability.json": "[]"}, "other"))
    Path(bundles.put(other)).rename(bundles.path_of(snapshot.content_hash))
    assert bundles.verify(snapshot.content_hash) is None
    assert bundles.verify(other.content_hash) is None


@pytest.mark.parametrize("folder", [".msd", ".msd/store"])
@pytest.mark.parametrize("fault", ["mode", "owner", "link", "file"])
def test_a_store_others_can_write_in_gives_and_takes_nothing(
    bundles: BundleStore, snapshot: Snapshot, home: Path, folder: str, fault: str
) -> None:
    bundles.put(snapshot)
    path = home / folder
    if fault == "mode":
        path.chmod(0o777)
    elif fault == "owner":
        try:
            os.chown(path, 12345, -1)
        except PermissionError:
            pytest.skip("only root gives folders away")
    else:
        path.rename(home / "moved")
        path.symlink_to(home / "moved") if fault == "link" else path.write_text("x")
    if fault == "link" and folder == ".msd":  # alone among the folders it may be a link, to one that is sound
        assert bundles.verify(snapshot.content_hash) is not None
        path.unlink()
        path.symlink_to("file")
        (home / "file").write_text("x")
    assert bundles.verify(snapshot.content_hash) is None
    problem = bundles.problem()
    assert problem is not None
    assert str(path) in problem
    for write in (lambda: bundles.put(snapshot), lambda: bundles.gc(set())):
        with pytest.raises(ConsentStoreError) as caught:
            write()
        assert (caught.value.message, caught.value.remedy) == (problem, bundles.remedy)
    if fault == "mode":
        assert bundles.remedy is not None
        assert os.system(bundles.remedy) == 0
        assert whole(bundles, snapshot)
    else:
        assert bundles.remedy is None


def test_a_store_its_caller_refuses(home: Path, bundles: BundleStore, snapshot: Snapshot) -> None:
    bundles.put(snapshot)
    refused = BundleStore(str(home), "msd", Files(), Limits(), usable="it lies in the project")
    assert refused.problem() == "it lies in the project"
    assert refused.remedy is None
    assert refused.verify(snapshot.content_hash) is None
    with pytest.raises(ConsentStoreError, match="it lies in the project"):
        refused.put(snapshot)


@pytest.mark.parametrize("content_hash", ["", "sha512-", "../../etc", "x" * 128])
def test_only_content_hashes_name_bundles(bundles: BundleStore, content_hash: str) -> None:
    with pytest.raises(UsageError):
        bundles.path_of(content_hash)
    with pytest.raises(UsageError):
        bundles.verify(content_hash)
    with pytest.raises(UsageError):
        bundles.gc({content_hash})


def test_nothing_there_yet(bundles: BundleStore, snapshot: Snapshot, home: Path) -> None:
    assert bundles.problem() is None
    assert bundles.verify(snapshot.content_hash) is None
    assert bundles.gc(set()) == ()
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "mkdir"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_failed_write_keeps_nothing(
    bundles: BundleStore,
    bundle: Callable[..., Path],
    take: Callable[..., Snapshot],
    snapshot: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    code: int,
) -> None:
    bundles.put(take(bundle({"x": "x"}, "first")))
    real = getattr(os, call)

    def fail(*args: Any, **kwargs: Any) -> Any:
        if call == "open" and not args[1] & os.O_CREAT:
            return real(*args, **kwargs)
        raise OSError(code, "simulated")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(ConsentStoreError, match=errno.errorcode[code]):
            bundles.put(snapshot)
    assert not os.path.exists(bundles.path_of(snapshot.content_hash))
    assert len(os.listdir(bundles.path)) == 1
    bundles.put(snapshot)
    assert whole(bundles, snapshot)


def test_a_disk_that_does_not_keep_what_it_is_given(
    bundles: BundleStore, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, b"?" * len(data)))
    with pytest.raises(ConsentStoreError, match="cannot hold this bundle unchanged"):
        bundles.put(snapshot)
    assert os.listdir(bundles.path) == []


@pytest.mark.parametrize("paths", [["a", "a/b"], ["a/b", "a/b/c/d"]])
def test_a_snapshot_that_cannot_be(bundles: BundleStore, paths: list[str], number: Callable[[int], str]) -> None:
    forged = Snapshot(number(1), FrozenDict({path: SnapshotFile(b"") for path in paths}), (), 0)
    with pytest.raises(UsageError):
        bundles.put(forged)
    assert os.listdir(bundles.path) == []


def test_a_snapshot_under_a_false_hash_is_not_kept(
    bundles: BundleStore, snapshot: Snapshot, number: Callable[[int], str]
) -> None:
    forged = Snapshot(number(1), snapshot.files, snapshot.folders, snapshot.size)
    with pytest.raises(ConsentStoreError):
        bundles.put(forged)
    assert os.listdir(bundles.path) == []


def test_an_entry_that_is_put_while_we_put_it(
    bundles: BundleStore, snapshot: Snapshot, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process is faster between our look and our rename."""
    real = os.rename

    def late(source: str, target: str, **kwargs: Any) -> None:
        monkeypatch.setattr(os, "rename", real)
        BundleStore(str(home), "msd", Files(), Limits()).put(snapshot)
        real(source, target, **kwargs)

    monkeypatch.setattr(os, "rename", late)
    bundles.put(snapshot)
    assert whole(bundles, snapshot)
    assert len(os.listdir(bundles.path)) == 1


def test_a_store_that_opens_up_between_the_look_and_the_write(
    home: Path, bundles: BundleStore, snapshot: Snapshot, spy: Any
) -> None:
    bundles.put(snapshot)

    def meddle(call: str, what: Any) -> None:
        if call == "open_folder" and what == "store":
            Path(bundles.path).chmod(0o777)

    with pytest.raises(ConsentStoreError, match="changed while it was looked at"):
        BundleStore(str(home), "msd", spy(meddle), Limits()).put(snapshot)


def test_somebody_who_damages_it_for_ever_is_an_error_and_no_hang(
    bundles: BundleStore, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.rename

    def late(source: str, target: str, **kwargs: Any) -> None:
        place = Path(bundles.path) / target
        if not target.startswith("."):
            place.mkdir(exist_ok=True)
            (place / "evil").write_text("x")
        real(source, target, **kwargs)

    monkeypatch.setattr(os, "rename", late)
    with pytest.raises(ConsentStoreError, match="keeps putting"):
        bundles.put(snapshot)


class TestSweeping:
    def test_what_nobody_keeps_goes(
        self,
        bundles: BundleStore,
        bundle: Callable[..., Path],
        take: Callable[..., Snapshot],
        snapshot: Snapshot,
    ) -> None:
        other = take(bundle({"x": "x"}, "other"))
        bundles.put(snapshot)
        bundles.put(other)
        assert bundles.gc({snapshot.content_hash}, stale_after=-1) == (other.content_hash,)
        assert whole(bundles, snapshot)
        assert not whole(bundles, other)

    def test_what_was_put_a_moment_ago_may_still_be_granted(self, bundles: BundleStore, snapshot: Snapshot) -> None:
        bundles.put(snapshot)
        assert bundles.gc(set()) == ()
        assert whole(bundles, snapshot)

    def test_leftovers_go_and_what_is_not_ours_stays(self, bundles: BundleStore, snapshot: Snapshot) -> None:
        bundles.put(snapshot)
        for name in (".tmp-1-ab", ".gone-1-ab", "notes", "0" * 127):
            (Path(bundles.path) / name / "sub").mkdir(parents=True)
        bundles.gc({snapshot.content_hash}, stale_after=-1)
        assert sorted(os.listdir(bundles.path)) == sorted(["notes", "0" * 127, hex_of(snapshot.content_hash)])

    def test_an_entry_that_vanishes_meanwhile_is_no_error(
        self, home: Path, bundles: BundleStore, snapshot: Snapshot, spy: Any
    ) -> None:
        path = bundles.put(snapshot)

        def meddle(call: str, what: Any) -> None:
            if call == "stat" and what == os.path.basename(path):
                shutil.rmtree(path)

        assert BundleStore(str(home), "msd", spy(meddle), Limits()).gc(set(), stale_after=-1) == ()
