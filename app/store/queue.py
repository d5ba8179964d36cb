"""Delivery: a queue that says "look at run X", on Procrastinate in the same Postgres.

The queue decides nothing. It may deliver twice, late, or to a process that cannot act: the run row says who may. So
entries carry a run id and no state, at most one waits for a run, and an entry is deleted as soon as it has been heard.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import procrastinate
import psycopg
import structlog
from procrastinate.connector import Notify
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from psycopg import sql
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.connections import ImpatientConnection, with_defaults
from app.store.database import OUTAGE, Database, driver_of

log = structlog.get_logger(__name__)

QUEUE = "runs"
TASK = "look"
PING = '{"type":"job_inserted","job_id":0}'
NEVER_SECONDS = 1e9
STOP_SECONDS = 2.0
"""How long the queue waits for a look to end once it has stopped."""
RELISTEN_SECONDS = 1.0
SILENCE_SECONDS = 10.0
"""How long the connection that listens may be silent before it is probed."""
TURNS = 10_000_000
"""Turns that one step of priority outweighs; the queue's own priority has 32 bits."""
CHANNEL = "procrastinate_any_queue_v1"

NEW_ENTRY = f"""
    procrastinate_defer_jobs_v1(ARRAY[ROW(
        '{QUEUE}', '{TASK}', priority * {TURNS} - least(turn, {TURNS - 1}), NULL, 'run:' || id,
        jsonb_build_object('run_id', id), NULL
    )::procrastinate_job_to_defer_v1])
"""
"""Announces a run that is made in this very statement, as part of a query for its row; see `RunQueue.announce`."""

Look = Callable[[str], Awaitable[None]]
"""Takes a run id; whatever it does, it decides from the run's row."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run stands in line."""

    priority: int
    """As the client asked: higher goes first."""
    turn: int
    """Among runs of one priority: lower goes first."""

    @property
    def in_queue(self) -> int:
        """Both as the one number that the queue sorts by."""
        return self.priority * TURNS - min(self.turn, TURNS - 1)


class _Entries(JobManager):
    """The entries. One that an outage keeps from being deleted stays while its process lives; it was heard already."""

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        try:
            await super().finish_job(job, status, delete_job)
        except ConnectorException as error:
            log.warning("queue entry left behind", error=type(error).__name__)

    async def update_heartbeat(self, worker_id: int) -> None:
        try:
            await super().update_heartbeat(worker_id)
        except ConnectorException as error:
            log.warning("queue heartbeat missed", error=type(error).__name__)


class _Connector(procrastinate.PsycopgConnector):
    """The connections. The one that listens is opened again for as long as it takes; until then the queue polls."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(
            pool_factory=_pool,
            conninfo=conninfo,
            min_size=1,
            max_size=4,
            timeout=10,
            reconnect_timeout=2,
            connection_class=ImpatientConnection,
            kwargs={"autocommit": True},  # One round trip for each of its statements instead of three.
        )
        self._conninfo = conninfo
        self.listening = asyncio.Event()
        """Set while the queue hears of every entry at once."""

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        names = list(channels)
        while True:
            try:
                async with await ImpatientConnection.connect(self._conninfo, autocommit=True) as connection:
                    await self._listen(connection, names, on_notification)
            except (psycopg.Error, OSError, TimeoutError) as error:
                log.warning("queue listener interrupted", error=type(error).__name__)
            finally:
                self.listening.clear()
            await asyncio.sleep(RELISTEN_SECONDS)

    async def _listen(self, connection: ImpatientConnection, channels: list[str], on_notification: Notify) -> None:
        for channel in channels:
            await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        self.listening.set()
        await on_notification(channel=channels[0], payload=PING)  # The queue has looked before it could hear.
        while True:
            async for notice in connection.notifies(timeout=SILENCE_SECONDS):
                await on_notification(channel=notice.channel, payload=notice.payload)
            await connection.ensure_writable()


def _pool(**arguments: Any) -> AsyncConnectionPool[Any]:
    """A pool that hands out no connection which takes no writes."""
    return AsyncConnectionPool(**arguments | {"check": ImpatientConnection.ensure_writable_after_idling})


class RunQueue:
    """The queue as one process uses it: it announces runs, and hears of them while `deliver` runs."""

    def __init__(self, url: str) -> None:
        self._connector = _Connector(with_defaults(url))
        self._app = procrastinate.App(connector=self._connector)
        self._app.job_manager = _Entries(self._connector)
        self._look: Look | None = None
        self._rests = False
        self._app.task(name=TASK, queue=QUEUE)(self._hear)

    @property
    def listening(self) -> asyncio.Event:
        """Set while every announcement is heard at once; without it they wait for the next look at the queue."""
        return self._connector.listening

    @property
    def is_deaf(self) -> bool:
        """Whether this process is to hear of runs and, at the moment, does so only when it looks."""
        return self._look is not None and not self._rests and not self.listening.is_set()

    def rest(self) -> None:
        """This process is to hear of no runs until it delivers again; that it does not is no fault then."""
        self._rests = True

    async def _hear(self, run_id: str) -> None:
        assert self._look is not None
        try:
            await self._look(run_id)
        except OUTAGE as error:  # Whoever looks for unattended runs announces it again.
            log.warning("look interrupted", run_id=run_id, error=type(error).__name__)

    async def announce(self, connection: AsyncConnection, run_id: str, place: Place) -> None:
        """Have some engine look at the run once the connection's transaction commits. Doing so twice is harmless."""
        try:
            # A savepoint: the refusal of a second entry must not abort the caller's transaction unseen.
            async with connection.begin_nested():
                raw = await driver_of(connection)
                lock = f"run:{run_id}"
                entry = self._app.configure_task(
                    TASK, queue=QUEUE, priority=place.in_queue, queueing_lock=lock, connection=raw
                )
                await entry.defer_async(run_id=run_id)
        except AlreadyEnqueued:
            return

    async def poke(self, database: Database) -> None:
        """Have every process look at the queue: entries that were locked when they were announced are free now."""
        async with database.statement() as connection:
            await connection.execute(text("SELECT pg_notify(:channel, :ping)"), {"channel": CHANNEL, "ping": PING})

    async def deliver(self, look: Look, *, at_once: int, poll_s: float) -> None:
        """Call `look` for every run announced, at most `at_once` at a time, until cancelled or cut off.

        Whoever `look` is still at work for is cancelled then, so it must shield what has to go on.
        """
        self._look, self._rests = look, False
        try:
            await self._app.open_async()
            await self._work(at_once, poll_s)
        finally:
            await self._app.close_async()  # Also what was about to open: its tasks would keep the process from ending.

    async def _work(self, at_once: int, poll_s: float) -> None:
        worker = asyncio.create_task(
            self._app.run_worker_async(
                queues=[QUEUE],
                concurrency=at_once,
                install_signal_handlers=False,
                fetch_job_polling_interval=poll_s,
                delete_jobs="always",
                shutdown_graceful_timeout=STOP_SECONDS,
                abort_job_polling_interval=NEVER_SECONDS,  # Nothing aborts its jobs: a run is cancelled in its log.
            )
        )
        # What it ends with is raised below, or nobody is there any more to whom it matters.
        worker.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        try:
            await asyncio.wait({worker})
            await worker
        finally:
            # A worker that is told to stop while it starts does not hear it, and would go on for ever.
            while not worker.done():
                worker.cancel()
                await asyncio.wait({worker}, timeout=STOP_SECONDS + 1)
