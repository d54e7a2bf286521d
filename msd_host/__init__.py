"""MSD host: a plugin host for capabilities that somebody else wrote (spec 00, spec 70).

    from msd_host import load_registry
    registry = load_registry(include_installed=True)

Names are imported on first use: `import msd_host` alone loads no engine.
"""

from __future__ import annotations

from .version import __version__

TYPE_CHECKING = False  # type checkers take it for true; importing `typing` would double the time of `msd --version`
if TYPE_CHECKING:
    from msd_hookspecs import hookimpl

    from .activation.surface import Surface
    from .api import cli_main, load_registry
    from .check import CheckResult
    from .composition import Composition
    from .contract import LoopContract, LoopStep
    from .dispatch import CommandContext, CommandFailed
    from .doctor.values import Diagnosis, Finding
    from .errors import (
        BusyError,
        ConsentNeeded,
        ConsentStoreError,
        DamagedState,
        ExtensionRefused,
        HostIntegrityError,
        LifecycleError,
        ManifestError,
        MSDError,
        NotFound,
        Refused,
        UsageError,
    )
    from .explain import Explanation
    from .extending.values import Event, PredicateKind, PredicateVerdict, ReviewCandidate, ReviewContext, Veto
    from .host import Host
    from .lifecycle.desk import Lifecycle
    from .limits import Limits
    from .loop.gates import GateReport, GateResult
    from .model.candidate import Candidate
    from .model.capability import Capability
    from .model.codes import SkipCode
    from .model.cohort import Skip
    from .model.fault import Diagnostic, Fault
    from .model.registry import PointHooks, Registry
    from .model.report import BlockedGate, OverlayReport, StageTrace
    from .model.scope import Scope
    from .msd import MSD
    from .product import CentralSchema, FirstParty, Product
    from .reading.files import Files
    from .registry.sources import central_schema_from, first_party_from
    from .trust.desk import TrustDesk

_HOMES = {
    "BusyError": "errors",
    "CheckResult": "check",
    "CommandContext": "dispatch",
    "CommandFailed": "dispatch",
    "Composition": "composition",
    "ConsentNeeded": "errors",
    "DamagedState": "errors",
    "GateReport": "loop.gates",
    "GateResult": "loop.gates",
    "Lifecycle": "lifecycle.desk",
    "LifecycleError": "errors",
    "Surface": "activation.surface",
    "TrustDesk": "trust.desk",
    "cli_main": "api",
    "load_registry": "api",
    "LoopContract": "contract",
    "LoopStep": "contract",
    "Diagnosis": "doctor.values",
    "Finding": "doctor.values",
    "ConsentStoreError": "errors",
    "ExtensionRefused": "errors",
    "HostIntegrityError": "errors",
    "MSDError": "errors",
    "ManifestError": "errors",
    "NotFound": "errors",
    "Refused": "errors",
    "UsageError": "errors",
    "Explanation": "explain",
    "Event": "extending.values",
    "PredicateKind": "extending.values",
    "PredicateVerdict": "extending.values",
    "ReviewCandidate": "extending.values",
    "ReviewContext": "extending.values",
    "Veto": "extending.values",
    "Host": "host",
    "Limits": "limits",
    "Candidate": "model.candidate",
    "Capability": "model.capability",
    "SkipCode": "model.codes",
    "Skip": "model.cohort",
    "Diagnostic": "model.fault",
    "Fault": "model.fault",
    "PointHooks": "model.registry",
    "Registry": "model.registry",
    "BlockedGate": "model.report",
    "OverlayReport": "model.report",
    "StageTrace": "model.report",
    "Scope": "model.scope",
    "MSD": "msd",
    "CentralSchema": "product",
    "FirstParty": "product",
    "Product": "product",
    "Files": "reading.files",
    "central_schema_from": "registry.sources",
    "first_party_from": "registry.sources",
}

__all__ = [
    "MSD",
    "BlockedGate",
    "BusyError",
    "Candidate",
    "Capability",
    "CentralSchema",
    "CheckResult",
    "CommandContext",
    "CommandFailed",
    "Composition",
    "ConsentNeeded",
    "ConsentStoreError",
    "DamagedState",
    "Diagnosis",
    "Diagnostic",
    "Event",
    "Explanation",
    "ExtensionRefused",
    "Fault",
    "Files",
    "Finding",
    "FirstParty",
    "GateReport",
    "GateResult",
    "Host",
    "HostIntegrityError",
    "Lifecycle",
    "LifecycleError",
    "Limits",
    "LoopContract",
    "LoopStep",
    "MSDError",
    "ManifestError",
    "NotFound",
    "OverlayReport",
    "PointHooks",
    "PredicateKind",
    "PredicateVerdict",
    "Product",
    "Refused",
    "Registry",
    "ReviewCandidate",
    "ReviewContext",
    "Scope",
    "Skip",
    "SkipCode",
    "StageTrace",
    "Surface",
    "TrustDesk",
    "UsageError",
    "Veto",
    "__version__",
    "central_schema_from",
    "cli_main",
    "first_party_from",
    "hookimpl",
    "load_registry",
]


def __getattr__(name: str) -> object:
    if name == "hookimpl":
        from msd_hookspecs import hookimpl

        return hookimpl
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
