"""What a collector is told of runs, from one process and across several."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from app.domain.team import Team
from app.domain.worker import Worker
from app.tracing.pipeline import Tracing
from tests.support.api import client_of
from tests.support.collector import read_json
from tests.support.fixtures import Services
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, call, held, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until

CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SECRET = "sk-ant-" + "api03-" + "b" * 80
PLAN = plan_of(task("t1", "researcher"), task("t2", "writer", ["t1"]))


@dataclass
class Kept(SpanExporter):
    """Keeps what is exported."""

    spans: list[ReadableSpan] = field(default_factory=list)
    result: SpanExportResult = SpanExportResult.SUCCESS

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep these."""
        self.spans += spans
        return self.result

    def of(self, run_id: str) -> list[ReadableSpan]:
        """The spans of a run."""
        return [span for span in self.spans if (span.attributes or {}).get("chargehand.run_id") == run_id]

    def tracing(self, *, with_content: bool = False) -> Tracing:
        """What exports to it."""
        return Tracing(self, Resource({}), "1", with_content=with_content)

    @property
    def text(self) -> str:
        """Everything that was exported."""
        return "".join(span.to_json() for span in self.spans)


@pytest.fixture
def kept() -> Kept:
    return Kept()


def check_tree(spans: Sequence[ReadableSpan]) -> None:
    """One trace, and each parent there."""
    assert len({span.context.trace_id for span in spans if span.context}) == 1
    known = {span.context.span_id for span in spans if span.context}
    assert [span.name for span in spans if span.parent and span.parent.span_id not in known] == []


def script(stub: StubProvider) -> None:
    stub.on("work", tool_calls(call("calculate", {"expression": "6*7"})), call=1)
    stub.on("work", as_json(report("whispered")))


async def posted(service: Service, **headers: str) -> str:
    """The id of a run that a client has posted and waited for."""
    async with client_of(service.runtime) as client:
        await service.stored(CREW)
        job = {"objective": f"Murmur softly. {SECRET}", "team": CREW.name, "plan": PLAN}
        answer = await client.post("/v1/jobs", json=job, headers={"prefer": "wait=30", **headers})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])


CREW = Team(
    name="crew",
    workers=(
        Worker(name="researcher", description="Finds.", instructions="Find out.", tools=("calculate",)),
        Worker(name="writer", description="Writes.", instructions="Write down."),
    ),
)


async def test_a_run_is_one_trace_that_links_to_the_request_which_is_in_that_of_the_client(
    services: Services, stub: StubProvider, kept: Kept
) -> None:
    script(stub)
    service = await services.start(tracing=kept.tracing())
    run_id = await posted(service, traceparent=CALLER)
    async with client_of(service.runtime) as client:
        document = (await client.get(f"/v1/runs/{run_id}/trace?format=otlp")).text
    await services.stop(service)

    spans = kept.of(run_id)
    check_tree(spans)
    assert f"run_{spans[0].context.trace_id:032x}" == run_id if spans[0].context else False
    shown = {(span.name, span.span_id.hex(), span.parent_span_id.hex()) for span in read_json(document)}
    assert {(span.name, _hex(span.context), _hex(span.parent)) for span in spans} == shown
    assert len(spans) == len(shown)
    [request] = [span for span in kept.spans if span.name == "POST /v1/jobs"]
    [root] = [span for span in spans if span.parent is None]
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert [link.context.span_id for link in root.links] == [request.context.span_id]
    assert {name for name in (span.name for span in spans) if name.startswith(("execute", "invoke"))} == {
        "execute_tool calculate", "invoke_agent researcher", "invoke_agent writer", "invoke_workflow crew",
    }  # fmt: skip
    assert "anthropic" not in {span.name.partition(".")[0] for span in kept.spans}


def _hex(context: Any) -> str:
    return f"{context.span_id:016x}" if context else ""


async def test_no_content_leaves_the_process_unless_it_is_asked_for(
    services: Services, stub: StubProvider, kept: Kept
) -> None:
    script(stub)
    service = await services.start(tracing=kept.tracing())
    run_id = await posted(service)
    async with client_of(service.runtime) as client:
        bare = (await client.get(f"/v1/runs/{run_id}/trace?format=otlp")).text
        full = (await client.get(f"/v1/runs/{run_id}/trace?format=otlp&include=content")).text
    await services.stop(service)

    words = ("Murmur", "whispered", "6*7", "Task t1", "Do t1", "[secret:")
    assert [word for word in words if word in kept.text + bare] == []
    assert [word for word in words if word not in full] == []
    assert SECRET not in kept.text + bare + full
    assert len(read_json(full)) == len(read_json(bare))


async def test_content_that_is_asked_for_is_masked(services: Services, stub: StubProvider, kept: Kept) -> None:
    stub.on("work", as_json(report(f"whispered {SECRET}")))
    service = await services.start(tracing=kept.tracing(with_content=True))
    await posted(service)
    await services.stop(service)

    assert [
        word for word in ("Murmur", "whispered", "gen_ai.input.messages", "[secret:") if word not in kept.text
    ] == []
    assert SECRET not in kept.text


async def test_a_run_whose_caller_is_not_recorded_is_not_told_of(
    services: Services, stub: StubProvider, kept: Kept
) -> None:
    script(stub)
    service = await services.start(tracing=kept.tracing())
    await posted(service, traceparent=CALLER[:-1] + "0")
    await services.stop(service)

    assert kept.spans == []


async def test_a_nested_run_is_told_of_in_the_trace_of_its_parent(
    services: Services, stub: StubProvider, kept: Kept
) -> None:
    script(stub)
    service = await services.start(tracing=kept.tracing())
    await service.stored(CREW)
    stub.on("plan", as_json(PLAN))
    outer = Team(name="outer", workers=(Worker(name="crew", description="Does it all.", team="crew"),))
    run_id = await service.submit(team=outer, plan=plan_of(task("t1", "crew")))
    run = await service.ended(run_id)
    await services.stop(service)

    assert run["status"] == "succeeded"
    check_tree(kept.spans)
    runs = {str((span.attributes or {})["chargehand.run_id"]) for span in kept.spans}
    assert len(runs) == 2
    assert {(span.attributes or {})["session.id"] for span in kept.spans} == {run_id}


async def test_a_run_that_another_process_takes_over_is_one_whole_trace(
    services: Services, stub: StubProvider, kept: Kept
) -> None:
    stub.on("work", tool_calls(call("calculate", {"expression": "6*7"})), call=1)
    stub.on("work", held(as_json(report()), "late"))
    lost = Kept(result=SpanExportResult.FAILURE)  # All that the first one has told was still on its way.
    first = await services.start(tracing=lost.tracing())
    run_id = await first.submit(team=CREW, plan=PLAN)
    await stub.seen(2, role="work")
    await services.crash(first)
    second = await services.start(tracing=kept.tracing())
    stub.release("late")
    run = await second.ended(run_id)
    await services.stop(second)

    assert run["status"] == "succeeded"
    spans = kept.of(run_id)
    check_tree(spans)
    assert {"plan", "execute_tool calculate", "invoke_workflow crew"} <= {span.name for span in spans}
    again = {(span.name, _hex(span.context)) for span in lost.of(run_id)}
    assert again <= {(span.name, _hex(span.context)) for span in spans}


async def test_what_was_told_before_a_run_was_parked_is_not_told_again(
    services: Services, stub: StubProvider, kept: Kept
) -> None:
    script(stub)
    first = await services.start(tracing=kept.tracing())
    await first.stored(CREW)
    run_id = await first.submit(team=CREW, plan=PLAN, approval="plan")
    await first.until_logged(run_id, "run.waiting")
    await services.stop(first)
    other = Kept()
    second = await services.start(tracing=other.tracing())
    async with client_of(second.runtime) as client:
        answer = await client.post(f"/v1/runs/{run_id}/plan/approve", json={})
        assert answer.status_code == 200, answer.text
    await second.ended(run_id)
    await services.stop(second)

    before, since = ({_hex(span.context) for span in each.of(run_id)} for each in (kept, other))
    assert before & since == set()
    check_tree([*kept.of(run_id), *other.of(run_id)])


async def test_a_run_goes_on_unharmed_while_its_collector_is_away(
    services: Services, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tracing.pipeline.CLOSE_S", 0.2)
    script(stub)
    nowhere = OTLPSpanExporter(endpoint="http://127.0.0.1:9/v1/traces")
    tracing = Tracing(nowhere, Resource({}), "1", with_content=False)
    service = await services.start(tracing=tracing)
    run_id = await posted(service)
    run = await service.ended(run_id)
    await services.stop(service)

    assert run["status"] == "succeeded"
    await until(lambda: tracing.counts.failed > 0)
    assert tracing.counts.exported == 0


async def test_counts_of_spans_are_among_the_metrics(services: Services, stub: StubProvider, kept: Kept) -> None:
    script(stub)
    service = await services.start(tracing=kept.tracing())
    await posted(service)
    text = (await service.runtime.scrape.text(service.database, 0)).decode()

    assert 'chargehand_spans_total{outcome="dropped"} 0.0' in text
    assert json.dumps("exported") in text
