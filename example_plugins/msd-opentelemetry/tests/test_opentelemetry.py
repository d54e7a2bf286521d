"""Spans and counts of real loads, in memory and over OTLP to a local receiver."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msd_opentelemetry
import pytest
from msd_opentelemetry import Telemetry
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from msd_host import Event, Host, ReviewCandidate, Veto, hookimpl
from msd_host.testing import ExtensionSuite, World


class TestSuite(ExtensionSuite):
    extension = msd_opentelemetry


class Observer:
    def __init__(self, telemetry: Telemetry) -> None:
        self.telemetry = telemetry

    @hookimpl
    def msd_observe(self, event: Event) -> None:
        self.telemetry.observe(event)


class Policy:
    @hookimpl
    def msd_review(self, candidate: ReviewCandidate) -> Veto | None:
        return Veto("no") if candidate.id == "vetoed" else None


def load(tmp_path: Path, telemetry: Telemetry) -> None:
    world = World(tmp_path)
    gate = {"point": "ship:pre", "check": {"query": "q"}, "blocking": True, "onError": "halt"}
    world.add_global("fine")
    world.add_global("vetoed", gates=[gate])
    world.add_global("old", engines={"msd": ">=99"})
    extensions = [("otel", Observer(telemetry)), ("org", Policy())]
    Host(world.host.product, home=world.home, extensions=extensions).load(cwd=world.project)


@pytest.fixture
def sdk() -> Iterator[tuple[TracerProvider, InMemorySpanExporter, MeterProvider, InMemoryMetricReader]]:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers, meters = TracerProvider(), MeterProvider(metric_readers=[reader])
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    yield tracers, exporter, meters, reader
    tracers.shutdown()
    meters.shutdown()


def points(reader: InMemoryMetricReader) -> dict[str, dict[tuple[Any, ...], int]]:
    data = reader.get_metrics_data()
    assert data is not None
    found: dict[str, dict[tuple[Any, ...], int]] = {}
    for resource in data.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                values = {tuple(sorted(p.attributes.values())): p.value for p in metric.data.data_points}  # type: ignore[union-attr]
                found[metric.name] = values  # type: ignore[assignment]
    return found


def test_a_load_is_one_trace_with_a_span_per_stage(tmp_path: Path, sdk: Any) -> None:
    tracers, exporter, meters, _ = sdk
    load(tmp_path, Telemetry(tracers, meters))
    spans = {s.name: s for s in exporter.get_finished_spans()}
    root = spans["msd.load"]
    assert root.attributes["msd.overlays.accepted"] == 1 and root.attributes["msd.overlays.skipped"] == 2
    assert root.attributes["msd.fell_back"] is False
    names = {"discover", "scope_dedupe", "consent", "collision", "cross_validation", "build", "given:org"}
    assert {f"msd.stage {n}" for n in names} <= set(spans)
    children = [s for s in exporter.get_finished_spans() if s.name != "msd.load"]
    assert all(s.parent is not None and s.parent.span_id == root.context.span_id for s in children)
    assert all(s.start_time <= s.end_time for s in children)
    assert spans["msd.stage given:org"].attributes["msd.stage.dropped"] == 1


def test_counters(tmp_path: Path, sdk: Any) -> None:
    tracers, _, meters, reader = sdk
    load(tmp_path, Telemetry(tracers, meters))
    found = points(reader)
    assert found["msd.overlay.skips"] == {("collision", "engines-unsatisfied"): 1, ("review", "vetoed"): 1}
    assert found["msd.overlay.vetoes"] == {("given:org",): 1}
    assert found["msd.gates.silenced"] == {("ship:pre",): 1}


class Receiver(BaseHTTPRequestHandler):
    got: list[ExportTraceServiceRequest] = []

    def do_POST(self) -> None:
        request = ExportTraceServiceRequest()
        request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
        Receiver.got.append(request)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Quiet."""


def test_spans_arrive_over_otlp(tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        tracers = TracerProvider()
        endpoint = f"http://127.0.0.1:{server.server_port}/v1/traces"
        tracers.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
        load(tmp_path, Telemetry(tracers))
        tracers.shutdown()
    finally:
        server.shutdown()
        server.server_close()
    names = [
        span.name
        for request in Receiver.got
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert "msd.load" in names and "msd.stage collision" in names
