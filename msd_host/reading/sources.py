"""What discovery reads from: the seams to disk and store, the roots, and what is on record (spec 10, Discover)."""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from ..model.frozen import EMPTY, FrozenDict
from ..model.scope import Scope
from ..product import Product
from ..trust.decisions import Decisions
from .codec import Codec
from .files import Files
from .roots import Roots

__all__ = ["Probe", "Sources"]


@frozen
class Probe:
    """A folder to judge as if the user had agreed to it and it lay in *scope* (`check`, install).

    `path` has no link but perhaps its last part. One that lies in a capability root already is judged where it
    lies, whatever *scope* says.
    """

    path: str
    scope: Scope


@frozen(eq=False)
class Sources:
    """Everything discovery reads from. `decisions` gives what is on record for (canonical root, id);
    `granted_gates` the gate points kept in the served project's grants by id; `trusted` the content
    hashes named for this run by id; `store_path` where a granted bundle's copy lies.
    """

    files: Files
    product: Product
    roots: Roots
    codec: Codec
    decisions: Callable[[str, str], Decisions]
    granted_gates: FrozenDict[str, tuple[str, ...]] = EMPTY
    trusted: FrozenDict[str, frozenset[str]] = EMPTY
    store_path: Callable[[str], str] = field(default=lambda content_hash: content_hash)
    probe: Probe | None = None
