"""A process that is asked to claim nothing more: it hands its runs over, stays up, and may be asked to claim again."""

import httpx2
from sqlalchemy import text

from app.store.engines import KEPT_S, KnownEngine, known_engines, set_drained
from tests.support.api import client_of
from tests.support.fixtures import Services
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until, until_stored


async def engine_of(service: Service, *, of: Service) -> KnownEngine | None:
    found = await known_engines(of.database, "default", service.runtime.name)
    return found[0] if found else None


async def is_ready(client: httpx2.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200


async def test_a_drained_process_hands_its_runs_over_and_claims_again_when_it_is_asked(
    services: Services, stub: StubProvider
) -> None:
    first = await services.start(poll_seconds=10, drain_seconds=0.1)
    stub.on("work", replies=[held(as_json(report("late")))])
    stub.on("work", as_json(report("done")))
    run_id = await first.submit(plan=plan_of(task("t1")))
    await stub.seen(1)
    second = await services.start(poll_seconds=10)
    async with client_of(first.runtime) as client:
        listed = (await client.get("/v1/engines")).json()["data"]
        mine, other = listed
        assert (mine["name"], mine["runs"], mine["run_ids"], mine["runs_of_all"]) == (
            first.runtime.name,
            1,
            [run_id],
            1,
        )
        assert (other["name"], other["runs"], other["draining"], other["stale"]) == (
            second.runtime.name,
            0,
            False,
            False,
        )
        assert not [each for each in await known_engines(first.database, "rival") if each.ours or each.ids]

        drained = await client.post(f"/v1/engines/{first.runtime.name}/drain")

        assert (drained.status_code, drained.json()["draining"]) == (200, True)
        run = await second.ended(run_id)
        assert run["status"] == "succeeded"
        resumed = [event.data for event in await second.events(run_id) if event.type == "run.resumed"]
        assert [each.engine for each in resumed] == [second.runtime.name]  # type: ignore[union-attr]
        assert await is_ready(client)
        await set_drained(second.database, second.runtime.name, drained=True)
        await until(lambda: second.engine is not None and second.engine.rests)
        waiting = await first.submit(plan=plan_of(task("t1")))
        assert (await first.until(waiting, lambda row: True))["status"] == "queued"

        again = await client.post(f"/v1/engines/{first.runtime.name}/resume")

        assert (again.status_code, again.json()["drain_requested_at"]) == (200, None)
        assert (await first.ended(waiting))["status"] == "succeeded"
        assert await is_ready(client)


async def test_a_process_that_stops_is_gone_from_the_list_and_one_that_dies_is_silent_there_for_a_while(
    services: Services,
) -> None:
    stays, leaves, dies = [await services.start(poll_seconds=0.05) for _ in range(3)]
    names = {each.runtime.name for each in (stays, leaves, dies)}
    assert {each.name for each in await known_engines(stays.database, "default")} == names

    await services.stop(leaves)
    await services.crash(dies)

    assert {each.name for each in await known_engines(stays.database, "default")} == names - {leaves.runtime.name}
    async with stays.database.statement() as connection:
        await connection.execute(
            text("UPDATE engines SET silent_from = now() - make_interval(secs => 1) WHERE name = :name"),
            {"name": dies.runtime.name},
        )
    dead = await engine_of(dies, of=stays)
    assert dead is not None
    assert dead.is_silent
    async with stays.database.statement() as connection:
        await connection.execute(
            text("UPDATE engines SET silent_from = now() - make_interval(secs => :s) WHERE name = :name"),
            {"s": KEPT_S + 1, "name": dies.runtime.name},
        )

    async def forgotten() -> bool | None:
        return await engine_of(dies, of=stays) is None or None

    await until_stored(stays.database, forgotten, 10)
