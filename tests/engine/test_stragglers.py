"""One hung worker of eight: what holds the answer up, and what does not."""

import json
import time
from typing import Any

from app.domain import events as ev
from app.domain.keys import DEFAULT_TENANT
from app.domain.spans import Spans
from app.domain.team import Team
from app.domain.team_rules import Stragglers
from app.domain.worker import Worker
from app.store.runs import events_of
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, call, held, server_error, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

NAMES = [f"t{number}" for number in range(1, 9)]
EIGHT = plan_of(*(task(name, "junior") for name in NAMES))
HUNG_S = 20
"""Seconds of the run in which a hung worker hangs: far beyond what a test waits for."""


def crew(policy: str, **rules: Any) -> Team:
    """A team with a worker that may hang, and one that may stand in."""
    told = {"description": "Tries.", "instructions": "Try."}
    junior = Worker(name="junior", model="fast", fallback="senior", tools=("calculate",), timeout_s=HUNG_S, **told)
    return Team(
        name="desk",
        workers=(junior, Worker(name="senior", model="deep", **told)),
        stragglers=Stragglers.model_validate({"policy": policy} | rules),
        limits={"timeout_s": 3 * HUNG_S, "concurrency": 8},
    )


def is_about(seen: SeenRequest, name: str) -> bool:
    return f"Do {name}." in seen.body["messages"][0]["content"][0]["text"]


def one_hangs(stub: StubProvider) -> None:
    """Everything is answered at once, except the junior's call about `t8`."""

    def work(seen: SeenRequest) -> Answer:
        done = as_json(report("done"))
        return held(done, "t8") if is_about(seen, "t8") else done

    stub.on("work:junior", work)
    stub.on("work:senior", as_json(report("done by the senior")))
    stub.on("synthesize", as_json(synthesis("the answer", *NAMES[:7], without=["t8"])))


async def started_and_done(service: Service, team: Team, **job: Any) -> tuple[dict[str, Any], float]:
    """The run at its end, and the seconds that it took."""
    start = time.monotonic()
    run = await service.ended(await service.submit(team=team, plan=EIGHT, **job))
    return run, time.monotonic() - start


async def test_a_team_that_drops_does_not_wait_for_one_that_hangs(service: Service, stub: StubProvider) -> None:
    one_hangs(stub)

    run, took_s = await started_and_done(service, crew("drop", after_s=0.2))

    assert took_s < HUNG_S / 2
    assert (run["status"], run["stop_reason"], run["result"]["answer"]) == ("partial", "gaps", "the answer")
    assert [(gap["task"], gap["reason"]) for gap in run["result"]["gaps"]] == [("t8", "timeout")]
    assert run["result"]["coverage"]["delivered"] == 7
    [asked] = stub.of("synthesize")
    assert '"task": "t8"' in json.dumps(asked.body["messages"]).replace('\\"', '"')
    [hung] = [seen for seen in stub.of("work") if is_about(seen, "t8")]
    assert await stub.ended(hung) == "client_disconnected"
    assert run["usage"]["llm_calls"] == len(stub.log) == 9  # The hung one is paid for too.
    tried = (await service.folded(run["id"])).tasks["t8"].attempts
    assert [(attempt.status, attempt.usage.llm_calls) for attempt in tried] == [("cancelled", 1)]


async def test_a_team_that_waits_gets_its_answer_when_the_time_of_the_task_is_up(
    service: Service, stub: StubProvider
) -> None:
    one_hangs(stub)
    tasks = [task(name, "junior", budget={"deadline_s": 2} if name == "t8" else {}) for name in NAMES]

    start = time.monotonic()
    run = await service.ended(await service.submit(team=crew("wait"), plan=plan_of(*tasks)))

    assert time.monotonic() - start >= 2
    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    assert [(gap["task"], gap["reason"]) for gap in run["result"]["gaps"]] == [("t8", "timeout")]


async def test_a_dropped_straggler_that_lands_before_the_end_is_used(service: Service, stub: StubProvider) -> None:
    one_hangs(stub)
    stub.on(
        "synthesize",
        replies=[held(as_json(synthesis("without t8", *NAMES[:7], without=["t8"])), "answer")],
        reply=as_json(synthesis("with t8", *NAMES)),
    )

    run_id = await service.submit(team=crew("drop", after_s=0.2), plan=EIGHT)
    await stub.seen(1, role="synthesize")
    stub.release("t8")
    await service.until_logged(run_id, "task.succeeded", 8)
    stub.release("answer")
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"], run["result"]["gaps"]) == ("succeeded", "with t8", [])
    assert run["result"]["statements"][0]["tasks"] == NAMES
    first, second = stub.of("synthesize")
    assert len(second.body["messages"]) == 1
    asked = [json.dumps(seen.body["messages"]).count("<result>") for seen in (first, second)]
    assert asked == [7, 8]
    stored = await events_of(service.database, DEFAULT_TENANT, run_id, limit=1_000)
    spans = Spans()
    calls = [span for event in stored for span in spans.take(json.loads(event.json)) if span["kind"] == "llm"]
    assert [span["attributes"]["outcome"] for span in calls] == ["used"] * 10
    [answering] = [span for span in spans.frames() if span["kind"] == "synthesis"]
    assert answering["finished_at"] == max(span["finished_at"] for span in calls)


async def test_a_dropped_straggler_lands_after_a_crash_in_between(services: Services, stub: StubProvider) -> None:
    one_hangs(stub)
    answers = [held(as_json(synthesis("lost", *NAMES[:7], without=["t8"])), "never")] + [
        as_json(synthesis("with t8", *NAMES))
    ] * 2
    stub.on("synthesize", replies=answers)
    first = await services.start(lease_seconds=0.6, poll_seconds=0.1)
    run_id = await first.submit(team=crew("drop", after_s=0.2), plan=EIGHT)
    await stub.seen(1, role="synthesize")

    await services.crash(first)
    stub.release("t8")
    second = await services.start(lease_seconds=0.6, poll_seconds=0.1)
    run = await second.ended(run_id)

    assert run["status"] in ("succeeded", "partial")  # As the straggler was faster than the answer, or not.
    [resumed] = [each.data for each in await second.events(run_id) if isinstance(each.data, ev.RunResumed)]
    assert resumed.lost_calls == 2


async def test_a_team_that_hedges_takes_the_first_result_and_pays_for_both(
    service: Service, stub: StubProvider
) -> None:
    one_hangs(stub)

    run, took_s = await started_and_done(service, crew("hedge", after_s=0.3))

    assert took_s < HUNG_S / 2
    assert (run["status"], run["result"]["coverage"]["substituted"]) == ("succeeded", ["t8"])
    assert run["result"]["outputs"][7]["text"] == "done by the senior"
    state = (await service.folded(run["id"])).tasks["t8"]
    first, second = state.attempts
    assert [(each.worker, each.status, each.usage.llm_calls) for each in (first, second)] == [
        ("junior", "cancelled", 1),
        ("senior", "succeeded", 1),
    ]
    assert second.beside == 1
    assert first.usage.cost_usd > 0
    assert run["usage"]["llm_calls"] == len(stub.log) == 10
    [row] = await every(service.database, "SELECT usage FROM tasks WHERE run_id = :id AND task_id = 't8'", id=run["id"])
    assert row["usage"]["llm_calls"] == 2
    log = [event.type for event in await service.events(run["id"]) if event.task_id == "t8"]
    assert log == [
        "task.started", "task.started", "llm.completed", "task.succeeded", "llm.failed", "attempt.cancelled",
    ]  # fmt: skip


async def test_the_attempt_that_was_slow_may_still_be_the_first(service: Service, stub: StubProvider) -> None:
    one_hangs(stub)
    stub.on("work:senior", held(as_json(report("never")), "never"))

    run_id = await service.submit(team=crew("hedge", after_s=0.3), plan=EIGHT)
    await stub.seen(1, role="work:senior")
    stub.release("t8")
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["coverage"]["substituted"]) == ("succeeded", [])
    attempts = (await service.folded(run_id)).tasks["t8"].attempts
    assert [attempt.status for attempt in attempts] == ["succeeded", "cancelled"]


async def test_a_hedge_that_fails_leaves_the_other_attempt_alone(service: Service, stub: StubProvider) -> None:
    one_hangs(stub)
    stub.on("work:senior", server_error())

    run_id = await service.submit(team=crew("hedge", after_s=0.3), plan=EIGHT)
    await service.until_logged(run_id, "attempt.failed")
    stub.release("t8")
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    attempts = (await service.folded(run_id)).tasks["t8"].attempts
    assert [(each.status, each.error and each.error.code) for each in attempts] == [
        ("succeeded", None),
        ("failed", "provider_unavailable"),
    ]


async def test_tool_calls_of_an_attempt_that_lost_are_stopped(service: Service, stub: StubProvider) -> None:
    """The junior asks for a tool right when the senior is done: whatever comes first, the run ends in order."""
    one_hangs(stub)
    look = tool_calls(call("calculate", {"expression": "6*7"}))

    def slow(seen: SeenRequest) -> Answer:
        return held(look, "both") if is_about(seen, "t8") else as_json(report("done"))

    stub.on("work:junior", slow)
    stub.on("work:senior", held(as_json(report("done by the senior")), "both"))

    run_id = await service.submit(team=crew("hedge", after_s=0.3), plan=EIGHT)
    await stub.seen(1, role="work:senior")
    stub.release("both")
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    attempts = (await service.folded(run_id)).tasks["t8"].attempts
    assert sorted(attempt.status for attempt in attempts) == ["cancelled", "succeeded"]
    assert run["usage"]["llm_calls"] >= len(stub.log)


async def test_both_attempts_go_on_after_a_crash(services: Services, stub: StubProvider) -> None:
    one_hangs(stub)
    stub.on("work:senior", held(as_json(report("never")), "never"))
    first = await services.start(lease_seconds=0.6, poll_seconds=0.1)
    run_id = await first.submit(team=crew("hedge", after_s=0.3), plan=EIGHT)
    await stub.seen(1, role="work:senior")

    await services.crash(first)
    second = await services.start(lease_seconds=0.6, poll_seconds=0.1)
    await stub.seen(2, role="work:senior")
    stub.release("t8")
    run = await second.ended(run_id)

    assert run["status"] == "succeeded"
    log = await second.events(run_id)
    [resumed] = [each.data for each in log if isinstance(each.data, ev.RunResumed)]
    assert resumed.lost_calls == 2
    assert sum(event.type == "task.started" for event in log) == 9


async def test_a_hedge_fits_into_the_budget_like_any_call(service: Service, stub: StubProvider) -> None:
    one_hangs(stub)

    run, _ = await started_and_done(service, crew("hedge", after_s=0.3), limits={"tokens": 200_000})

    assert run["status"] == "succeeded"
    assert run["usage"]["input_tokens"] + run["usage"]["output_tokens"] <= 200_000
