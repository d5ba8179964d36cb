"""Webhooks from the end of a run to the receiver, which is a true one on this machine."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from standardwebhooks import WebhookVerificationError
from structlog.testing import capture_logs

from app.api.job_webhooks import own_webhook
from app.domain.job import Job, dry
from app.domain.keys import DEFAULT_TENANT
from app.domain.webhooks import RUN_NEWS, JobWebhook, new_secret
from app.store.acceptance import NewRun, accept
from app.store.deliveries import Delivery, deliveries_of_run, try_webhook
from app.store.webhooks import delete_webhook, put_webhook, rotate_secret
from tests.engine.test_approvals import PLAN
from tests.engine.test_nested import begin, child_of
from tests.engine.test_nested import prepare as nested
from tests.support.fixtures import Services
from tests.support.receiver import Receiver, endless, receiving, said, silence, status
from tests.support.rows import every
from tests.support.service import CREW, Service, new_run_id, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider
from tests.support.visits import visit_of
from tests.support.waiting import until, until_stored


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.fixture
async def service(services: Services, receiver: Receiver, stub: StubProvider) -> Service:
    """A service that may tell the receiver."""
    stub.on("plan", as_json(PLAN))
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("the answer", "b")))
    return await services.start(**receiver.settings)


async def told_of_all(service: Service, url: str) -> str:
    """Have the tenant told; the secret."""
    secret = new_secret()
    await put_webhook(service.database, DEFAULT_TENANT, url, RUN_NEWS, sealed=seal(service, secret))
    return secret


def seal(service: Service, secret: str) -> bytes:
    assert service.runtime.webhooks is not None
    return service.runtime.webhooks.vault.seal(secret)


async def submit_telling(service: Service, *, dry_run: bool = False, **webhook: Any) -> str:
    """A job with a webhook of its own; the run's id."""
    own = await own_webhook(visit_of(service.runtime), JobWebhook(**webhook))
    limits = dry(CREW.limits) if dry_run else CREW.limits
    job = Job(objective="Find out.", team=CREW.name)
    new = NewRun(new_run_id(), job, await service.stored(CREW), limits, webhook=own)
    await accept(service.database, DEFAULT_TENANT, new)
    return new.run_id


async def settled(service: Service, run_id: str) -> list[Delivery]:
    """The deliveries of a run, once none is pending."""

    async def look() -> list[Delivery] | None:
        found = list(await deliveries_of_run(service.database, DEFAULT_TENANT, run_id) or ())
        return found if found and all(each.status != "pending" for each in found) else None

    return await until_stored(service.database, look)


async def hurry(service: Service) -> None:
    """Have everything due now that waits for its next attempt."""
    await every(
        service.database,
        "UPDATE webhook_deliveries SET due_at = now() WHERE status = 'pending' AND error IS NOT NULL RETURNING id",
    )
    await every(service.database, "UPDATE webhook_endpoints SET quiet_until = NULL RETURNING id")
    assert service.runtime.webhooks is not None
    service.runtime.webhooks.news.set()


async def after_attempt(service: Service, number: int) -> dict[str, Any]:
    """The only delivery, once that attempt has failed."""
    attempted = "SELECT * FROM webhook_deliveries WHERE attempts = :number AND error IS NOT NULL"

    async def look() -> dict[str, Any] | None:
        return next(iter(await every(service.database, attempted, number=number)), None)

    return await until_stored(service.database, look)


async def test_a_tenant_is_told_of_an_end_in_signed_words(
    service: Service, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    secret = await told_of_all(service, receiver.url)

    with caplog.at_level(logging.INFO):
        run_id = await service.submit()
        [told] = await receiver.heard(1)
        [delivery] = await settled(service, run_id)

    body = told.read_with(secret)
    assert body["type"] == "run.succeeded"
    assert body["data"] == {
        "run_id": run_id, "status": "succeeded", "stop_reason": "completed", "waiting_for": None,
        "links": {"self": f"/v1/runs/{run_id}"},
    }  # fmt: skip
    ended = (await service.events(run_id))[-1]
    assert body["timestamp"] == ended.at.isoformat().replace("+00:00", "Z")
    assert told.headers["content-type"] == "application/json"
    assert (delivery.id, delivery.status, delivery.response_status) == (told.id, "delivered", 204)
    with pytest.raises(WebhookVerificationError):
        told.read_with(new_secret())
    assert secret not in caplog.text


async def test_a_job_is_told_with_its_own_secret_and_its_tenant_with_the_tenants(
    service: Service, receiver: Receiver
) -> None:
    of_tenant, own = await told_of_all(service, f"{receiver.url}/tenant"), new_secret()

    run_id = await submit_telling(service, url=f"{receiver.url}/job", secret=own)
    told = await receiver.heard(2)
    await settled(service, run_id)

    def signed_with(secret: str) -> int:
        count = 0
        for each in told:
            try:
                each.read_with(secret)
            except WebhookVerificationError:
                continue
            count += 1
        return count

    assert (signed_with(own), signed_with(of_tenant)) == (1, 1)
    assert len({each.id for each in told}) == 2
    plain = await submit_telling(service, url=f"{receiver.url}/job")
    for each in (await receiver.heard(4))[2:]:
        assert each.read_with(of_tenant)["data"]["run_id"] == plain
    await settled(service, plain)


async def test_what_waits_for_room_is_delivered_as_soon_as_there_is_some(
    services: Services, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.engine.courier.AT_ONCE", 1)
    service = await services.start(**receiver.settings | {"poll_seconds": 30})
    await told_of_all(service, receiver.url)
    for _ in range(3):
        await try_webhook(service.database, DEFAULT_TENANT)

    await receiver.heard(3, timeout_s=10)


async def test_the_secret_of_a_job_stands_nowhere(service: Service, receiver: Receiver) -> None:
    secret = new_secret()

    run_id = await submit_telling(service, url=receiver.url, secret=secret)
    await settled(service, run_id)

    tables = await every(service.database, "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
    for table in tables:
        rows = await every(service.database, f"SELECT found::text AS row FROM {table['name']} AS found")
        assert secret.removeprefix("whsec_") not in str(rows), table
    assert "[secret:" not in str(await service.events(run_id))


async def test_a_wait_for_a_person_is_told_and_then_the_end(service: Service, receiver: Receiver) -> None:
    await told_of_all(service, receiver.url)

    run_id = await service.submit(approval="plan")
    [waiting] = [said(each) for each in await receiver.heard(1)]
    assert await service.cancel(run_id)
    ended = said((await receiver.heard(2))[1])
    await settled(service, run_id)

    assert (waiting["type"], waiting["data"]["waiting_for"]) == ("run.waiting", "plan_approval")
    assert waiting["data"]["links"]["plan"] == f"/v1/runs/{run_id}/plan"
    assert (ended["type"], ended["data"]["status"]) == ("run.cancelled", "cancelled")


async def test_nested_runs_dry_runs_and_waits_for_others_tell_nothing(
    service: Service, receiver: Receiver, stub: StubProvider
) -> None:
    await told_of_all(service, receiver.url)
    nested(stub)
    dry_run = await submit_telling(service, dry_run=True, url=receiver.url, secret=new_secret())
    await service.ended(dry_run)
    run_id = await begin(service)
    await service.ended(run_id)
    child = await child_of(service, run_id)
    await settled(service, run_id)

    assert [said(each)["data"]["run_id"] for each in receiver.told] == [run_id]
    for nothing in (dry_run, child["id"]):
        assert await deliveries_of_run(service.database, DEFAULT_TENANT, nothing) == []


async def test_each_attempt_at_a_delivery_has_a_line_that_names_whose_it_is(
    service: Service, receiver: Receiver
) -> None:
    secret = await told_of_all(service, receiver.url)
    with capture_logs() as lines:
        run_id = await service.submit()
        await service.ended(run_id)
        [delivery] = await settled(service, run_id)
        await until(lambda: "webhook delivered" in [line["event"] for line in lines])

    [line] = [dict(line) for line in lines if line["event"] == "webhook delivered"]
    whose = {"run_id": run_id, "tenant": DEFAULT_TENANT, "trace_id": run_id.removeprefix("run_")}
    told = {"delivery": delivery.id, "type": "run.succeeded", "attempt": 1, "status": 204}
    assert line | whose | told == line
    assert [word for word in (receiver.url, secret) if word in str(line)] == []


async def test_a_delivery_that_fails_comes_again_under_its_id(service: Service, receiver: Receiver) -> None:
    await told_of_all(service, receiver.url)
    receiver.then += [status(500), status(302, "location: http://127.0.0.1:1/"), status(503, "retry-after: 60")]

    run_id = await service.submit()
    for attempt, answer in ((1, 500), (2, 302), (3, 503)):
        row = await after_attempt(service, attempt)
        assert (row["response_status"], row["error"], row["status"]) == (answer, "receiver_refused", "pending")
        if attempt == 3:
            [endpoint] = await every(service.database, "SELECT quiet_until - now() AS pause FROM webhook_endpoints")
            assert endpoint["pause"].total_seconds() > 50
        await hurry(service)
    [delivery] = await settled(service, run_id)

    assert (delivery.status, delivery.attempts) == ("delivered", 4)
    assert {each.id for each in receiver.told} == {delivery.id}
    assert len({each.body for each in receiver.told}) == 1


async def test_a_receiver_that_stays_silent_or_never_ends_is_left_in_time(service: Service, receiver: Receiver) -> None:
    await told_of_all(service, receiver.url)
    receiver.then += [silence, endless]

    run_id = await service.submit()
    row = await after_attempt(service, 1)
    assert (row["error"], row["response_status"]) == ("timeout", None)
    await hurry(service)
    [delivery] = await settled(service, run_id)

    assert (delivery.status, delivery.response_status) == ("delivered", 200)


async def test_a_receiver_that_wants_nothing_more_gets_nothing_more(service: Service, receiver: Receiver) -> None:
    await told_of_all(service, receiver.url)
    receiver.then += [status(410)]

    [gone] = await settled(service, await service.submit())
    after = await service.submit()
    await service.ended(after)
    assert await deliveries_of_run(service.database, DEFAULT_TENANT, after) == []
    await told_of_all(service, receiver.url)
    [told] = await settled(service, await service.submit())

    assert (gone.status, gone.response_status) == ("failed", 410)
    assert told.status == "delivered"
    assert len(receiver.told) == 2


async def test_both_secrets_sign_after_an_exchange(service: Service, receiver: Receiver) -> None:
    first, second = await told_of_all(service, receiver.url), new_secret()
    await rotate_secret(service.database, DEFAULT_TENANT, sealed=seal(service, second))

    assert await try_webhook(service.database, DEFAULT_TENANT) is not None
    [told] = await receiver.heard(1)

    assert told.read_with(first) == told.read_with(second)
    assert said(told)["type"] == "webhook.test"
    assert told.headers["webhook-signature"].count("v1,") == 2


async def test_addresses_of_our_own_are_not_told(services: Services, receiver: Receiver, stub: StubProvider) -> None:
    service = await services.start(**receiver.settings | {"webhook_hosts": "localhost:1"})
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("the answer", "a")))
    for url in (
        f"https://127.0.0.1:{receiver.port}/",
        "https://127.0.0.1/",
        "https://[::ffff:10.0.0.1]/",
        receiver.url,
    ):
        await told_of_all(service, url)
        await service.ended(await service.submit(plan=plan_of(task("a"))))
        row = await after_attempt(service, 1)
        assert row["error"] == "address_blocked"
        await every(service.database, "DELETE FROM webhook_deliveries RETURNING id")

    assert receiver.told == []


async def test_what_was_to_be_told_when_a_webhook_went_fails(service: Service, receiver: Receiver) -> None:
    await told_of_all(service, receiver.url)
    receiver.then += [status(500)]

    run_id = await service.submit()
    await after_attempt(service, 1)
    await delete_webhook(service.database, DEFAULT_TENANT)
    await hurry(service)
    [delivery] = await settled(service, run_id)

    assert (delivery.status, delivery.error, delivery.host) == ("failed", "endpoint_gone", None)
    assert len(receiver.told) == 1
