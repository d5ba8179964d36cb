import psycopg
import pytest

from tests.support.service import Service

RUN_LIES = {
    "an end without a time": "status = 'succeeded', stop_reason = 'completed'",
    "an end without a reason": "status = 'failed', finished_at = now()",
    "a time without an end": "finished_at = now()",
    "a reason without an end": "stop_reason = 'completed'",
    "an ended run with an owner": (
        "status = 'failed', stop_reason = 'x', finished_at = now(), owner = 'me', lease_until = now()"
    ),
    "an owner without a lease": "owner = 'me'",
    "a lease without an owner": "lease_until = now()",
    "a queued run that has started": "started_at = now()",
    "a state nobody knows": "status = 'sleeping'",
    "a wait for nothing": "status = 'waiting'",
    "a run that waits for something while it runs": "status = 'running', waiting_for = 'provider'",
    "an alarm without a wait": "wake_at = now()",
    "a version of the team that is not there": "team_version = 99",
    "no objective": "objective = NULL",
}


@pytest.mark.parametrize("lie", RUN_LIES)
async def test_a_run_cannot_be(service: Service, sql: psycopg.Connection, lie: str) -> None:
    await service.submit()

    with pytest.raises(psycopg.errors.IntegrityError):
        sql.execute(f"UPDATE runs SET {RUN_LIES[lie]}".encode())


ROW_LIES = {
    "an event without a number": "INSERT INTO events VALUES (%(run)s, 0, 'x', now(), NULL, NULL, '{}')",
    "two events of one number": "INSERT INTO events VALUES (%(run)s, 1, 'x', now(), NULL, NULL, '{}')",
    "an event of no run": "INSERT INTO events VALUES ('run_nowhere', 1, 'x', now(), NULL, NULL, '{}')",
    "a task that succeeded with nothing": (
        "INSERT INTO tasks VALUES (%(run)s, 't2', 1, 'succeeded', NULL, NULL, '{}', now())"
    ),
    "a failed task with an output": "INSERT INTO tasks VALUES (%(run)s, 't2', 1, 'failed', NULL, '{}', '{}', now())",
    "an ended task without a time": "INSERT INTO tasks VALUES (%(run)s, 't2', 1, 'failed', NULL, NULL, '{}', NULL)",
    "a task in a state nobody knows": "INSERT INTO tasks VALUES (%(run)s, 't2', 1, 'lost', NULL, NULL, '{}', NULL)",
    "two attempts at a task at the same time": (
        "INSERT INTO attempts VALUES (%(run)s, 't1', 2, 'w', 'm', 'running', '{}', now(), NULL)"
    ),
    "an ended attempt without a time": (
        "INSERT INTO attempts VALUES (%(run)s, 't1', 2, 'w', 'm', 'failed', '{}', now(), NULL)"
    ),
    "an attempt at no task": "INSERT INTO attempts VALUES (%(run)s, 't9', 1, 'w', 'm', 'failed', '{}', now(), now())",
}


@pytest.mark.parametrize("lie", ROW_LIES)
async def test_there_cannot_be(service: Service, sql: psycopg.Connection, lie: str) -> None:
    run_id = await service.submit()
    sql.execute("INSERT INTO tasks VALUES (%s, 't1', 0, 'running', NULL, NULL, '{}', NULL)", [run_id])
    sql.execute("INSERT INTO attempts VALUES (%s, 't1', 1, 'w', 'm', 'running', '{}', now(), NULL)", [run_id])

    with pytest.raises(psycopg.errors.IntegrityError):
        sql.execute(ROW_LIES[lie].encode(), {"run": run_id})


async def test_what_hangs_on_a_run_goes_with_it(service: Service, sql: psycopg.Connection) -> None:
    run_id = await service.submit(inputs=[{"name": "a.txt", "content": "a"}])
    sql.execute("INSERT INTO tasks VALUES (%s, 't1', 0, 'running', NULL, NULL, '{}', NULL)", [run_id])
    sql.execute("INSERT INTO attempts VALUES (%s, 't1', 1, 'w', 'm', 'running', '{}', now(), NULL)", [run_id])

    sql.execute("DELETE FROM runs")

    for table in ("events", "run_inputs", "tasks", "attempts"):
        assert sql.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)
