"""Seeing what replicas do: which of them owns a run, what each has written, and what it says."""

from typing import Any

import psycopg

from tests.support.processes import Replica, Replicas
from tests.support.waiting import until

_AUDIT = """
CREATE TABLE written (at timestamptz DEFAULT clock_timestamp(), by text, what text, run_id text, epoch bigint);
CREATE FUNCTION note_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO written (by, what, run_id) VALUES (current_setting('application_name'), 'event', NEW.run_id);
    RETURN NEW; END $$;
CREATE FUNCTION note_run() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO written (by, what, run_id, epoch)
    VALUES (current_setting('application_name'), 'run', NEW.id, NEW.owner_epoch);
    RETURN NEW; END $$;
CREATE TRIGGER note_event AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION note_event();
CREATE TRIGGER note_run AFTER UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION note_run();
"""


def audit(sql: psycopg.Connection) -> None:
    """Have Postgres keep account of who writes."""
    sql.execute(_AUDIT)


def writes_after_takeover(sql: psycopg.Connection, run_id: str) -> set[str]:
    """Who has written anything of the run since it was claimed for the second time."""
    rows = sql.execute(
        "SELECT DISTINCT by FROM written WHERE run_id = %(id)s AND at >="
        " (SELECT min(at) FROM written WHERE run_id = %(id)s AND epoch = 2)",
        {"id": run_id},
    )
    return {row[0] for row in rows}


async def start_named(replicas: Replicas, name: str, **settings: str) -> Replica:
    """A replica whose database sessions carry a name."""
    plain = replicas.database_url
    replicas.database_url = f"{plain}&application_name={name}"
    try:
        return await replicas.start(**settings)
    finally:
        replicas.database_url = plain


def authority(sql: psycopg.Connection, run_id: str) -> tuple[str | None, int, Any]:
    """The owner of a run, its epoch, and the end of its lease."""
    row = sql.execute("SELECT owner, owner_epoch, lease_until FROM runs WHERE id = %s", [run_id]).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def runs_on(replica: Replica, owner: str | None) -> bool:
    """Whether the owner of a run is this replica: its name holds the process id."""
    return f"-{replica.process.pid}-" in (owner or "")


async def until_said(replica: Replica, *words: str, within_s: float = 15) -> None:
    """Wait until the replica has written a log line that holds all of `words`."""
    await until(lambda: any(all(word in line for word in words) for line in replica.logged), within_s)
