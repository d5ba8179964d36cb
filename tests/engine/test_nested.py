import json
from collections import deque
from typing import Any

import pytest

import app.engine.children
from app.domain.keys import DEFAULT_TENANT
from app.domain.nested import Parent, child_id
from app.domain.team import Team
from app.domain.worker import Worker
from app.store.children import WITHOUT_PARENT
from app.store.runs import find_run, whole_run
from tests.support.fixtures import Services
from tests.support.rows import check_rows, every
from tests.support.service import CREW, Service, failed_in, plan_of, report, synthesis, task
from tests.support.stub_answers import Answer, as_json, held, refusal, unauthorized
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest, system_of

OFFICE = Team(
    name="office",
    workers=(
        Worker(name="survey", description="Surveys a plot, all of it.", team="crew"),
        Worker(name="clerk", description="Files things.", instructions="File it."),
    ),
)
CLERK = OFFICE.workers[1]
OUTER = plan_of(task("north", "survey"), task("files", "clerk"), final_instruction="Both in one.")
INNER = plan_of(task("t1", "researcher"), task("t2", "writer"))
QUICK: dict[str, Any] = {"park_after_s": 0.05, "poll_seconds": 0.1}


def is_outer(seen: SeenRequest) -> bool:
    return 'team "office"' in system_of(seen.body)


def by_team(outer: Any, inner: Any) -> Any:
    """One answer for the supervisor of the parent, another for that of its nested runs."""
    return lambda seen: as_json(outer) if is_outer(seen) else inner if isinstance(inner, Answer) else as_json(inner)


def prepare(stub: StubProvider, outer: Any = OUTER) -> None:
    if outer is not None:
        stub.on("plan", by_team(outer, INNER))
    stub.on("work", as_json(report("surveyed")))
    stub.on(
        "synthesize", by_team(synthesis("All is filed.", "north", "files"), synthesis("The plot is dry.", "t1", "t2"))
    )


async def child_of(service: Service, run_id: str, name: str = "north", attempt: int = 1) -> dict[str, Any]:
    """The row of the nested run of an attempt, once it has ended."""
    return await service.ended(child_id(Parent(run=run_id, task=name, attempt=attempt)))


async def begin(service: Service, **job: Any) -> str:
    await service.stored(CREW)
    return await service.submit(team=OFFICE, **job)


@pytest.mark.parametrize("places", [1, 4])
async def test_a_worker_that_is_a_team_does_its_task_as_a_run_of_its_own(
    services: Services, stub: StubProvider, places: int
) -> None:
    prepare(stub)
    service = await services.start(runs_at_once=places, **QUICK)

    run_id = await begin(service, metadata={"ticket": "T-1"}, inputs=[{"name": "plot.csv", "content": "a,b"}])
    run, child = await service.ended(run_id), await child_of(service, run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "All is filed.")
    assert (child["status"], child["result"]["answer"]) == ("succeeded", "The plot is dry.")
    assert child["parent"] == {"run": run_id, "task": "north", "attempt": 1}
    assert child["team_name"] == "crew"
    assert child["metadata"] == {"ticket": "T-1"}
    assert child["limits"]["depth"] == 1
    assert child["objective"].startswith("Do north.")
    output = run["result"]["outputs"][0]
    assert (output["worker"], output["text"], output["nested"]["run"]) == ("survey", "The plot is dry.", child["id"])
    assert run["usage"]["llm_calls"] == len(stub.of("*")) == child["usage"]["llm_calls"] + 3
    whole = await whole_run(service.database, DEFAULT_TENANT, run_id)
    assert whole is not None
    assert [each["detail"]["child"] for each in whole.attempts if each["worker"] == "survey"] == [child["id"]]
    for each in (run_id, child["id"]):
        await check_rows(service.database, each)


async def test_what_a_nested_run_lacks_is_told_with_its_result(services: Services, stub: StubProvider) -> None:
    stub.on("work:writer", refusal())
    prepare(stub)
    stub.on(
        "synthesize", by_team(synthesis("All is filed.", "north", "files"), synthesis("Dry.", "t1", without=["t2"]))
    )
    service = await services.start(**QUICK)

    run_id = await begin(service)
    run, child = await service.ended(run_id), await child_of(service, run_id)

    assert (child["status"], child["stop_reason"]) == ("partial", "gaps")
    output = run["result"]["outputs"][0]
    assert output["partial"]
    assert (run["status"], run["stop_reason"], [gap["task"] for gap in run["result"]["gaps"]]) == (
        "partial",
        "gaps",
        ["north"],
    )
    assert output["nested"] | {"conflicts": []} == {
        "run": child["id"],
        "status": "partial",
        "stop_reason": "gaps",
        "gaps": child["result"]["gaps"],
        "conflicts": [],
        "assumptions": [],
        "files_left": [],
    }
    [asked] = [seen for seen in stub.of("synthesize") if is_outer(seen)]
    assert '"missing": ["Something is missing."]' in str(asked.body["messages"][0]["content"])


async def test_a_nested_run_that_fails_is_a_failed_attempt_with_its_reason(
    services: Services, stub: StubProvider
) -> None:
    inner = deque([as_json(plan_of()), as_json(plan_of()), as_json(INNER)])
    stub.on("plan", lambda seen: as_json(OUTER) if is_outer(seen) else inner.popleft())
    stub.on("refine", as_json({"instruction": "Survey the north plot.", "change": "Said which."}))
    prepare(stub, None)
    service = await services.start(**QUICK)

    run_id = await begin(service)
    run = await service.ended(run_id)

    first, second = await child_of(service, run_id), await child_of(service, run_id, attempt=2)
    assert (first["status"], first["stop_reason"]) == ("failed", "plan_empty")
    assert second["status"] == run["status"] == "succeeded"
    assert second["objective"].startswith("Survey the north plot.")
    [retry] = [event for event in await service.events(run_id) if event.type == "task.retrying"]
    assert retry.data.error.code == "no_progress"  # type: ignore[union-attr]
    assert f"{first['id']} ended with plan_empty" in retry.data.error.message  # type: ignore[union-attr]


async def test_cancelling_a_run_stops_its_nested_runs_and_names_them(services: Services, stub: StubProvider) -> None:
    stub.on("work:researcher", held(as_json(report())))
    prepare(stub)
    service = await services.start(**QUICK)
    run_id = await begin(service)
    child = child_id(Parent(run=run_id, task="north", attempt=1))
    await stub.seen(1, role="work:researcher")
    await service.until(run_id, lambda row: row["status"] == "waiting")

    await service.cancel(run_id)
    run = await service.ended(run_id)

    assert run["status"] == "cancelled"
    assert run["cancellation"]["children"] == [{"run": child, "task": "north", "status": "cancelled"}]
    stopped = await find_run(service.database, DEFAULT_TENANT, child)
    assert stopped is not None
    assert (stopped["status"], stopped["cancellation"]["reason"]) == ("cancelled", WITHOUT_PARENT)
    assert run["usage"]["llm_calls"] == len(stub.of("*"))


async def test_a_nested_run_that_takes_longer_than_its_task_may_is_stopped_and_missed(
    services: Services, stub: StubProvider
) -> None:
    outer = plan_of(task("north", "survey", budget={"timeout_s": 0.4}), task("files", "clerk"))
    stub.on("work:researcher", held(as_json(report())))
    stub.on("work:writer", held(as_json(report())))
    prepare(stub, outer)
    stub.on("synthesize", as_json(synthesis("Filed.", "files", without=["north"])))
    service = await services.start(**QUICK)

    run_id = await begin(service, limits={"attempts": 1})
    run, child = await service.ended(run_id), await child_of(service, run_id)

    assert (run["status"], run["result"]["gaps"][0]["reason"]) == ("partial", "timeout")
    assert (child["status"], child["stop_reason"]) in {("failed", "deadline_exceeded"), ("cancelled", "cancelled")}


async def test_a_nested_run_has_its_part_of_the_budget_and_gives_back_what_it_leaves(
    services: Services, stub: StubProvider
) -> None:
    prepare(stub)
    service = await services.start(**QUICK)

    run_id = await begin(service, limits={"tokens": 200_000, "cost_usd": "2.00"})
    run, child = await service.ended(run_id), await child_of(service, run_id)

    assert run["status"] == "succeeded"
    [begun] = [event.data for event in await service.events(run_id) if event.type == "child.started"]
    assert begun.allowance.tokens == child["limits"]["tokens"]  # type: ignore[union-attr]
    assert 50_000 < child["limits"]["tokens"] < 100_000
    assert "0.5" < child["limits"]["cost_usd"] < "1"
    assert (await service.folded(run_id)).allotted.tokens == 0


async def test_a_budget_too_small_for_a_nested_run_ends_the_work(services: Services, stub: StubProvider) -> None:
    prepare(stub)
    stub.on("synthesize", as_json(synthesis("Filed.", "files", without=["north"])))
    service = await services.start(**QUICK)

    run_id = await begin(service, limits={"tokens": 21_000})
    run = await service.ended(run_id)

    assert run["stop_reason"] == "budget_exhausted"
    assert (
        await find_run(service.database, DEFAULT_TENANT, child_id(Parent(run=run_id, task="north", attempt=1))) is None
    )


async def test_on_the_last_level_no_worker_is_a_team(services: Services, stub: StubProvider) -> None:
    prepare(stub, plan_of(task("files", "clerk")))
    service = await services.start(**QUICK)

    run = await service.ended(await begin(service, limits={"depth": 1}))

    assert run["status"] == "succeeded"
    [planning] = stub.of("plan")
    assert "survey" not in str(planning.body)


async def test_a_team_that_is_its_own_worker_nests_as_deep_as_it_may(services: Services, stub: StubProvider) -> None:
    itself = Team(
        name="mirror",
        workers=(
            Worker(name="again", description="Everything.", team="mirror"),
            Worker(name="clerk", description="Files.", instructions="File it."),
        ),
    )
    stub.on(
        "plan",
        lambda seen: as_json(plan_of(task("t1", "again" if '"again"' in str(seen.body) else "clerk"))),
    )
    stub.on("work", as_json(report("filed")))
    service = await services.start(**QUICK)

    run_id = await service.submit(team=itself, limits={"depth": 3})
    run = await service.ended(run_id)

    assert (run["status"], run["result"]["answer"]) == ("succeeded", "filed")
    rows = await every(service.database, "SELECT limits FROM runs ORDER BY created_at")
    assert [row["limits"]["depth"] for row in rows] == [3, 2, 1]


async def test_a_worker_that_is_an_unknown_team_fails_its_task(services: Services, stub: StubProvider) -> None:
    prepare(stub)
    stub.on("synthesize", as_json(synthesis("Filed.", "files", without=["north"])))
    service = await services.start(**QUICK)

    run = await service.ended(await service.submit(team=OFFICE))

    assert (run["status"], run["result"]["gaps"][0]["reason"]) == ("partial", "request_rejected")
    assert "the team crew, which is not known" in run["result"]["outputs"][0]["error"]["message"]


async def test_what_a_nested_run_has_spent_is_counted_although_its_parent_has_failed(
    services: Services, stub: StubProvider
) -> None:
    prepare(stub)
    stub.on("work:researcher", held(as_json(report())))
    stub.on("work:writer", held(as_json(report())))
    stub.on("work:clerk", held(unauthorized(), "clerk"))
    service = await services.start(**QUICK)
    run_id = await begin(service)
    await stub.seen(1, role="work:researcher")
    await stub.seen(1, role="work:writer")

    stub.release("clerk")
    run, child = await service.ended(run_id), await child_of(service, run_id)

    assert (run["status"], run["stop_reason"], child["status"]) == ("failed", "provider_auth", "cancelled")
    assert run["usage"]["llm_calls"] == len(stub.of("*"))
    assert (await service.folded(run_id)).open_children == []


async def test_a_parent_goes_on_before_runs_that_have_not_begun(services: Services, stub: StubProvider) -> None:
    stub.on("work:researcher", held(as_json(report("surveyed")), "north"))
    prepare(stub)
    service = await services.start(runs_at_once=1, **QUICK)
    run_id = await begin(service)
    await stub.seen(1, role="work:researcher")
    younger = await service.submit(plan=plan_of(task("w", "writer")))

    stub.release("north")
    run, later = await service.ended(run_id), await service.ended(younger)

    assert run["status"] == "succeeded"
    assert run["finished_at"] < later["started_at"]


async def test_what_a_nested_run_leaves_open_is_a_conflict_above_it(services: Services, stub: StubProvider) -> None:
    disputed = {
        "topic": "the year",
        "claims": [{"task": "t1", "claim": "2009"}, {"task": "t2", "claim": "2011"}],
        "status": "unresolved",
        "resolution": None,
        "method": None,
        "confidence": None,
    }
    stub.on("work:researcher", as_json(report("It was 2009.")))
    stub.on("work:writer", as_json(report("It was 2011.")))
    prepare(stub)
    below = synthesis("2009 or 2011.", "t1", "t2", conflicts=[disputed])
    stub.on("synthesize", by_team(synthesis("It was 2009. All is filed.", "north", "files"), below))
    service = await services.start(**QUICK)

    run = await service.ended(await begin(service))

    assert (run["status"], run["stop_reason"]) == ("partial", "synthesis_failed")
    assert run["result"]["rejected_answer"]["errors"][0]["code"] == "conflict_hidden"


async def test_what_a_nested_run_takes_for_granted_its_parent_tells_too(services: Services, stub: StubProvider) -> None:
    stuck = {"reason": "ambiguous_input", "message": "Which plot?", "partial": None}
    stub.on("work:researcher", replies=[as_json(report("", escalation=stuck))], reply=as_json(report("surveyed")))
    ruling = {"decision": "ask_human", "question": "Which plot?", "choices": [], "reason": "Only they know."}
    stub.on("rule", as_json(ruling | {"default_action": "proceed", "assumption": "The north plot."}))
    prepare(stub)
    service = await services.start(**QUICK)

    run = await service.ended(await begin(service, on_question="default"))

    assert [each["task"] for each in run["result"]["assumptions"]] == ["north"]
    assert "The north plot." in run["result"]["answer"]


async def test_delegation_has_a_bound_however_deep_and_wide_it_may_go(
    services: Services, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app.engine.children, "MOST_NESTED", 5)
    again = [task(f"t{number}", "again") for number in (1, 2, 3)]
    itself = Team(name="mirror", workers=(Worker(name="again", description="Everything.", team="mirror"), CLERK))
    stub.on("plan", lambda seen: as_json(plan_of(*(again if '"again"' in str(seen.body) else [task("t1", "clerk")]))))
    stub.on("work", as_json(report("filed")))
    stub.on("synthesize", lambda seen: as_json(synthesis("Filed.", without=failed_in(str(seen.body)))))
    service = await services.start(runs_at_once=1, **QUICK)

    run = await service.ended(await service.submit(team=itself, limits={"depth": 4, "attempts": 1}))

    assert run["status"] in ("partial", "failed")
    begun = await every(service.database, "SELECT id FROM runs WHERE parent IS NOT NULL")
    assert 5 <= len(begun) <= 7  # Of 39; three may be begun at the same moment.


async def test_a_task_with_too_few_tokens_for_a_nested_run_fails_and_says_so(
    services: Services, stub: StubProvider
) -> None:
    prepare(stub, plan_of(task("north", "survey", budget={"tokens": 10_000}), task("files", "clerk")))
    stub.on("synthesize", as_json(synthesis("Filed.", "files", without=["north"])))
    service = await services.start(**QUICK)

    run = await service.ended(await begin(service))

    assert (run["stop_reason"], run["result"]["gaps"][0]["reason"]) == ("gaps", "budget_exceeded")
    assert "10000 tokens left" in run["result"]["outputs"][0]["error"]["message"]


async def test_an_end_that_cannot_be_read_holds_up_no_other(services: Services, stub: StubProvider) -> None:
    stub.on("work:researcher", held(as_json(report("surveyed")), "north"))
    prepare(stub)
    service = await services.start(**QUICK)
    odd, sound = await begin(service), await begin(service)
    await stub.seen(2, role="work:researcher")
    child = child_id(Parent(run=odd, task="north", attempt=1))
    kept = await every(service.database, "SELECT parent FROM runs WHERE id = :id", id=child)
    change = "UPDATE runs SET parent = CAST(:parent AS json) WHERE id = :id RETURNING id"
    await every(service.database, change, id=child, parent='{"run": 1}')

    stub.release("north")
    run = await service.ended(sound)

    assert run["status"] == "succeeded"
    await every(service.database, change, id=child, parent=json.dumps(kept[0]["parent"]))
    assert (await service.ended(odd))["status"] == "succeeded"
