import asyncio

import httpx2
import psycopg

from app.domain.job import Job
from app.store.acceptance import NewRun, accept
from app.store.idempotency import IdempotencyKey
from app.store.teams import put_team, team_named
from tests.support.fixtures import Services
from tests.support.processes import Replicas
from tests.support.service import CREW, new_run_id

JOB = {"objective": "Find out."}
KEY = {"idempotency-key": "k-1"}
STORED_IN = ("runs", "events", "idempotency_keys", "procrastinate_jobs")

_REFUSE_ONCE = """
    CREATE SEQUENCE entries;
    CREATE FUNCTION refuse_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('entries') = 1 THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER refuse_once BEFORE INSERT ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION refuse_once();
"""
"""Has the queue refuse its first entry. What a sequence has counted is not rolled back."""


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


async def test_a_post_that_fails_midway_leaves_nothing_and_may_be_repeated_under_its_key(
    replicas: Replicas, sql: psycopg.Connection
) -> None:
    replica = await replicas.start(engine="false")
    sql.execute(_REFUSE_ONCE)
    async with replica.client as client:
        refused = await client.post("/v1/jobs", json=JOB, headers=KEY)
        left = counts(sql)
        answer = await client.post("/v1/jobs", json=JOB, headers=KEY)
        again = await client.post("/v1/jobs", json=JOB, headers=KEY)

    assert refused.is_server_error
    assert set(left.values()) == {0}
    assert (answer.status_code, "idempotent-replayed" in answer.headers) == (202, False)
    assert (again.status_code, again.json()["id"]) == (202, answer.json()["id"])
    assert set(counts(sql).values()) == {1}


def counts(sql: psycopg.Connection) -> dict[str, int]:
    """How many rows each table has that a job is stored in."""
    return {name: len(sql.execute(f"SELECT FROM {name}".encode()).fetchall()) for name in STORED_IN}


async def test_a_key_means_something_for_one_tenant_and_one_request_only(services: Services) -> None:
    service = await services.start(engine=False)
    database = service.runtime.database

    async def accepted(tenant: str, request: str) -> tuple[str, bool]:
        await put_team(database, tenant, CREW)
        team = await team_named(database, tenant, CREW.name)
        assert team is not None
        new = NewRun(new_run_id(), Job(objective="Find out.", team=CREW.name), team, CREW.limits)
        found = await accept(database, tenant, new, key=IdempotencyKey("k-1", request, "digest"))
        return found.run_id, found.replayed

    first = await accepted("default", "POST /v1/jobs")
    others = [await accepted("other", "POST /v1/jobs"), await accepted("default", "POST /v1/forks")]

    assert len({first, *others}) == 3
    assert [replayed for _, replayed in (first, *others)] == [False] * 3
    assert await accepted("default", "POST /v1/jobs") == (first[0], True)
