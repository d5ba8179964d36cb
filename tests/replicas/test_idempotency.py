import asyncio

import httpx2
import psycopg

from app.domain.job import Job
from app.store.intake import IdempotencyKey, NewRun, accept
from app.store.teams import put_team, team_named
from tests.support.fixtures import Services
from tests.support.processes import Replicas
from tests.support.service import CREW, new_run_id

JOB = {"objective": "Find out."}
KEY = {"idempotency-key": "k-1"}


async def test_one_key_makes_one_run_over_all_replicas(replicas: Replicas, sql: psycopg.Connection) -> None:
    first, second = await asyncio.gather(replicas.start(engine="false"), replicas.start(engine="false"))
    async with first.client as one, second.client as two:
        await an_invalid_body_burns_no_key(one)
        answers = await asyncio.gather(*((one, two)[n % 2].post("/v1/jobs", json=JOB, headers=KEY) for n in range(20)))
        other_body = await two.post("/v1/jobs", json=JOB | {"priority": 1}, headers=KEY)
        other_key = await two.post("/v1/jobs", json=JOB, headers={"idempotency-key": "k-2"})

    assert {answer.status_code for answer in answers} == {202}
    [run_id] = {answer.json()["id"] for answer in answers}
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 19
    assert (other_body.status_code, other_body.json()["code"]) == (422, "idempotency_key_reused")
    assert other_key.json()["id"] != run_id
    assert sql.execute("SELECT count(*) FROM runs").fetchone() == (2,)
    assert sql.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (2,)


async def an_invalid_body_burns_no_key(client: httpx2.AsyncClient) -> None:
    """What is refused leaves nothing behind under the key that the test goes on to use."""
    refused = await client.post("/v1/jobs", json={"objective": ""}, headers=KEY)
    assert refused.status_code == 422


async def test_a_key_means_something_for_one_tenant_and_one_request_only(services: Services) -> None:
    service = await services.start(engine=False)
    database, queue = service.runtime.database, service.runtime.queue

    async def accepted(tenant: str, request: str) -> tuple[str, bool]:
        await put_team(database, tenant, CREW)
        team = await team_named(database, tenant, CREW.name)
        assert team is not None
        new = NewRun(new_run_id(), Job(objective="Find out.", team=CREW.name), team, CREW.limits)
        found = await accept(database, queue, tenant, new, key=IdempotencyKey("k-1", request, "digest"))
        return found.run_id, found.replayed

    first = await accepted("default", "POST /v1/jobs")
    others = [await accepted("other", "POST /v1/jobs"), await accepted("default", "POST /v1/forks")]

    assert len({first, *others}) == 3
    assert [replayed for _, replayed in (first, *others)] == [False] * 3
    assert await accepted("default", "POST /v1/jobs") == (first[0], True)
