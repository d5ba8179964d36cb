import asyncio
import json

import psycopg
import pytest

from app.store.schema import NEWEST, migrate
from tests.support.service import Service, plan_of, report, running_service, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

ROWS = """
    SELECT (SELECT jsonb_agg(to_jsonb(runs)) FROM runs), (SELECT jsonb_agg(to_jsonb(events)) FROM events),
           (SELECT jsonb_agg(to_jsonb(teams)) FROM teams), (SELECT count(*) FROM procrastinate_jobs)
"""
SCHEMA = """
    SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
    WHERE table_schema = 'public' ORDER BY 1, 2
"""


def found(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


async def test_migrating_again_changes_nothing(service: Service, database_url: str) -> None:
    await service.submit(inputs=[{"name": "a.txt", "content": "a"}])
    rows, schema = found(database_url, ROWS), found(database_url, SCHEMA)

    await asyncio.to_thread(migrate, database_url)
    await asyncio.to_thread(migrate, database_url)

    assert (found(database_url, ROWS), found(database_url, SCHEMA)) == (rows, schema)


async def test_many_processes_may_migrate_at_once(empty_url: str, database_url: str) -> None:
    await asyncio.gather(*(asyncio.to_thread(migrate, empty_url) for _ in range(3)))

    assert found(empty_url, SCHEMA) == found(database_url, SCHEMA)
    assert len(found(empty_url, "SELECT version_num FROM chargehand_version")) == 1


RUN_OF_THE_FIRST_RELEASE = """
    INSERT INTO teams (tenant, name, version, definition, digest) VALUES ('default', 'writers', 1, %(team)s, 'x');
    INSERT INTO runs (id, tenant, status, objective, team_name, team_version, priority, turn, metadata, limits,
                      progress, usage, timing, last_seq, created_at)
    VALUES ('run_old', 'default', 'queued', 'Find out.', 'writers', 1, 3, 7, '{}', '{}', '{"tasks": {}}', '{}', '{}',
            1, now());
    INSERT INTO events (run_id, seq, type, at, data) VALUES ('run_old', 1, 'run.queued', now(), %(queued)s);
"""


def as_the_first_release_left_it(url: str) -> None:
    """The schema of that release, recorded as it did."""
    migrate(url, "0001")
    with psycopg.connect(url) as connection:
        connection.execute("ALTER TABLE chargehand_version RENAME TO alembic_version")


@pytest.mark.parametrize("isolation", ["read committed", "serializable"])
async def test_many_processes_may_take_over_what_the_first_release_left(
    empty_url: str, database_url: str, isolation: str
) -> None:
    as_the_first_release_left_it(empty_url)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        setting = f"SET default_transaction_isolation = '{isolation}'"
        connection.execute(f'ALTER DATABASE "{connection.info.dbname}" {setting}'.encode())

    await asyncio.gather(*(asyncio.to_thread(migrate, empty_url) for _ in range(4)))

    with psycopg.connect(empty_url) as connection:
        connection.execute("DROP TABLE alembic_version")
    assert found(empty_url, SCHEMA) == found(database_url, SCHEMA)
    assert found(empty_url, "SELECT version_num FROM chargehand_version") == [(NEWEST,)]


async def test_a_run_that_the_first_release_took_in_is_executed_after_the_migration(
    empty_url: str, stub: StubProvider
) -> None:
    team = {"name": "writers", "workers": [{"name": "writer", "description": "Writes.", "instructions": "Write."}]}
    queued = {"objective": "Find out.", "team": {"name": "writers", "version": 1}, "limits": {}}
    as_the_first_release_left_it(empty_url)
    with psycopg.connect(empty_url, cursor_factory=psycopg.ClientCursor) as connection:
        values = {"team": json.dumps(team), "queued": json.dumps(queued)}
        connection.execute(RUN_OF_THE_FIRST_RELEASE.encode(), values)
    stub.on("plan", as_json(plan_of(task("t1"))))
    stub.on("work", as_json(report("found")))

    migrate(empty_url)

    async with running_service(empty_url, stub) as service:
        run = await service.ended("run_old")
    assert (run["status"], run["result"]["answer"]) == ("succeeded", "found")
