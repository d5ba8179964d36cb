"""What a server, a database or a role is set to is not what we rest on; and a server that takes no writes is away."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from app.store.database import OUTAGE, Database
from tests.support.fixtures import Services
from tests.support.rows import every
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

ONE = plan_of(task("t1"))


@pytest.fixture
def name(sql: psycopg.Connection) -> str:
    """The test's database."""
    row = sql.execute("SELECT current_database()").fetchone()
    assert row is not None
    return str(row[0])


def set_to(sql: psycopg.Connection, name: str, setting: str) -> None:
    sql.execute(f"ALTER DATABASE {name} SET {setting}".encode())


def end_sessions(sql: psycopg.Connection) -> None:
    sql.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


@pytest.mark.parametrize(
    "setting",
    [
        "datestyle TO 'German'",
        "datestyle TO 'SQL, DMY'",
        "timezone TO 'Asia/Kathmandu'",
        "default_transaction_isolation TO serializable",
        "statement_timeout TO '60ms'",
        "client_encoding TO 'LATIN1'",
    ],
)
async def test_jobs_run_whatever_the_database_is_set_to(
    services: Services, stub: StubProvider, sql: psycopg.Connection, name: str, setting: str
) -> None:
    set_to(sql, name, setting)
    stub.on("work", as_json(report("fünf € ✓")))
    service = await services.start()

    runs = await asyncio.gather(*(service.submit(plan=ONE) for _ in range(8)))

    ended = [await service.ended(run_id) for run_id in runs]
    assert {(run["status"], run["result"]["answer"]) for run in ended} == {("succeeded", "fünf € ✓")}


@pytest.fixture
def read_only(sql: psycopg.Connection, name: str) -> Iterator[None]:
    """The database takes no writes from new sessions until the test is over."""
    set_to(sql, name, "default_transaction_read_only = on")
    yield
    sql.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())


async def test_a_session_that_takes_no_writes_is_an_outage_and_is_not_used_again(
    database_url: str, sql: psycopg.Connection, name: str
) -> None:
    database = Database(f"{database_url}&target_session_attrs=any", pool=1)
    [before] = await every(database, "SELECT pg_backend_pid() AS pid")

    async with database.statement() as connection:
        await connection.exec_driver_sql("SET default_transaction_read_only = on")
    with pytest.raises(OUTAGE):
        async with database.statement() as connection:
            await connection.exec_driver_sql("CREATE TABLE scratch ()")

    [after] = await every(database, "SELECT pg_backend_pid() AS pid")
    assert before != after
    await database.close()


@pytest.mark.parametrize("idle_for", [0, 5])
async def test_a_session_that_takes_no_writes_is_found_by_a_ping_or_after_it_lay_idle(
    database_url: str, monkeypatch: pytest.MonkeyPatch, idle_for: float
) -> None:
    database = Database(database_url, pool=1)
    async with database.statement() as connection:
        await connection.exec_driver_sql("SET default_transaction_read_only = on")
    if idle_for:
        monkeypatch.setattr("app.store.connections.IDLE_SECONDS", -1)
        await database.ping()
    else:
        with pytest.raises(OUTAGE):
            await database.ping()

    assert await every(database, "SHOW transaction_read_only") == [{"transaction_read_only": "off"}]
    await database.close()


@pytest.mark.usefixtures("read_only")
async def test_no_new_session_is_opened_at_a_server_that_takes_no_writes(database_url: str) -> None:
    database = Database(database_url, pool=1)

    with pytest.raises(OUTAGE, match="read-only"):
        await database.ping()
    await database.close()


async def test_a_run_goes_on_once_the_database_can_be_written_again(
    services: Services, stub: StubProvider, sql: psycopg.Connection, name: str
) -> None:
    stub.on("work", call=1, reply=held(as_json(report())))
    stub.on("work", as_json(report()))
    service = await services.start()
    run_id = await service.submit(plan=ONE)
    await stub.seen(1)

    set_to(sql, name, "default_transaction_read_only = on")
    end_sessions(sql)
    refused = await asyncio.gather(*(_posted(service) for _ in range(32)))
    sql.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only".encode())
    stub.release()

    assert set(refused) == {False}
    assert (await service.ended(run_id))["status"] == "succeeded"
    again = [await service.submit(plan=ONE) for _ in range(8)]
    assert {(await service.ended(each))["status"] for each in again} == {"succeeded"}


async def _posted(service: Service) -> bool:
    try:
        await service.submit(plan=ONE)
    except OUTAGE:
        return False
    return True
