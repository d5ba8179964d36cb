import json
from typing import Any

import httpx2
import pytest

from app.domain.keys import DEFAULT_TENANT
from app.store.teams import put_team
from tests.support.api import Api
from tests.support.choices import choice, may_rest_on
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

JOB = {"objective": "Find out.", "team": "crew", "metadata": {"ticket": "T-1"}}
INPUTS = [{"name": "notes.txt", "content": "seventeen"}]
WAIT = {"prefer": "wait=20"}
PLAN = plan_of(task("a"), task("b"), task("c", "writer", ["a", "b"]))


@pytest.fixture
async def service(services: Services, stub: StubProvider) -> Service:
    """A service whose provider plans three tasks and does them."""
    stub.on("plan", as_json(PLAN))
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("the answer", "a")))
    service = await services.start()
    await put_team(service.database, DEFAULT_TENANT, CREW)
    return service


async def ended(client: httpx2.AsyncClient, **job: Any) -> Any:
    answer = await client.post("/v1/jobs", json=JOB | job, headers=WAIT)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def looked(client: httpx2.AsyncClient, run: Any, how: str, body: Any = None) -> Any:
    """The new run, at its end."""
    answer = await client.post(f"/v1/runs/{run['id']}/{how}", json=body or {}, headers=WAIT)
    assert answer.status_code == 200, answer.text
    assert answer.json()["id"] != run["id"]
    return answer.json()


def roles(stub: StubProvider, since: int) -> list[str]:
    return sorted(seen.role.partition(":")[0] for seen in stub.log[since:])


async def tasks_of(client: httpx2.AsyncClient, run: Any) -> dict[str, Any]:
    return {each["id"]: each for each in (await client.get(f"/v1/runs/{run['id']}/tasks")).json()["data"]}


async def test_an_answer_is_made_anew_from_stored_results_at_no_workers_cost(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    run, calls = await ended(client, inputs=INPUTS), len(stub.log)
    stub.on("synthesize", as_json(synthesis("another answer", "a", "b", without=["c"])))

    again = await looked(
        client, run, "resynthesize", {"model": "fast", "exclude": ["c"], "final_instruction": "Be brief."}
    )

    [asked] = stub.log[calls:]
    assert (asked.role, asked.body["model"]) == ("synthesize", "claude-haiku-5-5")
    assert "Be brief." in json.dumps(asked.body)
    assert again["origin"] == {"run": run["id"], "kind": "resynthesis"}
    assert (run["origin"], again["metadata"]) == (None, {"ticket": "T-1"})
    assert (again["status"], again["stop_reason"]) == ("partial", "gaps")
    assert again["result"]["answer"] == "another answer"
    assert [(gap["task"], gap["reason"]) for gap in again["result"]["gaps"]] == [("c", "excluded")]
    assert (again["usage"]["llm_calls"], again["usage"]["tool_calls"]) == (1, 0)
    tasks = await tasks_of(client, again)
    assert tasks["a"]["attempts"] == []
    assert tasks["a"]["output"]["text"] == "done"
    [listed] = (await client.get(again["links"]["inputs"])).json()["data"]
    assert (await client.get(listed["url"])).text == "seventeen"
    assert (await client.post(f"/v1/runs/{again['id']}/replay")).json()["same"]


async def test_an_answer_may_be_made_anew_from_stored_results_that_are_put_together_first(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("work", as_json(report("so it is. " * 9_000, summary="done")))
    group = {"text": "Done.", "statements": [{"text": "Done.", "tasks": ["a"]}], "contradictions": [], "uncertain": []}
    other = group | {"statements": [{"text": "Done.", "tasks": ["c"]}]}
    run = await ended(client)
    stub.on("reduce", lambda seen: as_json(group if '"task": "a"' in str(seen.body["messages"]) else other))
    calls = len(stub.log)

    again = await looked(client, run, "resynthesize", {"strategy": "reduce"})

    assert (run["result"]["reductions"], run["result"]["strategy"]) == ([], "merge")
    assert roles(stub, calls) == ["reduce", "reduce", "synthesize"]
    assert (again["status"], again["result"]["strategy"]) == ("succeeded", "reduce")
    assert [each["tasks"] for each in again["result"]["reductions"]] == [["a", "b"], ["c"]]
    assert (await client.post(f"/v1/runs/{again['id']}/replay")).json()["same"]


async def test_a_fork_does_a_task_again_with_what_rests_on_it_on_another_model(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    run, calls = await ended(client), len(stub.log)
    stub.on("work", as_json(report("done otherwise")))

    fork = await looked(
        client, run, "fork", {"from": ["b"], "models": {"writer": "deep"}, "objective": "Find out more."}
    )

    assert roles(stub, calls) == ["synthesize", "work", "work"]
    assert {seen.body["model"] for seen in stub.log[calls:] if seen.role == "work:writer"} == {"claude-opus-5-5"}
    assert (fork["status"], fork["objective"]) == ("succeeded", "Find out more.")
    assert fork["origin"] == {"run": run["id"], "kind": "fork"}
    tasks = await tasks_of(client, fork)
    assert [tasks[name]["output"]["text"] for name in "abc"] == ["done", "done otherwise", "done otherwise"]
    types = [event["type"] for event in (await client.get(f"/v1/runs/{fork['id']}/events")).json()["data"]]
    assert types[:4] == ["run.queued", "results.reused", "run.started", "plan.created"]
    trace = (await client.get(fork["links"]["trace"])).json()
    assert (
        sum(trace["report"]["critical_path"][part] for part in ("planning_ms", "tasks_ms", "synthesis_ms"))
        == (fork["timing"]["critical_path_ms"])
    )

    unpriced = {"models": {"supervisor": "no-such-model"}, "limits": {"cost_usd": "1"}}
    refused = (await client.post(f"/v1/runs/{fork['id']}/fork", json=unpriced)).json()
    assert (refused["code"], refused["errors"][0]["pointer"]) == ("price_unknown", "/models")

    of_fork = await looked(client, fork, "fork", {"plan": plan_of(*PLAN["tasks"], task("d", "analyst", ["c"]))})

    assert of_fork["origin"]["run"] == fork["id"]
    tasks = await tasks_of(client, of_fork)
    assert [len(tasks[name]["attempts"]) for name in "abcd"] == [0, 0, 0, 1]
    assert tasks["c"]["output"]["text"] == "done otherwise"


async def test_a_dry_run_is_forked_into_a_run_that_carries_its_plan_out(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    dry = (await client.post("/v1/jobs?dry_run=true", json=JOB)).json()

    fork = await looked(client, {"id": dry["run_id"]}, "fork", {"limits": {"attempts": 1}})

    assert len(stub.of("plan")) == 1
    assert fork["status"] == "succeeded"
    assert (fork["limits"]["attempts"], "dry_run" in fork["limits"]) == (1, False)


async def test_what_failed_is_tried_again_and_the_rest_is_kept(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    stub.on("work", replies=[as_json(report("done"))])
    stub.on("work", as_json(report("x", escalation={"reason": "out_of_scope", "message": "no", "partial": None})))
    stub.on("rule", as_json({"decision": "give_up", "reason": "no"}))
    run = await ended(client, limits={"concurrency": 1, "attempts": 1})
    assert run["status"] == "partial"
    calls = len(stub.log)
    stub.on("work", as_json(report("done at last")))

    retry = await looked(client, run, "retry", {"only": "failed"})

    assert (retry["status"], retry["origin"]["kind"]) == ("succeeded", "retry")
    assert roles(stub, calls) == ["synthesize", "work", "work"]
    tasks = await tasks_of(client, retry)
    assert [tasks[name]["output"]["text"] for name in "abc"] == ["done", "done at last", "done at last"]
    nothing = await client.post(f"/v1/runs/{retry['id']}/retry", json={"only": "failed"})
    assert (nothing.status_code, nothing.json()["code"]) == (409, "nothing_failed")


@pytest.mark.parametrize("body", [None, {}, {"only": None}])
async def test_a_run_is_done_again_from_the_start(client: httpx2.AsyncClient, stub: StubProvider, body: Any) -> None:
    run = await ended(client, limits={"attempts": 2})
    calls = len(stub.log)

    retry = await looked(client, run, "retry", body)

    assert (retry["status"], retry["origin"]) == ("succeeded", {"run": run["id"], "kind": "retry"})
    assert (retry["metadata"], retry["limits"]) == (run["metadata"], run["limits"])
    assert roles(stub, calls) == sorted(seen.role.partition(":")[0] for seen in stub.log[:calls])


async def test_a_cancelled_run_is_looked_at_again_and_a_running_one_is_not(
    service: Service, client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("work", replies=[as_json(report("done"))])
    stub.on("work", held(as_json(report("late"))))
    run = (await client.post("/v1/jobs", json=JOB | {"limits": {"concurrency": 1}})).json()
    await service.until_logged(run["id"], "task.succeeded")
    under_way = [await client.post(f"/v1/runs/{run['id']}/{how}", json={}) for how in ("fork", "resynthesize")]
    await client.post(f"/v1/runs/{run['id']}/cancel")
    await service.ended(run["id"])
    stub.on("work", as_json(report("done later")))

    again = await looked(client, run, "resynthesize")
    fork = await looked(client, run, "fork")

    assert [(each.status_code, each.json()["code"]) for each in under_way] == [(409, "run_not_ended")] * 2
    assert (again["status"], [gap["task"] for gap in again["result"]["gaps"]]) == ("partial", ["b", "c"])
    assert fork["status"] == "succeeded"
    assert (await tasks_of(client, fork))["a"]["attempts"] == []


async def test_a_second_look_is_taken_once_for_each_key(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    run, calls = await ended(client), len(stub.log)
    path, headers = f"/v1/runs/{run['id']}/resynthesize", WAIT | {"idempotency-key": "k"}
    first = await client.post(path, json={}, headers=headers)
    same = await client.post(path, headers=headers)
    other = await client.post(path, json={"exclude": ["a"]}, headers=headers)

    assert same.json()["id"] == first.json()["id"]
    assert same.headers["idempotent-replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert roles(stub, calls) == ["synthesize"]


async def test_a_fork_goes_on_in_another_process_without_doing_its_work_twice(
    services: Services, service: Service, client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    run = await ended(client)
    stub.on("work", held(as_json(report("never"))))
    fork = (await client.post(f"/v1/runs/{run['id']}/fork", json={"from": ["c"]})).json()
    await service.until_logged(fork["id"], "task.started")
    await services.crash(service)
    stub.on("work", as_json(report("done by another")))
    other = await services.start()

    row = await other.ended(fork["id"])

    assert row["status"] == "succeeded"
    tasks = (await other.folded(fork["id"])).tasks
    assert [len(tasks[name].attempts) for name in "abc"] == [0, 0, 1]


@pytest.mark.parametrize(
    ("how", "body", "pointer"),
    [
        ("resynthesize", {"exclude": ["t9"]}, "/exclude/0"),
        ("fork", {"from": ["t1", "t9"]}, "/from/1"),
        ("fork", {"models": {"nobody": "fast"}}, "/models/nobody"),
        ("fork", {"begin_at": ["t1"]}, "/begin_at"),
        ("fork", {"limits": {"depth": 6}}, "/limits/depth"),
        ("fork", {"objective": " "}, "/objective"),
        ("retry", {"only": "all"}, "/only"),
    ],
)
async def test_what_the_run_does_not_have_is_refused_with_its_place(
    api: Api, how: str, body: Any, pointer: str
) -> None:
    answer = await api.client.post(f"/v1/runs/{await api.ended()}/{how}", json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer


async def test_a_second_look_that_cannot_be_taken_says_why(api: Api) -> None:
    ended, failed = await api.ended(), await api.played()
    await failed.start()
    await failed.fail()
    asked = {
        "nothing_delivered": (f"{ended}/resynthesize", {"exclude": ["t1"]}),
        "plan_invalid": (f"{ended}/fork", {"plan": {"tasks": [{"id": "x", "instruction": "Do.", "worker": "nobody"}]}}),
        "run_not_found": ("run_0/fork", {}),
    }
    found = {code: await api.client.post(f"/v1/runs/{path}", json=body) for code, (path, body) in asked.items()}
    empty = await api.client.post(f"/v1/runs/{failed.run_id}/resynthesize")

    assert {code: answer.json()["code"] for code, answer in found.items()} == {code: code for code in asked}
    assert empty.json()["code"] == "nothing_delivered"
    planless = await api.client.post(f"/v1/runs/{failed.run_id}/fork")
    assert planless.status_code == 202  # It is planned anew.


async def test_one_of_the_stored_results_can_be_chosen_for_another_answer(
    client: httpx2.AsyncClient, stub: StubProvider
) -> None:
    stub.on("plan", as_json(plan_of(task("a"), task("b"))))
    run, calls = await ended(client), len(stub.log)
    stub.on("select", lambda seen: choice(seen, "B"))
    stub.on("synthesize", lambda seen: as_json(synthesis("of one alone", *may_rest_on(seen))))

    again = await looked(client, run, "resynthesize", {"strategy": "select"})

    assert (again["status"], again["result"]["answer"]) == ("succeeded", "of one alone")
    assert (run["result"]["strategy"], again["result"]["strategy"]) == ("merge", "select")
    assert roles(stub, calls) == ["select", "synthesize"]
    chosen = again["result"]["selection"]
    assert [chosen["task"]] == again["result"]["statements"][0]["tasks"] == chosen["candidates"][1:]
