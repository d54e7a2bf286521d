"""The version that fits this host, where the newest does not (spec 30, Install)."""

from __future__ import annotations

from pathlib import Path

import pytest

from msd_host.errors import LifecycleError
from msd_host.lifecycle.sources import fetch
from msd_host.lifecycle.sources.source import Available, Source, parse_source
from msd_host.lifecycle.sources.terms import Terms
from tests.lifecycle.ground import Bench

TOO_NEW = {"engines": {"msd": ">=99.0.0"}, "compatVersions": {"1.5.0": ">=1.0.0", "1.4.0": ">=1.0.0", "2.0.0": ">=99"}}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def offer(monkeypatch: pytest.MonkeyPatch, bench: Bench, *versions: str) -> None:
    """The source can give *versions*, newest first: each is a folder of its own, as a tag would be."""
    there: list[Available] = []
    for version in versions:
        folder = bench.source(version=version, text=version).rename(bench.root / f"acme-{version}")
        there.append(Available(version, parse_source(str(folder), base=bench.root)))

    def available(source: Source, terms: Terms) -> tuple[Available, ...]:
        return tuple(there)

    monkeypatch.setattr(fetch, "available", available)


def test_the_newest_that_fits_is_taken_and_the_source_stays_as_it_was_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, bench, "1.5.0", "1.4.0", "1.3.0")
    source = bench.source(version="2.0.0", **TOO_NEW)
    assert bench.install(source).version == "1.5.0"
    assert bench.ledger()["acme"]["source"] == str(source), "so that an update finds what comes next"
    assert "acme" in bench.accepted() and not bench.leftovers()
    assert bench.update().status == "unchanged"


def test_of_those_that_fit_only_what_the_source_has(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, bench, "1.4.0")
    assert bench.install(bench.source(version="2.0.0", **TOO_NEW)).version == "1.4.0"


@pytest.mark.parametrize("has", [(), ("1.3.0",)], ids=["nothing", "none-that-fits"])
def test_where_the_source_has_none_the_version_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, has: tuple[str, ...]
) -> None:
    offer(monkeypatch, bench, *has)
    with pytest.raises(LifecycleError) as error:
        bench.install(bench.source(version="2.0.0", **TOO_NEW))
    assert error.value.code == "engines-unsatisfied" and "1.5.0 is for this host" in error.value.message
    assert bench.ledger() == {} and not bench.leftovers()


def test_what_claims_to_fit_and_does_not_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, bench, "1.5.0")
    bench.plant(bench.root / "acme-1.5.0", (bench.source(version="2.0.0", **TOO_NEW) / "capability.json").read_text())
    with pytest.raises(LifecycleError) as error:
        bench.install(bench.root / "sources" / "acme")
    assert error.value.code == "engines-unsatisfied" and bench.ledger() == {}
