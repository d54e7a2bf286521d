"""Where the shared reference data lies, and a clear word when it does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("MSD_SHARED", Path(__file__).resolve().parents[2] / "shared"))
REFERENCE = SHARED / "data" / "reference-set"

needs_shared = pytest.mark.skipif(
    not (SHARED / "data").is_dir(), reason=f"shared reference data is absent ({SHARED}; set MSD_SHARED)"
)
