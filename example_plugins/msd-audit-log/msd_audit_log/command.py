"""`msd-audit verify [FILE] [--head "SEQ HASH"]` and `msd-audit head [FILE]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import configured
from .chain import AuditLog, Broken, verify

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Exit 0 for a whole log, 1 for one that was tampered with, 2 for usage."""
    parser = argparse.ArgumentParser(prog="msd-audit", description="Look after MSD's audit log.")
    parser.add_argument("verb", choices=["verify", "head"])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--head", help='a head noted elsewhere, as "SEQ HASH"')
    given = parser.parse_args(argv)
    log = AuditLog(given.file) if given.file else configured()
    try:
        count, head = verify(log, given.head)
    except Broken as broken:
        print(f"TAMPERED: {broken}", file=sys.stderr)
        return 1
    print(f"{count} {head}" if given.verb == "head" else f"whole: {count} records, head {head}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
