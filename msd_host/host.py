"""The host: one object an embedder, a test or the command line talks to (spec 70)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .composition import Composition, baseline_of, compose
from .errors import UsageError
from .model.registry import Registry
from .model.report import BlockedGate
from .model.scope import Scope
from .pipeline import SealedStages
from .product import Product
from .reading.bundles import Probe
from .reading.files import Files
from .reading.roots import Roots, find_roots

if TYPE_CHECKING:
    from .check import CheckResult
    from .explain import Explanation
    from .trust.desk import TrustDesk

__all__ = ["Host", "parse_trust"]


def parse_trust(words: Iterable[str]) -> dict[str, frozenset[str]]:
    """`ID@sha512-…` words as id to content hashes; raises `UsageError` for anything else (spec 20, `--trust`)."""
    found: dict[str, set[str]] = {}
    for word in words:
        id, at, content_hash = word.partition("@")
        if not (id and at and content_hash.startswith("sha512-")):
            raise UsageError(f"--trust takes ID@sha512-HASH, not {word[:80]!r}")
        found.setdefault(id, set()).add(content_hash)
    return {id: frozenset(hashes) for id, hashes in found.items()}


class Host:
    """A host of one product for one home. Safe to share between threads; it never prints.

    *home* wins over the product's home variable in *env* (the process environment by default), that over
    the OS home. *files* is the seam for system calls. *command* starts every remedy.
    """

    def __init__(
        self,
        product: Product,
        *,
        home: str | os.PathLike[str] | None = None,
        discover_extensions: bool = True,
        files: Files | None = None,
        env: Mapping[str, str] | None = None,
        command: str | None = None,
    ) -> None:
        if not isinstance(product, Product):
            raise UsageError("Host needs a Product")
        self.product = product
        self.files = files if files is not None else Files()
        self._home = None if home is None else os.fspath(home)
        self._env = env
        self._command = command
        self._stages = SealedStages()
        self._discover_extensions = discover_extensions

    @property
    def baseline(self) -> Registry:
        """The frozen first-party registry, the same object every time."""
        return baseline_of(self.product)

    def roots(self, cwd: str | os.PathLike[str] | None = None) -> Roots:
        """Both roots and how they relate, seen from *cwd* (the process's by default)."""
        return find_roots(self.files, self.product, cwd=_cwd(cwd), home=self._home, env=self._env)

    def compose(
        self,
        cwd: str | os.PathLike[str] | None = None,
        *,
        config_home: str | os.PathLike[str] | None = None,
        host_version: str | None = None,
        trust: Mapping[str, Iterable[str]] | None = None,
        probe: Probe | None = None,
    ) -> Composition:
        """One composition with its evidence; `load` is its registry."""
        return compose(
            self.product,
            self._stages,
            self.roots(cwd),
            files=self.files,
            host_version=self.product.version if host_version is None else host_version,
            command=self.command(cwd),
            config_home=None if config_home is None else os.fspath(config_home),
            trusted=trust,
            probe=probe,
        )

    def load(
        self,
        cwd: str | os.PathLike[str] | None = None,
        *,
        config_home: str | os.PathLike[str] | None = None,
        host_version: str | None = None,
        trust: Mapping[str, Iterable[str]] | None = None,
    ) -> Registry:
        """First-party and every accepted overlay as one registry.

        *cwd* decides the served project; *config_home* confines runtime descriptors; *host_version* stands in
        for the product's; *trust* maps ids to content hashes that count as consent for this load only.
        Never raises for anything an overlay did.
        """
        return self.compose(cwd, config_home=config_home, host_version=host_version, trust=trust).registry

    def explain(self, id: str, cwd: str | os.PathLike[str] | None = None) -> Explanation:
        """The whole way of *id* through a composition, also when it was never found."""
        from .explain import explain

        return explain(self.compose(cwd), id)

    def check(
        self,
        path: str | os.PathLike[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        scope: Scope | None = None,
    ) -> CheckResult:
        """What a load would say of the folder *path* if the user agreed to it; writes nothing (spec 30, law 3).

        *scope* is the one it would be installed in; by default that of the root it lies in, else global.
        Raises `NotFound` where there is no such folder.
        """
        from .check import check

        return check(self, os.fspath(path), cwd, scope)

    @property
    def trust(self) -> TrustDesk:
        """Consent: status, grant, deny, revoke. It never asks; asking is the command line's part."""
        from .trust.desk import TrustDesk

        return TrustDesk(self)

    def silenced(self, registry: Registry, point: str) -> tuple[BlockedGate, ...]:
        """The gates that a skipped capability declares at *point* and that are therefore not in force."""
        overlay = registry.overlay
        return () if overlay is None else tuple(g for g in overlay.blocked_gates if g.point == point)

    def command(self, cwd: str | os.PathLike[str] | None = None) -> str:
        """The start of a command that reaches this host from the caller's shell."""
        if self._command is not None:
            return self._command
        import shlex  # brings `re` along; only paths that differ from the shell's own need it

        words = [self.product.command]
        if self._home is not None and os.path.abspath(self._home) != self._default_home():
            words += ["--home", shlex.quote(os.path.abspath(self._home))]
        if cwd is not None and os.path.abspath(os.fspath(cwd)) != _cwd(None):
            words += ["-C", shlex.quote(os.path.abspath(os.fspath(cwd)))]
        return " ".join(words)

    def _default_home(self) -> str:
        from .reading.roots import os_home

        env = os.environ if self._env is None else self._env
        named = env.get(self.product.home_variable, "")
        return os.path.abspath(named if os.path.isabs(named) else os_home(env))


def _cwd(cwd: str | os.PathLike[str] | None) -> str:
    if cwd is not None:
        return os.fspath(cwd)
    try:
        return os.getcwd()
    except OSError:  # the folder was removed under our feet
        return os.environ.get("PWD", "/")
