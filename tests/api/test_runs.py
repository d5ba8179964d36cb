import asyncio
import base64
from datetime import datetime

import psycopg
import pytest
from uuid_utils.compat import uuid7

from app.api import cursors
from app.api.schemas.runs import Run, RunTask
from app.domain.job import Job, Limits
from app.domain.plan import Plan
from app.store.acceptance import NewRun, accept
from app.store.run_lists import Listing
from app.store.teams import put_team, team_named
from tests.support.api import JOB, Api


async def run_of_another_tenant(api: Api) -> str:
    database = api.runtime.database
    general = await team_named(database, "default", "general")
    assert general is not None
    await put_team(database, "other", general.team)
    theirs = await team_named(database, "other", "general")
    assert theirs is not None
    new = NewRun(f"run_{uuid7().hex}", Job(objective="Theirs."), theirs, Limits())
    accepted = await accept(database, "other", new)
    return accepted.run_id


async def pages(api: Api, path: str) -> list[list[str]]:
    found, cursor = [], ""
    while True:
        page = await api.get(f"{path}{cursor}")
        found.append([run["id"] for run in page["data"]])
        assert page["has_more"] is (page["next_cursor"] is not None)
        if not page["has_more"]:
            return found
        cursor = f"&after={page['next_cursor']}"


async def test_a_run_can_be_read_at_every_stage(api: Api) -> None:
    play = await api.played()
    path = f"/v1/runs/{play.run_id}"
    statuses = []
    for step in (play.start, lambda: play.plan("t1"), lambda: play.start_task("t1"), lambda: play.finish_task("t1")):
        await step()
        run = await api.get(path)
        Run.model_validate(run)
        statuses.append((run["status"], run["phase"], run["progress"]["tasks"]["running"]))
    await play.synthesize()
    await play.succeed()
    run = await api.get(path)
    Run.model_validate(run)

    assert statuses == [
        ("running", "planning", 0),
        ("running", "executing", 0),
        ("running", "executing", 1),
        ("running", "synthesizing", 0),
    ]
    assert (run["status"], run["phase"], run["stop_reason"], run["last_seq"]) == ("succeeded", None, "completed", 10)
    assert run["result"]["answer"] == "the answer"
    assert run["usage"]["llm_calls"] == 3
    assert datetime.fromisoformat(run["finished_at"]) >= datetime.fromisoformat(run["started_at"])


async def test_clocks_of_a_running_run_tick_and_those_of_an_ended_run_stand(api: Api) -> None:
    play = await api.played()
    await play.start()
    first = await api.get(f"/v1/runs/{play.run_id}")
    later = first
    while later["timing"]["wall_ms"] <= first["timing"]["wall_ms"]:
        later = await api.get(f"/v1/runs/{play.run_id}")
    ended = f"/v1/runs/{await api.ended()}"

    assert later["timing"]["wall_ms"] > first["timing"]["wall_ms"]
    assert later["timing"]["sequential_ms"] >= first["timing"]["sequential_ms"]
    assert await api.get(ended) == await api.get(ended)


async def test_a_run_that_has_not_changed_is_not_sent_again(api: Api) -> None:
    play = await api.played()
    path = f"/v1/runs/{play.run_id}"
    tag = (await api.client.get(path)).headers["etag"]
    same = await api.client.get(path, headers={"If-None-Match": f'"x", {tag}'})
    strong = await api.client.get(path, headers={"If-None-Match": tag.removeprefix("W/")})
    lines = await api.client.get(path, headers=[("If-None-Match", tag), ("If-None-Match", '"x"')])
    await play.start()
    changed = await api.client.get(path, headers={"If-None-Match": tag})

    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert (strong.status_code, lines.status_code) == (304, 304)
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


async def test_only_a_run_that_has_ended_has_a_strong_tag(api: Api) -> None:
    play = await api.played()
    path = f"/v1/runs/{play.run_id}"
    await play.start()
    early = (await api.client.get(path)).headers["etag"]
    await play.fail()
    late = (await api.client.get(path)).headers["etag"]
    same = await api.client.get(path, headers={"If-None-Match": f"W/{late}"})

    assert early.startswith('W/"')
    assert late.startswith('"')
    assert (same.status_code, same.headers["etag"]) == (304, late)


async def test_a_read_may_wait_for_the_end(api: Api) -> None:
    play = await api.played()
    reading = asyncio.create_task(api.client.get(f"/v1/runs/{play.run_id}", headers={"Prefer": "wait=30"}))
    await api.until_heard_by(1)
    await play.start()
    await play.fail()
    answer = await asyncio.wait_for(reading, 5)

    assert answer.json()["status"] == "failed"
    assert answer.json()["error"]["code"] == "provider_auth"
    assert answer.headers["preference-applied"] == "wait=30"


async def test_a_read_that_waits_is_answered_when_its_time_is_up(api: Api) -> None:
    run_id = await api.post()

    run = await api.get(f"/v1/runs/{run_id}", headers={"Prefer": "wait=1"})

    assert run["status"] == "queued"
    assert run["timing"]["queued_ms"] >= 1000


async def test_runs_are_listed_newest_first_and_each_once(api: Api, database_url: str) -> None:
    ids = [await api.post() for _ in range(15)]
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE runs SET created_at = '2026-01-02T03:04:05.123456Z'")
    first = await api.get("/v1/runs?limit=4")
    second = await api.get(f"/v1/runs?limit=4&after={first['next_cursor']}")
    late = await api.post()
    rest = [run["id"] for run in second["data"]]
    cursor = second["next_cursor"]
    while cursor:
        page = await api.get(f"/v1/runs?limit=4&after={cursor}")
        rest += [run["id"] for run in page["data"]]
        cursor = page["next_cursor"]

    seen = [run["id"] for run in first["data"]] + rest
    assert seen == sorted(ids, reverse=True)
    assert late not in seen
    assert [len(page) for page in await pages(api, "/v1/runs?limit=4")] == [4, 4, 4, 4]


async def test_a_page_that_ends_with_the_last_run_has_no_next(api: Api) -> None:
    for _ in range(4):
        await api.post()

    assert [len(page) for page in await pages(api, "/v1/runs?limit=2")] == [2, 2]
    assert [len(page) for page in await pages(api, "/v1/runs?limit=100")] == [4]


async def test_a_cursor_that_was_edited_is_refused(api: Api) -> None:
    for _ in range(2):
        await api.post()
    cursor = (await api.get("/v1/runs?limit=1"))["next_cursor"]
    other = "A" if cursor[9] != "A" else "B"
    edited = [cursor[:9] + other + cursor[10:], cursor[:-1], cursor + "A", cursor[::-1], "", "!", "é", "A" * 400]
    edited.append(base64.urlsafe_b64encode(b"2026-01-01T00:00:00+00:00 run_x").decode())

    answers = [await api.client.get("/v1/runs", params={"after": each}) for each in edited]

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(400, "cursor_invalid")] * 9


@pytest.mark.parametrize(
    "place",
    [
        "0001-01-01T00:00:00+00:00 run_x",
        "0001-01-01T00:00:00+01:00 run_x",
        "9999-12-31T23:59:59+00:00 run_x",
        "9999-12-31T23:59:59-01:00 run_x",
        "2026-01-01T00:00:00+00:00 run_\0",
        "2026-01-01T00:00:00+00:00 \0",
        "2026-01-01T00:00:00 run_x",
    ],
)
async def test_a_cursor_that_was_forged_is_refused(api: Api, place: str) -> None:
    forged = base64.urlsafe_b64encode(cursors._check(place.encode(), Listing()) + place.encode()).decode().rstrip("=")

    answer = await api.client.get("/v1/runs", params={"after": forged})

    assert (answer.status_code, answer.json()["code"]) == (400, "cursor_invalid")


async def test_a_list_carries_neither_results_nor_long_objectives_unless_asked(api: Api) -> None:
    whole = "é" * 300
    run_id = await api.ended()
    long = await api.post(objective=whole)
    result = (await api.get(f"/v1/runs/{run_id}"))["result"]

    async def shown(include: str) -> dict[str, tuple[str, object]]:
        page = await api.get(f"/v1/runs{include}")
        return {run["id"]: (run["objective"], run["result"]) for run in page["data"]}

    short = "é" * 199 + "…"
    assert result is not None
    plain = await shown("")
    assert (plain[long], plain[run_id][1]) == ((short, None), None)
    assert (await shown("?include=result"))[run_id][1] == result
    assert (await shown("?include=objective"))[long] == (whole, None)
    both = await shown("?include=objective,result")
    assert (both[long][0], both[run_id][1]) == (whole, result)
    assert (await api.get(f"/v1/runs/{long}"))["objective"] == whole
    assert (await api.client.get("/v1/runs?include=answer")).status_code == 422


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=101", "limit=1000000000", "limit=x", "status=done"])
async def test_a_filter_that_makes_no_sense_is_refused(api: Api, query: str) -> None:
    answer = await api.client.get(f"/v1/runs?{query}")

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["parameter"] == query.partition("=")[0]


async def test_runs_are_filtered_by_status_and_team(api: Api) -> None:
    queued, ended = await api.post(), await api.ended()
    other = await api.post(team="research-report")

    async def ids(query: str) -> list[str]:
        return [run["id"] for run in (await api.get(f"/v1/runs?{query}"))["data"]]

    assert await ids("status=succeeded") == [ended]
    assert await ids("status=queued") == [other, queued]
    assert await ids("team=general") == [ended, queued]
    assert await ids("team=research-report&status=queued") == [other]
    assert await ids("team=nobody") == []


async def test_another_tenants_run_is_as_if_it_did_not_exist(api: Api) -> None:
    theirs = await run_of_another_tenant(api)
    headers = {"X-Request-Id": "same"}

    for suffix in ("", "/plan", "/tasks", "/tasks/t1", "/events", "/trace"):
        hidden = await api.client.get(f"/v1/runs/{theirs}{suffix}", headers=headers)
        missing = await api.client.get(f"/v1/runs/run_{'0' * 32}{suffix}", headers=headers)
        assert (hidden.status_code, hidden.content) == (404, missing.content)
    assert (await api.client.post(f"/v1/runs/{theirs}/cancel")).status_code == 404
    assert (await api.get("/v1/runs"))["data"] == []


async def test_a_plan_can_be_read_by_revision_once_there_is_one(api: Api) -> None:
    play = await api.played()
    path = f"/v1/runs/{play.run_id}/plan"
    early = await api.client.get(path)
    await play.start()
    await play.plan("t1", "t2")
    plan = await api.get(path)

    Plan.model_validate(plan)
    assert (early.status_code, early.json()["code"]) == (404, "plan_not_found")
    assert (plan["revision"], plan["validation"]["ok"], plan["shape"]["strategy"]) == (1, True, "parallel")
    assert await api.get(f"{path}?revision=1") == plan
    assert (await api.client.get(f"{path}?revision=2")).json()["code"] == "plan_not_found"
    assert (await api.client.get(f"{path}?revision=0")).status_code == 422


async def test_tasks_are_shown_with_every_attempt(api: Api) -> None:
    play = await api.played()
    path = f"/v1/runs/{play.run_id}/tasks"
    before = await api.get(path)
    await play.start()
    await play.plan("t2", "t1")
    await play.start_task("t1")
    await play.fail_task("t1", retry=True)
    await play.start_task("t1", 2)
    await play.finish_task("t1", 2)
    tasks = (await api.get(path))["data"]

    for each in tasks:
        RunTask.model_validate(each)
    assert before["data"] == []
    assert [(each["id"], each["status"]) for each in tasks] == [("t2", "pending"), ("t1", "succeeded")]
    attempts = tasks[1]["attempts"]
    assert [(each["number"], each["status"]) for each in attempts] == [(1, "failed"), (2, "succeeded")]
    assert attempts[0]["error"]["code"] == "timeout"
    assert tasks[1]["output"]["summary"] == "done"
    assert tasks[1]["usage"]["llm_calls"] == 1
    assert await api.get(f"{path}/t1") == tasks[1]
    missing = await api.client.get(f"{path}/t9")
    assert (missing.status_code, missing.json()["code"]) == (404, "task_not_found")


async def test_a_task_under_way_shows_what_its_attempt_has_spent_so_far(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1")
    await play.start_task("t1")
    await play.record(play.reply("work", "t1", 1), play.reply("work", "t1", 1))

    task = await api.get(f"/v1/runs/{play.run_id}/tasks/t1")

    RunTask.model_validate(task)
    [attempt] = task["attempts"]
    assert (task["status"], attempt["steps"]) == ("running", 2)
    assert task["usage"] == attempt["usage"]
    assert task["usage"]["llm_calls"] == 2


async def test_a_run_that_nobody_executes_is_cancelled_at_once(api: Api) -> None:
    run_id = await api.post()

    answer = await api.client.post(f"/v1/runs/{run_id}/cancel", json={"reason": "changed my mind"})

    run = answer.json()
    Run.model_validate(run)
    assert (answer.status_code, run["status"], run["stop_reason"]) == (202, "cancelled", "cancelled")
    assert run["cancellation"]["reason"] == "changed my mind"
    assert run["cancellation"]["completed_at"]


async def test_a_cancellation_of_a_run_under_way_is_a_receipt_and_repeating_it_changes_nothing(api: Api) -> None:
    play = await api.played()
    await play.start()
    first = await api.client.post(f"/v1/runs/{play.run_id}/cancel")
    second = await api.client.post(f"/v1/runs/{play.run_id}/cancel")

    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json()["status"] == "running"
    assert first.json()["cancellation"]["requested_at"]
    assert second.json()["cancellation"] == first.json()["cancellation"]
    assert second.json()["last_seq"] == first.json()["last_seq"]


async def test_a_run_that_has_ended_cannot_be_cancelled(api: Api) -> None:
    run_id = await api.ended()
    before = await api.get(f"/v1/runs/{run_id}")

    answer = await api.client.post(f"/v1/runs/{run_id}/cancel")

    assert (answer.status_code, answer.json()["code"]) == (409, "run_ended")
    assert await api.get(f"/v1/runs/{run_id}") == before


async def test_a_cancellation_takes_no_unknown_field(api: Api) -> None:
    run_id = await api.post()

    answer = await api.client.post(f"/v1/runs/{run_id}/cancel", json={"why": "so"})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/why"


async def test_the_job_itself_is_in_no_list(api: Api) -> None:
    await api.post(inputs=[{"name": "a", "content": "secret content"}])

    assert "secret content" not in (await api.client.get("/v1/runs")).text
    assert JOB["objective"] in (await api.client.get("/v1/runs")).text
