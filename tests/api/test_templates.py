"""Jobs whose plan is made from the template of their team: taken, shown, looked at again, and refused."""

from typing import Any

import httpx2
import pytest

from app.domain.keys import DEFAULT_TENANT
from app.store.teams import put_team
from tests.support.api import Api
from tests.support.fixtures import Services
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider
from tests.support.templates import REVIEW, SUMMARY, diff_of, team_of

WAIT = {"prefer": "wait=20"}
TEAM = team_of(REVIEW, SUMMARY, routing=[{"when": {"contains": ["just a note"]}, "worker": "writer"}])
DIFF = {"name": "change.diff", "media_type": "text/x-diff", "content": diff_of(("src/a.py", 2), ("src/b.py", 1))}
JOB: dict[str, Any] = {"objective": "Review the change.", "team": "reviews", "inputs": [DIFF]}
REVIEWED = ["review-1", "review-2", "summary"]


@pytest.fixture
async def service(services: Services, stub: StubProvider) -> Service:
    stub.on("plan", as_json(plan_of(task("t1", "writer"))))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis("the answer", *REVIEWED)))
    service = await services.start()
    await put_team(service.database, DEFAULT_TENANT, TEAM)
    return service


async def events(client: httpx2.AsyncClient, run: Any, kind: str) -> list[Any]:
    answer = await client.get(f"/v1/runs/{run['id']}/events", params={"types": kind, "limit": 1000})
    return [event["data"] for event in answer.json()["data"]]


async def tasks_of(client: httpx2.AsyncClient, run: Any) -> list[str]:
    return [each["id"] for each in (await client.get(f"/v1/runs/{run['id']}/plan")).json()["tasks"]]


async def test_a_team_with_a_template_plans_without_a_model(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    answer = await client.post("/v1/jobs", json=JOB, headers=WAIT)
    run = answer.json()

    assert (answer.status_code, run["status"], run["result"]["answer"]) == (200, "succeeded", "the answer")
    assert [seen.role for seen in stub.log if seen.role == "plan"] == []
    assert await tasks_of(client, run) == REVIEWED
    [created], [queued] = await events(client, run, "plan.created"), await events(client, run, "run.queued")
    assert (created["source"], queued["plan_source"], queued["planning"]) == ("template", "template", None)
    revisions = (await client.get(f"/v1/runs/{run['id']}/plan/revisions")).json()["data"]
    assert [each["reason"] for each in revisions] == ["The template of the team made it."]
    assert "line 1 of src/a.py" in str(stub.of("work:reviewer")[0].body)


@pytest.mark.parametrize(
    ("job", "source", "tasks"),
    [
        ({"planning": "model"}, "supervisor", ["t1"]),
        ({"planning": "template"}, "template", REVIEWED),
        ({"objective": "Just a note."}, "rule", ["t1"]),
        ({"objective": "Just a note.", "planning": "template"}, "template", REVIEWED),
        ({"plan": plan_of(task("own", "writer"))}, "client", ["own"]),
    ],
)
async def test_the_job_says_whom_it_wants_its_plan_from(
    client: httpx2.AsyncClient, stub: StubProvider, job: dict[str, Any], source: str, tasks: list[str]
) -> None:
    stub.on("synthesize", as_json(synthesis("the answer", *tasks)))

    run = (await client.post("/v1/jobs", json=JOB | job, headers=WAIT)).json()

    assert run["status"] == "succeeded"
    assert await tasks_of(client, run) == tasks
    assert [each["source"] for each in await events(client, run, "plan.created")] == [source]


async def test_it_is_quoted_parked_and_edited_like_any_plan(client: httpx2.AsyncClient, stub: StubProvider) -> None:
    dry = await client.post("/v1/jobs?dry_run=true", json=JOB)
    assert (dry.status_code, [each["id"] for each in dry.json()["plan"]["tasks"]]) == (200, REVIEWED)
    assert dry.json()["quote"]["planning"]["tokens"] == 0
    assert stub.log == []

    parked = (await client.post("/v1/jobs", json=JOB | {"approval": "plan"})).json()
    at = f"/v1/runs/{parked['id']}"
    waiting = (await client.get(at, headers=WAIT)).json()
    assert (waiting["status"], waiting["waiting_for"]) == ("waiting", "plan_approval")
    fewer = [each for each in (await client.get(f"{at}/plan")).json()["tasks"] if each["id"] == "review-1"]
    edited = await client.patch(f"{at}/plan", json={"tasks": fewer}, headers={"if-match": '"1"'})
    assert edited.status_code == 200, edited.text
    await client.post(f"{at}/plan/approve", json={})

    run = (await client.get(at, headers=WAIT)).json()
    assert run["status"] == "succeeded"
    assert [seen.role for seen in stub.log][:1] == ["work:reviewer"]
    assert [(each["item"], each["status"], each["reason"]) for each in run["result"]["coverage"]["material"]] == [
        ("src/a.py", "whole", None),
        ("src/b.py", "left_out", "edited"),
    ]


@pytest.mark.parametrize(
    ("job", "code", "pointer"),
    [
        ({"team": "crew", "planning": "template"}, "template_missing", "/planning"),
        ({"planning": "template", "plan": plan_of(task("t1"))}, "request_invalid", "/planning"),
        ({"planning": "model", "plan": plan_of(task("t1"))}, "request_invalid", "/planning"),
        ({"planning": "guess"}, "request_invalid", "/planning"),
        ({"inputs": []}, "template_empty", "/inputs"),
        ({"inputs": [DIFF | {"content": "no diff"}]}, "input_unparseable", "/inputs/0/content"),
        ({"limits": {"tasks": 1}}, "template_too_large", "/limits/tasks"),
    ],
)
async def test_a_job_of_which_no_plan_can_be_made_is_refused_before_anything_is_stored(
    client: httpx2.AsyncClient, service: Service, job: dict[str, Any], code: str, pointer: str
) -> None:
    await put_team(service.database, DEFAULT_TENANT, TEAM.model_copy(update={"name": "crew", "plan_template": None}))

    answer = await client.post("/v1/jobs", json=JOB | job)

    assert answer.status_code == 422
    assert (answer.json()["code"], [each["pointer"] for each in answer.json()["errors"]]) == (code, [pointer])
    assert (await client.get("/v1/runs")).json()["data"] == []


@pytest.mark.parametrize(
    ("job", "fork", "source", "goal"),
    [
        ({}, {"objective": "Review it again."}, "template", "Review it again."),
        ({"plan": plan_of(task("own", "writer"), goal="mine")}, {}, "run", "mine"),
        ({"planning": "model"}, {}, None, None),
        ({}, {"plan": plan_of(task("own", "writer"), goal="theirs")}, "client", "theirs"),
    ],
)
async def test_a_fork_of_a_run_that_came_to_no_plan_is_planned_as_if_the_job_had_been_sent_again(
    api: Api, job: dict[str, Any], fork: dict[str, Any], source: str | None, goal: str | None
) -> None:
    team = team_of(REVIEW, SUMMARY, template={"goal": "{{objective}}"})
    await put_team(api.runtime.database, DEFAULT_TENANT, team)
    run_id = await api.post(**JOB | job)
    assert (await api.client.post(f"/v1/runs/{run_id}/cancel")).json()["status"] == "cancelled"

    answer = await api.client.post(f"/v1/runs/{run_id}/fork", json=fork)

    assert answer.status_code == 202, answer.text
    [queued] = await events(api.client, answer.json(), "run.queued")
    assert (queued["plan_source"], queued["plan"] and queued["plan"]["goal"]) == (source, goal)
    assert queued["planning"] == job.get("planning")
