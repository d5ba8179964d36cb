"""Changing a schema while others use it: one process at a time, in short tries, and never waiting in silence.

Whoever waits for a table in order to change it keeps everybody waiting who comes after. So a try gives up after a
moment and lets the others through, and another one follows, until the time for it is over. Whoever waits for another
process that migrates asks again and again, instead of waiting inside a statement: an index that is made concurrently
waits for every statement that began before it, and the two would wait for each other.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psycopg
import structlog

from app.domain.errors import ChargehandError

log = structlog.get_logger(__name__)

MIGRATION_LOCK = 7_204_119_620
"""Advisory lock that lets one process migrate at a time; the first releases take the same."""
WAIT_SECONDS = 300.0
TRY_SECONDS = 2.0
"""How long a try waits for a lock, while requests wait behind it."""
PAUSE_SECONDS = 1.0
LOOK_SECONDS = 0.2

_SESSION_SETTINGS = (
    "SET default_transaction_isolation = 'read committed'",  # Each statement sees what was done meanwhile.
    "SET statement_timeout = 0",
)
_AGE = "extract(epoch FROM clock_timestamp() - coalesce(xact_start, backend_start))"
_HOLD_THE_TURN = f"""
    SELECT pid, coalesce(nullif(application_name, ''), backend_type), {_AGE} FROM pg_locks
    LEFT JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = %(lock)s >> 32
      AND objid = %(lock)s & 4294967295
      AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_BLOCK = f"""
    SELECT pid, coalesce(nullif(application_name, ''), backend_type), {_AGE}
    FROM (SELECT DISTINCT unnest(pg_blocking_pids(%(waiting)s)) AS pid) AS blocking
    LEFT JOIN pg_stat_activity USING (pid)
    ORDER BY pid
"""
_IN_THE_WAY = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)


class SchemaBusy(ChargehandError):
    """Others kept us from the schema for as long as we were to wait; the message is one line for the operator."""


def _log(line: str) -> None:
    log.warning("migration waits", reason=line)


@dataclass(frozen=True, slots=True)
class Wait:
    """How a migration waits for others."""

    seconds: float = WAIT_SECONDS
    """How long, taken together."""
    tell: Callable[[str], None] = _log
    """Is told whom it waits for, in one line."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session of the database, as far as one may say who it is."""

    pid: int
    application: str | None
    """What it calls itself; None for one that we may not see, or that is a prepared transaction."""
    age_seconds: float | None

    def __str__(self) -> str:
        if self.pid == 0:
            return "a prepared transaction (pg_prepared_xacts)"
        age = "" if self.age_seconds is None else f", for {self.age_seconds:.0f} s"
        return f"pid {self.pid} ({self.application or 'another role'}{age})"


@dataclass(slots=True)
class _Time:
    """What is left of the time that may be waited."""

    wait: Wait
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """In seconds."""
        return self.began + self.wait.seconds - time.monotonic()

    def milliseconds(self, at_most: float = math.inf) -> int:
        """What is left as a setting of Postgres, to which 0 would mean no end."""
        return max(1, round(1000 * min(self.left, at_most)))


def in_turn(
    connect: Callable[[], psycopg.Connection], wait: Wait, work: Callable[[psycopg.Connection, int], None]
) -> None:
    """Do the work once it is our turn, on a connection in autocommit, and again while others keep locks that it needs.

    The work gets the milliseconds that a transaction of it may wait for a lock; what is outside of transactions may
    wait longer. Blocks. Raises `SchemaBusy`, and what the work raises.
    """
    left = _Time(wait)
    while True:
        with connect() as connection, _watched(connect, connection, wait) as blocking:
            for setting in _SESSION_SETTINGS:
                connection.execute(setting.encode())
            _take_turn(connection, left)
            connection.execute(f"SET lock_timeout = {left.milliseconds()}".encode())
            try:
                return work(connection, left.milliseconds(TRY_SECONDS))
            except _IN_THE_WAY:
                if left.left <= 0:
                    raise SchemaBusy(
                        f"the schema cannot be brought up to date: others have kept it locked for {wait.seconds:g} s, "
                        f"the last of them {_named(blocking)}; wait for them to end, or end them (SELECT "
                        "pg_terminate_backend(pid)), then run `chargehand migrate` again: it goes on where it stopped"
                    ) from None
        time.sleep(max(0, min(PAUSE_SECONDS, left.left)))


def _take_turn(connection: psycopg.Connection, left: _Time) -> None:
    """Take the lock of those who migrate. It lasts as long as the session."""
    told = False
    while connection.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATION_LOCK]).fetchone() != (True,):
        holders = _sessions(connection, _HOLD_THE_TURN, lock=MIGRATION_LOCK)
        if left.left <= 0:
            raise SchemaBusy(
                f"another process has been migrating for longer than {left.wait.seconds:g} s: {_named(holders)}; its "
                "log says what it waits for; run `chargehand migrate` again when it has ended"
            )
        if holders and not told:
            left.wait.tell(f"Another process migrates, and goes first: {_named(holders)}.")
            told = True
        time.sleep(LOOK_SECONDS)


@contextmanager
def _watched(
    connect: Callable[[], psycopg.Connection], watched: psycopg.Connection, wait: Wait
) -> Iterator[list[Session]]:
    """Tell whom the connection waits for, each of them once. The list has those whom it waited for last."""
    last: list[Session] = []
    over, pid = threading.Event(), watched.info.backend_pid

    def look() -> None:
        told: set[int] = set()
        with suppress(psycopg.Error), connect() as connection:
            while not over.wait(LOOK_SECONDS):
                if not (blocking := _sessions(connection, _BLOCK, waiting=pid)):
                    continue
                last[:] = blocking
                if told >= {session.pid for session in blocking}:
                    continue
                told.update(session.pid for session in blocking)
                wait.tell(f"Waiting for a lock that others hold: {_named(blocking)}.")

    watch = threading.Thread(target=look, name="who blocks the migration")
    watch.start()
    try:
        yield last
    finally:
        over.set()
        watch.join()


def _sessions(connection: psycopg.Connection, query: str, **values: int) -> list[Session]:
    return [Session(*row) for row in connection.execute(query.encode(), values)]


def _named(sessions: Sequence[Session]) -> str:
    return ", ".join(map(str, sessions)) or "unknown"
