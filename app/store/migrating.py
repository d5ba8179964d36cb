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
    JOIN pg_stat_activity USING (pid)  -- One that has ended meanwhile is not waited for.
    WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND classid = %(lock)s >> 32
      AND objid = %(lock)s & 4294967295
      AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_BLOCK = f"""
    SELECT pid, coalesce(nullif(application_name, ''), backend_type), {_AGE}
    FROM (SELECT DISTINCT unnest(pg_blocking_pids(%(waiting)s)) AS pid) AS blocking
    LEFT JOIN pg_stat_activity USING (pid)
    WHERE pid <> pg_backend_pid()  -- An index that is made concurrently waits for this very look, while it lasts.
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
class _Waiting:
    """For how long one migration has waited for others, and for whom."""

    wait: Wait
    seconds: float = 0.0
    """So far. What it did itself does not count."""
    told: set[int] = field(default_factory=set)
    """Sessions that were named already."""
    last: Sequence[Session] = ()
    """Those that it has waited for last."""

    @property
    def left(self) -> float:
        """Seconds that it may still wait."""
        return self.wait.seconds - self.seconds

    def milliseconds(self, at_most: float = math.inf) -> int:
        """The same as a setting of Postgres, to which 0 would mean no end."""
        return max(1, round(1000 * min(self.left, at_most)))

    def note(self, sessions: Sequence[Session], seconds: float, line: str) -> None:
        """It has waited for these so long. The line says so, the first time that one of them is in the way."""
        self.seconds += seconds
        self.last = sessions
        if not self.told >= (pids := {session.pid for session in sessions}):
            self.told |= pids
            self.wait.tell(f"{line}: {_named(sessions)}.")

    def pause(self, seconds: float) -> None:
        """Let others go first."""
        time.sleep(seconds)
        self.seconds += seconds


def in_turn(
    connect: Callable[[], psycopg.Connection], wait: Wait, work: Callable[[psycopg.Connection, int], None]
) -> None:
    """Do the work once it is our turn, on a connection in autocommit, and again while others keep locks that it needs.

    The work gets the milliseconds that a transaction of it may wait for a lock; what is outside of transactions may
    wait longer. Blocks. Raises `SchemaBusy`, and what the work raises.
    """
    waiting = _Waiting(wait)
    while True:
        with connect() as connection:
            for setting in _SESSION_SETTINGS:
                connection.execute(setting.encode())
            _take_turn(connection, waiting)
            connection.execute(f"SET lock_timeout = {waiting.milliseconds()}".encode())
            try:
                with _watched(connect, connection, waiting):
                    return work(connection, waiting.milliseconds(TRY_SECONDS))
            except _IN_THE_WAY:
                if waiting.left <= 0:
                    raise SchemaBusy(
                        f"the schema cannot be brought up to date: others have kept it locked for {wait.seconds:g} s, "
                        f"the last of them {_named(waiting.last)}; wait for them to end, or end them (SELECT "
                        "pg_terminate_backend(pid)), then run `chargehand migrate` again: it goes on where it stopped"
                    ) from None
        waiting.pause(max(0, min(PAUSE_SECONDS, waiting.left)))


def _take_turn(connection: psycopg.Connection, waiting: _Waiting) -> None:
    """Take the lock of those who migrate. It lasts as long as the session."""
    while connection.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATION_LOCK]).fetchone() != (True,):
        waiting.pause(LOOK_SECONDS)  # One that has ended may hold it for a moment yet, and is not worth a word.
        if holders := _sessions(connection, _HOLD_THE_TURN, lock=MIGRATION_LOCK):
            waiting.note(holders, 0, "Another process migrates, and goes first")
        if waiting.left <= 0:
            raise SchemaBusy(
                f"another process has been migrating for longer than {waiting.wait.seconds:g} s: {_named(holders)}; "
                "its log says what it waits for; run `chargehand migrate` again when it has ended"
            )


@contextmanager
def _watched(
    connect: Callable[[], psycopg.Connection], watched: psycopg.Connection, waiting: _Waiting
) -> Iterator[None]:
    """Look now and then whom the connection waits for."""
    over, pid = threading.Event(), watched.info.backend_pid

    def look() -> None:
        with suppress(psycopg.Error), connect() as connection:
            looked = time.monotonic()
            while not over.wait(LOOK_SECONDS):
                since, looked = looked, time.monotonic()
                if blocking := _sessions(connection, _BLOCK, waiting=pid):
                    waiting.note(blocking, looked - since, "Waiting for a lock that others hold")

    watch = threading.Thread(target=look, name="who blocks the migration")
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _sessions(connection: psycopg.Connection, query: str, **values: int) -> list[Session]:
    return [Session(*row) for row in connection.execute(query.encode(), values)]


def _named(sessions: Sequence[Session]) -> str:
    return ", ".join(map(str, sessions)) or "unknown"
