"""A run's trace as OTLP/JSON, for a collector: `curl … | curl -d @- http://collector:4318/v1/traces` has it there."""

import json
from collections.abc import AsyncIterator, Iterable

from app import version
from app.domain.contents import HeldContents
from app.domain.genai import otel_span
from app.domain.genai_content import content_of
from app.domain.otlp import SCOPE, document_around, span_as_json
from app.domain.outcomes import Told
from app.domain.span_values import Span
from app.domain.spans import Spans
from app.domain.trace_ids import RunTrace, trace_of_job
from app.store.runs import StoredEvent


async def otlp_document(events: AsyncIterator[StoredEvent], tenant: str, *, with_content: bool) -> AsyncIterator[str]:
    """The document, part by part. Spans that go on are shown as if they ended with the last event."""
    spans, shown = Spans(), _Shown(tenant, with_content)
    before, behind = document_around({"service.name": SCOPE, "service.version": version}, version)
    yield before
    comma, last = "", ""
    async for event in events:
        fact = json.loads(event.json)
        shown.hear(fact)
        last = fact["at"]
        for text in shown.texts(spans.take(fact)):
            yield comma + text
            comma = ","
    left = [span | {"finished_at": span["finished_at"] or last} for span in [*spans.frames(), *spans.unfinished()]]
    for text in shown.texts(left):
        yield comma + text
        comma = ","
    yield behind


class _Shown:
    """What is shown of a run's spans."""

    def __init__(self, tenant: str, with_content: bool) -> None:
        self._tenant = tenant
        self._with_content = with_content
        self._contents = HeldContents()
        self._trace: RunTrace | None = None

    def hear(self, fact: Told) -> None:
        """Take one more event; they must come in order."""
        if self._trace is None:
            self._trace = trace_of_job(fact["run_id"], fact["data"])
        if self._with_content:
            self._contents.take(fact)

    def texts(self, spans: Iterable[Span]) -> Iterable[str]:
        """These spans as JSON."""
        for span in spans:
            assert self._trace is not None
            content = content_of(span, self._contents.of(span)) if self._with_content else {}
            yield span_as_json(otel_span(self._trace, self._tenant, span, content))
