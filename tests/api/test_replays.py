import asyncio
import json
from typing import Any

from sqlalchemy import text

from app.domain.keys import DEFAULT_TENANT
from app.replay import Today, replay_run
from app.store.teams import put_team
from tests.support.api import Api, client_of
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

JOB = {"objective": "Find out.", "team": "crew"}


async def changed(service: Service, statement: str, **values: Any) -> None:
    async with service.database.transaction() as connection:
        await connection.execute(text(statement), values)


async def test_a_replay_says_whether_rows_and_readers_agree_with_the_log(
    services: Services, stub: StubProvider
) -> None:
    stub.on("plan", as_json(plan_of(task("a"), task("b"))))
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("the answer", "a", "b")))
    service = await services.start()
    await put_team(service.database, DEFAULT_TENANT, CREW)
    async with client_of(service.runtime) as client:
        run = (await client.post("/v1/jobs", json=JOB, headers={"prefer": "wait=20"})).json()
        path, calls = f"/v1/runs/{run['id']}/replay", len(stub.log)
        same = await client.post(path)
        [answered] = [each.seq for each in await service.events(run["id"]) if each.type == "synthesis.completed"]
        of_run = "UPDATE runs SET usage = CAST(:json AS json) WHERE id = :id"
        await changed(service, of_run, id=run["id"], json=json.dumps(run["usage"] | {"llm_calls": 99}))
        of_task = "UPDATE tasks SET output = CAST(:json AS json) WHERE run_id = :id AND task_id = 'a'"
        await changed(service, of_task, id=run["id"], json=json.dumps(report("something else")))
        other = (await client.post(path)).json()
        await changed(service, of_run, id=run["id"], json=json.dumps(run["usage"]))
        of_event = "UPDATE events SET data = json_build_object('answer', '42') WHERE run_id = :id AND seq = :seq"
        await changed(service, of_event, id=run["id"], seq=answered)
        unread = (await client.post(path)).json()
        await changed(service, "DELETE FROM runs WHERE id = :id", id=run["id"])

        assert same.status_code == 200
        assert same.json() == {
            "same": True,
            "last_seq": run["last_seq"],
            "events": run["last_seq"],
            "replies": 4,
            "differences": [],
            "omitted": 0,
        }
        assert [(each["row"], each["field"]) for each in other["differences"]] == [
            ("runs", "usage"),
            ("tasks/a", "output"),
        ]
        assert other["differences"][1]["stored"]["text"] == "something else"
        assert other["differences"][1]["replayed"]["text"] == "done"
        assert {each["seq"] for each in unread["differences"] if each["seq"]} == {answered}
        assert ("answer", "42", "the answer") in [
            (each["field"], each["stored"], each["replayed"]) for each in unread["differences"]
        ]
        assert len(stub.log) == calls
        assert (await client.post(path)).json()["code"] == "run_not_found"


async def test_a_run_under_way_is_replayed_as_of_this_moment_beside_the_loop(api: Api) -> None:
    play = await api.played()
    await play.start()
    await play.plan("t1", "t2")
    await play.start_task("t1")
    await play.chatter(2_000, 1_000)
    ticks, done = 0, asyncio.Event()

    async def replay() -> dict[str, Any]:
        answer = await api.client.post(f"/v1/runs/{play.run_id}/replay")
        done.set()
        told: dict[str, Any] = answer.json()
        return told

    asked = asyncio.create_task(replay())
    while not done.is_set():
        ticks += 1
        await asyncio.sleep(0)  # One round of the loop, which a replay leaves free.
    differences = [each for each in (await asked)["differences"] if each["row"]]

    assert differences == []
    assert ticks > 100


async def test_an_event_of_another_release_is_named_and_rows_are_not_compared(api: Api) -> None:
    run_id = await api.ended()
    async with api.runtime.database.transaction() as connection:
        await connection.execute(
            text("UPDATE events SET type = 'task.promoted' WHERE run_id = :id AND type = 'task.started'"),
            {"id": run_id},
        )

    replay = await replay_run(api.runtime.database, DEFAULT_TENANT, run_id, Today())

    assert replay is not None
    [difference] = replay.differences
    assert (difference.stored, difference.replayed) == ("task.promoted", "cannot be read")
    assert not replay.same
    assert await replay_run(api.runtime.database, "another tenant", run_id, Today()) is None
