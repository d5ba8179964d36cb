import asyncio
import json
from decimal import Decimal

import psycopg

from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, call, delayed, held, server_error, text, tool_calls
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

FORK = plan_of(task("a", "researcher"), task("b", "analyst"), task("c", "writer", ["a", "b"]))

AT_3_AND_15 = "claude-sonnet-4-6"
"""A model that costs 3 and 15 USD per million tokens, a tenth for cache reads and a quarter more for cache writes."""


def opening_of(seen: SeenRequest) -> str:
    return str(seen.body["messages"][0]["content"][0]["text"])


async def test_a_job_is_planned_worked_on_in_parallel_and_reconciled(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(FORK))
    stub.on("work:researcher", call=1, reply=tool_calls(call("calculate", {"expression": "6*7"})))
    stub.on("work", lambda seen: as_json(report(f"by {seen.role}")))
    stub.on("synthesize", as_json(synthesis("It is as they say.", "a", "c")))

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"]) == ("succeeded", "completed")
    assert run["result"]["answer"] == "It is as they say."
    assert run["result"]["statements"] == [{"text": "It is as they say.", "tasks": ["a", "c"]}]
    assert [output["summary"] for output in run["result"]["outputs"]] == [
        "by work:researcher",
        "by work:analyst",
        "by work:writer",
    ]
    coverage = {"required": 3, "delivered": 3, "missing": [], "substituted": [], "unverified": [], "shortened": []}
    assert run["result"]["coverage"] == coverage
    assert (run["usage"]["llm_calls"], run["usage"]["tool_calls"]) == (len(stub.log), 1)


async def test_what_a_worker_sees_is_its_own_task_and_what_that_needs(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(FORK))
    stub.on("work", lambda seen: as_json(report(f"found by {seen.role}")))
    stub.on("synthesize", as_json(synthesis()))

    await service.ended(await service.submit("The secret objective."))

    [writer] = stub.of("work:writer")
    assert "found by work:researcher" in opening_of(writer)
    assert "found by work:analyst" in opening_of(writer)
    [analyst] = stub.of("work:analyst")
    assert "Do b." in opening_of(analyst)
    assert "Do a." not in opening_of(analyst)
    assert all("secret objective" not in json.dumps(seen.body) for seen in stub.of("work"))


async def test_a_plan_of_one_task_needs_no_synthesis(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("only"))))
    stub.on("work", as_json(report("All of it.")))

    run = await service.ended(await service.submit())

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "All of it.")
    assert run["result"]["statements"] == [{"text": "All of it.", "tasks": ["only"]}]
    assert [seen.role for seen in stub.log] == ["plan", "work:writer"]


async def test_a_plan_of_the_clients_own_is_executed_and_the_supervisor_not_asked(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))

    run_id = await service.submit(plan=plan_of(task("mine"), task("too", "Analyst ")))
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    assert stub.of("plan") == []
    assert [row["plan"]["tasks"][1]["worker"] for row in await every(service.database, "SELECT plan FROM plans")] == [
        "analyst"
    ]


async def test_no_more_tasks_run_at_once_than_the_limit_allows(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(*(task(f"t{number}") for number in range(6)))))
    stub.on("work", delayed(as_json(report()), 0.05))
    stub.on("synthesize", as_json(synthesis()))

    run = await service.ended(await service.submit(limits={"concurrency": 2}))

    assert run["status"] == "succeeded"
    assert (len(stub.of("work")), stub.most_in_flight) == (6, 2)


async def test_a_task_starts_the_moment_its_inputs_are_there_whatever_else_is_running(
    service: Service, stub: StubProvider
) -> None:
    stub.on(
        "plan",
        as_json(plan_of(task("slow", "researcher"), task("quick", "analyst"), task("next", "writer", ["quick"]))),
    )
    stub.on("work:researcher", held(as_json(report())))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))

    run_id = await service.submit()
    await stub.seen(1, role="work:writer")
    [slow] = stub.of("work:researcher")

    assert slow.outcome == "open"
    stub.release()
    assert (await service.ended(run_id))["status"] == "succeeded"


async def test_an_optional_task_may_fail_and_the_run_still_succeeds(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("must"), task("nice", "researcher", required=False))))
    stub.on("work:researcher", text("", stop_reason="refusal"))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis("the answer", "must", gaps=[{"task": "nice", "impact": "less colour"}])))

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"]) == ("succeeded", "completed")
    [gap] = run["result"]["gaps"]
    assert (gap["task"], gap["reason"], gap["impact"]) == ("nice", "model_refusal", "less colour")


async def test_what_needs_a_dead_task_is_skipped_at_any_distance_and_counted(
    service: Service, stub: StubProvider
) -> None:
    stub.on(
        "plan",
        as_json(
            plan_of(
                task("a", "researcher"),
                task("b", "writer", ["a"]),
                task("c", "analyst"),
                task("d", "writer", ["b", "c"]),
            )
        ),
    )
    stub.on("work:researcher", text("", stop_reason="refusal"))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis("the answer", "c", without=["a", "d"])))

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    assert stub.of("work:writer") == []
    counts = run["progress"]["tasks"]
    assert (counts["total"], counts["succeeded"], counts["failed"], counts["skipped"]) == (4, 1, 1, 2)
    skipped = {gap["task"]: gap["reason"] for gap in run["result"]["gaps"]}
    assert skipped == {"a": "model_refusal", "b": "dependency_failed", "d": "dependency_failed"}
    tasks = await every(service.database, "SELECT task_id, error FROM tasks WHERE status = 'skipped' ORDER BY task_id")
    assert [row["error"]["message"] for row in tasks] == [
        "Needs what these tasks did not deliver: a.",
        "Needs what these tasks did not deliver: b.",
    ]


async def test_a_task_that_may_proceed_is_told_which_inputs_are_missing(service: Service, stub: StubProvider) -> None:
    plan = plan_of(
        task("gone", "researcher"),
        task("here", "analyst"),
        task("on", "writer", ["gone", "here"], on_missing_input="proceed"),
    )
    stub.on("work:researcher", text("", stop_reason="refusal"))
    stub.on("work", as_json(report("what is here")))
    stub.on("synthesize", as_json(synthesis("the answer", "on", without=["gone"])))

    run = await service.ended(await service.submit(plan=plan))

    assert run["status"] == "partial"
    [writer] = stub.of("work:writer")
    asked = opening_of(writer)
    assert "The task gone should have delivered a result for this one and did not (model_refusal)" in asked
    assert asked.count("<result>") == 1


async def test_a_failed_workers_words_are_no_result_and_the_run_no_success(
    service: Service, stub: StubProvider
) -> None:
    plan = plan_of(
        task("a"), task("b", "analyst", budget={"steps": 1}), task("c", "researcher", budget={"timeout_s": 0.2})
    )
    stub.on("work:writer", as_json(report("Revenue 2025: 41 M")))
    stub.on("work:analyst", tool_calls(call("read_input", {"action": "list"}), before="margins about 12%"))
    stub.on("work:researcher", as_json(report(), stall_after_events=4, latch="never"))
    stub.on("synthesize", as_json(synthesis("Revenue was 41 M.", "a", without=["b", "c"])))

    run = await service.ended(await service.submit(plan=plan, limits={"attempts": 1}))

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    assert {gap["task"]: gap["reason"] for gap in run["result"]["gaps"]} == {"b": "max_steps", "c": "timeout"}
    assert "12%" not in json.dumps(run["result"])
    [asked] = stub.of("synthesize")
    assert "12%" not in json.dumps(asked.body)
    assert opening_of(asked).count("<failed>") == 2
    assert '"reason": "max_steps"' in opening_of(asked)


async def test_when_no_task_delivers_the_run_fails_without_a_synthesis(service: Service, stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("a"), task("b"))))
    stub.on("work", text("", stop_reason="refusal"))

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"], run["result"]) == ("failed", "no_results", None)
    assert stub.of("synthesize") == []


async def test_an_answer_that_rests_on_a_dead_task_is_sent_back_and_then_refused(
    service: Service, stub: StubProvider
) -> None:
    stub.on("plan", as_json(plan_of(task("a"), task("b", "researcher"))))
    stub.on("work:researcher", text("", stop_reason="refusal"))
    stub.on("work", as_json(report("what a found")))
    stub.on("synthesize", as_json(synthesis("As b found.", "b")))

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"]) == ("partial", "synthesis_failed")
    assert run["result"]["answer"] is None
    assert run["result"]["outputs"][0]["summary"] == "what a found"
    first, second = stub.of("synthesize")
    assert "these did not: b" in json.dumps(second.body)
    assert first.body_sha256 != second.body_sha256


async def test_cached_tokens_are_priced_as_such_and_counted_once(service: Service, stub: StubProvider) -> None:
    usage = {
        "input_tokens": 1_000,
        "cache_read_input_tokens": 90_000,
        "cache_creation_input_tokens": 5_000,
        "output_tokens": 2_000,
    }
    stub.on("work", as_json(report(), usage=usage))
    writer = CREW.workers[2].model_copy(update={"model": AT_3_AND_15})

    run = await service.ended(
        await service.submit(team=CREW.model_copy(update={"workers": (writer,)}), plan=plan_of(task("only")))
    )

    assert Decimal(run["usage"]["cost_usd"]) == Decimal("0.07875")
    assert run["usage"]["input_tokens"] == 96_000
    assert (run["usage"]["cache_read_tokens"], run["usage"]["cache_write_tokens"]) == (90_000, 5_000)
    assert run["usage"]["output_tokens"] == 2_000
    assert run["usage"]["estimated"] is False


async def test_counts_that_the_provider_leaves_out_are_zero(service: Service, stub: StubProvider) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": None}
    stub.on("work", as_json(report(), usage=usage))

    run = await service.ended(await service.submit(plan=plan_of(task("only"))))

    assert (run["usage"]["input_tokens"], run["usage"]["cache_read_tokens"]) == (10, 0)


async def test_a_failed_call_is_counted_beside_the_one_that_answers(service: Service, stub: StubProvider) -> None:
    stub.on("work", replies=[server_error()], reply=as_json(report()))

    run = await service.ended(await service.submit(plan=plan_of(task("only"))))

    assert (run["status"], run["usage"]["llm_calls"]) == ("succeeded", 2)


async def test_slow_model_calls_hold_no_database_connection(
    services: Services, database_url: str, stub: StubProvider
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET idle_in_transaction_session_timeout = '300ms'")
        service = await services.start(database_pool=5)
        stub.on("plan", held(as_json(plan_of(task("a"), task("b", "analyst"))), "plan"))
        stub.on("work", held(as_json(report()), "work"))
        stub.on("synthesize", delayed(as_json(synthesis()), 0.4))

        runs = [await service.submit() for _ in range(10)]
        await stub.seen(10, role="plan")
        assert _idle_in_transaction(connection) == 0
        stub.release("plan")
        await stub.seen(20, role="work")
        assert _idle_in_transaction(connection) == 0
        stub.release("work")
        ended = await asyncio.gather(*(service.ended(run_id) for run_id in runs))

    assert [run["status"] for run in ended] == ["succeeded"] * 10
    assert stub.most_in_flight == 20


def _idle_in_transaction(connection: psycopg.Connection) -> int:
    """Sessions that have been idle in a transaction for long; a busy one may be so for a moment."""
    row = connection.execute(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state LIKE 'idle in transaction%'
          AND clock_timestamp() - state_change > interval '200 ms'
        """
    ).fetchone()
    assert row is not None
    return int(row[0])


async def test_a_synthesis_in_prose_is_an_answer_without_statements(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report()))
    stub.on("synthesize", text("Both are done."))

    run = await service.ended(await service.submit(plan=plan_of(task("t1"), task("t2"))))

    assert (run["status"], run["result"]["answer"], run["result"]["statements"]) == ("succeeded", "Both are done.", [])
    assert len(stub.of("synthesize")) == 1
