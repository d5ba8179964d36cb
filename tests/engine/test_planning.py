import json
from typing import Any

import pytest

from app.domain.conversation import CUT_SHORT
from app.domain.plan import TaskBudget
from app.domain.team import Team
from app.domain.worker import Worker
from tests.support.rows import every
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, fault, paused, refusal, text, truncated
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import system_of

ONE = plan_of(task("t1"))
TWELVE = json.dumps(plan_of(*(task(f"t{number}") for number in range(1, 13))))

UNUSABLE: dict[str, tuple[Answer, str, str]] = {
    "no tasks": (as_json({"tasks": []}), "plan_empty", "the plan has no tasks"),
    "a blank instruction": (as_json(plan_of(task("t1", instruction="  "))), "plan_invalid", "'t1' has no instruction"),
    "tasks that wait for each other": (
        as_json(plan_of(task("t1", needs=["t2"]), task("t2", needs=["t1"]))),
        "plan_invalid",
        "tasks wait for each other: t1 -> t2 -> t1",
    ),
    "a task that waits for itself": (as_json(plan_of(task("t3", needs=["t3"]))), "plan_invalid", "depends on itself"),
    "a cycle beside sound tasks": (
        as_json(plan_of(task("f"), task("a", needs=["c"]), task("b", needs=["a"]), task("c", needs=["b"]), task("g"))),
        "plan_invalid",
        "tasks wait for each other",
    ),
    "a need that is not in the plan": (
        as_json(plan_of(task("t1", needs=["t9"]))),
        "plan_invalid",
        "'t9', which is not",
    ),
    "two tasks of one name": (as_json(plan_of(task("t1"), task("T1 "))), "plan_invalid", "used twice"),
    "an unknown worker": (
        as_json(plan_of(task("t1", "marketing_ninja"))),
        "worker_unknown",
        "the team has: researcher, analyst, writer",
    ),
    "a task without a worker": (
        as_json({"tasks": [{"id": "t1", "instruction": "Do it."}]}),
        "plan_invalid",
        "lacks the field worker",
    ),
    "too many tasks": (text(TWELVE.replace("t12", "t13")), "plan_too_large", "at most 8 are allowed"),
    "prose": (text("I would first look around, and then decide."), "plan_unparseable", "the reply holds no JSON"),
    "two different plans": (
        text(f"{json.dumps(ONE)}\nor rather\n{json.dumps(plan_of(task('t2')))}"),
        "plan_unparseable",
        "2 different JSON values",
    ),
    "a trailing comma": (text('{"tasks": [{"id": "t1",}]}'), "plan_unparseable", "not valid JSON"),
    "nesting without end": (text('{"tasks": ' + "[" * 20_000 + "]" * 20_000 + "}"), "plan_unparseable", "JSON"),
    "a task that is no object": (as_json({"tasks": ["do it"]}), "plan_invalid", "tasks.0"),
}


def said_to_the_supervisor(stub: StubProvider) -> str:
    return str(stub.of("plan")[-1].body["messages"][-1]["content"][-1]["text"])


@pytest.mark.parametrize("fault", UNUSABLE)
async def test_an_unusable_plan_is_sent_back_once_with_the_reason_and_then_ends_the_run(
    service: Service, stub: StubProvider, fault: str
) -> None:
    answer, stop_reason, reason = UNUSABLE[fault]
    stub.on("plan", answer)

    run = await service.ended(await service.submit(limits={"tasks": 8}))

    assert (run["status"], run["stop_reason"], run["result"]) == ("failed", stop_reason, None)
    assert reason in said_to_the_supervisor(stub)
    assert reason in run["error"]["message"]
    assert [seen.role for seen in stub.log] == ["plan", "plan"]
    assert await every(service.database, "SELECT * FROM tasks") == []


async def test_a_plan_that_is_mended_is_carried_out(service: Service, stub: StubProvider) -> None:
    stub.on("plan", replies=[as_json(plan_of(task("t1", "marketing_ninja"))), as_json(ONE)])
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit())

    assert run["status"] == "succeeded"
    first, second = stub.of("plan")
    assert second.body["messages"][:1] == first.body["messages"]
    assert [message["role"] for message in second.body["messages"]] == ["user", "assistant", "user"]


SAVING = plan_of(task("t1", instruction="Write the report on vans, save report.md, commit it and send the mail."))
TELLING = plan_of(task("t1", instruction="Write the report on vans in full, as Markdown. Change nothing."))


async def test_a_worker_without_the_means_is_not_told_to_act(service: Service, stub: StubProvider) -> None:
    stub.on("plan", replies=[as_json(SAVING), as_json(TELLING)])
    stub.on("work", as_json(report()))

    run_id = await service.submit()
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    assert "'t1' orders 'save report.md', and writer has no tool that changes anything" in said_to_the_supervisor(stub)
    assert "acts_with names the tools by which a worker changes something" in system_of(stub.of("plan")[0].body)
    snapshot = await service.folded(run_id)
    assert snapshot.plan is not None
    assert (snapshot.plan.tasks[0].instruction, snapshot.plan.validation.warnings) == (
        TELLING["tasks"][0]["instruction"],
        (),
    )


@pytest.mark.parametrize("second", [as_json(SAVING), text("No."), refusal()], ids=["the same", "prose", "a refusal"])
async def test_a_plan_that_code_merely_doubts_is_followed_when_no_better_one_comes(
    service: Service, stub: StubProvider, second: Answer
) -> None:
    stub.on("plan", replies=[as_json(SAVING), second])
    stub.on("work", as_json(report()))

    run_id = await service.submit()
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    plan = (await service.folded(run_id)).plan
    assert plan is not None
    assert [(found.code, found.pointer) for found in plan.validation.warnings] == [
        ("tool_missing", "/tasks/0/instruction")
    ]
    assert len(stub.of("plan")) == 2


async def test_the_supervisor_gives_tasks_budgets_within_what_the_run_has(service: Service, stub: StubProvider) -> None:
    budget = {"tokens": 10**9, "steps": None, "timeout_s": 86_000}
    stub.on("plan", as_json(plan_of(task("t1", budget=budget, on_missing_input="proceed"), task("t2", budget=None))))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))

    run_id = await service.submit(limits={"tokens": 500_000, "timeout_s": 60})
    await service.ended(run_id)

    plan = (await service.folded(run_id)).plan
    assert plan is not None
    first, second = plan.tasks
    assert (first.budget.tokens, first.budget.steps, first.budget.timeout_s) == (500_000, None, 60)
    assert (first.on_missing_input, second.budget) == ("proceed", TaskBudget())


WRAPPED = {
    "prose and a fence": f"Here is the plan:\n```json\n{json.dumps(ONE)}\n```\nShall I start?",
    "a byte order mark": "\ufeff" + json.dumps(ONE),
    "the same plan twice": f"{json.dumps(ONE)}\n\nAgain:\n{json.dumps(ONE)}",
    "a bare list of tasks": json.dumps(ONE["tasks"]),
    "braces in an instruction": json.dumps(plan_of(task("t1", instruction='Write {"a": 1} and [2] }'))),
    "a footnote": f"As said [1]: {json.dumps(ONE)}",
}


@pytest.mark.parametrize("wrapping", WRAPPED)
async def test_a_plan_is_found_in_what_models_wrap_it_in(service: Service, stub: StubProvider, wrapping: str) -> None:
    stub.on("plan", text(WRAPPED[wrapping]))
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit())

    assert (run["status"], run["progress"]["tasks"]["total"]) == ("succeeded", 1)
    assert len(stub.of("plan")) == 1


async def test_fields_that_may_be_left_out_have_their_defaults(service: Service, stub: StubProvider) -> None:
    bare = [
        {"id": "T 1", "instruction": "Do it.", "worker": "writer"},
        {"id": 2, "instruction": "Too.", "worker": "writer"},
    ]
    stub.on(
        "plan", as_json({"tasks": [*bare, {"id": "t3", "instruction": "Last.", "worker": "writer", "depends_on": "2"}]})
    )
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis()))

    await service.ended(await service.submit())

    [row] = await every(service.database, "SELECT plan FROM plans")
    assert [(each["id"], each["depends_on"], each["required"]) for each in row["plan"]["tasks"]] == [
        ("t-1", [], True),
        ("2", [], True),
        ("t3", ["2"], True),
    ]


@pytest.mark.parametrize("spelling", ["Web Researcher ", "web-researcher", '"web_researcher"', "WEB_RESEARCHER"])
async def test_a_workers_name_is_known_in_every_spelling(service: Service, stub: StubProvider, spelling: str) -> None:
    worker = Worker(name="web_researcher", description="Finds.", instructions="Find.")
    stub.on("plan", as_json(plan_of(task("t1", spelling))))
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit(team=Team(name="web", workers=(worker,))))

    assert run["status"] == "succeeded"
    assert [seen.role for seen in stub.log] == ["plan", "work:web_researcher"]


async def test_a_plan_that_was_cut_is_asked_for_with_more_room_and_no_part_of_it_runs(
    service: Service, stub: StubProvider
) -> None:
    stub.on("plan", truncated(TWELVE[: TWELVE.index('"t10"')]))

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"]) == ("failed", "plan_truncated")
    assert "cap" in run["error"]["message"]
    first, second = stub.log
    assert second.body["max_tokens"] > first.body["max_tokens"]
    assert run["usage"]["llm_calls"] == 2


async def test_a_plan_that_was_cut_once_is_used_when_it_comes_whole(service: Service, stub: StubProvider) -> None:
    stub.on("plan", replies=[truncated(TWELVE[:400]), as_json(ONE)])
    stub.on("work", as_json(report()))

    assert (await service.ended(await service.submit()))["status"] == "succeeded"


async def test_a_plan_that_was_cut_is_never_asked_for_in_the_same_way_though_the_server_gives_no_more_room(
    service: Service, stub: StubProvider
) -> None:
    small = fault(400, "invalid_request_error", "max_tokens: 16000 > 4096, which is the maximum")
    stub.on("plan", replies=[small, truncated(TWELVE[:400]), as_json(ONE)])
    stub.on("work", as_json(report()))

    run = await service.ended(await service.submit())

    assert run["status"] == "succeeded"
    _, cut, again = stub.of("plan")
    assert (cut.body["max_tokens"], again.body["max_tokens"]) == (4096, 4096)
    assert cut.body_sha256 != again.body_sha256
    assert again.body["messages"][0]["content"][-1]["text"] == CUT_SHORT["text"]


PLANNING_ENDS: dict[str, tuple[Answer, str]] = {
    "refuses": (Answer(stop_reason="refusal"), "model_refusal"),
    "ends for a reason nobody knows": (text("{}", stop_reason="solar_flare"), "provider_unavailable"),
    "never stops pausing": (paused(), "provider_unavailable"),
}


@pytest.mark.parametrize("planner", PLANNING_ENDS)
async def test_a_planner_that_cannot_go_on_ends_the_run(service: Service, stub: StubProvider, planner: str) -> None:
    answer, stop_reason = PLANNING_ENDS[planner]
    stub.on("plan", answer)

    run = await service.ended(await service.submit())

    assert (run["status"], run["stop_reason"]) == ("failed", stop_reason)
    assert stub.of("work") == []


async def test_planning_names_the_workers_and_their_tools_and_the_schema_allows_no_other(
    service: Service, stub: StubProvider
) -> None:
    stub.on("plan", as_json(ONE))
    stub.on("work", as_json(report()))

    await service.ended(await service.submit(inputs=[{"name": "a.txt", "content": "the content"}]))

    [asked] = stub.of("plan")
    opening = asked.body["messages"][0]["content"][0]["text"]
    assert all(f'"name": "{name}"' in opening for name in ("researcher", "analyst", "writer", "a.txt"))
    assert "the content" not in json.dumps(asked.body)
    schema: dict[str, Any] = asked.body["output_config"]["format"]["schema"]
    assert schema["properties"]["tasks"]["items"]["properties"]["worker"]["enum"] == ["researcher", "analyst", "writer"]
