"""What the host is embedded in, all of it data (spec 70). Nothing else in the engine knows a product's name."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeVar

from attrs import field, frozen

from .contract import LoopContract
from .limits import Limits
from .model.capability import Capability
from .model.frozen import EMPTY, FrozenDict

__all__ = ["CentralSchema", "FirstParty", "Product"]

T = TypeVar("T")


class _Lazy:
    """A value made once, on first use, by one thread."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._lock = RLock()
        self._derived: dict[Any, Any] = {}

    def derived(self, key: Any, make: Callable[[], T]) -> T:
        """What *make* gives, remembered under *key* for the life of this object."""
        try:
            return self._derived[key]  # type: ignore[no-any-return]
        except KeyError:
            pass
        with self._lock:
            if key not in self._derived:
                self._derived[key] = make()
            return self._derived[key]  # type: ignore[no-any-return]

    def _value(self) -> Any:
        return self.derived("value", self._make)


class FirstParty(_Lazy):
    """The capabilities a product ships. Nothing is loaded before the first look at `capabilities`."""

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """In id order."""
        return self._value()  # type: ignore[no-any-return]


class CentralSchema(_Lazy):
    """The product's own configuration keys: exact `keys` and regular expressions of dynamic ones.

    The patterns are the product's word, so they are trusted to be harmless expressions.
    """

    @property
    def keys(self) -> frozenset[str]:
        return self._value()[0]  # type: ignore[no-any-return]

    @property
    def patterns(self) -> tuple[str, ...]:
        return self._value()[1]  # type: ignore[no-any-return]


def _no_keys() -> tuple[frozenset[str], tuple[str, ...]]:
    return frozenset(), ()


@frozen(eq=False)
class Product:
    """An embedding product.

    `name` drives the dot folder (`.msd`), the home variable (`MSD_HOME`), the ledger's file name
    (`.msd-capabilities.json`) and the engines key (`engines.msd`). `project_markers` are names whose
    presence makes a folder a project; one that ends with `/` must be a folder. `reserved_families` are
    words of the command line that no overlay may take as a command family. `clusters` are hand-authored
    groups of skills whose names no overlay may take. `first_party_folder` is where the command modules of
    first-party capabilities lie, as `<folder>/<id>/<module>`; empty where there are none.
    """

    name: str
    title: str
    version: str
    contract: LoopContract
    first_party: FirstParty
    first_party_folder: str = ""
    executable: str = ""
    central_schema: CentralSchema = field(factory=lambda: CentralSchema(_no_keys))
    reserved_prefixes: tuple[str, ...] = ()
    reserved_families: frozenset[str] = frozenset()
    clusters: FrozenDict[str, tuple[str, ...]] = EMPTY
    project_markers: tuple[str, ...] = (".planning/", ".git")
    project_config: str = ".planning/config.json"
    dispatch_prefix: str = ""
    gate_kinds: tuple[str, ...] = ("command-exit-zero", "artifact-frontmatter-equals")
    extension_group: str = "msd_host"
    limits: Limits = Limits()

    @property
    def command(self) -> str:
        """The word a user types."""
        return self.executable or self.name

    @property
    def folder(self) -> str:
        """The dot folder in the home and in a project."""
        return f".{self.name}"

    @property
    def home_variable(self) -> str:
        return f"{self.name.upper().replace('-', '_')}_HOME"

    @property
    def plugins_variable(self) -> str:
        """The environment variable that switches extensions off or names those to load."""
        return f"{self.name.upper().replace('-', '_')}_PLUGINS"

    @property
    def ledger_name(self) -> str:
        return f".{self.name}-capabilities.json"

    @property
    def marker_key(self) -> str:
        """The key that says in a shared settings file whose an entry is (`_msdCapability`)."""
        return f"_{self.name.replace('-', '_')}Capability"

    @property
    def skill_prefix(self) -> str:
        """What dispatch puts before a bare skill stem."""
        return self.dispatch_prefix or f"{self.name}-"
