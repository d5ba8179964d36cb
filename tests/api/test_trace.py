import asyncio
import json
from typing import Any

import psycopg
import pytest

from app.api.schemas.trace import Span, Trace
from app.domain import events as ev
from app.domain.events import Entry
from app.domain.results import Problem
from app.domain.spans import Spans
from app.domain.usage import Usage
from tests.support.api import Api
from tests.support.play import Play
from tests.support.waiting import until_blocked


async def trace_of(api: Api, play: Play) -> Any:
    trace = await api.get(f"/v1/runs/{play.run_id}/trace")
    Trace.model_validate(trace)
    return trace


def check_tree(spans: list[Any]) -> None:
    by_id = {span["id"]: span for span in spans}
    assert len(by_id) == len(spans)
    for span in spans:
        Span.model_validate(span)
        if span["parent_id"] is None:
            assert span["id"] == "run"
        else:
            assert by_id[span["parent_id"]]["started_at"] <= span["started_at"]
        assert (span["finished_at"] is None) == (span["status"] == "running") == (span["duration_ms"] is None)
        assert span["duration_ms"] is None or span["duration_ms"] >= 0


async def test_the_trace_holds_the_run_its_plan_tasks_and_every_event(api: Api) -> None:
    play = await api.played()
    await play.whole()
    trace = await trace_of(api, play)
    path = f"/v1/runs/{play.run_id}"

    assert set(trace) == {"run", "plan_revisions", "tasks", "report", "spans", "events", "thinned_at"}
    assert trace["run"] == await api.get(path)
    assert trace["plan_revisions"] == [await api.get(f"{path}/plan")]
    assert trace["tasks"] == (await api.get(f"{path}/tasks"))["data"]
    assert trace["events"] == (await api.get(f"{path}/events"))["data"]
    critical, timing = trace["report"]["critical_path"], trace["run"]["timing"]
    assert critical.pop("tasks") == ["t1"]
    assert sum(critical.values()) == timing["critical_path_ms"]
    assert trace["report"]["speedup"] == timing["speedup"]


@pytest.mark.parametrize(("form", "status"), [("json", 200), ("otlp", 200), ("", 422), ("OTLP", 422)])
async def test_a_trace_in_a_form_that_is_not_offered_is_refused(api: Api, form: str, status: int) -> None:
    answer = await api.client.get(f"/v1/runs/{await api.ended()}/trace?format={form}")

    assert answer.status_code == status
    assert answer.json().get("code", "format_not_offered") == "format_not_offered"


@pytest.mark.parametrize(("query", "status"), [("content", 200), ("", 200), ("everything", 422), ("content,x", 422)])
async def test_a_trace_with_what_is_not_offered_is_refused(api: Api, query: str, status: int) -> None:
    answer = await api.client.get(f"/v1/runs/{await api.ended()}/trace?include={query}")

    assert answer.status_code == status
    if status == 422:
        assert [error["parameter"] for error in answer.json()["errors"]] == ["include"]


async def test_no_task_of_a_trace_is_ahead_of_its_events(api: Api, database_url: str) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1")
    await play.start_task("t1")
    async with await psycopg.AsyncConnection.connect(database_url) as writer:
        await writer.execute("LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE")
        reading = asyncio.create_task(trace_of(api, play))
        await until_blocked(api.runtime.database)
        await writer.execute("UPDATE tasks SET status = 'failed', error = '{}', finished_at = now()")
    trace = await asyncio.wait_for(reading, 5)

    assert [task["status"] for task in trace["tasks"]] == ["running"]
    assert [event["type"] for event in trace["events"]][-1] == "task.started"


async def test_spans_say_what_happened_when_and_under_what(api: Api) -> None:
    play = await api.played()
    await play.whole()
    spans = (await trace_of(api, play))["spans"]

    check_tree(spans)
    assert sorted((span["id"], span["parent_id"], span["kind"], span["status"]) for span in spans) == [
        ("attempt:t1:1", "task:t1", "attempt", "ok"),
        ("llm:3", "plan", "llm", "ok"),
        ("llm:6", "attempt:t1:1", "llm", "ok"),
        ("llm:8", "synthesis", "llm", "ok"),
        ("plan", "run", "plan", "ok"),
        ("run", None, "run", "ok"),
        ("synthesis", "run", "synthesis", "ok"),
        ("task:t1", "run", "task", "ok"),
    ]
    call = next(span for span in spans if span["id"] == "llm:6")
    assert (
        call["attributes"] | {"model": "stub", "stop_reason": "end_turn", "cost_usd": "0", "output_tokens": 10}
        == (call["attributes"])
    )


async def test_an_attempt_without_an_end_is_running_until_the_run_ends(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1")
    await play.start_task("t1")
    early = {span["id"]: span["status"] for span in (await trace_of(api, play))["spans"]}
    await play.fail()
    spans = (await trace_of(api, play))["spans"]

    check_tree(spans)
    assert {early[name] for name in ("run", "task:t1", "attempt:t1:1")} == {"running"}
    assert {span["status"] for span in spans if span["id"] in ("run", "task:t1", "attempt:t1:1")} == {"error"}


async def test_every_attempt_has_a_span_with_its_own_end(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1", "t2")
    await play.start_task("t1")
    await play.fail_task("t1", retry=True)
    await play.start_task("t1", 2)
    await play.fail_task("t1", 2, retry=False)
    spans = {span["id"]: span for span in (await trace_of(api, play))["spans"]}

    check_tree(list(spans.values()))
    assert [spans[f"attempt:t1:{number}"]["status"] for number in (1, 2)] == ["error", "error"]
    assert spans["attempt:t1:1"]["attributes"]["error_code"] == "timeout"
    assert spans["task:t1"]["status"] == "error"
    assert "task:t2" not in spans


async def test_tool_calls_and_failed_calls_are_spans_of_their_attempt(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1")
    await play.start_task("t1")
    await play.record(play.reply("work", "t1", 1))
    for call_id in ("c1", "c2"):
        called = ev.ToolStarted(call_id=call_id, name="calculate", effect="read", key=call_id)
        await play.record(Entry(called, "t1", 1))
    returned = ev.ToolCompleted(call_id="c1", name="calculate", output="2", duration_ms=1)
    searched = ev.ToolFailed(
        call_id="c3", name="web_search", error=Problem(code="x", message="y"), duration_ms=90_000, provider=True
    )
    cut = ev.LlmFailed(
        purpose="work", model="stub", usage=Usage(llm_calls=1), duration_ms=1,
        error=Problem(code="cancelled", message="stopped"),
    )  # fmt: skip
    await play.record(*(Entry(fact, "t1", 1) for fact in (returned, searched, cut)))
    await play.fail_task("t1", retry=False)
    spans = (await trace_of(api, play))["spans"]

    check_tree(spans)
    tools = {span["attributes"]["call_id"]: span for span in spans if span["kind"] == "tool"}
    assert {call: (span["status"], span["parent_id"]) for call, span in tools.items()} == {
        "c1": ("ok", "attempt:t1:1"),
        "c2": ("error", "attempt:t1:1"),
        "c3": ("error", "attempt:t1:1"),
    }
    assert [span["status"] for span in spans if span["kind"] == "llm"] == ["ok", "ok", "cancelled"]


async def test_a_cancelled_run_has_cancelled_spans(api: Api) -> None:
    run_id = await api.post()
    await api.client.post(f"/v1/runs/{run_id}/cancel")
    trace = await api.get(f"/v1/runs/{run_id}/trace")

    assert [(span["id"], span["status"]) for span in trace["spans"]] == [("run", "cancelled")]
    assert trace["tasks"] == trace["plan_revisions"] == []


async def test_a_long_trace_is_whole(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.chatter(450)
    trace = await trace_of(api, play)

    assert [event["seq"] for event in trace["events"]] == list(range(1, 453))
    assert sum(span["kind"] == "llm" for span in trace["spans"]) == 450


def test_events_of_types_that_came_later_are_passed_over() -> None:
    spans = Spans()
    event = {"seq": 1, "at": "2026-01-01T00:00:00.000000Z", "task_id": "t1", "attempt": 1, "data": {}}
    for kind in ("audit.completed", "plan.approved", "question.withdrawn", "run.waiting", "task.praised"):
        assert spans.take(json.loads(json.dumps(event | {"type": kind}))) == []

    assert spans.frames() == spans.unfinished() == []


def test_no_span_begins_before_its_parent_even_by_a_microsecond() -> None:
    spans = Spans()
    usage = Usage().model_dump(mode="json")
    call: dict[str, Any] = {"purpose": "plan", "model": "m", "request_id": None, "usage": usage, "duration_ms": 1}
    call |= {"stop_reason": "end_turn", "content": []}
    facts: list[tuple[str, str, dict[str, Any]]] = [
        ("run.queued", "00.000000", {"team": {"name": "n", "version": 1}}),
        ("run.started", "00.000001", {}),
        ("llm.completed", "00.001000", call),
    ]
    for seq, (kind, second, data) in enumerate(facts, start=1):
        at = f"2026-01-01T00:00:{second}Z"
        spans.take({"seq": seq, "type": kind, "at": at, "task_id": None, "attempt": None, "data": data})

    assert [(span["id"], span["started_at"][-9:]) for span in [*spans.frames(), *spans.unfinished()]] == [
        ("run", "0.000000Z"),
        ("plan", "0.000001Z"),
        ("llm:3", "0.000001Z"),
    ]
