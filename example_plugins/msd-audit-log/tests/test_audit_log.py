"""The chain finds every tampering, survives concurrent writers and rotation, and hears a real load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault("MSD_AUDIT_LOG", os.devnull + "-never-written")

import msd_audit_log
from msd_audit_log import AuditLog, Broken, verify
from msd_audit_log.command import main

from msd_host import Event, Host, hookimpl
from msd_host.testing import World


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    found = AuditLog(tmp_path / "log" / "audit.jsonl", "never")
    for number in range(6):
        found.append({"kind": "test", "n": number}, float(number))
    return found


def lines(log: AuditLog) -> list[bytes]:
    return log.path.read_bytes().splitlines(keepends=True)


def test_a_whole_log_verifies(log: AuditLog) -> None:
    count, head = verify(log)
    assert count == 6 and len(head) == 64


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("how", ["edit", "cut", "swap", "forge", "truncate"])
def test_any_tampering_is_found(log: AuditLog, at: int, how: str) -> None:
    rows = lines(log)
    if how == "edit":
        rows[at] = rows[at].replace(b'"n":%d' % at, b'"n":99')
    elif how == "cut":
        del rows[at]
    elif how == "swap":
        other = (at + 1) % 6
        rows[at], rows[other] = rows[other], rows[at]
    elif how == "forge":
        record = json.loads(rows[at])
        record["event"]["n"] = 99
        from msd_audit_log import chain

        record["hash"] = chain._hash(record)
        rows[at] = chain._canonical(record) + b"\n"
    else:
        rows = rows[:at]
    log.path.write_bytes(b"".join(rows))
    with pytest.raises(Broken):
        verify(log)


def test_a_head_noted_elsewhere_finds_a_rewritten_log(log: AuditLog) -> None:
    count, head = verify(log)
    for path in log.path.parent.iterdir():
        path.unlink()
    for number in range(6):
        log.append({"kind": "test", "n": -number}, 0.0)
    verify(log)
    with pytest.raises(Broken, match="noted elsewhere"):
        verify(log, f"{count} {head}")


def test_rotation_goes_on_with_the_chain(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", "never", rotate_bytes=400)
    for number in range(12):
        log.append({"n": number}, 0.0)
    assert len(log.files()) > 3
    assert verify(log)[0] == 12
    log.rotated()[1].unlink()
    with pytest.raises(Broken):
        verify(log)


def test_a_writer_that_died_in_a_line_is_seen_and_swallows_nothing(log: AuditLog) -> None:
    with open(log.path, "ab") as stream:
        stream.write(b'{"seq": 7, "half')
    log.append({"n": "after"}, 0.0)
    assert json.loads(lines(log)[-1])["event"] == {"n": "after"}
    with pytest.raises(Broken, match="not a whole record"):
        verify(log)


def test_concurrent_processes_keep_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    script = (
        "import sys; from pathlib import Path; from msd_audit_log.chain import AuditLog\n"
        "log = AuditLog(Path(sys.argv[1]), 'never', 2000)\n"
        "for n in range(25): log.append({'who': sys.argv[2], 'n': n}, 0.0)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), str(i)]) for i in range(6)]
    assert [p.wait() for p in running] == [0] * 6
    assert verify(AuditLog(path))[0] == 150


def test_it_hears_a_load(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", "never")

    class Observer:
        @hookimpl
        def msd_observe(self, event: Event) -> None:
            document = event.to_dict()
            log.append(document, document.pop("at"))

    world = World(tmp_path / "world")
    world.add_global("acme")
    world.add_project(
        "inert", gates=[{"point": "ship:pre", "check": {"query": "q"}, "blocking": True, "onError": "halt"}]
    )
    Host(world.host.product, home=world.home, extensions=[Observer()]).load(cwd=world.project)
    events = [json.loads(row)["event"] for row in lines(log)]
    assert {"candidate-accepted", "candidate-skipped", "gate-silenced", "load-finished"} <= {e["kind"] for e in events}
    assert verify(log)[0] == len(events)


def test_the_host_admits_it() -> None:
    from msd_host.extending.admission import admit

    assert admit(msd_audit_log, "x:y").observe is not None


def test_the_command(log: AuditLog, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(log.path)]) == 0
    assert "whole: 6 records" in capsys.readouterr().out
    rows = lines(log)
    log.path.write_bytes(b"".join(rows[:2] + rows[3:]))
    assert main(["verify", str(log.path)]) == 1
    assert "TAMPERED" in capsys.readouterr().err
