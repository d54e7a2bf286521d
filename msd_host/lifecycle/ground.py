"""The place in which the overlays of one scope lie, and moving folders in it through descriptors (spec 30, Layout).

A repository may link its capability folder anywhere; what leads out of the project is refused, and every step below
is taken without following a link.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from attrs import frozen

from ..errors import DamagedState, Refused
from ..model.scope import Scope
from ..product import Product
from ..reading.files import Files
from ..reading.roots import Roots
from ..text import clean
from ..trust.private import closing, error_name, open_or_make, remove_tree, sync_folder

__all__ = ["GONE", "OLD", "STAGING", "Ground", "ground_of", "new_token"]

#: Names no load looks at: what waits to come in, what was replaced, what is on its way out.
STAGING, OLD, GONE = ".staging", ".old-", ".gone-"


def new_token() -> str:
    """A name for one change that no other has."""
    return f"{os.getpid()}-{secrets.token_hex(8)}"


@frozen
class Ground:
    """One scope's place. `owner` is the canonical home or served project; everything else lies below it."""

    scope: Scope
    owner: str
    product: Product
    files: Files

    @property
    def root(self) -> str:
        return os.path.join(self.owner, self.product.folder, "capabilities")

    @property
    def ledger(self) -> str:
        return os.path.join(self.owner, self.product.ledger_name)

    def bundle(self, id: str) -> str:
        """Where the bundle of *id* lies, if it lies there."""
        return os.path.join(self.root, id)

    @contextmanager
    def opened(self, *, create: bool = False) -> Iterator[int | None]:
        """The capability root, open; None where it is not there. Raises `Refused` where it leads out of the project."""
        parts = self._steps()
        if create and self.scope is Scope.GLOBAL:
            os.makedirs(self.owner, 0o700, exist_ok=True)
        held: list[int] = []
        try:
            held.append(self.files.open_folder(self.owner, follow=True))
            for part in parts:
                held.append(self._entered(held[-1], part, create=create))
            at: int | None = held[-1]
        except FileNotFoundError:
            at = None
        except OSError as error:
            _close(self.files, held)
            raise DamagedState(f"{clean(self.root, 400)} cannot be used ({error_name(error)})") from error
        try:
            yield at
        finally:
            _close(self.files, held)

    def tidy(self) -> None:
        """Take the folders away again that a change made, where nothing came to lie in them."""
        with suppress(OSError):
            os.rmdir(self.root)
            os.rmdir(os.path.dirname(self.root))

    def _entered(self, parent: int, name: str, *, create: bool) -> int:
        """A folder of ours is made for its user alone in a home, as usual in a project."""
        if create and self.scope is not Scope.GLOBAL:
            with suppress(FileExistsError):
                os.mkdir(name, 0o777, dir_fd=parent)
        return open_or_make(self.files, parent, name) if create else self.files.open_folder(name, parent)

    def _steps(self) -> list[str]:
        """The real way from the owner to the root. A home may link its root anywhere; then the way starts there."""
        plain = [self.product.folder, "capabilities"]
        try:
            real = os.path.realpath(self.root, strict=True)
        except OSError:
            real = os.path.join(os.path.realpath(os.path.dirname(self.root)), "capabilities")
        if real == os.path.join(self.owner, *plain):
            return plain
        if self.scope is Scope.GLOBAL:
            return os.path.relpath(real, self.owner).split(os.sep)
        if not real.startswith(self.owner.rstrip(os.sep) + os.sep):
            raise Refused(
                f"{clean(self.root, 300)} leads out of the project, to {clean(real, 300)}; nothing was changed"
            )
        return os.path.relpath(real, self.owner).split(os.sep)


def _close(files: Files, held: list[int]) -> None:
    for fd in reversed(held):
        files.close(fd)


def ground_of(product: Product, files: Files, roots: Roots, scope: Scope) -> Ground:
    """The place of *scope*. Raises `Refused` where there is no project, or where the home is the project's own ground."""
    if scope is Scope.PROJECT:
        if roots.served_path is None:
            raise Refused("there is no project here; --scope global installs for every project")
        return Ground(scope, roots.served_path, product, files)
    if roots.global_scope is not Scope.GLOBAL:
        raise Refused(f"the home cannot be used for every project from here: {roots.global_why}")
    return Ground(scope, roots.home_path, product, files)


def exists(files: Files, fd: int, name: str) -> bool:
    """Whether the open folder has something called *name*, a link that leads nowhere included."""
    try:
        files.stat(name, follow=False, dir_fd=fd)
    except FileNotFoundError:
        return False
    return True


def move(source: int, name: str, target: int, new: str) -> None:
    """Rename from one open folder into another, on the disk when this returns."""
    os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
    sync_folder(target)
    if source != target:
        sync_folder(source)


def discard(files: Files, fd: int, name: str) -> None:
    """Delete *name* and all below it; gone already is fine. No link is followed."""
    with suppress(FileNotFoundError):
        remove_tree(files, fd, name)


def settle_on_disk(files: Files, fd: int) -> None:
    """Make the folder and all below it last, before anything says that it is there (reference, W-40)."""
    for entry in files.entries(fd):
        if entry.is_dir(follow_symlinks=False):
            with closing(files, files.open_folder(entry.name, fd)) as below:
                settle_on_disk(files, below)
        else:
            with closing(files, files.open_file(entry.name, fd)) as file:
                os.fsync(file)
    sync_folder(fd)
