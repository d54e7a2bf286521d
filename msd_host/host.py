"""The host: one object an embedder, a test or the command line talks to (spec 70)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from .composition import Composition, baseline_of, compose
from .errors import UsageError
from .model.frozen import EMPTY, FrozenDict
from .model.registry import Registry
from .model.report import BlockedGate
from .model.scope import Scope
from .pipeline import SealedStages
from .product import Product
from .reading.files import Files
from .reading.roots import Roots, absolute, find_roots
from .reading.sources import Probe
from .remedies import is_valid_id
from .text import quoted, shell_word
from .trust.hashing import is_content_hash

if TYPE_CHECKING:
    from .activation.config import Config
    from .activation.settings import Settings
    from .activation.state import Activation
    from .activation.surface import Surface
    from .check import CheckResult
    from .doctor.values import Diagnosis
    from .explain import Explanation
    from .extending.manager import OpenHooks
    from .lifecycle.desk import Lifecycle
    from .loop.gates import GateReport
    from .trust.desk import TrustDesk

__all__ = ["Host", "parse_trust"]


def parse_trust(words: Iterable[str]) -> dict[str, frozenset[str]]:
    """`ID@sha512-…` words as id to content hashes; raises `UsageError` for anything else (spec 20, `--trust`)."""
    found: dict[str, set[str]] = {}
    for word in words:
        id, at, content_hash = word.partition("@")
        if not (at and is_valid_id(id) and is_content_hash(content_hash)):
            raise UsageError(f"--trust takes ID@sha512-HASH, as `trust show` prints it, not {quoted(word)}")
        found.setdefault(id, set()).add(content_hash)
    return {id: frozenset(hashes) for id, hashes in found.items()}


class Host:
    """A host of one product for one home. Safe to share between threads; it never prints.

    *home* wins over the product's home variable in *env* (the process environment by default), that over
    the OS home. *extensions* are reviewers and observers, as objects or `(name, object)`; without them
    installed ones are found unless *discover_extensions* is false, and *plugins_off* leaves those unloaded.
    *files* is the seam for system calls. *command* starts every remedy. *overrides* maps dotted configuration
    keys to plain values that win over every file. Raises `UsageError` for what is no
    product, `ExtensionRefused` for a given extension that asks for more than it may have.
    """

    def __init__(
        self,
        product: Product,
        *,
        home: str | os.PathLike[str] | None = None,
        extensions: Iterable[object] | None = None,
        discover_extensions: bool = True,
        plugins_off: bool = False,
        files: Files | None = None,
        env: Mapping[str, str] | None = None,
        command: str | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(product, Product):
            raise UsageError("Host needs a Product")
        self.product = product
        self.files = files if files is not None else Files()
        if home == "":
            raise UsageError("the home is an empty path; leave it out for the usual one")
        self._home = None if home is None else absolute(home)
        self._env = env
        self._command = command
        self._overrides = self._nested(overrides)
        self._stages = SealedStages()  # sealed before any extension is imported
        self._discover = discover_extensions and extensions is None
        self._plugins_off = plugins_off
        self._given = self._admit_given(extensions or ())
        self._found: dict[str | None, OpenHooks | None] = {}
        self._lock = Lock()

    @staticmethod
    def _nested(overrides: Mapping[str, Any] | None) -> FrozenDict[str, Any]:
        if not overrides:
            return EMPTY
        from .activation.config import overrides_of  # only who overrides pays for it

        return overrides_of(overrides)

    @staticmethod
    def _admit_given(extensions: Iterable[object]) -> OpenHooks | None:
        given = list(extensions)
        if not given:
            return None
        from .extending.admission import admit
        from .extending.gathering import given_extensions
        from .extending.manager import OpenHooks

        return OpenHooks([admit(extension, name) for name, extension in given_extensions(given)])

    def open_hooks(self, roots: Roots) -> OpenHooks | None:
        """The extensions of this host, imported on first use; None where there are none and none is required."""
        if not self._discover:
            return self._given
        with self._lock:
            if roots.served_path not in self._found:
                self._found[roots.served_path] = self._gather(roots)
            return self._found[roots.served_path]

    def tell(self, kind: str, **data: object) -> None:
        """Tell observers that are loaded already; looking at consent never imports an extension."""
        with self._lock:
            loaded = [h for h in (self._given, *self._found.values()) if h is not None]
        for hooks in dict.fromkeys(loaded):
            hooks.emit(kind, **data)

    def _gather(self, roots: Roots) -> OpenHooks | None:
        from .extending.gathering import gather

        gathered = gather(self.product, self.files, roots, self.env, off=self._plugins_off)
        admitted = [s.admitted for s in gathered.states if s.admitted is not None]
        if not (admitted or gathered.warnings or gathered.missing):
            return None
        from .extending.manager import OpenHooks

        return OpenHooks(admitted, gathered.warnings, gathered.missing)

    @property
    def env(self) -> Mapping[str, str]:
        """The environment this host looks things up in."""
        return os.environ if self._env is None else self._env

    @property
    def baseline(self) -> Registry:
        """The frozen first-party registry, the same object every time."""
        return baseline_of(self.product)

    def roots(self, cwd: str | os.PathLike[str] | None = None) -> Roots:
        """Both roots and how they relate, seen from *cwd* (the process's by default)."""
        return find_roots(self.files, self.product, cwd=absolute(cwd), home=self._home, env=self._env)

    def compose(
        self,
        cwd: str | os.PathLike[str] | None = None,
        *,
        config_home: str | os.PathLike[str] | None = None,
        host_version: str | None = None,
        trust: Mapping[str, Iterable[str]] | None = None,
        probe: Probe | None = None,
        extensions: bool = True,
        alone: bool = False,
    ) -> Composition:
        """One composition with its evidence; `load` is its registry. *extensions* false imports and asks none,
        *alone* leaves the project out.
        """
        roots = self.roots(cwd).alone() if alone else self.roots(cwd)
        return compose(
            self.product,
            self._stages,
            roots,
            files=self.files,
            host_version=self.product.version if host_version is None else host_version,
            command=self.command(cwd),
            config_home=None if config_home is None else absolute(config_home),
            trusted=trust,
            probe=probe,
            extensions=self.open_hooks(roots) if extensions else None,
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

    def explain(
        self,
        id: str,
        cwd: str | os.PathLike[str] | None = None,
        *,
        config_home: str | os.PathLike[str] | None = None,
        host_version: str | None = None,
        trust: Mapping[str, Iterable[str]] | None = None,
    ) -> Explanation:
        """The whole way of *id* through the composition that `load` would make, also when it was never found."""
        from .explain import explain

        return explain(self.compose(cwd, config_home=config_home, host_version=host_version, trust=trust), id)

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

        return check(self, absolute(path), cwd, scope)

    def doctor(self, cwd: str | os.PathLike[str] | None = None, *, fix: bool = False) -> Diagnosis:
        """What is wrong around this host, seen from *cwd*; with *fix* what can be put right is (spec 60, doctor).

        Never raises for anything that lies on disk, and imports no extension into this process.
        """
        from .doctor.run import diagnose

        return diagnose(self, cwd, fix=fix, plugins_off=self._plugins_off or not self._discover)

    @property
    def trust(self) -> TrustDesk:
        """Consent: status, grant, deny, revoke. It never asks; asking is the command line's part."""
        from .trust.desk import TrustDesk

        return TrustDesk(self)

    @property
    def settings(self) -> Settings:
        """Configuration: values with the layer they came from, changes, switches (spec 40, Config activation)."""
        from .activation.settings import Settings

        return Settings(self)

    def lifecycle(self, cwd: str | os.PathLike[str] | None = None) -> Lifecycle:
        """Installing, updating, rolling back and recovering, in the home and the project around *cwd* (spec 30)."""
        from .lifecycle.desk import Lifecycle

        return Lifecycle(self, cwd)

    @property
    def surface(self) -> Surface:
        """What people and agents get to see: profiles, skills, and bringing them into a coding tool (spec 40)."""
        from .activation.surface import Surface

        return Surface(self)

    def config(self, roots: Roots) -> Config:
        """Every configuration layer as it lies under *roots* now, and what the user switched off there."""
        from .activation.config import read_config

        env = os.environ if self._env is None else self._env
        return read_config(self.files, self.product, roots, env=env, overrides=self._overrides)

    def activation(self, composition: Composition) -> Activation:
        """What of *composition* is on: the one resolver for states, hooks and values."""
        from .activation.state import Activation

        return Activation(composition.registry, self.config(composition.roots))

    def check_gates(
        self,
        point: str,
        cwd: str | os.PathLike[str] | None = None,
        *,
        phase_number: str = "",
        phase_dir: str | os.PathLike[str] | None = None,
        phase_req_ids: str = "",
        trust: Mapping[str, Iterable[str]] | None = None,
    ) -> GateReport:
        """Evaluate every active gate at *point* (spec 40, Loop). The gates of an accepted overlay run with the
        rights of this process. Raises `UsageError` for a word that is no point, or a phase without meaning.
        """
        from .loop.gates import check_gates

        return check_gates(
            self,
            self.compose(cwd, trust=trust),
            point,
            absolute(cwd),
            phase_number=phase_number,
            phase_dir=None if phase_dir is None else os.fspath(phase_dir),
            phase_req_ids=phase_req_ids,
        )

    def dispatch(
        self,
        args: Sequence[str],
        cwd: str | os.PathLike[str] | None = None,
        *,
        trust: Mapping[str, Iterable[str]] | None = None,
    ) -> int:
        """Run the command family `args[0]` with all of *args* in this process; its exit status (spec 40, Dispatch).

        Raises `NotFound` for a family nobody has, `Refused` where its capability may not run or its bytes cannot
        be vouched for, `msd_host.dispatch.CommandFailed` for whatever its code does wrong.
        """
        from .dispatch import dispatch

        return dispatch(self, self.compose(cwd, trust=trust), args, absolute(cwd))

    def silenced(self, registry: Registry, point: str) -> tuple[BlockedGate, ...]:
        """The gates that a skipped capability declares at *point* and that are therefore not in force."""
        overlay = registry.overlay
        return () if overlay is None else tuple(g for g in overlay.blocked_gates if g.point == point)

    def command(self, cwd: str | os.PathLike[str] | None = None) -> str:
        """The start of a command that reaches this host from the caller's shell."""
        if self._command is not None:
            return self._command
        words = [self.product.command]
        if self._home is not None and self._home != self._default_home():
            words += ["--home", shell_word(self._home)]
        if cwd is not None and absolute(cwd) != absolute(None):
            words += ["-C", shell_word(absolute(cwd))]
        return " ".join(words)

    def _default_home(self) -> str:
        from .reading.roots import os_home

        named = self.env.get(self.product.home_variable, "")
        return os.path.abspath(named if os.path.isabs(named) else os_home(self.env))
