"""What OTEL_* makes of a process, and what becomes of spans when the collector is away."""

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from structlog.testing import capture_logs

from app.domain.otlp import OtelSpan
from app.domain.trace_ids import RunTrace, place_in
from app.tracing.environment import exporter_of, tracing_of
from app.tracing.pipeline import Tracing, opened
from tests.support.postgres import ROOT

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"


@pytest.mark.parametrize(
    ("environment", "exporter"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "x"}, None),
        (ENDPOINT, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console"),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "none"}, None),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "zipkin"}, None),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "console, otlp"}, "otlp"),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "true"}, None),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "false"}, "otlp"),
        (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, None),
        (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, None),
    ],
)
def test_traces_go_where_the_environment_says(environment: Mapping[str, str], exporter: str | None) -> None:
    assert exporter_of(environment) == exporter


@pytest.mark.parametrize(
    ("said", "content"),
    [("", False), ("false", False), ("NO_CONTENT", False), ("EVENT_ONLY", False), ("true", True), ("SPAN_ONLY", True),
     ("span_and_event", True)],
)  # fmt: skip
def test_content_is_told_when_the_environment_asks_for_it(said: str, content: bool) -> None:
    environment = {"OTEL_TRACES_EXPORTER": "console", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": said}
    tracing = tracing_of(environment, "1")

    assert tracing is not None
    assert tracing.with_content is content
    tracing.provider.shutdown()


def test_what_the_sdk_cannot_go_by_keeps_no_process_from_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "0")
    with capture_logs() as lines:
        assert tracing_of({"OTEL_TRACES_EXPORTER": "console"}, "1") is None

    assert [line["event"] for line in lines] == ["no traces are exported"]


def test_nothing_of_the_sdk_is_loaded_where_nobody_wants_traces() -> None:
    program = (
        "import sys, os; import app.api.app, app.runtime, app.engine.engine\n"
        "from app.tracing.environment import tracing_of\n"
        "assert tracing_of({}, '1') is None\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter', "
        "'google.protobuf', 'requests'))])"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert ran.stdout.strip() == "[]", ran.stderr


def test_a_resource_says_what_the_process_is_and_the_environment_has_the_last_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=prod,service.version=9")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "reports")
    tracing = opened("console", release="1", instance="host-7", with_content=False)
    tracing.provider.shutdown()

    told = dict(tracing.provider.resource.attributes)
    assert told | {"service.name": "reports", "service.version": "9", "service.instance.id": "host-7"} == told
    assert told["deployment.environment.name"] == "prod"


@pytest.mark.parametrize(
    ("sampler", "flags", "wanted"),
    [
        (None, "0", False),
        (None, "1", True),
        ("parentbased_always_off", "1", True),
        ("parentbased_always_off", None, False),
        ("always_on", "0", True),
        ("always_off", "1", False),
    ],
)
def test_the_sampler_decides_by_the_trace_of_whoever_has_brought_the_run(
    monkeypatch: pytest.MonkeyPatch, sampler: str | None, flags: str | None, wanted: bool
) -> None:
    if sampler is not None:
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    tracing = Tracing(Stuck(), Resource({}), "1", with_content=False)
    caller = place_in(f"{CALLER}{flags}") if flags else None

    assert tracing.samples(RunTrace("run_1", caller)) is wanted
    tracing.provider.shutdown()


class Stuck(SpanExporter):
    """An exporter that stands still until it is told to go on."""

    def __init__(self, result: SpanExportResult = SpanExportResult.SUCCESS) -> None:
        self.go_on = threading.Event()
        self._result = result

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Wait."""
        self.go_on.wait(20)
        return self._result

    def shutdown(self) -> None:
        """Stand no longer."""
        self.go_on.set()


def span(name: str) -> OtelSpan:
    return OtelSpan(RunTrace("run_1").place(name), None, name, 1, 2)


def test_what_waits_for_a_collector_is_bounded_and_what_is_dropped_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "10")
    stuck = Stuck()
    tracing = Tracing(stuck, Resource({}), "1", with_content=False)
    for number in range(100):
        tracing.hand_on(span(f"span {number}"))
    assert dict(tracing.counts.by_outcome()) == {"exported": 0, "failed": 0, "dropped": 90}

    stuck.go_on.set()
    tracing.provider.shutdown()
    assert dict(tracing.counts.by_outcome()) == {"exported": 10, "failed": 0, "dropped": 90}


def test_what_the_collector_does_not_take_is_counted() -> None:
    refusing = Stuck(SpanExportResult.FAILURE)
    refusing.go_on.set()
    tracing = Tracing(refusing, Resource({}), "1", with_content=False)
    tracing.hand_on(span("a"))
    tracing.provider.shutdown()

    assert dict(tracing.counts.by_outcome()) == {"exported": 0, "failed": 1, "dropped": 0}


async def test_the_end_of_a_process_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.tracing.pipeline.CLOSE_S", 0.05)
    stuck = Stuck()
    tracing = Tracing(stuck, Resource({}), "1", with_content=False)
    tracing.hand_on(span("a"))

    await tracing.close()

    assert stuck.go_on.is_set()
