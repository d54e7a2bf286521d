"""`python -m tests.conformance.table`: the conformance table on its own.

Exits with 1 when a difference is unexplained or the shared data is absent.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.conformance.tally import Tally
from tests.conformance.trees import CASES, cases, run


def main() -> int:
    if not cases():
        sys.stderr.write(f"no recorded cases at {CASES} (set MSD_SHARED)\n")
        return 1
    tally = Tally()
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            tally.add(run(case, Path(folder).resolve()))
    sys.stdout.write("\n".join([*tally.lines(), *tally.unexplained, ""]))
    return 1 if tally.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
