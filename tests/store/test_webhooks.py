"""What is enqueued for webhooks, who takes it, and how often."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from app.domain import events as ev
from app.domain.events import Entry
from app.domain.job import Job
from app.domain.keys import DEFAULT_TENANT
from app.domain.webhooks import RUN_NEWS, Outcome, RunNews
from app.store.acceptance import NewRun, accept
from app.store.deliveries import Room, deliver_again, deliveries_of_run, settle, take_due
from app.store.idempotency import IdempotencyKey
from app.store.run_log import end_unreadable
from app.store.vault import Vault
from app.store.webhooks import OwnWebhook, find_webhook, put_webhook
from tests.support.claims import try_claim
from tests.support.play import playing
from tests.support.receiver import SECRETS_KEY
from tests.support.rows import every
from tests.support.service import CREW, Service, new_run_id

URL = "https://hooks.example/a"
ROOM = Room(50, 10, (), 60)
REFUSED = Outcome(500, "receiver_refused")


async def told_of(service: Service, *types: RunNews, tenant: str = DEFAULT_TENANT) -> None:
    await put_webhook(service.database, tenant, URL, types or RUN_NEWS, sealed=b"sealed")


async def ended(service: Service) -> str:
    """A run that has ended, since a client cancelled it."""
    run_id = await service.submit()
    assert await service.cancel(run_id)
    return run_id


async def enqueued(service: Service) -> list[dict[str, Any]]:
    return await every(service.database, "SELECT * FROM webhook_deliveries ORDER BY seq")


async def test_a_run_of_which_nobody_is_to_be_told_costs_no_row(service: Service, sql: psycopg.Connection) -> None:
    await told_of(service, tenant="another")

    await ended(service)

    assert await enqueued(service) == []
    assert await take_due(service.database, ROOM) == []


async def test_what_is_told_is_enqueued_with_the_event_or_not_at_all(service: Service, sql: psycopg.Connection) -> None:
    await told_of(service)
    run_id = await service.submit()
    sql.execute(
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
        CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON runs DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        EXECUTE FUNCTION refuse();
        """
    )
    with pytest.raises(DBAPIError):
        await service.cancel(run_id)  # Everything is written, and the commit is refused.
    assert await enqueued(service) == []

    sql.execute("DROP TRIGGER refuse ON runs")
    await service.cancel(run_id)

    [row] = await enqueued(service)
    assert (row["run_id"], row["seq"], row["type"], row["status"]) == (run_id, 3, "run.cancelled", "pending")


@pytest.mark.parametrize(("reason", "count"), [("plan_approval", 1), ("answer", 1), ("provider", 0), ("children", 0)])
async def test_only_waits_for_people_are_told(service: Service, reason: Any, count: int) -> None:
    await told_of(service)
    run_id = await service.submit()
    async with playing(service.database) as player:
        play = player.play(run_id)
        await play.start()
        await play.record(Entry(ev.RunWaiting(reason=reason, until=datetime.now(UTC) + timedelta(hours=1))))

    found = await enqueued(service)
    assert len(found) == count
    assert all(row["said"]["waiting_for"] == reason for row in found)


async def test_a_run_that_a_client_or_nobody_ends_is_told_too(service: Service) -> None:
    await told_of(service)
    cancelled, unreadable = await service.submit(), await service.submit()

    await service.cancel(cancelled)
    await try_claim(service, unreadable)
    async with service.database.transaction() as connection:
        await end_unreadable(connection, unreadable)

    types = {row["run_id"]: (row["type"], row["said"]["stop_reason"]) for row in await enqueued(service)}
    assert types == {cancelled: ("run.cancelled", "cancelled"), unreadable: ("run.failed", "internal_error")}
    await every(service.database, "DELETE FROM runs RETURNING id")  # Its log could be read, and says otherwise.


async def test_only_what_is_wanted_is_told(service: Service) -> None:
    await told_of(service, "run.failed")

    await ended(service)

    assert await enqueued(service) == []


async def test_a_job_that_is_sent_twice_has_one_webhook(service: Service) -> None:
    team, key = await service.stored(CREW), IdempotencyKey("k", "POST /v1/jobs", "digest")
    job, own = Job(objective="Find out.", team=CREW.name), OwnWebhook(URL, b"sealed")

    for _ in range(2):
        new = NewRun(new_run_id(), job, team, CREW.limits, webhook=own)
        await accept(service.database, DEFAULT_TENANT, new, key=key)

    assert len(await every(service.database, "SELECT id FROM webhook_endpoints")) == 1
    assert len(await every(service.database, "SELECT id FROM runs")) == 1


async def test_two_processes_never_take_the_same(service: Service) -> None:
    await told_of(service)
    runs = [await ended(service) for _ in range(6)]

    taken = await asyncio.gather(*(take_due(service.database, Room(2, 2, (), 60)) for _ in range(3)))

    found = [due.news.run_id for each in taken for due in each]
    assert len(found) == len(set(found))
    rest = await take_due(service.database, ROOM)
    assert {*found, *(due.news.run_id for due in rest)} == set(runs)
    assert await take_due(service.database, ROOM) == []


async def test_one_receiver_is_given_no_more_than_its_share(service: Service) -> None:
    await told_of(service)
    for _ in range(4):
        await ended(service)
    team, job = await service.stored(CREW), Job(objective="Find out.", team=CREW.name)
    own = OwnWebhook(f"{URL}/own", b"own")
    await accept(service.database, DEFAULT_TENANT, new := NewRun(new_run_id(), job, team, CREW.limits, webhook=own))
    await service.cancel(new.run_id)

    taken = await take_due(service.database, Room(50, 3, (), 60))

    assert sorted(due.url or "" for due in taken) == [URL, URL, URL, f"{URL}/own"]
    [webhook] = {due.endpoint for due in taken if due.url == URL}
    assert await take_due(service.database, Room(50, 3, [webhook], 60)) == []
    assert [due.url for due in await take_due(service.database, Room(50, 3, (), 60))] == [URL, URL]


async def test_what_is_not_settled_in_its_time_is_due_again_and_settled_once(service: Service) -> None:
    await told_of(service)
    run_id = await ended(service)

    [lost] = await take_due(service.database, Room(50, 10, (), 0))
    [again] = await take_due(service.database, ROOM)

    assert (again.id, again.attempt) == (lost.id, 2)
    assert not await settle(service.database, lost, REFUSED, None)
    assert await settle(service.database, again, Outcome(200), None)
    assert not await settle(service.database, again, REFUSED, 5)
    [delivery] = await deliveries_of_run(service.database, DEFAULT_TENANT, run_id) or ()
    assert (delivery.status, delivery.response_status, delivery.next_attempt_at) == ("delivered", 200, None)


async def test_a_receiver_is_left_alone_for_as_long_as_it_wants(service: Service, sql: psycopg.Connection) -> None:
    await told_of(service)
    await ended(service)
    [due] = await take_due(service.database, ROOM)
    await settle(service.database, due, Outcome(429, "receiver_refused", 60), 60)
    await ended(service)

    assert await take_due(service.database, ROOM) == []
    sql.execute("UPDATE webhook_endpoints SET quiet_until = now()")
    assert len(await take_due(service.database, ROOM)) == 1


async def test_a_receiver_that_wants_nothing_more_is_disabled(service: Service) -> None:
    await told_of(service)
    run_id = await ended(service)
    [due] = await take_due(service.database, ROOM)
    await settle(service.database, due, Outcome(410, "receiver_refused"), None)

    webhook = await find_webhook(service.database, DEFAULT_TENANT)
    assert webhook is not None
    assert webhook.disabled_at is not None
    assert await deliver_again(service.database, DEFAULT_TENANT, run_id) == 0
    await ended(service)
    assert len(await enqueued(service)) == 1
    await told_of(service)
    assert await deliver_again(service.database, DEFAULT_TENANT, run_id) == 1


async def test_deliveries_go_with_their_run(service: Service, sql: psycopg.Connection) -> None:
    await told_of(service)
    await ended(service)

    sql.execute("DELETE FROM runs")

    assert await enqueued(service) == []


def test_a_sealed_secret_is_opened_by_any_of_the_keys_and_by_no_other() -> None:
    other = "A" * 43 + "="

    sealed = Vault([SECRETS_KEY]).seal("whsec_1")

    assert b"whsec_1" not in sealed
    assert Vault([other, SECRETS_KEY]).open(sealed) == "whsec_1"
    assert Vault([other]).open(sealed) is None
    with pytest.raises(ValueError, match="32 url-safe base64-encoded bytes"):
        Vault(["short"])
