"""Every public name as somebody uses it; `tests/test_typed.py` checks it with mypy in strict mode. Never run."""

from __future__ import annotations

from pathlib import Path

import msd_host
from msd_host import (
    MSD,
    BlockedGate,
    BusyError,
    Candidate,
    Capability,
    CentralSchema,
    CheckResult,
    CommandContext,
    CommandFailed,
    Composition,
    ConsentNeeded,
    ConsentStoreError,
    DamagedState,
    Diagnosis,
    Diagnostic,
    Event,
    Explanation,
    ExtensionRefused,
    Fault,
    Files,
    Finding,
    FirstParty,
    GateReport,
    GateResult,
    Host,
    HostIntegrityError,
    Lifecycle,
    LifecycleError,
    Limits,
    LoopContract,
    LoopStep,
    ManifestError,
    MSDError,
    NotFound,
    OverlayReport,
    PointHooks,
    PredicateKind,
    PredicateVerdict,
    Product,
    Refused,
    Registry,
    ReviewCandidate,
    ReviewContext,
    Scope,
    Skip,
    SkipCode,
    StageTrace,
    Surface,
    TrustDesk,
    UsageError,
    Veto,
    central_schema_from,
    cli_main,
    first_party_from,
    hookimpl,
    load_registry,
)

ERRORS: tuple[type[MSDError], ...] = (
    BusyError,
    CommandFailed,
    ConsentNeeded,
    ConsentStoreError,
    DamagedState,
    ExtensionRefused,
    HostIntegrityError,
    LifecycleError,
    ManifestError,
    NotFound,
    Refused,
    UsageError,
)


class Policy:
    @hookimpl
    def msd_review(self, candidate: ReviewCandidate, context: ReviewContext) -> Veto | None:
        return Veto(f"not in {context.product}") if candidate.scope == "project" else None

    @hookimpl
    def msd_observe(self, event: Event) -> None:
        print(event.kind, event.data)

    @hookimpl
    def msd_predicate_kinds(self) -> list[PredicateKind]:
        return []


def verdict(yes: bool) -> PredicateVerdict:
    return PredicateVerdict(yes, "because")


def product(folder: Path) -> Product:
    contract = LoopContract((LoopStep("build", ("build:pre", "build:post"), ("builder",)),))
    first: FirstParty = first_party_from(folder, contract=contract, product_name="relay")
    schema: CentralSchema = central_schema_from(folder / "schema.json")
    return Product(
        name="relay",
        title="Relay",
        version="1.0.0",
        contract=contract,
        first_party=first,
        central_schema=schema,
        limits=Limits(),
    )


def registry(home: Path, project: Path) -> Registry:
    found = load_registry(include_installed=True, home=home, cwd=project, extensions=[Policy()])
    capability: Capability = found.capabilities["acme"]
    hooks: PointHooks = found.by_loop_point["plan:pre"]
    report: OverlayReport | None = found.overlay
    if report is not None:
        skips: tuple[Skip, ...] = report.warnings
        gates: tuple[BlockedGate, ...] = report.blocked_gates
        notes: tuple[Diagnostic, ...] = report.diagnostics
        trace: tuple[StageTrace, ...] = report.trace
        print([s.code is SkipCode.REQUIRES for s in skips], gates, notes, trace)
    print(capability.version, hooks.steps)
    return found


def whole_host(project: Path) -> None:
    host = Host(MSD, files=Files(), discover_extensions=False)
    explained: Explanation = host.explain("acme", cwd=project)
    checked: CheckResult = host.check(project, cwd=project, scope=Scope.PROJECT)
    faults: tuple[Fault, ...] = checked.faults
    report: GateReport = host.check_gates("ship:pre", cwd=project)
    results: tuple[GateResult, ...] = report.gates
    desk: TrustDesk = host.trust
    surface: Surface = host.surface
    lifecycle: Lifecycle = host.lifecycle(project)
    diagnosis: Diagnosis = host.doctor(project)
    findings: tuple[Finding, ...] = diagnosis.findings
    composition: Composition = host.compose(project)
    seen: tuple[Candidate, ...] = composition.seen
    print(explained.state, faults, results, desk.status(project), findings, seen)
    print(surface.show(composition).profile, lifecycle.pending())


def router(args: list[str], context: CommandContext) -> int:
    print(args, context.project)
    return 0


def main() -> int:
    print(msd_host.__version__)
    return cli_main(MSD, ["--version"])
