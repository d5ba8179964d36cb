"""The way of spans from this process to a collector, and OpenTelemetry's words for ours."""

import asyncio
import logging
import threading
import time
from contextlib import suppress
from typing import Literal

from opentelemetry import trace as api
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from app.domain.otlp import SCOPE, OtelSpan
from app.domain.trace_ids import ROOT, RunTrace, TracePlace
from app.tracing.outbox import Counts, Outbox

CLOSE_S = 5.0
"""How long the end of a process waits for a collector."""
_QUIET_S = 60.0


class Tracing:
    """What a process exports spans with."""

    def __init__(self, exporter: SpanExporter, resource: Resource, release: str, *, with_content: bool) -> None:
        self.counts = Counts()
        self.with_content = with_content
        """Whether spans of runs have prompts, replies, and what tools were given and brought."""
        self._outbox = Outbox(exporter, self.counts)
        self.provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        """For the spans of requests."""
        self.provider.add_span_processor(self._outbox)
        self._scope = InstrumentationScope(SCOPE, release)

    def samples(self, trace: RunTrace) -> bool:
        """Whether the spans of a run are wanted, as `OTEL_TRACES_SAMPLER` says: always the same of the same run."""
        caller = trace.caller and api.set_span_in_context(NonRecordingSpan(_context_of(trace.caller, is_remote=True)))
        found = self.provider.sampler.should_sample(caller, int(trace.trace_id, 16), ROOT, SpanKind.INTERNAL)
        return found.decision is Decision.RECORD_AND_SAMPLE

    def hand_on(self, span: OtelSpan) -> None:
        """Have a span brought to the collector, whatever its trace says of sampling."""
        place = span.place._replace(is_sampled=True)
        parent = span.parent_id and _context_of(place._replace(span_id=span.parent_id))
        self._outbox.on_end(
            ReadableSpan(
                name=span.name,
                context=_context_of(place),
                parent=parent or None,
                resource=self.provider.resource,
                attributes=span.attributes,
                links=[Link(_context_of(span.link, is_remote=True))] if span.link else [],
                kind=SpanKind.CLIENT if span.calls_out else SpanKind.INTERNAL,
                status=Status(StatusCode.ERROR if span.failed else StatusCode.UNSET),
                start_time=span.started_ns,
                end_time=span.ended_ns,
                instrumentation_scope=self._scope,
            )
        )

    async def close(self) -> None:
        """Bring what waits; a collector that does not answer is let go of after a while."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def close() -> None:
            self.provider.shutdown()
            with suppress(RuntimeError):  # The loop may be gone by then.
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=close, name="last spans", daemon=True).start()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await done.wait()
            return
        self._outbox.abandon()


def opened(exporter: Literal["otlp", "console"], *, release: str, instance: str, with_content: bool) -> Tracing:
    """What exports to `otlp` or `console`; where that is, and all the rest, the SDK reads from the environment."""
    _quieten(logging.getLogger("opentelemetry"))
    ours = {"service.name": SCOPE, "service.version": release, "service.instance.id": instance}
    resource = Resource.create(ours).merge(OTELResourceDetector().detect())
    return Tracing(_exporter(exporter), resource, release, with_content=with_content)


def _exporter(name: Literal["otlp", "console"]) -> SpanExporter:
    if name == "console":
        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _context_of(place: TracePlace, *, is_remote: bool = False) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if place.is_sampled else TraceFlags.DEFAULT)
    return SpanContext(int(place.trace_id, 16), int(place.span_id, 16), is_remote=is_remote, trace_flags=flags)


def _quieten(logger: logging.Logger) -> None:
    """Have the SDK say each thing once a minute; it logs under the names of its modules."""
    if not any(isinstance(each, _OnceAMinute) for each in logger.handlers):
        logger.addHandler(_OnceAMinute(logging.WARNING))
        logger.propagate = False


class _OnceAMinute(logging.Handler):
    """Hands on to the root logger each message once a minute: a collector that is away is told of at every try."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._said: dict[tuple[str, int], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Have the root's handlers write it, when it is time to say it again."""
        what, now = (record.name, record.lineno), time.monotonic()
        if now >= self._said.get(what, 0):
            self._said[what] = now + _QUIET_S
            logging.getLogger().handle(record)
