"""The package is typed for those who use it: a file with every public name passes mypy in strict mode (spec 70)."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import msd_hookspecs
import pytest

import msd_host

USE = Path(__file__).parent / "typed" / "api_use.py"


def test_the_file_uses_every_public_name() -> None:
    named = {
        alias.name
        for node in ast.walk(ast.parse(USE.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(msd_host.__all__) - {"__version__"} <= named


def test_it_type_checks(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is in the dependency group typing")
    places = {str(Path(m.__file__ or "").parents[1]) for m in (msd_host, msd_hookspecs)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(tmp_path), str(USE)],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": os.pathsep.join(sorted(places))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
