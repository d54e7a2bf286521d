"""Small in-memory worlds: the real pipeline over candidates that were never on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from msd_host import Capability, FirstParty, Product, Registry, Scope
from msd_host.composition import baseline_of
from msd_host.context import LoadContext
from msd_host.model.candidate import Candidate, Consent
from msd_host.model.cohort import Discovered
from msd_host.model.frozen import freeze
from msd_host.pipeline import FIRST_PARTY_STAGES, Line, Review, SealedStages, run
from msd_host.reading.codec import salvage_points
from msd_host.reading.roots import Canonical, Roots
from msd_host.stages import discover
from msd_host.stages.marker import stage
from tests.planted import bare_product, manifest

ROOTS = Roots(
    Canonical("/home", "there", "/home", (1, 1)),
    Canonical("/home/g", "there", "/home/g", (1, 2)),
    Scope.GLOBAL,
    "by construction",
    Canonical("/p", "there", "/p", (1, 3)),
    Canonical("/p/r", "there", "/p/r", (1, 4)),
    False,
    Canonical("/home", "there", "/home", (1, 1)),
    None,
)


class FromMemory:
    """Stands in for the stage that reads."""

    @staticmethod
    @stage
    def msd_stage_discover(sources: Any, context: LoadContext) -> Discovered:
        return Discovered(tuple(sources))


def stages(**replaced: object) -> SealedStages:
    """The real stages with discovery from memory; *replaced* puts another object in a stage's place."""
    own = [FromMemory if s is discover else s for s in FIRST_PARTY_STAGES]
    names = [s.__name__.rpartition(".")[2] if hasattr(s, "__name__") else "" for s in FIRST_PARTY_STAGES]
    return SealedStages([replaced.get(n, s) for n, s in zip(names, own)])


def candidate(document: dict[str, Any], scope: Scope = Scope.GLOBAL, consent: str | None = None) -> Candidate:
    capability = Capability(freeze(document))
    state = consent or ("global" if scope is Scope.GLOBAL else "granted")
    root = "/home/g" if scope is Scope.GLOBAL else "/p/r"
    gates = salvage_points(capability.raw, bare_product().contract.points)
    where = f"{root}/{capability.id}"
    return Candidate(capability.id, scope, root, where, Consent(state), capability=capability, gates=gates)


def product_of(first_party: Sequence[dict[str, Any]] = ()) -> Product:
    own = tuple(Capability(freeze(m)) for m in sorted(first_party, key=lambda m: m["id"]))
    import attrs

    return attrs.evolve(bare_product(), first_party=FirstParty(lambda: own))


def compose(
    candidates: Sequence[Candidate],
    product: Product | None = None,
    review: Review | None = None,
    sealed: SealedStages | None = None,
) -> tuple[Registry, Line]:
    used = product or product_of()
    context = LoadContext(used, "1.0.0", baseline_of(used), ROOTS, "msd")
    return run(sealed or stages(), list(candidates), context, review)  # type: ignore[arg-type]


def accepted(registry: Registry) -> set[str]:
    return set(registry.overlay.accepted) if registry.overlay is not None else set()


def fell_back(registry: Registry) -> bool:
    overlay = registry.overlay
    return overlay is not None and any(s.id == "*" for s in overlay.warnings)


IDS = ("aa", "bb", "cc", "dd", "ee", "ff")
ARTIFACTS = ("X.md", "Y.md", "Z.md", "CONTEXT.md")
POINTS = ("discuss:post", "plan:pre", "plan:post", "verify:pre")


@st.composite
def hooks(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    point = draw(st.sampled_from(POINTS))
    flow = st.lists(st.sampled_from(ARTIFACTS), max_size=2, unique=True)
    body: dict[str, Any] = {"point": point, "produces": draw(flow), "consumes": draw(flow)}
    if kind == "step":
        return {**body, "ref": {"command": "x"}, "onError": "skip"}
    role = {"discuss": "orchestrator", "plan": "planner", "verify": "orchestrator"}[point.partition(":")[0]]
    return {**body, "into": role, "fragment": {"inline": "t"}}


@st.composite
def documents(draw: st.DrawFn, id: str) -> dict[str, Any]:
    """A well-formed manifest of *id* out of a small stock of names, so that they meet."""
    names = st.lists(st.sampled_from(["s1", "s2", "S1", "s3"]), max_size=2, unique=True)
    others = st.lists(st.sampled_from(IDS), max_size=2, unique=True)
    keys = draw(st.lists(st.sampled_from(["k.a", "k.a.b", "k.b", "m"]), max_size=2, unique=True))
    slice_ = {"type": "boolean", "default": True, "description": "d"}
    gates = draw(st.lists(st.sampled_from(POINTS), max_size=2))
    return manifest(
        id,
        tier=draw(st.sampled_from(["core", "standard", "full"])),
        skills=draw(names),
        requires=draw(others),
        config={k: slice_ for k in keys},
        steps=draw(st.lists(hooks("step"), max_size=2)),
        contributions=draw(st.lists(hooks("contribution"), max_size=1)),
        gates=[{"point": p, "check": {"query": "q"}, "blocking": True, "onError": "halt"} for p in gates],
        engines={"msd": draw(st.sampled_from([">=1.0.0", ">=1.0.0", ">=1.0.0", ">=9"]))},
    )


@st.composite
def cohorts(draw: st.DrawFn) -> list[Candidate]:
    """Up to six candidates in either scope, some of them unconsented or denied."""
    ids = draw(st.lists(st.sampled_from(IDS), unique=True, max_size=6))
    found = []
    for id in ids:
        scope = draw(st.sampled_from([Scope.GLOBAL, Scope.GLOBAL, Scope.PROJECT]))
        state = draw(st.sampled_from(["granted", "granted", "granted", "unconsented", "changed", "denied"]))
        consent = state if scope is Scope.PROJECT or state == "denied" else None
        found.append(candidate(draw(documents(id)), scope, consent))
    return found
