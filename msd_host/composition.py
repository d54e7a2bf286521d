"""One composition: everything that goes into a load, gathered once, and everything that comes out of it.

Every consumer (load, list, explain, check, render) goes through `compose`; there is no second path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import frozen

from .context import LoadContext
from .model.candidate import Candidate
from .model.cohort import Cohort
from .model.frozen import FrozenDict
from .model.registry import Registry
from .pipeline import Review, SealedStages, run
from .product import Product
from .reading.bundles import Probe, Sources
from .reading.codec import Codec, Grammar
from .reading.files import Files
from .reading.roots import Roots
from .registry.builder import build_registry
from .trust.consent import ConsentStore
from .trust.store import BundleStore

__all__ = ["Composition", "baseline_of", "bundle_store", "codec_of", "compose", "consent_store"]


@frozen(eq=False)
class Composition:
    """`registry` is the answer; the rest is the evidence that `explain`, `list` and `trust` print.

    `cohort` is what stood at the end with every skip; `seen` is every candidate in its final scope,
    whatever became of it.
    """

    registry: Registry
    cohort: Cohort
    seen: tuple[Candidate, ...]
    context: LoadContext

    @property
    def roots(self) -> Roots:
        return self.context.roots


def baseline_of(product: Product) -> Registry:
    """The frozen first-party registry of *product*: the same object every time."""
    return product.first_party.derived(
        ("registry", product.contract), lambda: build_registry(product.first_party.capabilities, product.contract)
    )


def codec_of(product: Product) -> Codec:
    """The product's one manifest decoder."""
    return product.first_party.derived(
        ("codec", product.contract, product.name, product.skill_prefix, product.limits),
        lambda: Codec(Grammar(frozenset(product.contract.points), product.skill_prefix, product.name), product.limits),
    )


def consent_store(product: Product, files: Files, roots: Roots) -> ConsentStore:
    """The consent store beside the home, refused as a whole where it lies on the served project's ground."""
    return ConsentStore(roots.home.given, product.name, files, product.limits, usable=roots.store_refusal)


def bundle_store(product: Product, files: Files, roots: Roots) -> BundleStore:
    """The copies of granted bundles beside the home, refused together with the consent store."""
    return BundleStore(roots.home.given, product.name, files, product.limits, usable=roots.store_refusal)


def compose(
    product: Product,
    stages: SealedStages,
    roots: Roots,
    *,
    files: Files,
    host_version: str,
    command: str,
    config_home: str | None = None,
    trusted: Mapping[str, Iterable[str]] | None = None,
    review: Review | None = None,
    probe: Probe | None = None,
) -> Composition:
    """Compose what lies under *roots*. *trusted* maps ids to content hashes named for this run.

    With a *probe* the folder it names takes part as if it lay in its scope and were agreed to.
    """
    context = LoadContext(product, host_version, baseline_of(product), roots, command, config_home)
    bundles = bundle_store(product, files, roots)
    served = roots.served_path
    with consent_store(product, files, roots).open_view() as view:
        sources = Sources(
            files=files,
            product=product,
            roots=roots,
            codec=codec_of(product),
            decisions=view.decisions,
            granted_gates=FrozenDict({g.id: g.gates for g in view.grants_at(served)} if served else {}),
            trusted=FrozenDict({id: frozenset(hashes) for id, hashes in (trusted or {}).items()}),
            store_path=bundles.path_of,
            probe=probe,
        )
        registry, line = run(stages, sources, context, review)
    return Composition(registry, line.reached, line.seen, context)
