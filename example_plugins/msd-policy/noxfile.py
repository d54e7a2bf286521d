"""This extension against every host version it claims to work with: `nox`.

Hosts are whatever pip installs: requirements, wheels or checkouts. Others than those below, without an edit:

    MSD_HOSTS="msd-host==1.0.0,./dist/msd_host-1.1.0-py3-none-any.whl" nox
"""

import os

import nox

HOSTS = ["msd-host~=1.0.0"]

nox.options.error_on_missing_interpreters = False
TRIED = [host.strip() for host in os.environ.get("MSD_HOSTS", ",".join(HOSTS)).split(",") if host.strip()]


@nox.session(python=["3.10", "3.11", "3.12", "3.13"])
@nox.parametrize("host", TRIED, ids=[os.path.basename(host) for host in TRIED])
def tests(session: nox.Session, host: str) -> None:
    session.install("pytest", host)
    session.install("--no-deps", ".")  # the host that was chosen stays
    session.install("tomli>=2; python_version < '3.11'")
    session.run("python", "-m", "pytest", "tests", *session.posargs)
