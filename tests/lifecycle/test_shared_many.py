"""Several capabilities with entries in one settings file (spec 30, Shared files)."""

from __future__ import annotations

from pathlib import Path

import pytest

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
