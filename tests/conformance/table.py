"""`python -m tests.conformance.table`: the conformance table on its own."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.conformance.tally import Tally
from tests.conformance.trees import cases, run


def main() -> int:
    tally = Tally()
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            tally.add(run(case, Path(folder).resolve()))
    print("\n".join([*tally.lines(), *tally.unexplained]))
    return 1 if tally.unexplained or not tally.cases else 0


if __name__ == "__main__":
    sys.exit(main())
