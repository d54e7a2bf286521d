"""One composition: everything that goes into a load, gathered once, and everything that comes out of it.

Every consumer (load, list, explain, check, render) goes through `compose`; there is no second path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from .context import LoadContext
from .model.candidate import Candidate
from .model.codes import SkipCode
from .model.cohort import Cohort
from .model.frozen import FrozenDict
from .model.registry import Registry
from .pipeline import Notify, SealedStages, run
from .product import Product
from .reading.codec import Codec, Grammar
from .reading.files import Files
from .reading.roots import Roots
from .reading.sources import Probe, Sources
from .registry.builder import build_registry
from .trust.consent import ConsentStore
from .trust.store import BundleStore

if TYPE_CHECKING:
    from .extending.manager import OpenHooks

__all__ = ["Composition", "baseline_of", "bundle_store", "codec_of", "compose", "consent_store", "previous_store"]


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
    extensions: OpenHooks | None = None

    @property
    def roots(self) -> Roots:
        return self.context.roots

    @property
    def advisories(self) -> tuple[str, ...]:
        """What an operator must hear about the host's own extensions."""
        return () if self.extensions is None else tuple(self.extensions.advisories)


def report(composition: Composition, notify: Notify, seconds: float) -> None:
    """Tell observers how a load ended, one event per candidate and silenced gate."""
    overlay = composition.registry.overlay
    accepted = overlay.accepted if overlay is not None else {}
    skips = overlay.warnings if overlay is not None else ()
    for c in composition.cohort.candidates:
        if c.id in accepted and c.capability is not None:
            version = c.capability.version
            notify(
                "candidate-accepted",
                id=c.id,
                version=version,
                scope=c.scope.label,
                where=c.where,
                content_hash=c.content_hash,
            )
            if c.consent.state == "granted":
                project = composition.roots.served_path
                notify(
                    "consent-used",
                    id=c.id,
                    project=project,
                    content_hash=c.content_hash,
                    run_only=c.consent.run_only,
                )
    for s in skips:
        notify(
            "candidate-skipped",
            id=s.id,
            scope=s.scope.label,
            where=s.where,
            stage=s.stage,
            code=s.code.value,
            reason=s.reason,
            by=s.by,
            gates=s.gates,
        )
    for g in overlay.blocked_gates if overlay is not None else ():
        notify("gate-silenced", id=g.cap_id, scope=g.scope.label, point=g.point, code=g.code.value, reason=g.reason)
    whole = next((s for s in skips if s.id == "*" and s.code is SkipCode.WHOLE_SET), None)
    if whole is not None:
        notify("fallback", reason=whole.reason, culprits=whole.culprits)
    notify(
        "load-finished",
        accepted=len(accepted),
        skipped=len(skips),
        fell_back=whole is not None,
        seconds=round(seconds, 6),
    )


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


def previous_store(product: Product, files: Files, roots: Roots) -> BundleStore:
    """Versions that an update replaced, for going back to; beside the other stores and under their conditions."""
    return BundleStore(
        roots.home.given, product.name, files, product.limits, usable=roots.store_refusal, folder="previous"
    )


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
    probe: Probe | None = None,
    extensions: OpenHooks | None = None,
) -> Composition:
    """Compose what lies under *roots*. *trusted* maps ids to content hashes named for this run.

    With a *probe* the folder it names takes part as if it lay in its scope and were agreed to. *extensions*
    review what stands and hear what happens.
    """
    started = perf_counter()
    notify = extensions.emit if extensions is not None and extensions.listening else None
    if notify is not None:
        notify("load-started", home=roots.home_path, project=roots.served_path, host_version=host_version)
    store, bundles = consent_store(product, files, roots), bundle_store(product, files, roots)
    health = store.health()
    baseline = baseline_of(product)
    context = LoadContext(product, host_version, baseline, roots, command, config_home, health.problem, health.remedy)
    served = roots.served_path
    with store.open_view() as view:
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
        review = extensions.review if extensions is not None and extensions.reviewing else None
        registry, line = run(stages, sources, context, review, notify)
    if extensions is not None and registry.overlay is not None and extensions.names:
        registry = evolve(registry, overlay=evolve(registry.overlay, extensions=extensions.names))
    composition = Composition(registry, line.reached, line.seen, context, extensions)
    if notify is not None:
        report(composition, notify, perf_counter() - started)
    return composition
