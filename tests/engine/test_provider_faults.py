import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from app.domain import events as ev
from app.domain.events import Event
from app.domain.policy.agenda import PLANNING
from app.domain.retries import SUPERVISOR_ATTEMPTS
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import Service, new_run_id, plan_of, report, synthesis, task
from tests.support.stub_answers import (
    Answer,
    as_json,
    cut,
    error_event,
    fault,
    low_credit,
    overloaded,
    prompt_too_long,
    rate_limited,
    request_too_large,
    reset,
    server_error,
    text,
    unauthorized,
)
from tests.support.stub_provider import StubProvider

ONE = plan_of(task("t1"))


def failures_in(log: list[Event]) -> list[ev.LlmFailed]:
    return [event.data for event in log if isinstance(event.data, ev.LlmFailed)]


async def test_an_overload_inside_a_stream_is_tried_again_and_what_it_had_said_is_dropped(
    service: Service, stub: StubProvider
) -> None:
    whole = json.dumps(report("done"))
    first, second = error_event("overloaded_error"), error_event("overloaded_error", after=whole[:30])
    stub.on("work", replies=[first, second], reply=as_json(report("done")))
    run_id, heard = new_run_id(), list[str]()

    with service.runtime.deltas.listening(run_id, heard.append):
        await service.submit(plan=ONE, run_id=run_id)
        run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "done")
    assert [seen.streamed for seen in stub.log] == [True, True, True]
    assert [failure.error.code for failure in failures_in(await service.events(run_id))] == [
        "provider_unavailable",
        "provider_unavailable",
    ]
    assert "".join(json.loads(frame)["data"]["text"] for frame in heard).endswith("done")


PASSING: dict[str, Callable[[], Answer]] = {
    "overloaded": overloaded,
    "a server error": server_error,
    "too many requests": rate_limited,
    "a request timeout": lambda: fault(408, "timeout_error", "too slow"),
    "a conflict": lambda: fault(409, "conflict_error", "busy"),
    "a bad gateway": lambda: Answer(status=502, raw_body="<html>Bad gateway</html>"),
    "a connection that is reset": reset,
    "a body that breaks off": lambda: cut(as_json(report("half")), after_bytes=40),
    "a body that is no JSON": lambda: Answer(raw_body="<html>Welcome</html>"),
    "a reply without an end": lambda: as_json(report("half"), stop_reason=None),
}


@pytest.mark.parametrize("passing", PASSING)
async def test_a_passing_fault_is_waited_out_and_the_same_request_sent_again(
    service: Service, stub: StubProvider, passing: str
) -> None:
    stub.on("work", replies=[PASSING[passing](), PASSING[passing]()], reply=as_json(report("done")))

    run_id = await service.submit(plan=ONE)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "done")
    assert len({seen.body_sha256 for seen in stub.log}) == 1
    assert len(stub.log) == 3
    assert len((await service.folded(run_id)).tasks["t1"].attempts) == 1


LASTING: dict[str, tuple[Answer, str, str]] = {
    "too long a prompt": (prompt_too_long(), "no_results", "context_exceeded"),
    "too large a request": (request_too_large(), "no_results", "context_exceeded"),
    "a request it cannot take": (fault(400, "invalid_request_error", "no"), "request_rejected", "request_rejected"),
    "no such model": (fault(404, "not_found_error", "model: nope"), "request_rejected", "request_rejected"),
    "a status nobody knows": (fault(422, "strange_error", "no"), "request_rejected", "request_rejected"),
    "an overload with a final status": (fault(400, "overloaded_error", "no"), "request_rejected", "request_rejected"),
    "an account without money": (low_credit(), "provider_billing", ""),
    "a wrong key": (unauthorized(), "provider_auth", ""),
    "a forbidden model": (fault(403, "permission_error", "no"), "provider_auth", ""),
}


@pytest.mark.parametrize("lasting", LASTING)
async def test_a_request_that_was_refused_for_good_is_never_sent_again(
    service: Service, stub: StubProvider, lasting: str
) -> None:
    answer, stop_reason, code = LASTING[lasting]
    stub.on("work", answer)

    run_id = await service.submit(plan=ONE)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("failed", stop_reason)
    assert len(stub.log) == 1
    error = (await service.folded(run_id)).tasks["t1"].error
    assert (error.code if error else "") == code


async def test_a_fault_of_the_account_stops_everything_that_was_still_to_come(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work:researcher", low_credit())
    stub.on("work", as_json(report()))
    tasks = [task("a", "researcher"), *(task(f"t{number}") for number in range(5))]

    run = await service.ended(await service.submit(plan=plan_of(*tasks), limits={"concurrency": 1}))

    assert (run["status"], run["stop_reason"]) == ("failed", "provider_billing")
    assert [seen.role for seen in stub.log] == ["work:researcher"]
    assert run["progress"]["tasks"]["cancelled"] == 6


async def test_a_task_that_is_too_large_leaves_its_siblings_alone(service: Service, stub: StubProvider) -> None:
    stub.on("work:researcher", prompt_too_long())
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis("the answer", "b")))

    run = await service.ended(await service.submit(plan=plan_of(task("a", "researcher"), task("b"))))

    assert (run["status"], run["result"]["gaps"][0]["reason"]) == ("partial", "context_exceeded")
    assert Counter(seen.body_sha256 for seen in stub.of("work:researcher")).most_common(1)[0][1] == 1


@pytest.mark.parametrize(("attempts", "requests"), [(1, 3), (2, 6)])
async def test_retries_do_not_multiply_beyond_calls_times_attempts(
    services: Services, stub: StubProvider, attempts: int, requests: int
) -> None:
    service = await services.start(call_attempts=3, retry_base_s=0.05)
    stub.on("work", rate_limited())

    run_id = await service.submit(plan=ONE, limits={"attempts": attempts})
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("failed", "provider_unavailable")
    assert len(stub.log) == requests
    assert len({seen.body_sha256 for seen in stub.log}) == 1
    assert run["usage"]["llm_calls"] == requests
    waits = [later.at - earlier.at for earlier, later in pairwise(stub.log)]
    assert all(wait >= 0.025 for wait in waits)
    assert len((await service.folded(run_id)).tasks["t1"].attempts) == attempts


async def test_a_later_attempt_has_the_calls_that_earlier_ones_have_left(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(retry_base_s=0.02)
    stub.on("refine", as_json({"instruction": "Do t1, better.", "change": "Better."}))
    stub.on("work", replies=[text(""), text(""), *(overloaded() for _ in range(5))], reply=as_json(report("done")))

    run_id = await service.submit(plan=ONE, limits={"attempts": 2})
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    assert len(stub.of("work")) == 8
    assert [attempt.number for attempt in (await service.folded(run_id)).tasks["t1"].attempts] == [1, 2]


async def test_parallel_workers_do_not_come_back_all_at_once(services: Services, stub: StubProvider) -> None:
    service = await services.start(retry_base_s=1)
    stub.on("work", replies=[server_error() for _ in range(4)], reply=as_json(report()))
    stub.on("synthesize", as_json(synthesis()))

    plan = plan_of(*(task(f"t{number}") for number in range(4)))
    run_id = await service.submit(plan=plan, run_id="run_5")  # From the id comes the jitter: it is always the same.
    await service.ended(run_id)

    waits = sorted(
        event.data.retry_at - event.at
        for event in await service.events(run_id)
        if isinstance(event.data, ev.LlmFailed) and event.data.retry_at
    )
    assert len(waits) == 4
    assert min(later - earlier for earlier, later in pairwise(waits)) > timedelta(milliseconds=20)


async def test_the_providers_own_word_on_when_to_come_back_is_kept(service: Service, stub: StubProvider) -> None:
    stub.on("work", replies=[rate_limited("1")], reply=as_json(report()))

    run = await service.ended(await service.submit(plan=ONE))

    first, second = stub.log
    assert run["status"] == "succeeded"
    assert second.at - first.at >= 1


async def test_a_wait_beyond_the_deadline_is_not_begun(service: Service, stub: StubProvider) -> None:
    stub.on("work", rate_limited("3600"))

    run = await service.ended(await service.submit(plan=ONE, limits={"timeout_s": 30, "attempts": 1}))

    assert (run["status"], run["stop_reason"]) == ("failed", "provider_unavailable")
    assert len(stub.log) == 1


async def test_a_run_whose_provider_asks_for_a_long_pause_waits_in_the_database_and_can_be_cancelled(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", rate_limited("20"))

    run_id = await service.submit(plan=ONE)
    waiting = await service.until(run_id, lambda row: row["status"] == "waiting")

    assert waiting["finished_at"] is None
    assert await service.cancel(run_id) is True
    assert (await service.ended(run_id))["status"] == "cancelled"
    assert len(stub.log) == 1


@pytest.mark.parametrize("role", ["plan", "work", "synthesize"])
async def test_a_run_that_waited_goes_on_when_its_time_has_come(
    services: Services, stub: StubProvider, role: str
) -> None:
    service = await services.start(poll_seconds=0.1, park_after_s=0.2)
    stub.on("plan", as_json(plan_of(task("a", "researcher"), task("b", "writer", ["a"]))))
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis()))
    stub.on(role, call=1, reply=rate_limited("1"))

    run_id = await service.submit()
    await service.until(run_id, lambda row: row["status"] == "waiting")
    [row] = await every(service.database, "SELECT owner, lease_until FROM runs")
    run = await service.ended(run_id)

    assert row == {"owner": None, "lease_until": None}
    assert run["status"] == "succeeded"
    first, second = stub.of(role)[:2]
    assert second.at - first.at >= 1
    assert second.body_sha256 == first.body_sha256
    resumed = [event.data.lost_calls for event in await service.events(run_id) if isinstance(event.data, ev.RunResumed)]
    assert resumed == [0]
    assert run["usage"]["llm_calls"] == len(stub.log) == 5


@pytest.mark.parametrize("role", ["plan", "synthesize"])
async def test_the_supervisors_calls_are_tried_again_too(service: Service, stub: StubProvider, role: str) -> None:
    stub.on("plan", as_json(plan_of(task("a"), task("b"))))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))
    stub.on(role, call=1, reply=overloaded())
    stub.on(role, call=2, reply=server_error())

    run = await service.ended(await service.submit())

    assert run["status"] == "succeeded"
    assert len({seen.body_sha256 for seen in stub.of(role)}) == 1
    assert len(stub.of(role)) == 3


async def test_planning_that_finds_no_provider_fails_the_run(services: Services, stub: StubProvider) -> None:
    service = await services.start(retry_base_s=0.002)
    stub.on("plan", overloaded())

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"]) == ("failed", "provider_unavailable")
    assert len(stub.log) == SUPERVISOR_ATTEMPTS


async def test_a_synthesis_waits_for_an_overload_to_pass(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report("found")))
    stub.on(
        "synthesize",
        replies=[*(overloaded() for _ in range(9)), cut(as_json(synthesis()), events=4)],
        reply=as_json(synthesis()),
    )

    run = await service.ended(await service.submit(plan=plan_of(task("a"), task("b")), limits={"timeout_s": 120}))

    assert (run["status"], run["stop_reason"]) == ("succeeded", "completed")
    assert run["usage"]["llm_calls"] == len(stub.log) == 13


async def test_what_one_runs_provider_asked_for_is_no_failure_of_another_run(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", replies=[rate_limited("30")], reply=as_json(report()))
    first, second = await service.submit(plan=ONE), None
    await service.until(first, lambda row: row["status"] == "waiting")
    second = await service.submit(plan=ONE)
    waiting = await service.until(second, lambda row: row["status"] == "waiting")

    assert waiting["usage"]["llm_calls"] == 0
    assert failures_in(await service.events(second)) == []
    assert (await service.folded(second)).tasks["t1"].attempts == ()
    assert len(stub.log) == 1


async def test_a_planning_call_that_is_held_back_since_another_run_was_told_to_pause_has_not_failed(
    service: Service, stub: StubProvider
) -> None:
    stub.on("plan", rate_limited("30"))
    await service.until(await service.submit(), lambda row: row["status"] == "waiting")
    run_id = await service.submit()
    waiting = await service.until(run_id, lambda row: row["status"] == "waiting")

    assert waiting["usage"]["llm_calls"] == 0
    log = await service.events(run_id)
    assert failures_in(log) == []
    assert [event.data.reason for event in log if isinstance(event.data, ev.BreakerOpened)] == ["rate_limited"]
    assert (await service.folded(run_id)).conversation(PLANNING).failures == 0
    assert len(stub.log) == 1


async def test_no_attempt_follows_a_call_that_may_come_again_only_after_the_run(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", rate_limited("3600"))

    run_id = await service.submit(plan=ONE, limits={"timeout_s": 60})
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("failed", "provider_unavailable")
    assert len(stub.log) == 1
    assert len((await service.folded(run_id)).tasks["t1"].attempts) == 1


async def test_a_synthesis_that_finds_no_provider_hands_over_what_the_workers_delivered(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("found")))
    stub.on("synthesize", overloaded(headers={"retry-after": "3600"}))

    run = await service.ended(await service.submit(plan=plan_of(task("a"), task("b")), limits={"timeout_s": 60}))

    assert (run["status"], run["stop_reason"]) == ("partial", "synthesis_failed")
    assert run["result"]["answer"] is None
    assert [output["summary"] for output in run["result"]["outputs"]] == ["found", "found"]
