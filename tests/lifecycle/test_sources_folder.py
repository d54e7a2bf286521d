"""A local folder as a source: exactly the bundle arrives, or a clear refusal (spec 30, Sources)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from msd_host.errors import LifecycleError
from msd_host.lifecycle.sources.fetch import available, fetch
from msd_host.lifecycle.sources.source import parse_source
from msd_host.lifecycle.sources.terms import Fetched, Terms, in_seconds
from msd_host.limits import Limits


def bundle(folder: Path) -> Path:
    (folder / "hooks").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "capability.json").write_text("{}")
    (folder / "hooks" / "run.sh").write_text("echo hi\n")
    (folder / "hooks" / "run.sh").chmod(0o755)
    return folder


def got(tmp_path: Path, spec: str, base: Path | None = None, **terms: object) -> Fetched:
    into = tmp_path / "into"
    into.mkdir(exist_ok=True)
    made = Terms(in_seconds(20), **terms)  # type: ignore[arg-type]
    return fetch(parse_source(spec, base=base or tmp_path), into, made)


def refused(tmp_path: Path, spec: str, **terms: object) -> LifecycleError:
    with pytest.raises(LifecycleError) as caught:
        got(tmp_path, spec, **terms)
    assert caught.value.exit_code == 3
    assert not (tmp_path / "into" / "bundle").exists()
    return caught.value


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(root)): None if p.is_dir() else p.read_bytes() for p in sorted(root.rglob("*"))}


def test_a_folder_arrives_byte_by_byte(tmp_path: Path) -> None:
    source = bundle(tmp_path / "acme")
    fetched = got(tmp_path, "./acme")
    assert tree(fetched.root) == tree(source)
    assert os.access(fetched.root / "hooks" / "run.sh", os.X_OK)
    assert not os.access(fetched.root / "capability.json", os.X_OK)
    assert fetched.root.is_relative_to(tmp_path / "into")
    assert fetched.resolved == {}


def test_history_and_bytecode_stay_behind(tmp_path: Path) -> None:
    source = bundle(tmp_path / "acme")
    before = tree(source)
    for name in (".git/config", ".hg/store", "hooks/__pycache__/x.cpython-311.pyc"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(b"x")
    assert tree(got(tmp_path, f"file://{source}").root) == before


def test_a_link_anywhere_is_refused(tmp_path: Path) -> None:
    source = bundle(tmp_path / "acme")
    (source / "hooks" / "secret").symlink_to("/etc/passwd")
    assert "symbolic link" in refused(tmp_path, "./acme").message
    (tmp_path / "link").symlink_to(source)
    error = refused(tmp_path, "./link")
    assert str(source) in error.message and error.code == "bundle-refused"


def test_a_special_file_is_refused_without_hanging(tmp_path: Path) -> None:
    source = bundle(tmp_path / "acme")
    os.mkfifo(source / "pipe")
    assert refused(tmp_path, "./acme").code == "bundle-refused"
    os.unlink(source / "pipe")
    os.unlink(source / "capability.json")
    os.mkfifo(source / "capability.json")
    assert refused(tmp_path, "./acme").code == "bundle-refused"


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path, "./nowhere").message
    (tmp_path / "file").write_text("")
    assert "not a folder" in refused(tmp_path, "./file").message
    bundle(tmp_path / "repo" / "capabilities" / "acme")
    error = refused(tmp_path, "./repo")
    assert error.code == "no-bundle"
    assert str(tmp_path / "repo" / "capabilities" / "acme") in error.message


def test_limits_are_those_of_the_hash(tmp_path: Path) -> None:
    source = bundle(tmp_path / "acme")
    assert "bytes" in refused(tmp_path, "./acme", limits=Limits(bundle_bytes=5)).message
    assert "capability.json" in refused(tmp_path, "./acme", limits=Limits(manifest_bytes=1)).message
    for i in range(9):
        (source / str(i)).touch()
    assert "files and folders" in refused(tmp_path, "./acme", limits=Limits(bundle_entries=8)).message


def test_a_pin_is_refused_not_ignored(tmp_path: Path) -> None:
    bundle(tmp_path / "acme")
    assert refused(tmp_path, "./acme", integrity="sha512-" + "A" * 86 + "==").code == "pin-refused"


def test_a_folder_has_no_list_of_versions(tmp_path: Path) -> None:
    assert available(parse_source(".", base=bundle(tmp_path / "acme")), Terms(in_seconds(5))) == ()
