"""What is shipped: two packages, the first-party set with its texts, and script files that start fast."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / "msd_host").is_dir(), reason="the sources are not beside the tests"),
]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(out), str(ROOT)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(out.glob("*.whl"))) as wheel:
        return {n: wheel.read(n) for n in wheel.namelist()}


def test_exactly_two_packages_both_typed(names: dict[str, bytes]) -> None:
    tops = {n.split("/")[0] for n in names}
    assert tops == {"msd_host", "msd_hookspecs", "msd_host-1.0.0.dist-info", "msd_host-1.0.0.data"}
    assert {"msd_host/py.typed", "msd_hookspecs/py.typed"} <= set(names)


def test_the_page_of_the_report_can_be_made_from_it(names: dict[str, bytes]) -> None:
    assert {"msd_host/report/style.css", "msd_host/report/script.js"} <= set(names)


def test_every_text_of_the_first_party_set_is_in_it(names: dict[str, bytes]) -> None:
    folder = ROOT / "msd_host" / "first_party"
    texts = {p.relative_to(ROOT).as_posix() for p in folder.rglob("*") if p.suffix in (".md", ".json")}
    assert len(texts) > 80
    assert texts <= set(names)


def test_the_commands_are_script_files(names: dict[str, bytes]) -> None:
    for script in ("msd", "msd_run"):
        text = names[f"msd_host-1.0.0.data/scripts/{script}"]
        assert text.startswith(b"#!python\n") and b"import re" not in text


def test_no_test_and_no_workshop_tool_is_shipped(names: dict[str, bytes]) -> None:
    assert not [n for n in names if "test" in n.split("/")[0] or n.endswith((".pyc", "noxfile.py"))]
