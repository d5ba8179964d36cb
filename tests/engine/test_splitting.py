"""Splitting a task: smaller ones take its place, and whoever needs it gets all their results."""

from typing import Any

import pytest

from tests.engine.test_escalations import EMPTY_HANDED, crew
from tests.support.api import Api
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest


def part(name: str, worker: str = "junior", needs: tuple[str, ...] = ()) -> dict[str, Any]:
    instruction = {"id": name, "title": name, "instruction": f"Do part {name}.", "success_criterion": "It is done."}
    return instruction | {"worker": worker, "depends_on": list(needs)}


def splitting(*parts: dict[str, Any]) -> Answer:
    ruled = {"decision": "split", "worker": None, "instruction": None, "reason": "two things"}
    return as_json(ruled | {"parts": list(parts)})


def worked(seen: SeenRequest) -> Answer:
    said = seen.body["messages"][0]["content"][0]["text"]
    return EMPTY_HANDED if "Do t2." in said else as_json(report("done"))


PLAN = plan_of(task("t1", "senior"), task("t2", "junior", ["t1"]), task("t3", "senior", ["t2"]))


async def test_the_parts_take_the_tasks_place_in_a_new_revision(service: Service, stub: StubProvider, api: Api) -> None:
    stub.on("work", worked)
    stub.on("rule", splitting(part("south"), part("north", "local", ("south",))))
    stub.on("synthesize", as_json(synthesis("the answer", "t1", "t2-1", "t2-2", "t3")))

    run_id = await service.submit(team=crew(), plan=PLAN)
    run = await service.ended(run_id)

    assert (run["status"], run["plan_revision"], run["result"]["gaps"]) == ("succeeded", 2, [])
    assert run["result"]["coverage"]["required"] == 4
    assert run["progress"]["tasks"] == {
        "total": 4, "succeeded": 4, "cancelled": 0,
        "pending": 0, "running": 0, "waiting": 0, "failed": 0, "skipped": 0,
    }  # fmt: skip
    newest, first = await api.get(f"/v1/runs/{run_id}/plan"), await api.get(f"/v1/runs/{run_id}/plan?revision=1")
    assert [each["id"] for each in first["tasks"]] == ["t1", "t2", "t3"]
    needs = {each["id"]: each["depends_on"] for each in newest["tasks"]}
    assert needs == {"t1": [], "t2-1": ["t1"], "t2-2": ["t1", "t2-1"], "t3": ["t2-1", "t2-2"]}
    assert (newest["validation"]["ok"], newest["shape"]["depth"], "reason" in newest) == (True, 4, False)


async def test_what_was_split_is_still_shown_with_what_it_cost(service: Service, stub: StubProvider, api: Api) -> None:
    stub.on("work", worked)
    stub.on("rule", splitting(part("a"), part("b")))
    stub.on("synthesize", as_json(synthesis("the answer", "t2-1", "t2-2", "t3")))

    run_id = await service.submit(team=crew(), plan=PLAN)
    run = await service.ended(run_id)
    shown = (await api.get(f"/v1/runs/{run_id}/tasks"))["data"]
    trace = await api.get(f"/v1/runs/{run_id}/trace")

    assert [each["id"] for each in shown] == ["t1", "t2-1", "t2-2", "t3", "t2"]
    whole = shown[-1]
    assert (whole["status"], whole["error"]["code"]) == ("cancelled", "no_progress")
    assert [each["decision"] for each in whole["escalations"]] == ["split"]
    assert sum(each["usage"]["llm_calls"] for each in shown) == run["usage"]["llm_calls"] - 1  # And the synthesis.
    assert [plan["revision"] for plan in trace["plan_revisions"]] == [1, 2]
    assert {span["id"]: span["status"] for span in trace["spans"]}["task:t2"] == "cancelled"
    [revised] = [event["data"] for event in trace["events"] if event["type"] == "plan.revised"]
    assert (revised["added"], revised["removed"], revised["changed"]) == (["t2-1", "t2-2"], ["t2"], ["t3"])
    assert revised["reason"] == "t2 was split. two things"


@pytest.mark.parametrize(
    "parts",
    [
        (part("a"),),
        (),
        (part("a"), part("a")),
        (part("a", needs=("b",)), part("b", needs=("a",))),
        (part("a", "nobody"), part("b")),
        (part("a", needs=("t3",)), part("b")),
        (part("a") | {"instruction": "Do t2."}, part("b")),
        tuple(part(f"p{number}") for number in range(20)),
    ],
    ids=[
        "one part",
        "none",
        "one name twice",
        "a circle",
        "a worker that the team lacks",
        "a need beside",
        "the same again",
        "more than the plan may have",
    ],
)
async def test_parts_that_cannot_be_carried_out_are_refused(
    service: Service, stub: StubProvider, parts: tuple[dict[str, Any], ...]
) -> None:
    stub.on("work", worked)
    stub.on("rule", replies=[splitting(*parts)], reply=splitting(part("a"), part("b")))
    stub.on("synthesize", as_json(synthesis("the answer", "t1")))

    run_id = await service.submit(team=crew(), plan=PLAN)
    run = await service.ended(run_id)

    assert (run["status"], run["plan_revision"]) == ("succeeded", 2)
    assert "ruling.rejected" in [event.type for event in await service.events(run_id)]


async def test_a_part_is_not_split_again_and_a_full_plan_not_at_all(service: Service, stub: StubProvider) -> None:
    stub.on("work:junior", EMPTY_HANDED)
    stub.on("work", as_json(report("done")))
    stub.on("rule", call=1, reply=splitting(part("a"), part("b", "senior")))
    stub.on("rule", as_json({"decision": "give_up", "reason": "enough"}))
    stub.on("synthesize", as_json(synthesis("the answer", "t2")))

    plan = plan_of(task("t1", "junior"), task("t2", "senior"), task("t3", "senior"))
    run_id = await service.submit(team=crew(), plan=plan)
    await service.ended(run_id)
    full = await service.submit(team=crew(), plan=plan, limits={"tasks": 3})
    await service.ended(full)

    allowed = [
        seen.body["output_config"]["format"]["schema"]["properties"]["decision"]["enum"] for seen in stub.of("rule")
    ]
    assert ["split" in decisions for decisions in allowed] == [True, False, False]


async def test_the_budget_of_a_task_is_shared_by_its_parts(service: Service, stub: StubProvider) -> None:
    stub.on("work", worked)
    stub.on("rule", splitting(part("a"), part("b")))
    stub.on("synthesize", as_json(synthesis("the answer", "t1")))
    budget = {"tokens": 100_000, "steps": 3, "timeout_s": 60}

    run_id = await service.submit(team=crew(), plan=plan_of(task("t1", "senior"), task("t2", "junior", budget=budget)))
    await service.ended(run_id)

    run = await service.folded(run_id)
    spent = run.replaced["t2"].usage.amount.tokens
    for name in ("t2-1", "t2-2"):
        its = run.tasks[name].task.budget
        assert (its.steps, its.timeout_s) == (3, 60)
        assert its.tokens is not None
        assert its.tokens <= (100_000 - spent) // 2 + spent
    assert sum(run.tasks[name].task.budget.tokens or 0 for name in ("t2-1", "t2-2")) < 100_000
