"""What clients say is taken exactly or refused: nothing is guessed, dropped, or counted twice."""

import time
from typing import Any

import pytest

from app.domain.keys import DEFAULT_TENANT
from app.domain.team import Team
from app.domain.worker import Worker
from app.store.teams import put_team
from tests.support.api import JOB, Api

TASK = {"id": "t1", "instruction": "Do it.", "worker": "writer"}


async def refused(api: Api, **job: Any) -> dict[str, str]:
    """What a job is refused for, by pointer."""
    answer = await api.client.post("/v1/jobs", json=JOB | job)
    assert answer.status_code == 422, answer.text
    return {each["pointer"]: each["detail"] for each in answer.json()["errors"]}


@pytest.mark.parametrize("field", ["tasks", "concurrency", "attempts", "tokens", "timeout_s", "cost_usd"])
@pytest.mark.parametrize("number", [True, False, "true", " 3", "1_0", "\uff13"])
async def test_a_limit_is_no_number_in_disguise(api: Api, field: str, number: Any) -> None:
    assert set(await refused(api, limits={field: number})) == {f"/limits/{field}"}


@pytest.mark.parametrize("field", ["tasks", "concurrency", "attempts", "tokens", "timeout_s"])
async def test_a_limit_is_not_the_text_of_a_number(api: Api, field: str) -> None:
    assert await refused(api, limits={field: "3"}) == {f"/limits/{field}": "This must be a number."}


@pytest.mark.parametrize("priority", [True, "1", 1.5])
async def test_a_priority_is_a_whole_number(api: Api, priority: Any) -> None:
    assert set(await refused(api, priority=priority)) == {"/priority"}


@pytest.mark.parametrize("amount", ["1e-7", "1e-99999", "1e999", "0.0000001", 1e-7, 0, "-1", "nan", "Infinity", True])
async def test_an_amount_that_cannot_be_kept_is_refused(api: Api, amount: Any) -> None:
    assert set(await refused(api, limits={"cost_usd": amount})) == {"/limits/cost_usd"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("depth", value) for value in (0, 6, 2.5, True, "2")),
        *(("rounds", value) for value in (0, 11, 2.5, True, "2")),
    ],
)
async def test_limits_that_are_none_cannot_be_set(api: Api, field: str, value: Any) -> None:
    errors = await refused(api, limits={field: value})

    assert list(errors) == [f"/limits/{field}"]


@pytest.mark.parametrize(
    ("limits", "depth"), [({}, 2), ({"rounds": None, "depth": None}, 2), ({"rounds": 2, "depth": 3}, 3)]
)
async def test_limits_may_be_left_out_or_spelled_out(api: Api, limits: dict[str, Any], depth: int) -> None:
    run = await api.get(f"/v1/runs/{await api.post(limits=limits)}")

    assert (run["limits"]["rounds"], run["limits"]["depth"]) == (2, depth)


async def test_a_team_of_teams_alone_is_refused_at_a_depth_of_one(api: Api) -> None:
    only = Team(name="only", workers=(Worker(name="all", description="Everything.", team="general"),))
    await put_team(api.runtime.database, DEFAULT_TENANT, only)

    errors = await refused(api, team="only", limits={"depth": 1})

    assert "needs a depth of at least 2" in errors["/limits/depth"]


@pytest.mark.parametrize(
    "objective", ["\x00", "\u200b", " \ufeff\u2028\n", "\x00\u200d\ufffd", "\u3164", "\u0301\u200f"], ids=ascii
)
async def test_an_objective_that_shows_nothing_is_blank(api: Api, objective: str) -> None:
    assert await refused(api, objective=objective) == {"/objective": "The objective must not be blank."}


@pytest.mark.parametrize("objective", ["?", "\U0001f378", "é", "e\u0301", "要", "\u200fא", "\U0001fae8"], ids=ascii)
async def test_an_objective_of_one_visible_character_is_one(api: Api, objective: str) -> None:
    assert (await api.get(f"/v1/runs/{await api.post(objective=objective)}"))["objective"] == objective


async def test_names_that_read_the_same_are_the_same(api: Api) -> None:
    inputs = [{"name": name, "content": ""} for name in ("Umsa\u0308tze.csv", "b", "Ums\u00e4tze.csv")]

    assert await refused(api, inputs=inputs) == {"/inputs/2/name": "Inputs must have different names."}


@pytest.mark.parametrize("line_end", ["\n", "\r", "\x1b", "\x08"], ids=ascii)
async def test_names_are_one_line(api: Api, line_end: str) -> None:
    name = f"a{line_end}b"
    errors = await refused(api, inputs=[{"name": name, "media_type": name, "content": ""}], metadata={name: 1})

    assert {"/inputs/0/name", "/inputs/0/media_type"} < set(errors)
    assert any(place.startswith("/metadata") for place in errors)


async def test_line_separators_in_texts_and_names_are_kept_as_they_are(api: Api) -> None:
    objective = "one\u2028two\u2029three\x85four\x0bfive"
    inputs = [{"name": objective, "content": objective}]
    run_id = await api.post(objective=objective, inputs=inputs, metadata={"note": objective})
    run, events = await api.get(f"/v1/runs/{run_id}"), await api.get(f"/v1/runs/{run_id}/events")

    assert (run["objective"], run["metadata"]["note"]) == (objective, objective)
    told = events["data"][0]["data"]
    assert (told["objective"], told["inputs"][0]["name"]) == (objective, objective)


async def test_every_text_of_a_plan_has_a_limit(api: Api) -> None:
    long = "x" * 20_001
    plan: dict[str, Any] = {
        "goal": long,
        "final_instruction": long,
        "tasks": [TASK | {"title": long, "success_criterion": long}],
    }
    plan |= {"validation": {"errors": [{"code": "cycle", "detail": long}]}}
    errors = await refused(api, plan=plan)
    longer = await refused(api, plan={"tasks": [TASK | {"instruction": long * 5, "context": long * 5}]})

    assert errors["/plan/tasks/0/title"] == "This may have at most 1000 characters."
    assert set(errors) == {
        "/plan/goal", "/plan/final_instruction", "/plan/tasks/0/title", "/plan/tasks/0/success_criterion",
        "/plan/validation/errors/0/detail",
    }  # fmt: skip
    assert set(longer) == {"/plan/tasks/0/instruction", "/plan/tasks/0/context"}


async def test_a_dependency_named_thousands_of_times_counts_once_and_soon(api: Api) -> None:
    plan = {"tasks": [TASK, TASK | {"id": "t2", "depends_on": ["t1"] * 9_900}]}
    begun = time.process_time()
    run_id = await api.post(plan=plan)
    spent = time.process_time() - begun
    (queued,) = (await api.get(f"/v1/runs/{run_id}/events"))["data"]

    assert queued["data"]["plan"]["tasks"][1]["depends_on"] == ["t1"]
    assert spent < 2


async def test_a_field_that_is_named_twice_is_refused(api: Api) -> None:
    body = b'{"objective": "cheap", "limits": {"cost_usd": "1", "cost_usd": "1000"}}'
    answer = await api.client.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (400, "json_invalid")
    assert "cost_usd" in answer.json()["detail"]
