"""An MSD observer that keeps a hash-chained audit log.

`MSD_AUDIT_LOG` names the file (default `~/.local/state/msd-audit/audit.jsonl`), `MSD_AUDIT_FSYNC` is `always` or
`never`, `MSD_AUDIT_ROTATE` the size in bytes at which a new file begins. What cannot be written raises; the host
makes that one advisory, which the operator sees at every run.
"""

from __future__ import annotations

import os
from pathlib import Path

from msd_host import Event, hookimpl

from .chain import AuditLog, Broken, verify

__all__ = ["AuditLog", "Broken", "configured", "msd_observe", "verify"]


def configured() -> AuditLog:
    """The log that the environment names."""
    named = os.environ.get("MSD_AUDIT_LOG")
    path = Path(named) if named else Path.home() / ".local" / "state" / "msd-audit" / "audit.jsonl"
    fsync = os.environ.get("MSD_AUDIT_FSYNC", "always")
    if fsync not in ("always", "never"):
        raise ValueError("MSD_AUDIT_FSYNC is always or never")
    return AuditLog(path, fsync, int(os.environ.get("MSD_AUDIT_ROTATE", str(16 * 1024 * 1024))))


_LOG = configured()


@hookimpl
def msd_observe(event: Event) -> None:
    """Append the event. Stages are left out: they say nothing that the candidates' events do not."""
    if not event.kind.startswith("stage-"):
        document = event.to_dict()
        document.pop("at")
        _LOG.append(document, event.at)
