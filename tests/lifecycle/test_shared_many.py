"""Several capabilities with entries in one settings file (spec 30, Shared files)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from msd_host.errors import LifecycleError
from msd_host.lifecycle.values import Request
from tests.lifecycle.ground import Bench


def install(bench: Bench, id: str, file: Path) -> None:
    folder = bench.source(id, hooks=[{"event": "Stop", "script": "run.sh"}])
    (folder / "run.sh").write_text("exit 0\n")
    bench.install(folder, request=Request(shared_files=(str(file),)))


@pytest.mark.parametrize("order", [("acme", "beta"), ("beta", "acme")], ids="-".join)
@pytest.mark.parametrize("text", ['{\n  "theme": "dark"\n}\n', '{"hooks": { }}', "{}", None])
def test_the_last_to_leave_gives_the_very_bytes_back(tmp_path: Path, order: tuple[str, str], text: str | None) -> None:
    """Whoever made the file or a container in it, it goes when nobody has an entry there any more."""
    bench = Bench(tmp_path)
    file = tmp_path / "settings.json"
    if text is not None:
        file.write_text(text)
    for id in ("acme", "beta"):
        install(bench, id, file)
    for id in order:
        assert f"hook run {id} " in file.read_text()
        bench.remove(id)
        assert not file.exists() or f"hook run {id} " not in file.read_text()
    assert (file.read_text() if file.exists() else None) == text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_somebody_else_s_file_is_left_alone(tmp_path: Path) -> None:
    """A replaced file would be ours from then on."""
    file = tmp_path / "settings.json"
    file.write_text("{}")
    os.chown(file, 65534, 65534)
    with pytest.raises(LifecycleError) as caught:
        install(Bench(tmp_path), "acme", file)
    assert caught.value.code == "settings-owner"
    assert file.read_text() == "{}" and file.stat().st_uid == 65534


def test_a_fifo_is_not_waited_for_W12(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    os.mkfifo(file)
    with pytest.raises(LifecycleError) as caught:
        install(Bench(tmp_path), "acme", file)
    assert caught.value.code == "settings-unreadable" and file.is_fifo()
