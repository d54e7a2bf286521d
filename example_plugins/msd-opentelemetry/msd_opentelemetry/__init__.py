"""An MSD observer on the OpenTelemetry API: a span per load with a child per stage, counters for skips and vetoes.

Which SDK, exporter and endpoint are used is the application's or the environment's business (`OTEL_*`, or
`opentelemetry-instrument msd …`); without an SDK all of this is a no-op.

Names: span `msd.load` with attributes `msd.overlays.accepted`, `msd.overlays.skipped`, `msd.fell_back`,
`msd.host.version`; child spans `msd.stage <name>` with `msd.stage.kept` and `msd.stage.dropped`; counters
`msd.overlay.skips` by `msd.skip.code` and `msd.stage`, `msd.overlay.vetoes` by `msd.extension`,
`msd.gates.silenced` by `msd.loop.point`.
"""

from __future__ import annotations

import time
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

from msd_host import Event, hookimpl

__all__ = ["Telemetry", "msd_observe"]

_SCOPE = "msd_opentelemetry"


class Telemetry:
    """Turns events into spans and counts. Providers may be handed in; by default they are the global ones."""

    def __init__(self, tracer_provider: Any = None, meter_provider: Any = None) -> None:
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        meter = metrics.get_meter(_SCOPE, meter_provider=meter_provider)
        self._skips = meter.create_counter("msd.overlay.skips", description="Overlays skipped, by code")
        self._vetoes = meter.create_counter("msd.overlay.vetoes", description="Vetoes, by extension")
        self._silenced = meter.create_counter("msd.gates.silenced", description="Gates not in force, by point")
        self._load: Span | None = None
        self._stages: list[tuple[str, Span]] = []

    def observe(self, event: Event) -> None:
        """Take one event; kinds without a meaning here are passed over."""
        handler = getattr(self, "_on_" + event.kind.replace("-", "_"), None)
        if handler is not None:
            handler(event)

    def _on_load_started(self, event: Event) -> None:
        attributes = {"msd.host.version": event.data["host_version"]}
        self._load = self._tracer.start_span("msd.load", attributes=attributes, start_time=_ns(event))

    def _on_stage_started(self, event: Event) -> None:
        if self._load is None:
            return
        parent = set_span_in_context(self._load)
        name = event.data["stage"]
        span = self._tracer.start_span(f"msd.stage {name}", context=parent, start_time=_ns(event))
        self._stages.append((name, span))

    def _on_stage_finished(self, event: Event) -> None:
        name = event.data["stage"]
        counts = {"msd.stage.kept": event.data["kept"], "msd.stage.dropped": event.data["dropped"]}
        if self._stages and self._stages[-1][0] == name:
            span = self._stages.pop()[1]
        elif self._load is not None:  # a downstream stage, or the build, which have no start of their own
            start = _ns(event) - int(event.data["seconds"] * 1e9)
            span = self._tracer.start_span(
                f"msd.stage {name}", context=set_span_in_context(self._load), start_time=start
            )
        else:
            return
        span.set_attributes(counts)
        span.end(end_time=_ns(event))

    def _on_candidate_skipped(self, event: Event) -> None:
        code, stage = event.data["code"], event.data["stage"]
        self._skips.add(1, {"msd.skip.code": code, "msd.stage": stage})
        if code in ("vetoed", "stage-error"):
            for extension in event.data["by"].split(", "):
                self._vetoes.add(1, {"msd.extension": extension})
        if self._load is not None:
            self._load.add_event("overlay skipped", {"msd.overlay.id": event.data["id"], "msd.skip.code": code})

    def _on_gate_silenced(self, event: Event) -> None:
        self._silenced.add(1, {"msd.loop.point": event.data["point"]})

    def _on_load_finished(self, event: Event) -> None:
        span, self._load = self._load, None
        for _, left in self._stages:
            left.end()
        self._stages.clear()
        if span is None:
            return
        span.set_attributes(
            {
                "msd.overlays.accepted": event.data["accepted"],
                "msd.overlays.skipped": event.data["skipped"],
                "msd.fell_back": event.data["fell_back"],
            }
        )
        if event.data["fell_back"]:
            span.set_status(Status(StatusCode.ERROR, "the whole set fell back to first-party"))
        span.end(end_time=_ns(event))


def _ns(event: Event) -> int:
    return int((event.at or time.time()) * 1e9)


_TELEMETRY = Telemetry()


@hookimpl
def msd_observe(event: Event) -> None:
    """Hand the event to the global providers."""
    _TELEMETRY.observe(event)
