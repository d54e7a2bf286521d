"""The last step of every source: find the one bundle in what was fetched, and write exactly it (spec 30, Laws).

The bundle is read by the same walk that hashes it, within the same limits, and what was read is what is
written. So nothing that the content hash leaves out, or that could not be granted later, is ever installed.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import LifecycleError
from ...reading.files import Files
from ...text import clean, joined
from ...trust.snapshot import Snapshot, Unverifiable, take_snapshot
from .terms import Terms

__all__ = ["MANIFEST", "bundle_in", "settle"]

MANIFEST = "capability.json"
_DEEPEST = 6  # folders above a bundle: a wheel may keep it in its package, a repository below `capabilities/`
_EXCLUSIVE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def bundle_in(folder: Path) -> Path:
    """The folder at or below *folder* with the one manifest that lies highest. Raises `LifecycleError`."""
    level = [str(folder)]
    for _ in range(_DEEPEST + 1):
        found = [path for path in level if os.path.isfile(os.path.join(path, MANIFEST))]
        if len(found) == 1:
            return Path(found[0])
        if found:
            names = joined(os.path.relpath(path, folder) for path in sorted(found))
            raise LifecycleError("several-bundles", f"there is more than one capability in it: {names}")
        level = [sub.path for path in level for sub in os.scandir(path) if sub.is_dir(follow_symlinks=False)]
    raise LifecycleError("no-bundle", f"there is no {MANIFEST} in it, at most {_DEEPEST} folders deep")


def settle(root: Path, into: Path, terms: Terms) -> Path:
    """Copy the bundle in *root*, read as it will be hashed, to a new folder in *into*. Raises `LifecycleError`."""
    target = into / "bundle"
    snapshot = _read(root, terms)
    manifest = snapshot.files.get(MANIFEST)
    if manifest is None:
        raise LifecycleError("no-bundle", f"{clean(root, 300)} has no {MANIFEST}")
    if len(manifest.data) > terms.limits.manifest_bytes:
        most = terms.limits.manifest_bytes
        raise LifecycleError("bundle-refused", f"{MANIFEST} has {len(manifest.data)} bytes; the limit is {most}")
    _write(snapshot, os.fspath(target))
    return target


def _read(root: Path, terms: Terms) -> Snapshot:
    files = Files()
    try:
        fd = files.open_folder(os.fspath(root))
    except OSError as error:
        raise LifecycleError("bundle-refused", f"{clean(root, 300)} {_why(root, error)}") from None
    try:
        return take_snapshot(files, fd, terms.limits)
    except Unverifiable as fault:
        raise LifecycleError("bundle-refused", f"the bundle is refused: {fault.message}") from None
    finally:
        files.close(fd)


def _why(root: Path, error: OSError) -> str:
    if os.path.islink(root):
        return f"is a symbolic link; name the folder itself: {clean(os.path.realpath(root), 300)}"
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "is not a folder" if os.path.lexists(root) else "does not exist"
    return f"cannot be opened ({clean(error.strerror, 80)})"


def _write(snapshot: Snapshot, target: str) -> None:
    os.mkdir(target, 0o755)
    for name in snapshot.folders:  # in byte order, so parents come first
        os.mkdir(os.path.join(target, name), 0o755)
    for name, file in snapshot.files.items():
        mode = 0o755 if file.executable else 0o644
        with open(os.open(os.path.join(target, name), _EXCLUSIVE, mode), "wb") as out:
            out.write(file.data)
