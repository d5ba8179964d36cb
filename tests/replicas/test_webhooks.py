"""What is to be told outlives whoever was to tell it."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from app.domain.keys import DEFAULT_TENANT
from app.domain.webhooks import RUN_NEWS, new_secret
from app.store import webhooks as stored
from app.store.database import Database
from app.store.vault import Vault
from tests.support.processes import Replica, Replicas, post_job, run_at_end
from tests.support.receiver import SECRETS_KEY, Receiver, receiving, said, silence
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until

PLAN = plan_of(task("only", "analyst"))


@pytest.fixture
async def receiver(stub: StubProvider) -> AsyncIterator[Receiver]:
    stub.on("work", as_json(report("done")))
    async with receiving() as receiver:
        yield receiver


async def telling(replicas: Replicas, receiver: Receiver) -> Replica:
    """A replica that may tell the receiver."""
    return await replicas.start(secrets_key=SECRETS_KEY, webhook_hosts=receiver.place, webhook_timeout_s="1")


async def put_webhook(replica: Replica, receiver: Receiver) -> str:
    """Have the tenant told; the secret."""
    async with replica.client as client:
        answer = await client.put("/v1/webhooks", json={"url": receiver.url})
        return str(answer.json()["secret"])


async def check_delivered(sql: psycopg.Connection, receiver: Receiver, attempts: int) -> None:
    """All that is to be told has been, and nothing waits."""
    settled = "SELECT status, attempts FROM webhook_deliveries"
    await until(lambda: sql.execute(settled).fetchall() == [("delivered", attempts)])
    assert len(receiver.told) == attempts


async def test_a_run_that_ended_before_its_process_died_is_told_by_another(
    replicas: Replicas, receiver: Receiver, sql: psycopg.Connection, database_url: str
) -> None:
    first, secret = await replicas.start(), new_secret()  # Without a key for secrets it can tell nobody.
    database = Database(database_url, pool=1)
    await stored.put_webhook(database, DEFAULT_TENANT, receiver.url, RUN_NEWS, sealed=Vault([SECRETS_KEY]).seal(secret))
    await database.close()
    run_id = await post_job(first, plan=PLAN)
    await run_at_end(first, run_id)
    await first.kill()
    assert receiver.told == []

    await telling(replicas, receiver)
    [told] = await receiver.heard(1)

    assert told.read_with(secret)["data"]["run_id"] == run_id
    await check_delivered(sql, receiver, attempts=1)


async def test_a_delivery_whose_process_dies_is_made_by_another_under_the_same_id(
    replicas: Replicas, receiver: Receiver, sql: psycopg.Connection
) -> None:
    receiver.then.append(silence)
    first = await telling(replicas, receiver)
    secret = await put_webhook(first, receiver)
    run_id = await post_job(first, plan=PLAN)
    await receiver.heard(1)
    await first.kill()

    await telling(replicas, receiver)
    lost, again = await receiver.heard(2)

    assert (lost.id, lost.body) == (again.id, again.body)
    assert again.read_with(secret)["data"]["run_id"] == said(lost)["data"]["run_id"] == run_id
    await check_delivered(sql, receiver, attempts=2)
