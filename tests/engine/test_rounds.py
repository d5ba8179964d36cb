"""Further rounds of work: what an answer lacks is done after all, and the answer made again."""

from typing import Any

import pytest

from app.domain import events as ev
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, refusal
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

TWO = plan_of(task("prices", "researcher"), task("figures", "analyst"))


def lacking(name: str, **follow_up: Any) -> dict[str, Any]:
    """A gap, and the task that is to close it."""
    told: dict[str, Any] = {"title": "", "instruction": "Look elsewhere.", "success_criterion": "", "worker": "writer"}
    return {"task": name, "impact": "No prices.", "follow_up": told | {"depends_on": []} | follow_up}


def first_answer(*gaps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return synthesis("Figures, and no prices.", "figures", **{"gaps": list(gaps), **fields})


def offered(seen: SeenRequest) -> bool:
    """Whether the supervisor may say in that call what would close a gap."""
    return "follow_up" in str(seen.body["output_config"]["format"]["schema"]["properties"]["gaps"])


async def rounds_begun(service: Service, run_id: str) -> list[ev.PlanRevised]:
    return [event.data for event in await service.events(run_id) if isinstance(event.data, ev.PlanRevised)]


async def test_a_gap_is_closed_by_another_task_and_the_answer_made_again(service: Service, stub: StubProvider) -> None:
    stub.on("work:researcher", refusal())
    stub.on("work:analyst", as_json(report("7 figures")))
    stub.on("work:writer", as_json(report("9 prices")))
    stub.on("synthesize", call=1, reply=as_json(first_answer(lacking("prices"))))
    stub.on("synthesize", as_json(synthesis("7 figures and 9 prices.", "figures", "prices-1")))

    run_id = await service.submit(plan=TWO)
    run = await service.ended(run_id)

    result = run["result"]
    assert (run["status"], result["answer"], result["rounds"]) == ("succeeded", "7 figures and 9 prices.", 2)
    assert (run["progress"]["round"], run["plan_revision"]) == (2, 2)
    assert result["gaps"] == [
        {"task": "prices", "reason": "model_refusal", "impact": "No prices.", "redispatched_as": "prices-1"}
    ]
    assert result["coverage"]["missing"] == []
    [begun] = await rounds_begun(service, run_id)
    assert (begun.round, begun.redispatched, begun.added) == (2, {"prices": "prices-1"}, ("prices-1",))
    found = [event.data for event in await service.events(run_id) if isinstance(event.data, ev.GapFound)]
    assert [(gap.task, gap.reason, gap.redispatched_as) for gap in found] == [("prices", "model_refusal", "prices-1")]
    assert [offered(seen) for seen in stub.of("synthesize")] == [True, False]


async def test_what_was_skipped_for_lack_of_a_task_is_done_once_its_gap_is_closed(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work:researcher", refusal())
    stub.on("work:analyst", as_json(report("7 figures")))
    stub.on("work:writer", as_json(report("written")))
    stub.on("synthesize", call=1, reply=as_json(first_answer(lacking("prices"), {"task": "letter", "impact": "None."})))
    stub.on("synthesize", as_json(synthesis("All of it.", "figures", "prices-1", "letter-1", "post-1")))

    rest = task("post", needs=["letter"]), task("letter", needs=["prices"])
    run_id = await service.submit(plan=plan_of(task("prices", "researcher"), task("figures", "analyst"), *rest))
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["coverage"]["required"]) == ("succeeded", 4)
    tasks = (await service.folded(run_id)).tasks
    assert [tasks[name].task.depends_on for name in ("letter-1", "post-1")] == [("prices-1",), ("letter-1",)]
    assert {gap["redispatched_as"] for gap in run["result"]["gaps"]} == {"prices-1", "letter-1", "post-1"}


async def test_a_round_that_brings_nothing_is_the_last(service: Service, stub: StubProvider) -> None:
    stub.on("work:analyst", as_json(report("7 figures")))
    stub.on("work", refusal())
    stub.on("synthesize", as_json(first_answer(lacking("prices"))))

    run = await service.ended(await service.submit(plan=TWO, limits={"rounds": 5}))

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    assert run["result"]["answer"] == "Figures, and no prices."
    assert [gap["task"] for gap in run["result"]["gaps"]] == ["prices", "prices-1"]
    assert len(stub.of("synthesize")) == 1


@pytest.mark.parametrize("limits", [{"rounds": 1}, {"tasks": 2}])
async def test_no_round_is_begun_beyond_the_limits(
    service: Service, stub: StubProvider, limits: dict[str, int]
) -> None:
    stub.on("work:analyst", as_json(report("7 figures", confidence=0.2)))
    stub.on("work", refusal())
    more = lacking("figures", instruction="Count again.")
    stub.on("synthesize", as_json(first_answer(lacking("prices"), more)))

    run_id = await service.submit(plan=TWO, limits=limits)
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["rounds"]) == ("partial", 1)
    assert await rounds_begun(service, run_id) == []


@pytest.mark.parametrize(
    ("follow_up", "said"),
    [
        ({"instruction": "Do prices.", "worker": "researcher"}, "something else than what was tried"),
        ({"depends_on": ["ghost"]}, "tasks that there are not: ghost"),
        ({"instruction": " "}, "has no instruction"),
    ],
)
async def test_a_task_that_cannot_close_a_gap_is_sent_back_and_never_costs_the_answer(
    service: Service, stub: StubProvider, follow_up: dict[str, Any], said: str
) -> None:
    stub.on("work:researcher", refusal())
    stub.on("work:analyst", as_json(report("7 figures")))
    stub.on("synthesize", as_json(first_answer(lacking("prices", **follow_up))))

    run_id = await service.submit(plan=TWO)
    run = await service.ended(run_id)

    first, second = stub.of("synthesize")
    assert said in str(second.body["messages"][-1])
    assert first.body_sha256 != second.body_sha256
    assert (run["status"], run["result"]["answer"]) == ("partial", "Figures, and no prices.")
    assert await rounds_begun(service, run_id) == []


@pytest.mark.parametrize("thin", [{"confidence": 0.3}, {"confidence": 0.9}])
async def test_a_thin_result_may_be_added_to_and_stays(
    service: Service, stub: StubProvider, thin: dict[str, float]
) -> None:
    is_thin = thin["confidence"] < 0.5
    stub.on("work:researcher", as_json(report("some prices", **thin)))
    stub.on("work:analyst", as_json(report("7 figures")))
    stub.on("work:writer", as_json(report("more prices")))
    stub.on(
        "synthesize", call=1, reply=as_json(synthesis("Thin.", "prices", gaps=[lacking("prices")] if is_thin else []))
    )
    stub.on("synthesize", as_json(synthesis("Thick.", "prices", "prices-1")))

    run = await service.ended(await service.submit(plan=TWO))

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "Thick." if is_thin else "Thin.")
    assert [offered(seen) for seen in stub.of("synthesize")] == ([True, False] if is_thin else [False])
    assert run["result"]["gaps"] == []


CASCADE = [task("t1", "researcher"), task("t2", "analyst"), task("t3", needs=["t1"]), task("t4", needs=["t2"])]


@pytest.mark.parametrize(("on_missing", "missing"), [("skip", ["t1", "t3", "t5"]), ("proceed", ["t1"])])
async def test_a_failure_cascade_gives_the_best_there_is_and_says_what_is_missing(
    service: Service, stub: StubProvider, on_missing: str, missing: list[str]
) -> None:
    plan = plan_of(*(each | {"on_missing_input": on_missing} for each in [*CASCADE, task("t5", needs=["t3", "t4"])]))
    stub.on("work:researcher", refusal())
    stub.on("work", as_json(report("done")))
    delivered = [name for name in ("t1", "t2", "t3", "t4", "t5") if name not in missing]

    def answer(_: SeenRequest) -> Answer:
        return as_json(synthesis("The best there is.", *delivered, without=missing))

    stub.on("synthesize", answer)

    run = await service.ended(await service.submit(plan=plan))

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    assert run["result"]["coverage"]["missing"] == missing
    assert {gap["task"]: gap["reason"] for gap in run["result"]["gaps"]} == {
        name: "model_refusal" if name == "t1" else "dependency_failed" for name in missing
    }
    assert [output["task"] for output in run["result"]["outputs"] if output["status"] == "succeeded"] == delivered
