"""Who owns the home and the stores, and who else may write there (spec 20, Consent store)."""

from __future__ import annotations

import errno
import os
import stat as st
from collections.abc import Iterator

from ..activation.config import user_config_path
from ..text import shell_word
from ..trust.private import LOOSE, PrivatePlace, error_name, folder_fault, owner_fault
from .values import ERROR, NOTE, WARNING, Finding, Ground, finding

__all__ = ["check"]

_OWN = (
    "consent",
    "consent/grants",
    "consent/denials",
    "consent/roots",
    "store",
    "previous",
    "intents",
    "locks",
    "cache",
)
_MOST = 4096  # bundles of a root that are looked at one by one
_OTHERS = 0o022


def check(ground: Ground) -> Iterator[Finding]:
    """The home, its dot folder with all stores below it, the global bundles and the files that steer the host."""
    home = ground.roots.home
    if home.state == "absent":
        yield finding(
            "home-absent", NOTE, home.given, f"the home {home.given} is not there yet; it is made on first use"
        )
        return
    if home.state == "unknown":
        yield finding("home-unproven", ERROR, home.given, f"the place of the home {home.given} is unproven: {home.why}")
        return
    yield from _home(ground, home.path)
    if os.path.islink(ground.own):
        yield from _link(ground)
    else:
        yield from _folder(ground, ground.own)
    for folder in _OWN:
        yield from _folder(ground, os.path.join(ground.own, folder))
    if not ground.roots.one_folder:
        yield from _global_root(ground)
    steering = user_config_path(ground.product, ground.roots)
    for path in (steering, os.path.join(home.path, ground.product.ledger_name)):
        if path is not None:
            yield from _file(ground, path)


def _home(ground: Ground, path: str) -> Iterator[Finding]:
    try:
        info = ground.files.stat(path)
    except OSError:
        return
    if not st.S_ISDIR(info.st_mode):
        yield finding("home-no-folder", ERROR, path, f"the home {path} is not a folder")
    elif info.st_uid not in (os.geteuid(), 0):
        yield finding("home-foreign", ERROR, path, f"the home {path} belongs to user {info.st_uid}, not to you")
    elif info.st_mode & 0o002 and not info.st_mode & st.S_ISVTX:
        yield _loose("home-loose", path, f"anybody may replace what lies in the home {path}", ground)


def _link(ground: Ground) -> Iterator[Finding]:
    """The dot folder is a link: where it leads is nobody's choice but the user's (`trust.linked`)."""
    home, name = os.path.split(ground.own)
    for path, fault in PrivatePlace(ground.files, home, (name,), "dot folder").faults():
        if fault is not None:
            verb = "chmod go-w" if fault.startswith(LOOSE) else "ls -ld"
            message = f"{path} {fault}; nothing in it counts as your word"
            yield finding("folder-linked", ERROR, path, message, command=f"{verb} {shell_word(path)}")


def _folder(ground: Ground, path: str) -> Iterator[Finding]:
    try:
        info = ground.files.stat(path, follow=False)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            yield finding("folder-unreadable", ERROR, path, f"{path} cannot be looked at ({error_name(error)})")
        return
    fault = folder_fault(info)
    if fault is None:
        return
    if st.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid():
        yield _loose("folder-loose", path, f"{path} {fault}; nothing in it counts as your word", ground)
    else:
        message = f"{path} {fault}; nothing in it counts as your word"
        yield finding("folder-foreign", ERROR, path, message, command=f"ls -ld {shell_word(path)}")


def _global_root(ground: Ground) -> Iterator[Finding]:
    """Global overlays need no consent because nobody else can put one there; that has to be true."""
    root = ground.roots.global_root
    if root.state == "unknown":
        yield finding("root-unproven", ERROR, root.given, f"the place of {root.given} is unproven: {root.why}")
    if not root.there:
        return
    bundles = [e.name for e in ground.names_in(root.path) if not e.name.startswith(".")][:_MOST]
    for path in (root.path, *(os.path.join(root.path, name) for name in bundles)):
        try:
            info = ground.files.stat(path, follow=False)
        except OSError:
            continue
        fault = owner_fault(info)
        if fault is None or not st.S_ISDIR(info.st_mode):
            continue
        message = f"{path} {fault}; what is put there runs with your rights"
        if info.st_uid == os.geteuid():
            yield _loose("bundle-loose", path, message, ground)
        elif info.st_uid != 0:
            yield finding("bundle-foreign", ERROR, path, message, command=f"ls -ld {shell_word(path)}")


def _file(ground: Ground, path: str) -> Iterator[Finding]:
    try:
        info = ground.files.stat(path, follow=False)
    except OSError:
        return
    fault = owner_fault(info) if st.S_ISREG(info.st_mode) else None
    if fault is None:
        return
    if info.st_uid == os.geteuid():
        yield _loose("file-loose", path, f"{path} {fault}", ground, severity=WARNING)
    else:
        yield finding("file-foreign", WARNING, path, f"{path} {fault}", command=f"ls -l {shell_word(path)}")


def _loose(code: str, path: str, message: str, ground: Ground, severity: str = ERROR) -> Finding:
    command = f"chmod go-w {shell_word(path)}"
    fix = "take the right to write away from others"
    return finding(code, severity, path, message, fix=fix, command=command, mend=lambda: _tighten(ground, path))


def _tighten(ground: Ground, path: str) -> None:
    """`chmod go-w` on the thing itself: opened without following a link, and only if it is still the user's."""
    try:
        fd = ground.files.open_folder(path)
    except NotADirectoryError:
        fd = ground.files.open_file(path)
    try:
        info = ground.files.fstat(fd)
        if info.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "it belongs to somebody else", path)
        os.fchmod(fd, st.S_IMODE(info.st_mode) & ~_OTHERS)
    finally:
        ground.files.close(fd)
