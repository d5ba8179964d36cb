"""A collector for tests: takes OTLP over HTTP on localhost, and reads OTLP/JSON as collectors do."""

import asyncio
import base64
import gzip
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_IDS = ("traceId", "spanId", "parentSpanId")


@dataclass
class Collector:
    """What it was sent, and where it is."""

    port: int = 0
    spans: list[Span] = field(default_factory=list)
    resources: list[Mapping[str, Any]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def environment(self) -> dict[str, str]:
        """Has a process export to it at once."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.port}", "OTEL_BSP_SCHEDULE_DELAY": "50"}

    def of_trace(self, trace_id: str) -> list[Span]:
        """The spans of a trace."""
        return [span for span in self.spans if span.trace_id.hex() == trace_id]

    async def until(self, name: str, within_s: float = 20) -> Span:
        """Wait for a span of this name."""
        async with asyncio.timeout(within_s):
            while not (found := [span for span in self.spans if span.name == name]):
                self.news.clear()
                await self.news.wait()
        return found[0]

    def take(self, request: ExportTraceServiceRequest) -> None:
        """Keep what a request brings."""
        for resource in request.resource_spans:
            self.resources.append(attributes(resource.resource))
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        self.news.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines[1:] if line)
                body = await reader.readexactly(int(headers["content-length"]))
                body = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
                self.take(ExportTraceServiceRequest.FromString(body))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector on a free port."""
    collector = Collector()
    server = await asyncio.start_server(collector._serve, "127.0.0.1", 0)
    collector.port = server.sockets[0].getsockname()[1]
    try:
        yield collector
    finally:
        server.close()


def read_json(document: str) -> list[Span]:
    """The spans of OTLP/JSON, read strictly: what a collector does not know is an error.

    The JSON of protobuf has ids in base64, that of OTLP in hex.
    """
    told = json.loads(document)
    for span in _spans_in(told):
        for holder in [span, *span.get("links", ())]:
            for name in _IDS:
                if name in holder:
                    holder[name] = base64.b64encode(bytes.fromhex(holder[name])).decode()
    request = Parse(json.dumps(told), ExportTraceServiceRequest())
    return [span for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans]


def _spans_in(told: Any) -> Iterable[Any]:
    return (span for resource in told["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"])


def attributes(holder: Any) -> dict[str, Any]:
    """The attributes of a span or a resource."""
    return {each.key: _value(each.value) for each in holder.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)


def check_trees(spans: Iterable[Span], above: Iterable[str] = ()) -> None:
    """Each span has a parent that is there, or is below one of those `above`; spans that came twice are equal."""
    by_id: dict[bytes, Span] = {}
    for span in spans:
        assert by_id.setdefault(span.span_id, span) == span
    known = {span_id.hex() for span_id in by_id} | {"", *above}
    assert [span.name for span in by_id.values() if span.parent_span_id.hex() not in known] == []
    for span in by_id.values():
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if (parent := by_id.get(span.parent_span_id)) is not None:
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
