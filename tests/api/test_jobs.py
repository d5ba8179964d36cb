import asyncio
import hashlib
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from app.api.schemas.runs import Run
from app.domain import events as ev
from app.domain.events import Entry
from app.domain.keys import DEFAULT_TENANT
from app.domain.team import Team
from app.llm.demo import DemoModel
from app.llm.pricing import Prices, Rates
from app.store.run_lists import Listing, page_of_runs
from app.store.teams import put_team
from tests.support.api import JOB, Api

PLAN = {"goal": "g", "tasks": [{"id": "T 1", "instruction": "Do it.", "worker": "Writer"}]}


async def rows(api: Api) -> int:
    found = await page_of_runs(api.runtime.database, "default", Listing(), limit=100)
    return len(found)


async def test_a_job_is_accepted_with_its_run_and_where_to_find_it(api: Api) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB | {"metadata": {"ticket": "T-1"}, "limits": {"tasks": 3}})

    run = answer.json()
    Run.model_validate(run)
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/runs/{run['id']}" == run["links"]["self"]
    assert answer.headers["retry-after"] == "1"
    assert (run["object"], run["status"], run["last_seq"]) == ("run", "queued", 1)
    assert run["team"] == {"name": "general", "version": 1}
    assert run["metadata"] == {"ticket": "T-1"}
    assert run["limits"]["tasks"] == 3
    assert run["limits"]["attempts"] == 3
    assert run["created_at"].endswith("Z")


@pytest.mark.parametrize(
    "job", [JOB, JOB | {"metadata": {"n": 1e300, "é": None}, "limits": {"cost_usd": 1}, "plan": PLAN}]
)
async def test_the_run_of_a_new_job_is_told_as_it_will_be_read(api: Api, job: dict[str, Any]) -> None:
    told = (await api.client.post("/v1/jobs", json=job)).json()
    read = await api.get(told["links"]["self"])

    assert told | {"timing": None} == read | {"timing": None}
    assert list(told["timing"]) == list(read["timing"])


async def test_a_job_that_ends_within_the_wait_is_answered_with_its_end(api: Api) -> None:
    answering = asyncio.create_task(api.client.post("/v1/jobs", json=JOB, headers={"Prefer": "wait=10"}))
    page: Any = {"data": []}
    while not page["data"]:
        page = await api.get("/v1/runs")
    play = api.player.play(page["data"][0]["id"])
    await play.whole()
    answer = await answering

    assert answer.status_code == 200
    assert answer.json()["status"] == "succeeded"
    assert answer.headers["preference-applied"] == "wait=10"
    assert "prefer" in answer.headers["vary"].lower()
    assert "retry-after" not in answer.headers


async def test_a_posted_job_waits_for_the_end_and_a_read_for_a_parked_run_too(api: Api) -> None:
    wait = {"Prefer": "wait=30"}
    answering = asyncio.create_task(api.client.post("/v1/jobs", json=JOB, headers=wait))
    await api.until_heard_by(1)
    (run,) = (await api.get("/v1/runs"))["data"]
    play = api.player.play(run["id"])
    await play.start()
    reading = asyncio.create_task(api.get(f"/v1/runs/{play.run_id}", headers=wait))
    await api.until_heard_by(2)
    parked = ev.RunWaiting(reason="provider", until=datetime.now(UTC) + timedelta(hours=1))
    await play.record(Entry(parked))
    read = await asyncio.wait_for(reading, 5)
    await api.client.post(f"/v1/runs/{play.run_id}/cancel")
    answer = await asyncio.wait_for(answering, 5)

    Run.model_validate(read)
    assert (read["status"], read["waiting_for"]) == ("waiting", "provider")
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert answer.json()["waiting_for"] is None


async def test_a_job_that_does_not_end_within_the_wait_is_accepted(api: Api) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB, headers={"Prefer": "respond-async, wait=0"})

    assert (answer.status_code, answer.headers["preference-applied"]) == (202, "wait=0")


async def test_a_wait_is_cut_to_a_minute_and_nonsense_is_ignored(api: Api) -> None:
    run_id = await api.ended()

    long = await api.client.get(f"/v1/runs/{run_id}", headers={"Prefer": "wait=9000"})
    nonsense = await api.client.get(f"/v1/runs/{run_id}", headers={"Prefer": "wait=soon"})

    assert long.headers["preference-applied"] == "wait=60"
    assert "preference-applied" not in nonsense.headers


@pytest.mark.parametrize("again", ["key-1", '"key-1"'])
async def test_a_repeated_request_gets_the_run_it_made(api: Api, again: str) -> None:
    first = await api.client.post("/v1/jobs", json=JOB, headers={"Idempotency-Key": '"key-1"'})
    second = await api.client.post("/v1/jobs", json=JOB, headers={"Idempotency-Key": again})

    assert (first.status_code, second.status_code) == (202, 202)
    assert second.json()["id"] == first.json()["id"]
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    assert await rows(api) == 1


async def test_defaults_that_are_spelled_out_make_no_other_request(api: Api) -> None:
    task = {"id": "t1", "instruction": "Do it.", "worker": "writer"}
    short = JOB | {"inputs": [{"name": "a", "content": ""}], "plan": {"tasks": [task]}}
    long = short | {
        "team": "general", "limits": {"cost_usd": None}, "approval": "none", "strategy": None, "webhook": None,
        "planning": None, "rubric": None, "output_schema": None, "on_question": None,
        "priority": 0, "metadata": {}, "inputs": [{"name": "a", "content": "", "media_type": "text/plain"}],
        "plan": {"goal": "", "tasks": [task | {"depends_on": [], "required": True, "budget": {}}]},
    }  # fmt: skip
    await api.client.post("/v1/jobs", json=short, headers={"Idempotency-Key": "k"})
    answer = await api.client.post("/v1/jobs", json=long, headers={"Idempotency-Key": "k"})

    assert (answer.status_code, answer.headers.get("idempotent-replayed")) == (202, "true")


async def test_the_digest_of_a_body_holds_nothing_but_what_the_client_said(api: Api, database_url: str) -> None:
    await api.client.post("/v1/jobs", json=JOB, headers={"Idempotency-Key": "k"})
    with psycopg.connect(database_url) as connection:
        (digest,) = connection.execute("SELECT digest FROM idempotency_keys").fetchone() or [None]

    assert digest == hashlib.sha256(json.dumps(JOB).encode()).hexdigest()


async def test_many_requests_with_one_key_at_once_make_one_run(api: Api) -> None:
    headers = {"Idempotency-Key": "once"}
    answers = await asyncio.gather(*(api.client.post("/v1/jobs", json=JOB, headers=headers) for _ in range(20)))

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert await rows(api) == 1


async def test_a_key_with_another_body_is_refused(api: Api) -> None:
    await api.client.post("/v1/jobs", json=JOB, headers={"Idempotency-Key": "k"})
    answer = await api.client.post("/v1/jobs", json={"objective": "Other."}, headers={"Idempotency-Key": "k"})

    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_reused")


@pytest.mark.parametrize("key", ["", '""', "x" * 256])
async def test_a_key_of_the_wrong_length_is_refused(api: Api, key: str) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB, headers={"Idempotency-Key": key})

    assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_invalid")


@pytest.mark.parametrize("team", ["nobody", "general@99"])
async def test_a_team_that_is_not_known_is_refused(api: Api, team: str) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB | {"team": team})

    assert (answer.status_code, answer.json()["code"]) == (422, "team_unknown")
    assert [each["pointer"] for each in answer.json()["errors"]] == ["/team"]


async def test_a_team_may_be_named_with_its_version(api: Api) -> None:
    run = await api.get(f"/v1/runs/{await api.post(team='general@1')}")

    assert run["team"] == {"name": "general", "version": 1}


async def test_a_plan_of_the_clients_own_is_checked_and_normalised(api: Api) -> None:
    run_id = await api.post(plan=PLAN)
    events = await api.get(f"/v1/runs/{run_id}/events")

    task = events["data"][0]["data"]["plan"]["tasks"][0]
    assert (task["id"], task["worker"]) == ("t-1", "writer")


async def test_every_fault_of_a_plan_is_named_with_its_place(api: Api) -> None:
    tasks = [
        {"id": "a", "instruction": "x", "worker": "nobody"},
        {"id": "b", "instruction": "x", "worker": "writer", "depends_on": ["a", "b", "c"]},
    ]
    answer = await api.client.post("/v1/jobs", json=JOB | {"plan": {"tasks": tasks}})

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "plan_invalid")
    assert [(each["pointer"], each["code"]) for each in problem["errors"]] == [
        ("/plan/tasks/0/worker", "worker_unknown"),
        ("/plan/tasks/1/depends_on/1", "dependency_on_itself"),
        ("/plan/tasks/1/depends_on/2", "dependency_unknown"),
    ]
    assert await rows(api) == 0


async def test_a_plan_that_was_read_from_here_may_be_sent_back(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1", "t2")
    plan = await api.get(f"/v1/runs/{play.run_id}/plan")

    await api.post(plan=plan)


async def test_of_what_is_wrong_with_a_plan_no_more_is_repeated_than_is_of_use(api: Api) -> None:
    long = "x" * 10_000
    tasks = [{"id": f"{n} {long[:90]}", "instruction": " ", "worker": long, "depends_on": [long]} for n in range(12)]
    answer = await api.client.post("/v1/jobs", json=JOB | {"plan": {"tasks": tasks}})

    problem = answer.json()
    assert (answer.status_code, problem["code"], len(problem["errors"])) == (422, "plan_invalid", 48)
    assert max(len(each["detail"]) for each in problem["errors"]) < 500


async def test_of_the_flaws_about_a_plan_only_some_are_told(api: Api) -> None:
    task = {"id": "t", "instruction": "x", "worker": "writer", "depends_on": [f"{n}" for n in range(1000)]}
    answer = await api.client.post("/v1/jobs", json=JOB | {"plan": {"tasks": [task]}})

    assert (answer.json()["code"], len(answer.json()["errors"])) == ("plan_invalid", 50)


async def test_names_in_a_cycle_are_cut_too(api: Api) -> None:
    task = {"id": "x" * 10_000, "instruction": "x", "worker": "writer", "depends_on": ["a"]}
    back = task | {"id": "a", "depends_on": [task["id"]]}
    answer = await api.client.post("/v1/jobs", json=JOB | {"plan": {"tasks": [task, back]}})

    details = {each["code"]: each["detail"] for each in answer.json()["errors"]}
    assert set(details) == {"id_invalid", "cycle"}
    assert len(details["cycle"]) < 500


async def test_of_a_plan_that_no_limit_could_allow_nothing_else_is_told(api: Api) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB | {"plan": {"tasks": [{"id": "?"}] * 101}})

    assert [each["code"] for each in answer.json()["errors"]] == ["plan_too_large"]


async def test_a_plan_may_not_exceed_the_limits_of_its_job(api: Api) -> None:
    tasks = [{"id": f"t{n}", "instruction": "x", "worker": "writer"} for n in range(3)]
    answer = await api.client.post("/v1/jobs", json=JOB | {"plan": {"tasks": tasks}, "limits": {"tasks": 2}})

    assert answer.json()["errors"][0]["code"] == "plan_too_large"


async def test_unknown_fields_of_a_plan_are_named(api: Api) -> None:
    long = "m" * 1000
    plan = {
        "tasks": [{"id": "t", "instruction": "x", "worker": "writer", "retries": 1, "budget": {"gold": 1}}],
        "validation": {"ok": True, "mood": 1, "errors": [{"code": "cycle", "detail": "d", "line": 1}]},
        "shape": {"width": 1, "depth": 1, "strategy": "single", "height": 1},
        long: 1,
    }
    answer = await api.client.post("/v1/jobs", json=JOB | {"plan": plan, "priority": "high"})

    details = {each["pointer"]: each["detail"] for each in answer.json()["errors"]}
    assert answer.status_code == 422
    assert details.pop("/priority")
    assert details == {
        "/plan/tasks/0/retries": "Unknown field: retries",
        "/plan/tasks/0/budget/gold": "Unknown field: gold",
        "/plan/validation/mood": "Unknown field: mood",
        "/plan/validation/errors/0/line": "Unknown field: line",
        "/plan/shape/height": "Unknown field: height",
        f"/plan/{long[:100]}": f"Unknown field: {long[:100]}",
    }


async def test_a_plan_that_names_another_strategy_than_its_job_is_refused(api: Api) -> None:
    plan = {"strategy": "merge", "tasks": [{"id": "a", "instruction": "x", "worker": "writer"}]}
    refused = await api.client.post("/v1/jobs", json=JOB | {"plan": plan, "strategy": "select"})
    unknown = await api.client.post("/v1/jobs", json=JOB | {"strategy": "vote"})

    assert (refused.status_code, refused.json()["code"]) == (422, "plan_invalid")
    assert [(each["pointer"], each["code"]) for each in refused.json()["errors"]] == [
        ("/plan/strategy", "strategy_fixed")
    ]
    assert unknown.json()["errors"] == [
        {"pointer": "/strategy", "detail": "This must be 'merge', 'select' or 'reduce'"}
    ]


@pytest.mark.parametrize(
    "spelled_out",
    [{"approval": None}, {"planning": "model"}, {"on_question": "ask"}, {"strategy": "merge"}],
)
async def test_what_would_happen_anyway_may_be_asked_for(api: Api, spelled_out: dict[str, Any]) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB | spelled_out)

    assert answer.status_code == 202


async def test_a_refusal_names_every_place_and_repeats_nothing_the_client_sent(api: Api) -> None:
    body = {"objectiv": "hush-1", "team": "HUSH 2", "limits": {"tasks": "hush-3"}, "metadata": {"a": {"b": "hush-4"}}}
    answer = await api.client.post("/v1/jobs", json=body)

    pointers = {each["pointer"] for each in answer.json()["errors"]}
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert pointers == {"/objective", "/objectiv", "/team", "/limits/tasks", "/metadata/a"}
    assert "hush" not in answer.text.lower()


@pytest.mark.parametrize(
    ("objective", "pointer"),
    [("", "/objective"), ("   ", "/objective"), ("x" * 200_001, "/objective"), (7, "/objective"), (None, "/objective")],
    ids=["empty", "blank", "too long", "number", "null"],
)
async def test_an_objective_must_be_a_text_that_says_something(api: Api, objective: Any, pointer: str) -> None:
    answer = await api.client.post("/v1/jobs", json={"objective": objective})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_inputs_must_have_different_names(api: Api) -> None:
    inputs = [{"name": name, "content": ""} for name in ("a", "b", "a", "a")]
    answer = await api.client.post("/v1/jobs", json=JOB | {"inputs": inputs})

    pointers = [each["pointer"] for each in answer.json()["errors"]]
    assert (answer.status_code, pointers) == (422, ["/inputs/2/name", "/inputs/3/name"])


@pytest.mark.parametrize(("given", "shown"), [("1e2", "100"), ("2.50", "2.50"), (5, "5"), ("1E-6", "0.000001")])
async def test_money_is_shown_in_plain_digits(api: Api, given: str | int, shown: str) -> None:
    run = await api.get(f"/v1/runs/{await api.post(limits={'cost_usd': given})}")

    assert run["limits"]["cost_usd"] == shown


async def test_text_is_cleaned_before_it_is_stored(api: Api) -> None:
    inputs = rb'[{"name": "n\u0000", "content": "\udfff"}]'
    body = rb'{"objective": "a\u0000b \\u0000 x\ud800 y \ud83c\udf78", "inputs": %b}' % inputs
    answer = await api.client.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 202
    assert answer.json()["objective"] == "a\ufffdb \\u0000 x\ufffd y \U0001f378"


class Unpriced(DemoModel):
    """A model whose price nobody knows."""

    def __init__(self) -> None:
        super().__init__(delay_s=0)
        self.prices = Prices()


@pytest.mark.parametrize(
    ("limits", "pointer"), [({}, "/team"), ({"cost_usd": "1.00"}, "/limits/cost_usd")], ids=["the team's", "its own"]
)
async def test_a_limit_in_money_needs_models_with_a_price(api: Api, limits: dict[str, str], pointer: str) -> None:
    api.runtime.model = Unpriced()

    answer = await api.client.post("/v1/jobs", json=JOB | {"limits": limits})

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "price_unknown")
    [error] = problem["errors"]
    assert error["pointer"] == pointer
    assert "demo" in error["detail"]
    assert "CHARGEHAND_MODEL_PRICES" in error["detail"]
    assert await rows(api) == 0


async def test_models_that_a_worker_may_climb_to_need_a_price_too(api: Api) -> None:
    class Climbing(DemoModel):
        """Has a price for its lowest tier alone."""

        def model_id(self, model: str) -> str:
            return model

    api.runtime.model = model = Climbing()
    model.prices = Prices({"fast": Rates(Decimal(1), Decimal(1))})
    worker = {"name": "w", "description": "Works.", "instructions": "Work.", "model": "fast"}
    team = Team.model_validate({"name": "low", "supervisor": {"model": "fast"}, "workers": [worker]})
    await put_team(api.runtime.database, DEFAULT_TENANT, team)

    answer = await api.client.post("/v1/jobs", json=JOB | {"team": "low", "limits": {"cost_usd": "1.00"}})

    assert (answer.status_code, answer.json()["code"]) == (422, "price_unknown")
    assert "balanced, deep" in answer.json()["errors"][0]["detail"]
