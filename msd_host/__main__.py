"""`python -m msd_host` and the `msd` script: MSD's command line."""

from __future__ import annotations

import gc
import sys

from .cli.streams import answering

__all__ = ["NAMES", "main"]

#: Folder, home variable and project markers, told here so that a repeated render need not load the product.
NAMES = (".msd", "MSD_HOME", (".planning/", ".git"))


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code (spec 60)."""
    words = sys.argv[1:] if argv is None else argv
    return answering("msd", lambda: _main(words))


def _main(words: list[str]) -> int:
    if words in (["--version"], ["-V"]):
        from .version import __version__

        sys.stdout.write(f"msd {__version__}\n")
        return 0
    if not words or words in (["--help"], ["-h"], ["help"]):
        from .cli.words import overview

        sys.stdout.write(overview("msd", "MSD"))
        return 0 if words else 2
    from .import_guard import leave_project

    leave_project()
    from .memo.replay import answer

    known = answer(words, "msd", NAMES)
    if known is not None:
        return known
    gc.disable()  # thousands of objects are made and none dropped; collections would only walk them again and again
    from .cli.app import run
    from .msd import MSD

    return run(MSD, words, remember=True)


if __name__ == "__main__":
    sys.exit(main())
