import asyncio

import psycopg
import pytest

from app.store.ownership import Lease, release_if_owned, renew
from tests.support.claims import ME, claimed, try_claim
from tests.support.rows import check_rows, every
from tests.support.service import Service


async def test_a_free_run_is_claimed_with_all_that_is_known_of_it(service: Service) -> None:
    inputs = [{"name": "b.txt", "content": "second"}, {"name": "a.txt", "content": "first"}]
    run_id = await service.submit("Find out.", inputs=inputs)

    claim = await claimed(service, run_id)

    assert (claim.epoch, claim.begins, claim.lapsed_at, claim.poisoned) == (1, True, None, False)
    assert (claim.snapshot.status, claim.snapshot.last_seq, claim.snapshot.brief.objective) == (
        "running",
        2,
        "Find out.",
    )
    assert claim.snapshot.brief.team.name == "crew"


async def test_a_run_whose_lease_holds_cannot_be_claimed_even_by_its_owner(service: Service) -> None:
    claim = await claimed(service)
    run_id = claim.snapshot.brief.run_id

    assert await try_claim(service, run_id) is None
    assert await try_claim(service, run_id, owner=ME) is None


async def test_the_first_claim_begins_the_run_in_its_own_commit(service: Service, sql: psycopg.Connection) -> None:
    claim = await claimed(service)
    run_id = claim.snapshot.brief.run_id

    assert [event.type for event in await service.events(run_id)] == ["run.queued", "run.started"]
    await check_rows(service.database, run_id)
    row = sql.execute("SELECT runs.xmin = events.xmin FROM runs, events WHERE seq = 2").fetchone()
    assert row == (True,)


async def test_a_run_that_was_begun_is_not_begun_again(service: Service, sql: psycopg.Connection) -> None:
    claim = await claimed(service, lease_s=0)
    run_id = claim.snapshot.brief.run_id
    sql.execute("UPDATE runs SET status = 'queued', phase = NULL, started_at = NULL, last_seq = 1")

    again = await claimed(service, run_id)

    assert (again.begins, again.snapshot) == (False, claim.snapshot)
    assert [event.seq for event in await service.events(run_id)] == [1, 2]


async def test_a_lease_is_renewed_only_when_a_part_of_it_is_spent(service: Service, sql: psycopg.Connection) -> None:
    run_id = (await claimed(service, lease_s=90)).snapshot.brief.run_id
    before = sql.execute("SELECT xmin::text FROM runs").fetchone()

    kept = await renew(service.database, {run_id: 1}, owner=ME, lease_s=100)

    assert 80 < kept[run_id].left_s <= 90
    assert sql.execute("SELECT xmin::text FROM runs").fetchone() == before


async def test_a_lapsed_run_is_claimed_with_a_higher_epoch(service: Service) -> None:
    claim = await claimed(service, lease_s=0)

    again = await try_claim(service, claim.snapshot.brief.run_id)

    assert again is not None
    assert (again.epoch, again.lapsed_at is not None) == (2, True)


async def test_one_of_many_claims_at_the_same_time_succeeds(service: Service) -> None:
    run_id = await service.submit()

    claims = await asyncio.gather(*(try_claim(service, run_id, owner=f"engine {number}") for number in range(10)))

    assert sum(claim is not None for claim in claims) == 1


async def test_a_run_that_has_ended_or_never_was_cannot_be_claimed(service: Service) -> None:
    run_id = await service.submit()
    await service.cancel(run_id)

    assert await try_claim(service, run_id) is None
    assert await try_claim(service, "run_nowhere") is None


async def test_a_run_that_was_claimed_too_often_without_progress_is_known_as_poisoned(
    service: Service, sql: psycopg.Connection
) -> None:
    run_id = await service.submit()

    found = []
    for _ in range(7):
        found.append((await claimed(service, run_id)).poisoned)
        sql.execute("UPDATE runs SET lease_until = now() - interval '1 second'")

    assert found == [False] * 5 + [True] * 2


async def test_renewal_prolongs_what_is_ours_and_names_it_with_its_newest_event(
    service: Service, sql: psycopg.Connection
) -> None:
    ours, lost, foreign = [(await claimed(service, lease_s=5)).snapshot.brief.run_id for _ in range(3)]
    sql.execute("UPDATE runs SET owner_epoch = 2 WHERE id = %s", [lost])
    sql.execute("UPDATE runs SET owner = 'another' WHERE id = %s", [foreign])
    await service.cancel(ours)

    kept = await renew(service.database, {ours: 1, lost: 1, foreign: 1}, owner=ME, lease_s=100)

    assert kept == {ours: Lease(newest=3, left_s=100)}
    rows = await every(service.database, "SELECT id FROM runs WHERE lease_until > now() + interval '50 seconds'")
    assert [row["id"] for row in rows] == [ours]


async def test_a_lapsed_run_that_nobody_took_may_be_renewed(service: Service) -> None:
    run_id = (await claimed(service, lease_s=0)).snapshot.brief.run_id

    assert await renew(service.database, {run_id: 1}, owner=ME, lease_s=60) == {run_id: Lease(2, 60)}
    assert await try_claim(service, run_id) is None


async def test_a_run_that_is_handed_back_is_free_and_announced(service: Service, sql: psycopg.Connection) -> None:
    run_id = (await claimed(service)).snapshot.brief.run_id
    sql.execute("DELETE FROM procrastinate_jobs")

    await release_if_owned(service.database, service.runtime.queue, run_id, owner=ME, epoch=1)

    assert sql.execute("SELECT queueing_lock FROM procrastinate_jobs").fetchall() == [(f"run:{run_id}",)]
    claim = await try_claim(service, run_id)
    assert claim is not None
    assert (claim.epoch, claim.lapsed_at) == (2, None)


@pytest.mark.parametrize(("owner", "epoch"), [(ME, 0), (ME, 2), ("another", 1)])
async def test_only_its_owner_can_hand_a_run_back(
    service: Service, sql: psycopg.Connection, owner: str, epoch: int
) -> None:
    run_id = (await claimed(service)).snapshot.brief.run_id
    sql.execute("DELETE FROM procrastinate_jobs")

    await release_if_owned(service.database, service.runtime.queue, run_id, owner=owner, epoch=epoch)

    assert sql.execute("SELECT owner FROM runs").fetchall() == [(ME,)]
    assert sql.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (0,)


@pytest.mark.parametrize(("broke", "poisoned"), [(False, False), (True, True)])
async def test_handing_a_run_back_in_good_order_is_no_suspicion_and_breaking_on_it_is(
    service: Service, broke: bool, poisoned: bool
) -> None:
    run_id = await service.submit()
    for _ in range(6):
        epoch = (await claimed(service, run_id)).epoch
        await release_if_owned(service.database, service.runtime.queue, run_id, owner=ME, epoch=epoch, broke=broke)

    assert (await claimed(service, run_id)).poisoned is poisoned
