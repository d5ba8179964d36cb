import asyncio
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from app.api import long_polls
from app.api.problem_codes import PROBLEM_CODES
from app.domain.keys import DEFAULT_TENANT
from app.domain.team_rules import Condition, Route
from app.store.teams import put_team
from tests.api.test_description import DESCRIPTION
from tests.support.api import client_of
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, held, unauthorized
from tests.support.stub_provider import StubProvider

JOB = {"objective": "Find out.", "team": "crew"}
DRY = "/v1/jobs?dry_run=true"
PLAN = plan_of(task("a", "researcher"), task("b", "analyst"), task("c", "writer", ["a", "b"]))


@pytest.fixture
async def service(services: Services, stub: StubProvider) -> Service:
    """A service whose provider plans three tasks and does them."""
    stub.on("plan", as_json(PLAN))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis("the answer", "a", "b", "c")))
    service = await services.start()
    await put_team(service.database, DEFAULT_TENANT, CREW)
    return service


async def run_of(client: httpx2.AsyncClient, answer: httpx2.Response) -> Any:
    return (await client.get(answer.headers["location"])).json()


async def test_a_clients_own_plan_is_taken_whatever_is_odd_about_it_and_says_so(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    own = {"tasks": [{"id": "t1", "worker": "writer", "instruction": "Write a note on vans and save it as note.md."}]}

    answer = await client.post(DRY, json=JOB | {"plan": own})

    assert answer.status_code == 200
    validation = answer.json()["plan"]["validation"]
    assert (validation["ok"], validation["errors"]) == (True, [])
    assert [(found["code"], found["pointer"]) for found in validation["warnings"]] == [
        ("tool_missing", "/tasks/0/instruction"),
        ("criterion_missing", "/tasks/0/success_criterion"),
    ]
    assert stub.log == []


async def test_a_dry_run_is_planned_and_nothing_is_executed(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    answer = await client.post(DRY, json=JOB)

    assert answer.status_code == 200
    assert [seen.role for seen in stub.log] == ["plan"]
    assert [each["id"] for each in answer.json()["plan"]["tasks"]] == ["a", "b", "c"]
    assert answer.json()["plan"]["validation"]["errors"] == []
    quote = answer.json()["quote"]
    assert (quote["basis"], quote["runs_considered"]) == ("limits", 0)
    assert set(quote["cost_usd"]) == set(quote["tokens"]) == set(quote["duration_s"]) == {"least", "likely", "most"}
    assert all(isinstance(amount, str) for amount in quote["cost_usd"].values())


async def test_its_run_shows_what_planning_has_cost_and_that_it_was_dry(client: httpx2.AsyncClient) -> None:
    answer = await client.post(DRY, json=JOB)
    run = await run_of(client, answer)

    assert run["id"] == answer.json()["run_id"]
    assert (run["status"], run["stop_reason"], run["limits"]["dry_run"]) == ("succeeded", "planned", True)
    assert run["quote"] == answer.json()["quote"]
    assert run["usage"]["llm_calls"] == 1
    tokens = run["usage"]["input_tokens"] + run["usage"]["output_tokens"]
    assert run["quote"]["planning"]["tokens"] == tokens > 0
    assert (run["progress"]["tasks"]["total"], run["result"]["answer"]) == (0, None)
    assert [each["id"] for each in (await client.get("/v1/runs")).json()["data"]] == [run["id"]]


async def test_its_plan_may_be_sent_as_the_plan_of_a_job(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    plan = (await client.post(DRY, json=JOB)).json()["plan"]
    answer = await client.post("/v1/jobs", json=JOB | {"plan": plan}, headers={"prefer": "wait=20"})

    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded")
    assert len(stub.of("plan")) == 1
    assert "dry_run" not in answer.json()["limits"]
    assert answer.json()["quote"]["planning"] == {"cost_usd": "0", "tokens": 0, "duration_s": pytest.approx(0, abs=5)}


async def test_the_plan_the_events_and_the_trace_show_plan_and_quote_each_in_its_place(
    client: httpx2.AsyncClient,
) -> None:
    run = await run_of(client, await client.post(DRY, json=JOB))
    plan = (await client.get(run["links"]["plan"])).json()
    trace = (await client.get(run["links"]["trace"])).json()

    [planned] = [event["data"] for event in trace["events"] if event["type"] == "plan.created"]
    assert planned == plan | {"quote": run["quote"], "source": "supervisor"}
    assert trace["plan_revisions"] == [plan]
    assert trace["run"]["quote"] == run["quote"]


async def test_a_finished_run_shows_its_quote_beside_what_it_took(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/v1/jobs", json=JOB, headers={"prefer": "wait=20"})

    run = answer.json()
    quote, usage = run["quote"], run["usage"]
    took = {
        "cost_usd": Decimal(usage["cost_usd"]),
        "tokens": usage["input_tokens"] + usage["output_tokens"],
        "duration_s": run["timing"]["wall_ms"] / 1000,
    }
    for name, actual in took.items():
        figures = {key: Decimal(str(value)) for key, value in quote[name].items()}
        assert figures["least"] <= actual <= figures["most"]
        assert figures["least"] <= figures["likely"] <= figures["most"]


async def test_a_quote_rests_on_the_history_of_such_tasks_once_there_are_enough(client: httpx2.AsyncClient) -> None:
    took = []
    for _ in range(3):
        usage = (await client.post("/v1/jobs", json=JOB, headers={"prefer": "wait=20"})).json()["usage"]
        took.append(usage["input_tokens"] + usage["output_tokens"])
    await client.post(DRY, json=JOB)

    quote = (await client.post(DRY, json=JOB)).json()["quote"]

    assert (quote["basis"], quote["runs_considered"]) == ("history", 3)
    assert quote["tokens"]["likely"] == pytest.approx(took[0], rel=0.1)


async def test_a_plan_of_the_clients_own_is_quoted_without_a_call(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    plan = {"tasks": [{"id": "one", "instruction": "Do it.", "worker": "writer"}]}
    answer = await client.post(DRY, json=JOB | {"plan": plan})

    assert answer.status_code == 200
    assert [each["id"] for each in answer.json()["plan"]["tasks"]] == ["one"]
    assert answer.json()["quote"]["planning"]["tokens"] == 0
    assert stub.log == []


async def test_a_plan_of_the_clients_own_that_cannot_be_carried_out_is_refused(client: httpx2.AsyncClient) -> None:
    plan = {"tasks": [{"id": "one", "instruction": "Do it.", "worker": "nobody"}]}
    answer = await client.post(DRY, json=JOB | {"plan": plan})

    assert (answer.status_code, answer.json()["code"]) == (422, "plan_invalid")
    assert (await client.get("/v1/runs")).json()["data"] == []


async def test_a_plan_that_brings_workers_along_is_refused_where_the_team_allows_none(
    client: httpx2.AsyncClient,
) -> None:
    worker = {"name": "own", "instructions": "Do it well."}
    plan = {"tasks": [{"id": "one", "instruction": "Do it.", "worker": "own"}], "workers": [worker]}
    answer = await client.post(DRY, json=JOB | {"plan": plan})
    odd = await client.post(DRY, json=JOB | {"plan": plan | {"workers": [worker | {"tier": "deep"}]}})

    assert (answer.status_code, answer.json()["code"]) == (422, "plan_invalid")
    assert [(error["pointer"], error["code"]) for error in answer.json()["errors"]] == [
        ("/plan/workers", "worker_invalid")
    ]
    assert (odd.status_code, odd.json()["errors"][0]["pointer"]) == (422, "/plan/workers/0/tier")


async def test_a_rule_of_the_team_plans_without_a_call(
    service: Service, client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    route = Route(when=Condition(contains=("find",)), worker="writer")
    await put_team(service.database, DEFAULT_TENANT, CREW.model_copy(update={"routing": (route,)}))

    answer = await client.post(DRY, json=JOB)

    assert [each["worker"] for each in answer.json()["plan"]["tasks"]] == ["writer"]
    assert stub.log == []


async def test_why_there_is_no_plan_is_said_with_what_was_wrong_in_it(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("plan", as_json(plan_of(task("a", "nobody"))))
    answer = await client.post(DRY, json=JOB)

    assert (answer.status_code, answer.json()["code"]) == (422, "worker_unknown")
    assert answer.headers["content-type"] == "application/problem+json"
    [error] = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == ("/plan/tasks/0/worker", "worker_unknown")
    assert (await run_of(client, answer))["stop_reason"] == "worker_unknown"


async def test_a_provider_that_refuses_us_is_no_fault_of_the_client(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("plan", unauthorized())
    answer = await client.post(DRY, json=JOB)

    assert (answer.status_code, answer.json()["code"]) == (502, "provider_auth")


async def test_limits_that_mean_nothing_are_refused_before_anything_is_planned(
    services: Services, stub: StubProvider
) -> None:
    service = await services.start(model_fast="no-such-model", model_balanced="no-such-model")
    await put_team(service.database, DEFAULT_TENANT, CREW)
    async with client_of(service.runtime) as client:
        refused = await client.post(DRY, json=JOB | {"limits": {"cost_usd": "1.00"}})
        stub.on("plan", as_json(PLAN))
        unpriced = await client.post(DRY, json=JOB)

    assert (refused.status_code, refused.json()["code"]) == (422, "price_unknown")
    assert (unpriced.status_code, unpriced.json()["quote"]["cost_usd"]) == (200, None)


async def test_planning_that_takes_longer_goes_on_and_is_read_at_its_run(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("plan", held(as_json(PLAN)))
    answer = await client.post(DRY, json=JOB, headers={"prefer": "wait=1"})
    assert (answer.status_code, answer.json()["status"]) == (202, "running")
    assert answer.headers["retry-after"]

    stub.release()
    run = (await client.get(answer.headers["location"], headers={"prefer": "wait=20"})).json()

    assert (run["status"], run["stop_reason"]) == ("succeeded", "planned")
    assert run["quote"]["tokens"]["likely"]
    assert [each["id"] for each in (await client.get(run["links"]["plan"])).json()["tasks"]] == ["a", "b", "c"]


async def test_one_key_plans_once_and_is_free_for_the_job_itself(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    headers = {"idempotency-key": "k-1"}
    first, again = [await client.post(DRY, json=JOB, headers=headers) for _ in range(2)]
    job = await client.post("/v1/jobs", json=JOB, headers=headers | {"prefer": "wait=20"})

    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert (job.status_code, job.json()["id"] == first.json()["run_id"]) == (200, False)
    assert len(stub.of("plan")) == 2


async def test_a_dry_run_that_is_cancelled_says_so(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    stub.on("plan", held(as_json(PLAN)))
    asking = asyncio.create_task(client.post(DRY, json=JOB))
    await stub.seen(1, role="plan")
    [run] = (await client.get("/v1/runs")).json()["data"]
    await client.post(f"{run['links']['self']}/cancel")

    answer = await asking
    assert (answer.status_code, answer.json()["code"]) == (409, "cancelled")


async def test_it_is_planned_to_the_end_when_its_client_has_gone(
    service: Service, client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("plan", held(as_json(PLAN)))
    asking = asyncio.create_task(client.post(DRY, json=JOB))
    await stub.seen(1, role="plan")
    asking.cancel()
    stub.release()

    [run] = (await client.get("/v1/runs")).json()["data"]
    assert (await service.ended(run["id"]))["stop_reason"] == "planned"


async def test_an_engine_that_dies_while_it_plans_is_followed_by_another(
    services: Services, service: Service, stub: StubProvider
) -> None:
    stub.on("plan", replies=[held(as_json(PLAN)), as_json(PLAN)])
    api = await services.start(engine=False)
    async with client_of(api.runtime) as client:
        asking = asyncio.create_task(client.post(DRY, json=JOB))
        await stub.seen(1, role="plan")
        await services.crash(service)
        await services.start()
        answer = await asking
        run = await run_of(client, answer)

    assert answer.status_code == 200
    assert [seen.role for seen in stub.log] == ["plan", "plan"]
    assert (run["status"], run["usage"]["llm_calls"]) == ("succeeded", 2)


async def test_a_process_that_has_no_room_for_readers_refuses_before_planning_is_paid_for(
    client: httpx2.AsyncClient, stub: StubProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_polls, "READERS_ALLOWED", 0)
    answer = await client.post(DRY, json=JOB)

    assert (answer.status_code, answer.json()["code"]) == (503, "too_many_readers")
    assert (await client.get("/v1/runs")).json()["data"] == []
    assert stub.log == []


async def test_every_answer_to_a_dry_run_is_as_described(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    planned = await client.post(DRY, json=JOB)
    stub.on("plan", as_json({"tasks": []}))
    refused = await client.post(DRY, json=JOB, headers={"idempotency-key": "k-1", "prefer": "wait=20"})

    assert set(planned.json()) == {"plan", "quote", "run_id"}
    assert (refused.status_code, refused.json()["code"]) == (422, "plan_empty")
    described = DESCRIPTION["components"]["responses"]["Refused"]["headers"]
    unsaid = {"content-length", "content-type"}
    assert {name.lower() for name in refused.headers} - unsaid <= {name.lower() for name in described}
    assert refused.json()["code"] in PROBLEM_CODES
