"""Findings as values, and the ground every check looks at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from ..activation.config import read_config
from ..composition import Composition, bundle_store, consent_store
from ..model.scope import Scope
from ..reading.ledger import LedgerView, read_ledger
from ..reading.roots import Roots
from ..text import clean, shell_word
from ..trust.records import Grant

if TYPE_CHECKING:
    from ..activation.config import Config
    from ..host import Host
    from ..trust.consent import ConsentStore, Records
    from ..trust.store import BundleStore

__all__ = ["ERROR", "NOTE", "WARNING", "Diagnosis", "Finding", "Ground", "Place"]

#: An error is state on disk that is damaged or not ours, or a host that is not whole; a warning is something that
#: does not do what it is there for; a note is worth knowing and no more.
ERROR, WARNING, NOTE = "error", "warning", "note"
_RANK = {ERROR: 0, WARNING: 1, NOTE: 2}


@frozen
class Finding:
    """One thing that was found. `fix` says in words what mending does, None where only the user can;
    `command` works when pasted; `mend` carries the fix out. `fixed` after it was.
    """

    code: str
    severity: str
    subject: str
    message: str
    fix: str | None = None
    command: str | None = None
    mend: Callable[[], object] | None = field(default=None, repr=False, eq=False)
    fixed: bool = False

    @property
    def id(self) -> str:
        """Stable as long as the thing itself is."""
        return f"{self.code}:{self.subject}" if self.subject else self.code

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "code": self.code,
            "severity": self.severity,
            "subject": self.subject,
            "message": self.message,
            "fix": self.fix,
            "command": self.command,
            "fixed": self.fixed,
        }


def finding(code: str, severity: str, subject: object, message: str, **more: Any) -> Finding:
    """A `Finding` whose words are clean, wherever they come from."""
    return Finding(code, severity, clean(subject, 400), clean(message, 600), **more)


@frozen
class Diagnosis:
    """Every finding, the worst first, and the themes that were looked at."""

    findings: tuple[Finding, ...]
    themes: tuple[str, ...]

    @classmethod
    def of(cls, findings: list[Finding], themes: tuple[str, ...]) -> Diagnosis:
        """Sorted, each thing once."""
        once = {f.id: f for f in reversed(findings)}
        return cls(tuple(sorted(once.values(), key=lambda f: (_RANK[f.severity], f.code, f.subject))), themes)

    @property
    def open(self) -> tuple[Finding, ...]:
        """What is still as it was found."""
        return tuple(f for f in self.findings if not f.fixed)

    @property
    def damaged(self) -> bool:
        """Whether an error is left."""
        return any(f.severity == ERROR for f in self.open)

    def to_dict(self) -> dict[str, Any]:
        return {
            "ok": not self.damaged,
            "looked_at": list(self.themes),
            "findings": [f.to_dict() for f in self.findings],
        }


@frozen
class Place:
    """One scope's ground: its owner's folder, its capability root, and its ledger."""

    scope: Scope
    owner: str
    root: str
    ledger: LedgerView


class Ground:
    """What the checks look at: the host, both roots, and everything that is read once for several of them."""

    def __init__(self, host: Host, cwd: str | os.PathLike[str] | None, *, plugins_off: bool) -> None:
        self.host = host
        self.cwd = cwd
        self.plugins_off = plugins_off
        self.product = host.product
        self.files = host.files
        self.command = host.command(cwd)

    @cached_property
    def roots(self) -> Roots:
        return self.host.roots(self.cwd)

    @cached_property
    def composition(self) -> Composition:
        """A composition that imports no extension."""
        return self.host.compose(self.cwd, extensions=False)

    @cached_property
    def config(self) -> Config:
        return read_config(self.files, self.product, self.roots, env=self.host.env)

    @cached_property
    def consent(self) -> ConsentStore:
        return consent_store(self.product, self.files, self.roots)

    @cached_property
    def bundles(self) -> BundleStore:
        return bundle_store(self.product, self.files, self.roots)

    @cached_property
    def records(self) -> Records:
        return self.consent.records()

    @property
    def grants_here(self) -> tuple[Grant, ...]:
        """The grants of the served project."""
        return tuple(g for g in self.records.grants if g.root == self.roots.served_path)

    @cached_property
    def own(self) -> str:
        """The home's dot folder."""
        return os.path.join(self.roots.home_path, self.product.folder)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The ground of each scope; a project that is the home is one place, the project's."""
        roots, found = self.roots, []
        if not roots.one_folder and roots.home_path != roots.served_path:
            found.append(self._place(Scope.GLOBAL, roots.home_path))
        if roots.served_path is not None:
            found.append(self._place(Scope.PROJECT, roots.served_path))
        return tuple(found)

    def _place(self, scope: Scope, owner: str) -> Place:
        root = os.path.join(owner, self.product.folder, "capabilities")
        view = read_ledger(self.files, owner, self.product.ledger_name, self.product.limits)
        return Place(scope, owner, root, view)

    def names_in(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """The entries of *folder* in order; none where it cannot be listed."""
        try:
            fd = self.files.open_folder(folder, follow=True)
        except OSError:
            return
        try:
            entries = sorted(self.files.entries(fd), key=lambda e: e.name)
        except OSError:
            return
        finally:
            self.files.close(fd)
        yield from entries

    def run(self, *words: str) -> str:
        """A command line of this host for the user's shell."""
        return " ".join([self.command, *words])

    def edit(self, path: str) -> str:
        """A command that opens *path* for its owner."""
        return f'"${{EDITOR:-vi}}" {shell_word(path)}'
