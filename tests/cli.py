"""Running the command line as a user does: a process of its own, or in a pseudo terminal where a person answers."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from attrs import frozen


@frozen
class Done:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def error(self) -> Any:
        """The JSON error on the last line of stderr."""
        return json.loads(self.err.strip().splitlines()[-1])


def environment(home: Path, **extra: str) -> dict[str, str]:
    """The process environment with everything of ours out of it."""
    out = ("NO_COLOR", "PYTHONPATH", "COLUMNS", "LINES")
    env = {k: v for k, v in os.environ.items() if not k.startswith("MSD_") and k not in out}
    return {**env, "MSD_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", **_reach(), **extra}


def _reach() -> dict[str, str]:
    """Where the packages under test lie, should they not be installed."""
    import msd_hookspecs

    import msd_host

    places = {str(Path(m.__file__ or "").parents[1]) for m in (msd_host, msd_hookspecs)}
    return {"PYTHONPATH": os.pathsep.join(sorted(places))}


def msd(world: Any, *words: str, cwd: Path | None = None, **env: str) -> Done:
    """`msd WORDS` in the world's project, without a terminal."""
    done = subprocess.run(
        [sys.executable, "-P" if sys.version_info >= (3, 11) else "-s", "-m", "msd_host", *words],
        cwd=cwd or world.project,
        env=environment(world.home, **env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def is_gone(pid_file: Path) -> bool:
    """Whether the process that wrote its number there has ended; it may need a moment to be reaped."""
    pid = int(pid_file.read_text())
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z":
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False


def heard() -> None:
    """Hear every signal in a new process, also those that whoever runs the tests ignores."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def msd_on_terminal(world: Any, *words: str, typed: str = "", eof: bool = False) -> Done:
    """`msd WORDS` in a pseudo terminal; *typed* is entered at the first question."""
    pid, fd = pty.fork()
    if pid == 0:  # pragma: no cover - the child becomes another program
        os.chdir(world.project)
        heard()
        argv = [sys.executable, "-s", "-m", "msd_host", *words]
        os.execve(sys.executable, argv, environment(world.home, TERM="dumb"))
    seen, answered, deadline = "", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data.decode(errors="replace")
        if not answered and "[y/N]" in seen:
            answered = True
            os.write(fd, b"\x04" if eof else typed.encode())
    else:
        os.kill(pid, signal.SIGKILL)  # an answer that never comes fails its test and holds up no other
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return Done(os.waitstatus_to_exitcode(status), seen.replace("\r\n", "\n"), "")
