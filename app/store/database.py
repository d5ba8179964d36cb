"""The pool of connections to Postgres that a process works through."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from procrastinate.exceptions import ConnectorException
from psycopg import pq
from psycopg_pool import PoolTimeout
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.util import greenlet_spawn

from app.store.connections import IS_READ_ONLY, ImpatientConnection, with_defaults
from app.store.witness import Witness

OUTAGE = (
    OperationalError,
    InterfaceError,
    PoolExhausted,
    psycopg.OperationalError,
    psycopg.InterfaceError,
    PoolTimeout,
    ConnectorException,
    OSError,
)
"""What is raised when Postgres cannot be reached, by whatever library notices first. It may pass."""

TROUBLE = (*OUTAGE, DBAPIError, psycopg.Error)
"""The same, and what is raised when Postgres refuses a statement."""

RESERVED = 3
"""Connections that are left to whoever writes: readers may be many, and leases must be renewed in time."""

ResultT = TypeVar("ResultT")


async def driver_of(connection: AsyncConnection) -> ImpatientConnection:
    """The driver's own connection under one of SQLAlchemy's, for what goes on inside its transaction."""
    driver = (await connection.get_raw_connection()).driver_connection
    assert isinstance(driver, ImpatientConnection)
    return driver


class Database:
    """A pool of connections. Nothing holds one across a model call, a tool call or a stream."""

    def __init__(self, url: str, *, pool: int, witness: Witness | None = None) -> None:
        self.url = with_defaults(url)
        self.witness = witness or Witness()
        """Who hears of what is done to it."""
        self._engine: AsyncEngine = create_async_engine(
            "postgresql+psycopg://",
            async_creator=self._connect,
            pool_size=pool,
            max_overflow=0,
            pool_timeout=30,
            hide_parameters=True,  # Errors are logged, and parameters hold what a job is about.
        )
        _probe_idle_connections(self._engine)
        self._readers = asyncio.Semaphore(max(pool - RESERVED, 1))
        self._asked: dict[Hashable, asyncio.Task[Any]] = {}

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A connection inside a transaction that commits at the end, or rolls back when the block raises."""
        async with self._engine.begin() as connection:
            yield connection

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[AsyncConnection]:
        """A connection on which each statement is a transaction of its own: one round trip instead of three."""
        async with self._engine.connect() as connection:
            # Within the block: work that is stopped at this very point gives its connection back, too.
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            yield connection

    @asynccontextmanager
    async def driver(self) -> AsyncIterator[ImpatientConnection]:
        """The same at a third of the CPU: the driver's own connection, for the few statements that every run makes.

        Raises what the driver raises.
        """
        pooled = await self._engine.raw_connection()
        try:
            connection = pooled.driver_connection
            assert isinstance(connection, ImpatientConnection)
            await connection.set_autocommit(True)
            yield connection
        finally:
            # Work may be stopped twice; the connection is given back all the same.
            await asyncio.shield(asyncio.ensure_future(greenlet_spawn(_give_back, pooled)))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """The same for those who only read: they wait for each other, and never keep a writer waiting."""
        async with self._readers, self.statement() as connection:
            yield connection

    @asynccontextmanager
    async def one_view(self) -> AsyncIterator[AsyncConnection]:
        """A transaction for those who only read, in which all statements see the same moment."""
        async with self._readers, self.transaction() as connection:
            await connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
            yield connection

    async def read_together(
        self,
        key: Hashable,
        read: Callable[[AsyncConnection], Awaitable[ResultT]],
        *,
        then: Callable[[ResultT], Awaitable[ResultT]] | None = None,
    ) -> ResultT:
        """What `read` finds at one moment, and what `then` makes of it when the connection has been given back.

        Those who ask for the same `key` before it has begun get the same.
        """
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._read_for_all(key, read, then))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())  # Perhaps nobody waits any more.
        found: ResultT = await asyncio.shield(task)
        return found

    async def _read_for_all(
        self,
        key: Hashable,
        read: Callable[[AsyncConnection], Awaitable[ResultT]],
        then: Callable[[ResultT], Awaitable[ResultT]] | None,
    ) -> ResultT:
        me = asyncio.current_task()
        try:
            async with self.reading() if then is None else self.one_view() as connection:
                del self._asked[key]  # Who asks from here on wants to see what happened until then.
                found = await read(connection)
            return found if then is None else await then(found)
        finally:
            if self._asked.get(key) is me:
                del self._asked[key]

    async def ping(self) -> None:
        """One round trip, in line with readers. Raises one of `OUTAGE`, also when the database takes no writes."""
        async with self.reading() as connection:
            if (await connection.execute(text(IS_READ_ONLY))).scalar_one():
                await connection.invalidate()
                raise psycopg.OperationalError("the session is read-only")

    async def _connect(self) -> ImpatientConnection:
        return await ImpatientConnection.connect(self.url, prepare_threshold=2)

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()


def _give_back(pooled: Any) -> None:
    """Return a connection to its pool as it came, or have the pool replace one that broke or is not at rest."""
    if pooled.driver_connection.pgconn.transaction_status == pq.TransactionStatus.IDLE:
        pooled.dbapi_connection.autocommit = False
        pooled.close()
    else:
        pooled.invalidate()


def _probe_idle_connections(engine: AsyncEngine) -> None:
    """Ask a connection that lay idle whether it can be written to before it is used; a busy one has just shown it."""

    @event.listens_for(engine.sync_engine, "checkout")
    def probed(connection: Any, _record: Any, _proxy: Any) -> None:
        if connection.driver_connection.lay_idle:
            try:
                read_only = _is_read_only(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise DisconnectionError from error
            if read_only:
                raise DisconnectionError


def _is_read_only(connection: Any) -> bool:
    autocommit, connection.autocommit = connection.autocommit, True
    try:
        cursor = connection.cursor()
        cursor.execute(IS_READ_ONLY)
        return bool(cursor.fetchone()[0])
    finally:
        connection.autocommit = autocommit
