"""Of several workers of one kind the less loaded one is taken, over all replicas."""

import asyncio

import pytest

from app.domain.job import Job
from app.domain.policy.load import Load
from app.domain.team import Team
from app.domain.worker import Worker
from app.store.acceptance import NewRun, accept
from app.store.teams import put_team, team_named
from app.store.worker_loads import Place, loads_elsewhere
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import Service, new_run_id, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, delayed, held
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until

CLERKS = Team(
    name="clerks",
    workers=(
        Worker(name="ann", description="Files.", instructions="File.", kind="clerk"),
        Worker(name="bob", description="Files.", instructions="File.", kind="clerk"),
        Worker(name="eve", description="Writes.", instructions="Write."),
    ),
)
LOOKER_ON = Place("default", "none of them", 1)


def for_ann(*names: str) -> dict[str, object]:
    return plan_of(*(task(name, "ann") for name in names))


async def until_told(service: Service, worker: str, attempts: int) -> None:
    """Return once the processes have told that a worker has so many attempts under way."""
    async with asyncio.timeout(10):
        while (await loads_elsewhere(service.database, LOOKER_ON)).get(worker, Load()).attempts != attempts:  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # a row, of which nothing tells us


async def test_a_task_goes_to_the_idle_worker_of_the_kind_and_is_named_as_substituted(
    service: Service, stub: StubProvider
) -> None:
    stub.on("work:ann", held(as_json(report())))
    stub.on("work:bob", as_json(report()))
    busy = await service.submit(team=CLERKS, plan=for_ann("t1"))
    await stub.seen(1)

    run_id = await service.submit(team=CLERKS, plan=for_ann("t1"))
    run = await service.ended(run_id)
    stub.release()

    assert run["status"] == "succeeded"
    assert run["result"]["coverage"]["substituted"] == ["t1"]
    assert (await service.folded(run_id)).tasks["t1"].attempt.worker == "bob"
    assert (await service.ended(busy))["result"]["coverage"]["substituted"] == []


async def test_what_another_tenants_team_of_the_name_does_is_no_load(service: Service, stub: StubProvider) -> None:
    stub.on("work:ann", call=1, reply=held(as_json(report())))
    stub.on("work", as_json(report()))
    database, job = service.database, Job(objective="Find out.", team="clerks", plan=for_ann("t1"))
    await put_team(database, "acme", CLERKS)
    theirs = await team_named(database, "acme", "clerks")
    assert theirs is not None
    await accept(database, "acme", NewRun(new_run_id(), job, theirs, CLERKS.limits, job.plan, "client"))
    await stub.seen(1)

    run = await service.ended(await service.submit(team=CLERKS, plan=for_ann("t1")))
    stub.release()

    assert [seen.role for seen in stub.log] == ["work:ann", "work:ann"]
    assert run["result"]["coverage"]["substituted"] == []


async def test_the_quicker_worker_is_taken_once_it_is_known_to_be(service: Service, stub: StubProvider) -> None:
    stub.on("work:ann", delayed(as_json(report()), 0.4))
    stub.on("work:bob", as_json(report()))
    stub.on("synthesize", as_json(synthesis("all of it", "t1", "t2")))
    await service.ended(await service.submit(team=CLERKS, plan=for_ann("t1", "t2")))

    run = await service.ended(await service.submit(team=CLERKS, plan=for_ann("t3")))

    assert sorted(seen.role for seen in stub.of("work")) == ["work:ann", "work:bob", "work:bob"]
    assert run["result"]["coverage"]["substituted"] == ["t3"]


async def test_what_a_rule_sends_to_a_worker_stays_there_however_busy_it_is(
    service: Service, stub: StubProvider
) -> None:
    rules = [{"when": {"contains": ["refund"]}, "worker": "ann"}]
    team = Team.model_validate(CLERKS.model_dump() | {"routing": rules})
    stub.on("work:ann", call=1, reply=held(as_json(report())))
    stub.on("work", as_json(report()))
    busy = await service.submit(team=team, plan=for_ann("t1"))
    await stub.seen(1)

    run = await service.ended(await service.submit("A refund.", team))
    stub.release()
    await service.ended(busy)

    assert [seen.role for seen in stub.log] == ["work:ann", "work:ann"]
    assert run["result"]["coverage"]["substituted"] == []


async def test_what_one_process_has_under_way_the_others_take_into_account(
    services: Services, stub: StubProvider
) -> None:
    first = await services.start()
    stub.on("work:ann", call=1, reply=held(as_json(report())))
    stub.on("work", as_json(report()))
    busy = await first.submit(team=CLERKS, plan=for_ann("t1"))
    await stub.seen(1)
    await until_told(first, "default:clerks/ann", 1)
    first.runtime.drain_s = 20
    first.runtime.draining.set()  # It goes on with what it has, and takes nothing more.
    second = await services.start()

    run = await second.ended(await second.submit(team=CLERKS, plan=for_ann("t1")))
    stub.release()

    assert [seen.role for seen in stub.log] == ["work:ann", "work:bob"]
    assert run["result"]["coverage"]["substituted"] == ["t1"]
    assert (await second.ended(busy))["status"] == "succeeded"


async def test_what_a_dead_process_had_under_way_is_forgotten_and_the_run_counts_where_it_goes_on(
    services: Services, stub: StubProvider
) -> None:
    doomed = await services.start()
    stub.on("work:ann", held(as_json(report())))
    run_id = await doomed.submit(team=CLERKS, plan=for_ann("t1"))
    await stub.seen(1)
    await until_told(doomed, "default:clerks/ann", 1)

    await services.crash(doomed)
    other = await services.start()
    await stub.seen(2)
    await until_told(other, "default:clerks/ann", 1)
    stub.release()
    run = await other.ended(run_id)

    assert run["status"] == "succeeded"
    await until_told(other, "default:clerks/ann", 0)


async def test_a_run_of_workers_without_kinds_costs_no_word_about_load(service: Service, stub: StubProvider) -> None:
    stub.on("work", as_json(report()))

    await service.ended(await service.submit(plan=plan_of(task("t1"))))

    assert not service.runtime.loads._wanted.is_set()
    assert await every(service.database, "SELECT * FROM worker_loads") == []


@pytest.mark.parametrize("ending", ["cancel", "end"])
async def test_a_run_that_is_over_counts_no_more(service: Service, stub: StubProvider, ending: str) -> None:
    stub.on("work", held(as_json(report())))
    run_id = await service.submit(team=CLERKS, plan=for_ann("t1"))
    await stub.seen(1)
    await until_told(service, "default:clerks/ann", 1)

    if ending == "cancel":
        await service.cancel(run_id)
    stub.release()
    await service.ended(run_id)

    await until_told(service, "default:clerks/ann", 0)
    await until(lambda: not service.runtime.loads._wanted.is_set())
