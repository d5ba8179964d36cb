"""Limits while runs are executed: surplus runs begin one by one, and who spends most of what it may is told so."""

import asyncio
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from app.domain.keys import DEFAULT_TENANT
from app.domain.quotas import Quota
from app.domain.webhooks import LIMIT_WARNING, new_secret
from app.store.limits import change_limits
from app.store.webhooks import put_webhook
from tests.support.api import client_of
from tests.support.fixtures import Services
from tests.support.receiver import receiving
from tests.support.rows import every
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider


@pytest.fixture
async def provider(stub: StubProvider) -> StubProvider:
    stub.on("plan", as_json(plan_of(task("a"))))
    stub.on("work", as_json(report("done")))
    stub.on("synthesize", as_json(synthesis("the answer", "a")))
    return stub


async def post_all(service: Service, count: int, **job: Any) -> list[dict[str, Any]]:
    """Jobs of a team, all at once; the runs as they were accepted."""
    await service.stored(CREW)
    async with client_of(service.runtime) as client:
        body = {"objective": "Find out.", "team": CREW.name} | job
        answers = await asyncio.gather(*(client.post("/v1/jobs", json=body) for _ in range(count)))
    return [answer.json() for answer in answers]


async def test_runs_beyond_those_in_flight_begin_when_another_has_ended(
    services: Services, provider: StubProvider
) -> None:
    first, second = await services.start(), await services.start()
    await change_limits(first.database, DEFAULT_TENANT, Quota(runs_in_flight=1))

    posted = await post_all(first, 3) + await post_all(second, 2)
    rows = [await first.ended(run["id"], timeout_s=30) for run in posted]

    assert {row["status"] for row in rows} == {"succeeded"}
    times = sorted((row["started_at"], row["finished_at"]) for row in rows)
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(times))


async def test_who_has_spent_most_of_what_it_may_is_told_once(services: Services, provider: StubProvider) -> None:
    async with receiving() as receiver:
        service, other = await services.start(**receiver.settings), await services.start(**receiver.settings)
        assert service.runtime.webhooks is not None
        secret, vault = new_secret(), service.runtime.webhooks.vault
        await put_webhook(service.database, DEFAULT_TENANT, receiver.url, [LIMIT_WARNING], sealed=vault.seal(secret))
        await change_limits(service.database, DEFAULT_TENANT, Quota(cost_usd_per_day=Decimal(5)))
        today = "INSERT INTO spend VALUES ('default', '', CAST(now() AT TIME ZONE 'UTC' AS date), 4) RETURNING tenant"
        await every(service.database, today)

        runs = [*await post_all(service, 1, limits={"cost_usd": "0.5"}), *await post_all(other, 2)]
        rows = [await service.ended(run["id"]) for run in runs if "id" in run]
        [told] = await receiver.heard(1)

        said = told.read_with(secret)
        assert (said["type"], said["data"]["limit"], said["data"]["limit_usd"]) == (
            LIMIT_WARNING,
            "cost_usd_per_day",
            "5",
        )
        assert said["data"]["links"] == {"limits": "/v1/limits"}
        assert 4 <= Decimal(said["data"]["spent_usd"]) <= 4 + sum(Decimal(row["usage"]["cost_usd"]) for row in rows)
        assert len(await every(service.database, "SELECT * FROM limit_warnings")) == 1
