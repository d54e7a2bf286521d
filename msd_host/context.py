"""The fixed inputs of one load: one host version, one baseline, one set of names to print."""

from __future__ import annotations

from attrs import frozen

from .model.registry import Registry
from .product import Product
from .reading.roots import Roots

__all__ = ["LoadContext"]


@frozen(eq=False)
class LoadContext:
    """What the pure stages may look at besides the candidates.

    `command` is the start of every remedy: the executable and the global options this load ran with.
    `config_home` confines the destinations of runtime descriptors, where given. `store_problem` says why no
    decision of the user counts here, `store_remedy` what makes the consent store usable again.
    """

    product: Product
    host_version: str
    baseline: Registry
    roots: Roots
    command: str
    config_home: str | None = None
    store_problem: str | None = None
    store_remedy: str | None = None
