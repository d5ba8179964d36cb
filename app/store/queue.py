"""Delivery: a queue that says "look at run X", on Procrastinate in the same Postgres.

The queue decides nothing. It may deliver twice, late, or to a process that cannot act: the run row says who may. So
entries carry a run id and no state, at most one waits for a run, and an entry is deleted as soon as it has been heard.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

import procrastinate
import structlog
from procrastinate.connector import Notify
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.connections import ImpatientConnection, with_defaults
from app.store.database import OUTAGE, Database

log = structlog.get_logger(__name__)

QUEUE = "runs"
TASK = "look"
PING = '{"type":"job_inserted","job_id":0}'
STOP_SECONDS = 2.0
"""How long the queue waits for a look to end once it has stopped."""
RELISTEN_SECONDS = 1.0
TURNS = 10_000_000
"""Turns that one step of priority outweighs; the queue's own priority has 32 bits."""
CHANNEL = "procrastinate_any_queue_v1"

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

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        while True:
            try:
                await super().listen_notify(on_notification=on_notification, channels=channels)
            except ConnectorException as error:
                log.warning("queue listener interrupted", error=type(error).__name__)
            await asyncio.sleep(RELISTEN_SECONDS)


class RunQueue:
    """The queue as one process uses it: it announces runs, and hears of them while `deliver` runs."""

    def __init__(self, url: str) -> None:
        self._connector = _Connector(
            conninfo=with_defaults(url),
            min_size=1,
            max_size=4,
            timeout=10,
            reconnect_timeout=2,
            connection_class=ImpatientConnection,
        )
        self._app = procrastinate.App(connector=self._connector)
        self._app.job_manager = _Entries(self._connector)
        self._look: Look | None = None
        self._app.task(name=TASK, queue=QUEUE)(self._hear)

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
                await self.announce_new(connection, run_id, place)
        except AlreadyEnqueued:
            return

    async def announce_new(self, connection: AsyncConnection, run_id: str, place: Place) -> None:
        """The same for a run made in this very transaction, which cannot have an entry yet."""
        raw = (await connection.get_raw_connection()).driver_connection
        lock = f"run:{run_id}"
        task = self._app.configure_task(TASK, queue=QUEUE, priority=place.in_queue, queueing_lock=lock, connection=raw)
        await task.defer_async(run_id=run_id)

    async def poke(self, database: Database) -> None:
        """Have every process look at the queue: entries that were locked when they were announced are free now."""
        async with database.statement() as connection:
            await connection.execute(text("SELECT pg_notify(:channel, :ping)"), {"channel": CHANNEL, "ping": PING})

    async def deliver(self, look: Look, *, at_once: int, poll_s: float) -> None:
        """Call `look` for every run announced, at most `at_once` at a time, until cancelled or cut off.

        Whoever `look` is still at work for is cancelled then, so it must shield what has to go on.
        """
        self._look = look
        try:
            await self._app.open_async()
            await self._app.run_worker_async(
                queues=[QUEUE],
                concurrency=at_once,
                install_signal_handlers=False,
                fetch_job_polling_interval=poll_s,
                delete_jobs="always",
                shutdown_graceful_timeout=STOP_SECONDS,
            )
        finally:
            await self._app.close_async()  # Also what was about to open: its tasks would keep the process from ending.
