"""Schedules over HTTP: what is taken, what is shown, and what becomes of a time. Nothing here executes a run."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.api.schedule_jobs import scheduled_run
from app.api.visits import Visit
from app.domain.keys import ANYBODY, DEFAULT_TENANT
from app.domain.schedules import REFUSALS, run_id_for
from app.domain.webhooks import new_secret
from app.store.acceptance import Origin, accept
from app.store.firings import KEPT
from app.store.intake import pause_intake, resume_intake
from tests.api.test_keys import ask, key_of
from tests.api.test_limits import limited
from tests.support.api import JOB, Api, Starts
from tests.support.receiver import SECRETS_KEY
from tests.support.rows import every
from tests.support.templates import REVIEW, WORKERS
from tests.support.waiting import until_stored

DAILY = {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "job": JOB}
TEAM = {"workers": [{"name": "writer", "description": "Writes.", "instructions": "Write."}]}


async def make(api: Api, **changes: Any) -> str:
    """A new schedule; its id."""
    answer = await api.client.post("/v1/schedules", json=DAILY | changes)
    assert answer.status_code == 201, answer.text
    schedule_id: str = answer.json()["id"]
    return schedule_id


async def shown(api: Api, schedule: str) -> Any:
    return await api.get(f"/v1/schedules/{schedule}")


async def act(api: Api, schedule: str, verb: str, **options: Any) -> Any:
    answer = await api.client.post(f"/v1/schedules/{schedule}/{verb}", **options)
    assert answer.status_code in (200, 202), answer.text
    return answer.json()


async def come(api: Api, *schedules: str, seconds_ago: float = 0, at: datetime | None = None) -> datetime:
    """Let the next time of schedules have come, some while ago or at a moment."""
    moved = await every(
        api.runtime.database,
        """
        UPDATE schedules
        SET next_at = at, once = CASE WHEN once IS NOT NULL THEN at END,
            look_at = CASE WHEN paused_at IS NULL THEN at END
        FROM (SELECT coalesce(CAST(:at AS timestamptz), now() - CAST(:ago AS interval)) AS at) AS moment
        WHERE id = ANY(:ids) RETURNING next_at
        """,
        at=at,
        ago=timedelta(seconds=seconds_ago),
        ids=list(schedules),
    )
    api.runtime.schedule_news.set()
    due: datetime = moved[0]["next_at"]
    return due


async def settled(api: Api, schedule: str, firings: int = 1) -> Any:
    """The schedule once so many of its times have been seen to."""

    statement = "SELECT 1 FROM schedule_firings WHERE schedule_id = :id"

    async def seen_to() -> bool | None:
        return len(await every(api.runtime.database, statement, id=schedule)) >= firings or None

    await until_stored(api.runtime.database, seen_to)
    return await shown(api, schedule)


async def runs(api: Api) -> list[Any]:
    data: list[Any] = (await api.get("/v1/runs?limit=100"))["data"]
    return data


async def test_a_schedule_says_when_it_runs(api: Api) -> None:
    answer = await api.client.post("/v1/schedules", json=DAILY | {"name": "The report of the day"})

    made = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (201, f"/v1/schedules/{made['id']}")
    assert (made["object"], made["status"], made["name"]) == ("schedule", "active", "The report of the day")
    assert (made["missed"], made["overlap"], made["firings"]) == ("skip", "allow", [])
    assert made["job"] == {"objective": "Find out.", "team": "general"}
    times = [datetime.fromisoformat(at) for at in made["next_times"]]
    assert len(times) == 5
    assert made["next_at"] == made["next_times"][0]
    assert times[0] > datetime.now(UTC)
    assert all(timedelta(hours=23) <= later - at <= timedelta(hours=25) for at, later in pairwise(times))
    assert await shown(api, made["id"]) == made


async def test_a_time_that_has_come_is_a_run_that_says_where_it_comes_from(api: Api) -> None:
    schedule = await make(api, job=JOB | {"metadata": {"report": "daily"}, "inputs": [{"name": "a", "content": "b"}]})

    due = await come(api, schedule)

    found = await settled(api, schedule)
    [firing] = found["firings"]
    [run] = await runs(api)
    assert (firing["outcome"], firing["by_hand"], firing["error"]) == ("fired", False, None)
    assert firing["run"] == {"id": run["id"], "status": "queued", "url": f"/v1/runs/{run['id']}"}
    assert run["id"] == run_id_for(schedule, due)
    assert run["schedule"] == {"id": schedule, "time": firing["time"]}
    assert run["metadata"] == {"report": "daily"}
    assert datetime.fromisoformat(found["next_at"]) > datetime.now(UTC)
    assert (await api.client.get(f"/v1/runs/{run['id']}/inputs/a")).text == "b"
    # It is a run like others: its log is whole.
    events = (await api.get(f"/v1/runs/{run['id']}/events"))["data"]
    assert [event["type"] for event in events] == ["run.queued"]


async def test_of_many_replicas_one_sees_to_each_time(start_api: Starts) -> None:
    first, second = await start_api(), await start_api()
    schedules = [await make(first) for _ in range(24)]

    await come(first, *schedules)
    second.runtime.schedule_news.set()

    for schedule in schedules:
        assert len((await settled(second, schedule))["firings"]) == 1
    assert sorted(run["schedule"]["id"] for run in await runs(first)) == sorted(schedules)


async def begin(api: Api, schedule: str, due: datetime) -> None:
    """Have the run of a time there, and nothing said of it yet."""
    visit = Visit(api.runtime, api.app.state.looks, ANYBODY, api.app.state.keys)
    new = await scheduled_run(visit, schedule, due, Origin())
    await accept(api.runtime.database, DEFAULT_TENANT, replace(new, run_id=run_id_for(schedule, due)))


@pytest.mark.parametrize("seconds_ago", [2, 300])
async def test_what_a_process_has_begun_when_it_dies_another_ends_without_a_second_run(
    api: Api, seconds_ago: float
) -> None:
    schedule = await make(api)
    due = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    await begin(api, schedule, due)  # And then it died.

    await come(api, schedule, at=due)

    [firing] = (await settled(api, schedule))["firings"]
    # It may be late by more than a minute by now, and has a run all the same.
    assert (firing["outcome"], firing["run"]["id"]) == ("fired", run_id_for(schedule, due))
    assert len(await runs(api)) == 1


async def test_what_is_begun_has_a_run_though_its_job_would_be_refused_by_now(api: Api) -> None:
    await api.client.put("/v1/teams/letters", json=TEAM)
    schedule = await make(api, job=JOB | {"team": "letters", "inputs": [{"name": "a", "content": "b"}]})
    due = datetime.now(UTC)
    await begin(api, schedule, due)  # And then it died.
    for_files = {"workers": WORKERS, "plan_template": {"tasks": [REVIEW]}}
    assert (await api.client.put("/v1/teams/letters", json=for_files)).is_success

    await come(api, schedule, at=due)

    [firing] = (await settled(api, schedule))["firings"]
    assert (firing["outcome"], firing["error"]) == ("fired", None)
    assert firing["run"]["id"] == run_id_for(schedule, due)
    await come(api, schedule)
    assert (await settled(api, schedule, 2))["firings"][0]["error"]["code"] == "template_empty"


@pytest.mark.parametrize(("missed", "outcome", "count"), [("skip", "missed", 0), ("run_once", "fired", 1)])
async def test_times_that_nobody_was_there_for(api: Api, missed: str, outcome: str, count: int) -> None:
    schedule = await make(api, cron="* * * * *", missed=missed)

    await come(api, schedule, seconds_ago=86_430.5)

    found = await settled(api, schedule)
    assert found["firings"][-1]["outcome"] == outcome
    late = [run for run in await runs(api) if run["schedule"]["time"] == found["firings"][-1]["time"]]
    assert len(late) == count
    assert datetime.fromisoformat(found["next_at"]) > datetime.now(UTC) - timedelta(seconds=60)


@pytest.mark.parametrize(("missed", "outcome"), [("skip", "missed"), ("run_once", "fired")])
async def test_a_pause_is_a_time_at_which_nobody_is_there(api: Api, missed: str, outcome: str) -> None:
    schedule = await make(api, missed=missed)

    paused = await act(api, schedule, "pause")
    await come(api, schedule, seconds_ago=3_600)

    assert (paused["status"], paused["pause_reason"], paused["next_at"], paused["next_times"]) == (
        "paused", "client", None, [],
    )  # fmt: skip
    assert await act(api, schedule, "pause") == paused | {"updated_at": paused["updated_at"]}
    assert await runs(api) == []
    resumed = await act(api, schedule, "resume")
    assert (resumed["status"], resumed["paused_at"]) == ("active", None)
    assert resumed["next_at"] == resumed["next_times"][0]
    assert datetime.fromisoformat(resumed["next_at"]) > datetime.now(UTC)
    assert (await settled(api, schedule))["firings"][0]["outcome"] == outcome
    assert len(await runs(api)) == (outcome == "fired")
    again = await act(api, schedule, "resume")
    assert again == await shown(api, schedule)


async def test_a_short_pause_leaves_out_what_came_in_it_too(api: Api) -> None:
    cron, once = await make(api), await make(api, cron=None, once="2040-01-01T00:00:00Z", missed="skip")
    for schedule in (cron, once):
        await act(api, schedule, "pause")
        await come(api, schedule, seconds_ago=5)

    resumed = [await act(api, schedule, "resume") for schedule in (cron, once)]

    assert [(each["status"], each["firings"][0]["outcome"]) for each in resumed] == [
        ("active", "missed"), ("ended", "missed"),
    ]  # fmt: skip
    assert datetime.fromisoformat(resumed[0]["next_at"]) > datetime.now(UTC)
    assert (resumed[1]["next_at"], resumed[1]["next_times"]) == (None, [])
    # Somebody else sees to a time that comes, and by then to these if they were still to be seen to.
    other = await make(api)
    await come(api, other)
    await settled(api, other)
    assert [run["schedule"]["id"] for run in await runs(api)] == [other]


async def test_once_is_once_and_then_the_schedule_has_ended(api: Api) -> None:
    moment = "2040-03-01T12:00:00+02:00"
    schedule = (await api.client.post("/v1/schedules", json={"once": moment, "job": JOB})).json()
    assert (schedule["once"], schedule["cron"], schedule["missed"]) == ("2040-03-01T10:00:00Z", None, "run_once")
    assert schedule["next_times"] == ["2040-03-01T10:00:00Z"]

    await come(api, schedule["id"])

    ended = await settled(api, schedule["id"])
    assert (ended["status"], ended["next_at"], ended["next_times"]) == ("ended", None, [])
    assert len(await runs(api)) == 1
    again = await api.client.patch(f"/v1/schedules/{schedule['id']}", json={"once": "2041-01-01T00:00:00Z"})
    assert (again.json()["status"], again.json()["next_at"]) == ("active", "2041-01-01T00:00:00Z")


async def test_what_runs_once_waits_for_a_refusal_to_pass_and_is_the_same_run(api: Api) -> None:
    database = api.runtime.database
    once, cron = await make(api, cron=None, once="2040-01-01T00:00:00Z"), await make(api)
    await pause_intake(database, DEFAULT_TENANT, "operator")

    due = await come(api, once, cron)

    refused = await settled(api, once)
    [firing] = refused["firings"]
    assert (firing["outcome"], firing["error"]["code"]) == ("refused", "intake_paused")
    assert refused["status"] == "active"
    assert refused["next_times"] == [refused["next_at"]]
    again = datetime.fromisoformat(refused["next_at"]) - datetime.fromisoformat(firing["at"])
    assert timedelta(seconds=55) < again < timedelta(seconds=65)
    # The next time of the other one makes good for this one.
    assert (await settled(api, cron))["firings"][0]["error"]["code"] == "intake_paused"
    await resume_intake(database, DEFAULT_TENANT, "operator")
    await every(database, "UPDATE schedules SET look_at = now() WHERE next_at <= now() RETURNING 1")
    api.runtime.schedule_news.set()

    async def fired() -> bool | None:
        return (await shown(api, once))["status"] == "ended" or None

    await until_stored(database, fired)
    [firing] = (await shown(api, once))["firings"]
    [run] = await runs(api)
    assert (firing["outcome"], firing["error"], firing["run"]["id"]) == ("fired", None, run_id_for(once, due))
    assert run["schedule"] == {"id": once, "time": firing["time"]}


async def test_while_the_run_before_goes_on_there_is_another_or_none(api: Api) -> None:
    both, alone = await make(api), await make(api, overlap="skip")
    for times in (1, 2):
        for schedule in (both, alone):
            await come(api, schedule)
            await settled(api, schedule, times)

    assert [each["outcome"] for each in (await shown(api, both))["firings"]] == ["fired", "fired"]
    assert [each["outcome"] for each in (await shown(api, alone))["firings"]] == ["overlapped", "fired"]
    [_, first] = (await shown(api, alone))["firings"]
    await api.client.post(f"/v1/runs/{first['run']['id']}/cancel")
    await come(api, alone)
    assert (await settled(api, alone, 3))["firings"][0]["outcome"] == "fired"


async def test_a_job_that_is_refused_time_after_time_pauses_its_schedule(api: Api) -> None:
    await api.client.put("/v1/teams/letters", json=TEAM)
    schedule = await make(api, job=JOB | {"team": "letters"})
    await api.client.delete("/v1/teams/letters")

    for times in range(1, REFUSALS + 1):
        assert (await shown(api, schedule))["status"] == "active"
        await come(api, schedule)
        found = await settled(api, schedule, times)

    assert (found["status"], found["pause_reason"]) == ("paused", "refused")
    firing = found["firings"][0]
    assert (firing["outcome"], firing["run"], firing["error"]["code"]) == ("refused", None, "team_unknown")
    assert await runs(api) == []
    await api.client.put("/v1/teams/letters", json=TEAM | {"description": "Anew."})
    await act(api, schedule, "resume")
    await come(api, schedule)
    assert (await settled(api, schedule, REFUSALS + 1))["firings"][0]["outcome"] == "fired"
    assert [run["team"] for run in await runs(api)] == [{"name": "letters", "version": 2}]


async def test_a_fault_at_a_time_is_told_and_pauses_its_schedule_in_the_end(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective = "What nobody is to read in a log."

    async def broken(*_: Any) -> None:
        raise ValueError(objective)

    monkeypatch.setattr("app.api.timekeeper.scheduled_run", broken)
    schedule = await make(api, job={"objective": objective})
    with capture_logs() as lines:
        await come(api, schedule)
        found = await settled(api, schedule)

    [firing] = found["firings"]
    assert (firing["outcome"], firing["run"], firing["error"]["code"]) == ("refused", None, "internal_error")
    assert (found["status"], found["next_at"] > firing["at"]) == ("active", True)
    [line] = [line for line in lines if line["event"] == "schedule broke"]
    assert (line["error"], "in broken" in line["where"]) == ("ValueError", True)
    assert objective not in str(lines)
    await every(api.runtime.database, "UPDATE schedules SET refusals = :n RETURNING 1", n=REFUSALS - 1)
    await come(api, schedule)
    assert (await settled(api, schedule, 2))["pause_reason"] == "refused"


async def test_a_schedule_may_be_run_by_hand(api: Api) -> None:
    schedule = await make(api)
    before = await act(api, schedule, "pause")

    answers = [
        await api.client.post(f"/v1/schedules/{schedule}/run", headers={"idempotency-key": "now"}) for _ in range(2)
    ]

    [run] = await runs(api)
    assert [answer.status_code for answer in answers] == [202, 202]
    assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true"]
    assert {answer.headers["location"] for answer in answers} == {f"/v1/runs/{run['id']}"}
    after = await shown(api, schedule)
    [firing] = after["firings"]
    assert (firing["by_hand"], firing["outcome"], firing["run"]["id"]) == (True, "fired", run["id"])
    assert run["schedule"] == {"id": schedule, "time": firing["time"]}
    assert after | {"firings": []} == before


async def test_a_run_by_hand_is_told_of_as_that_of_a_job(api: Api) -> None:
    schedule = await make(api)
    await limited(api, runs_queued=3)

    with capture_logs() as lines:
        answer = await api.client.post(f"/v1/schedules/{schedule}/run")

    run_id = answer.json()["id"]
    assert answer.headers.get("ratelimit") == '"runs-queued";r=2'
    [line] = [line for line in lines if line["event"] == "request"]
    assert (line["run_id"], line.get("trace_id")) == (run_id, run_id.removeprefix("run_"))


NEVER_RUN: list[tuple[dict[str, Any], str]] = [
    ({"job": JOB}, "/cron"),
    (DAILY | {"once": "2040-01-01T00:00:00Z"}, "/cron"),
    (DAILY | {"cron": "0 0 30 2 *"}, "/cron"),
    (DAILY | {"cron": "* * */20 * 1L"}, "/cron"),
    (DAILY | {"cron": "* * * * * *"}, "/cron"),
    (DAILY | {"cron": "often"}, "/cron"),
    (DAILY | {"timezone": "Europe/Atlantis"}, "/timezone"),
    ({"once": "2020-01-01T00:00:00Z", "job": JOB}, "/once"),
    ({"once": "2040-01-01T00:00:00", "job": JOB}, "/once"),
    ({"once": 2_000_000_000, "job": JOB}, "/once"),
    ({"once": "9999-12-31T23:59:59-12:00", "job": JOB}, "/once"),
    ({"once": "9000-01-01T00:00:00Z", "job": JOB}, "/once"),
    ({"once": "0001-01-01T00:00:00+01:00", "job": JOB}, "/once"),
    ({"once": "1893456000", "job": JOB}, "/once"),
    ({"once": "2040-W48-7", "job": JOB}, "/once"),
    ({"once": "2040-W48-7T08:00:00Z", "job": JOB}, "/once"),
    ({"once": "20400101T080000Z", "job": JOB}, "/once"),
    ({"once": "2040-01-01", "job": JOB}, "/once"),
    (DAILY | {"missed": "all"}, "/missed"),
    (DAILY | {"overlap": "queue"}, "/overlap"),
    (DAILY | {"every": 5}, "/every"),
    ({"cron": "0 9 * * *"}, "/job"),
    (DAILY | {"job": {"objective": " "}}, "/job/objective"),
    (DAILY | {"job": JOB | {"webhook": {"url": "https://a.example", "secret": new_secret()}}}, "/job/webhook"),
    (DAILY | {"job": JOB | {"team": "nobody"}}, "/job/team"),
    (DAILY | {"job": JOB | {"plan": {"tasks": [{"id": "a", "worker": "ghost", "instruction": "Do."}]}}},
     "/job/plan/tasks/0/worker"),
]  # fmt: skip


async def test_what_could_never_run_is_refused(api: Api) -> None:
    for body, pointer in NEVER_RUN:
        answer = await api.client.post("/v1/schedules", json=body)

        assert answer.status_code == 422, (body, answer.text)
        assert pointer in [error["pointer"] for error in answer.json()["errors"]], (body, answer.text)
    assert (await api.get("/v1/schedules"))["data"] == []


async def test_one_key_makes_one_schedule(api: Api) -> None:
    headers = {"idempotency-key": "k"}
    answers = await asyncio.gather(*(api.client.post("/v1/schedules", json=DAILY, headers=headers) for _ in range(8)))

    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    other = await api.client.post("/v1/schedules", json=DAILY | {"cron": "0 8 * * *"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    other = await api.client.post("/v1/schedules", json=DAILY | {"job": {"objective": "Else."}}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


async def test_a_change_leaves_what_it_does_not_name(api: Api) -> None:
    schedule = await make(api, name="Mine", job=JOB | {"inputs": [{"name": "a", "content": "b"}]})
    before = await shown(api, schedule)

    async def change(**changes: Any) -> Any:
        answer = await api.client.patch(f"/v1/schedules/{schedule}", json=changes)
        assert answer.status_code == 200, answer.text
        return answer.json()

    renamed = await change(name=None, overlap="skip")
    assert renamed | {"name": "Mine", "overlap": "allow", "updated_at": before["updated_at"]} == before
    retimed = await change(cron="30 7 1 * *", timezone="UTC")
    assert (retimed["cron"], retimed["timezone"], retimed["job"]) == ("30 7 1 * *", "UTC", before["job"])
    assert retimed["next_at"][10:] == "T07:30:00Z"
    assert before["job"]["inputs"] == [{"name": "a", "media_type": "text/plain", "characters": 1}]
    run = await act(api, schedule, "run")
    assert (await api.client.get(f"/v1/runs/{run['id']}/inputs/a")).text == "b"
    replaced = await change(job={"objective": "Another."})
    assert replaced["job"] == {"objective": "Another.", "team": "general"}
    run = await act(api, schedule, "run")
    assert (await api.get(f"/v1/runs/{run['id']}/inputs"))["data"] == []


async def test_what_changes_nothing_is_no_change(api: Api) -> None:
    inputs = [{"name": "a", "content": "b"}]
    schedule = await make(api, name="Mine", job=JOB | {"inputs": inputs, "metadata": {"n": 1}})
    path = f"/v1/schedules/{schedule}"
    before = await shown(api, schedule)

    for changes in (
        {},
        {"name": "Mine"},
        {"cron": "0  9 * * *", "timezone": "Europe/Berlin", "once": None, "overlap": "allow", "missed": "skip"},
        {"job": JOB | {"team": "general", "inputs": inputs, "metadata": {"n": 1}}},
    ):
        answer = await api.client.patch(path, json=changes)
        assert (answer.status_code, answer.headers["etag"], answer.json()) == (200, '"1"', before), changes
    for tag, change in enumerate(({"n": True}, {"n": 1.5}, {}), start=2):
        answer = await api.client.patch(path, json={"job": JOB | {"inputs": inputs, "metadata": change}})
        assert answer.headers["etag"] == f'"{tag}"'
    answer = await api.client.patch(path, json={"job": JOB | {"inputs": [{"name": "a", "content": "c"}]}})
    assert answer.headers["etag"] == '"5"'


async def test_null_is_refused_where_it_means_nothing(api: Api) -> None:
    schedule = await make(api, name="Mine")
    path = f"/v1/schedules/{schedule}"
    before = await shown(api, schedule)

    for name in ("cron", "timezone", "once", "missed", "overlap", "job"):
        answer = await api.client.patch(path, json={"name": "Other", name: None})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, f"/{name}")
    assert await shown(api, schedule) == before
    once = (await api.client.patch(path, json={"cron": None, "once": "2040-01-01T00:00:00Z"})).json()
    assert (once["cron"], once["once"]) == (None, "2040-01-01T00:00:00Z")
    cron = (await api.client.patch(path, json={"cron": DAILY["cron"], "once": None, "name": None})).json()
    assert (cron["cron"], cron["once"], cron["name"]) == (DAILY["cron"], None, None)


async def test_a_change_may_be_about_what_was_read_alone(api: Api) -> None:
    schedule = await make(api)
    path = f"/v1/schedules/{schedule}"
    tag = (await api.client.get(path)).headers["etag"]

    first, second = [
        await api.client.patch(path, json={"name": name}, headers={"if-match": tag}) for name in ("one", "two")
    ]

    assert (first.status_code, first.headers["etag"]) == (200, '"2"')
    assert (second.status_code, second.json()["code"]) == (412, "schedule_changed")
    assert (await shown(api, schedule))["name"] == "one"
    bare = await api.client.patch(path, json={"name": "three"}, headers={"if-match": "2"})  # As with plans.
    assert (bare.status_code, bare.json()["name"]) == (200, "three")


async def test_a_schedule_that_is_deleted_is_gone_and_its_runs_are_not(api: Api) -> None:
    schedule = await make(api)
    run = await act(api, schedule, "run")

    assert (await api.client.delete(f"/v1/schedules/{schedule}")).status_code == 204

    for method, end in (
        ("GET", ""),
        ("DELETE", ""),
        ("PATCH", ""),
        *(("POST", f"/{v}") for v in ("pause", "resume", "run")),
    ):
        answer = await api.client.request(
            method, f"/v1/schedules/{schedule}{end}", json={} if method == "PATCH" else None
        )
        assert (answer.status_code, answer.json()["code"]) == (404, "schedule_not_found"), (method, end)
    assert (await api.get(f"/v1/runs/{run['id']}"))["schedule"]["id"] == schedule


async def test_lists_go_page_by_page_without_jobs(api: Api) -> None:
    made = [await make(api, name=str(number)) for number in range(5)]

    first = await api.get("/v1/schedules?limit=3")
    second = await api.get(f"/v1/schedules?limit=3&after={first['next_cursor']}")

    assert [each["id"] for each in first["data"] + second["data"]] == made[::-1]
    assert (first["has_more"], second["has_more"], second["next_cursor"]) == (True, False, None)
    assert {(each["job"], each["firings"], each["next_times"]) for each in first["data"]} == {(None, None, None)}
    assert (await api.client.get("/v1/schedules?after=nonsense")).json()["code"] == "cursor_invalid"


async def test_a_tenant_has_so_many_schedules_and_no_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.store.schedules.AT_MOST", 1)
    await make(api)

    answer = await api.client.post("/v1/schedules", json=DAILY)

    assert (answer.status_code, answer.json()["code"]) == (409, "schedules_too_many")


async def test_what_looks_like_a_credential_is_not_kept(api: Api) -> None:
    secret = "sk-ant-api03-" + "a1B2" * 20
    schedule = await make(api, job={"objective": f"Use {secret}.", "inputs": [{"name": "a", "content": secret}]})

    assert secret not in str(await shown(api, schedule))
    rows = await every(api.runtime.database, "SELECT job::text || content AS text FROM schedules JOIN schedule_inputs "
                       "ON schedule_id = id")  # fmt: skip
    assert secret not in str(rows)
    run = await act(api, schedule, "run")
    assert (
        run["objective"]
        == (await api.client.post("/v1/jobs", json={"objective": f"Use {secret}."})).json()["objective"]
    )


async def test_a_job_that_masking_has_made_longer_than_a_job_may_be_is_run(api: Api) -> None:
    def filled(length: int) -> str:
        return "://u:p@h".rjust(length, "x")  # Whose password is shorter than the mark in its place.

    job = {
        "objective": filled(200_000), "rubric": filled(20_000), "metadata": {"a": filled(512)},
        "inputs": [{"name": filled(200), "content": "b"}],
        "plan": {"tasks": [{"id": "a", "worker": "writer", "instruction": filled(20_000)}]},
    }  # fmt: skip
    schedule = await make(api, job=job)

    by_hand = await act(api, schedule, "run")
    await come(api, schedule)

    assert [each["outcome"] for each in (await settled(api, schedule, 2))["firings"]] == ["fired", "fired"]
    posted = (await api.client.post("/v1/jobs", json=job)).json()
    for run in [by_hand, *(await runs(api))]:
        run = await api.get(f"/v1/runs/{run['id']}")
        assert (run["objective"], run["metadata"]) == (posted["objective"], posted["metadata"])
    assert len(posted["objective"]) > 200_000


async def test_the_webhook_of_its_job_is_told_of_each_run(start_api: Starts) -> None:
    api = await start_api(secrets_key=SECRETS_KEY)
    secret = new_secret()
    schedule = await make(api, job=JOB | {"webhook": {"url": "https://hooks.acme.example/a", "secret": secret}})
    assert (await shown(api, schedule))["job"]["webhook"] == {"url": "https://hooks.acme.example/a"}

    await come(api, schedule)

    run = (await settled(api, schedule))["firings"][0]["run"]["id"]
    [row] = await every(api.runtime.database, "SELECT run_id, url, secret FROM webhook_endpoints")
    assert (row["run_id"], row["url"]) == (run, "https://hooks.acme.example/a")
    assert api.runtime.webhooks is not None
    assert api.runtime.webhooks.vault.open(bytes(row["secret"])) == secret


async def test_a_job_may_bring_everything_that_jobs_bring(api: Api) -> None:
    job = {
        "objective": "Sum up.",
        "team": "general@1",
        "limits": {"tokens": 50_000, "timeout_s": 60.5, "cost_usd": None},
        "plan": {"tasks": [{"id": "a", "worker": "writer", "instruction": "Write.", "budget": {"tokens": 4_000}},
                           {"id": "b", "worker": "writer", "instruction": "More.", "depends_on": ["a"]}],
                 "final_instruction": "Both."},
        "rubric": "Short.", "on_question": "default", "approval": "plan", "priority": 3,
        "output_schema": {"type": "object", "properties": {"sum": {"type": "number"}}},
        "metadata": {"n": 1.5, "yes": True, "nothing": None},
    }  # fmt: skip
    schedule = await make(api, job=job)

    run = await act(api, schedule, "run")
    posted = (await api.client.post("/v1/jobs", json=job)).json()

    assert run["limits"] == posted["limits"]
    assert run["metadata"] == posted["metadata"]
    [mine, other] = [(await api.get(f"/v1/runs/{each['id']}/events"))["data"][0]["data"] for each in (run, posted)]
    assert mine | {"request_id": None} == other | {"request_id": None}


async def test_a_schedule_is_its_tenants_and_outlives_the_key_that_made_it(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    key, bearer = await key_of(api, "acme")
    _, admin = await key_of(api, "acme")
    made = (await ask(api, "POST", "/v1/schedules", bearer, json=DAILY)).json()
    assert made["key"] == key
    await ask(api, "DELETE", f"/v1/keys/{key}", admin)

    await come(api, made["id"])

    async def fired() -> bool | None:
        return bool((await ask(api, "GET", f"/v1/schedules/{made['id']}", admin)).json()["firings"]) or None

    await until_stored(api.runtime.database, fired)
    [run] = (await ask(api, "GET", "/v1/runs", admin)).json()["data"]
    [row] = await every(api.runtime.database, "SELECT tenant, key_id FROM runs WHERE id = :id", id=run["id"])
    assert row == {"tenant": "acme", "key_id": key}


async def test_its_runs_count_for_the_key_that_had_the_last_word(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    (first, one), (second, two) = await key_of(api, "acme"), await key_of(api, "acme")
    made = (await ask(api, "POST", "/v1/schedules", one, json=DAILY)).json()
    path = f"/v1/schedules/{made['id']}"

    async def key_after(method: str, path: str, bearer: str, **options: Any) -> Any:
        answer = await ask(api, method, path, bearer, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()["key"]

    assert made["key"] == first
    assert await key_after("PATCH", path, two, json={"name": "Named by another"}) == first
    assert await key_after("PATCH", path, two, json={"cron": DAILY["cron"]}) == first
    for bearer, key, change in (
        (two, second, {"job": {"objective": "Another."}}),
        (one, first, {"cron": "* * * * *"}),
        (two, second, {"timezone": "UTC"}),
        (one, first, {"overlap": "skip"}),
        (two, second, {"once": "2040-01-01T00:00:00Z"}),
    ):
        assert await key_after("PATCH", path, bearer, json=change) == key, change
    assert await key_after("POST", f"{path}/resume", one) == second
    assert await key_after("POST", f"{path}/pause", one) == second
    assert await key_after("POST", f"{path}/resume", one) == first


async def test_of_what_has_become_of_its_times_a_schedule_keeps_the_newest(api: Api) -> None:
    schedule = await make(api)
    await every(
        api.runtime.database,
        "INSERT INTO schedule_firings (schedule_id, due_at, by_hand, outcome) "
        "SELECT :id, now() - make_interval(days => n), false, 'missed' FROM generate_series(1, 300) AS n RETURNING 1",
        id=schedule,
    )

    await come(api, schedule)

    assert len((await settled(api, schedule))["firings"]) == 20

    async def pruned() -> bool | None:
        [row] = await every(api.runtime.database, "SELECT count(*) AS n FROM schedule_firings")
        return row["n"] == KEPT or None

    await until_stored(api.runtime.database, pruned)


async def test_changes_that_come_together_are_all_made(api: Api) -> None:
    schedule = await make(api)
    path = f"/v1/schedules/{schedule}"

    answers = await asyncio.gather(*(api.client.patch(path, json={"name": f"n{number}"}) for number in range(8)))

    assert [answer.status_code for answer in answers] == [200] * 8
    assert (await api.client.get(path)).headers["etag"] == '"9"'
