"""Where spans wait for the collector: bounded, counted, and never waited for by a run."""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

_ROOM = "OTEL_BSP_MAX_QUEUE_SIZE"
_USUAL_ROOM = 2048
_UNSAID = frozenset({"url.query", "url.full"})
"""What the framework tells of requests and may hold content: a query may name what somebody looks for."""


@dataclass
class Counts:
    """What has become of spans."""

    exported: int = 0
    """The collector has taken them."""
    failed: int = 0
    """The collector did not take them."""
    dropped: int = 0
    """There was no room for them, or what they were to be told from."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def by_outcome(self) -> Mapping[str, int]:
        """All of them."""
        return {"exported": self.exported, "failed": self.failed, "dropped": self.dropped}

    def drop(self, count: int = 1) -> None:
        """Count what is not even tried."""
        with self.lock:
            self.dropped += count


class Outbox(BatchSpanProcessor):
    """Takes spans while there is room; a thread of its own brings them to the collector in batches."""

    def __init__(self, exporter: SpanExporter, counts: Counts) -> None:
        self._room = _room()
        self._counts = counts
        self._carrier = _Carrier(exporter, counts)
        super().__init__(self._carrier, max_queue_size=self._room, max_export_batch_size=min(512, self._room))

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span, or count it as dropped."""
        if span.context is None or not span.context.trace_flags.sampled:
            return
        with self._counts.lock:
            if self._carrier.waiting >= self._room:
                self._counts.dropped += 1
                return
            self._carrier.waiting += 1
        super().on_end(_without_content(span))

    def abandon(self) -> None:
        """Let go of a collector that does not answer; what still waits is not brought any more."""
        self._carrier.shutdown()


class _Carrier(SpanExporter):
    """The exporter, with a look at what comes of it."""

    def __init__(self, exporter: SpanExporter, counts: Counts) -> None:
        self.waiting = 0
        self._exporter = exporter
        self._counts = counts
        self._shut = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Bring these; what the collector does not take is lost."""
        result = SpanExportResult.FAILURE
        try:
            if not self._shut:
                result = self._exporter.export(spans)
        finally:
            with self._counts.lock:
                self.waiting -= len(spans)
                if result is SpanExportResult.SUCCESS:
                    self._counts.exported += len(spans)
                else:
                    self._counts.failed += len(spans)
        return result

    def shutdown(self) -> None:
        """Once; the exporter then gives up what it repeats."""
        if not self._shut:
            self._shut = True
            self._exporter.shutdown()


def _room() -> int:
    """How many spans may wait."""
    try:
        return max(int(os.environ.get(_ROOM, _USUAL_ROOM)), 1)
    except ValueError:
        return _USUAL_ROOM


def _without_content(span: ReadableSpan) -> ReadableSpan:
    attributes = span.attributes or {}
    if not attributes.keys() & _UNSAID:
        return span
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={name: value for name, value in attributes.items() if name not in _UNSAID},
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
