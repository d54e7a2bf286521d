"""Prints the conformance table at the end of a run that took part in it, whether it passed or failed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.tally import Tally

TALLY = pytest.StashKey[Tally]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[TALLY] = Tally()


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    return request.config.stash[TALLY]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its counts to the process that prints them."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["conformance"] = session.config.stash[TALLY].counts()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    counts = getattr(node, "workeroutput", {}).get("conformance")
    if counts is not None:
        node.config.stash[TALLY].merge(*counts)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    found = config.stash[TALLY]
    if found.cases:
        terminalreporter.section("conformance")
        for line in found.lines():
            terminalreporter.write_line(line)
