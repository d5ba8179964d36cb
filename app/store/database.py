"""The pool of connections to Postgres that a process works through."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from procrastinate.exceptions import ConnectorException
from psycopg_pool import PoolTimeout
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from app.store.connections import IS_READ_ONLY, ImpatientConnection, with_defaults

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

IDLE_SECONDS = 1.0


class Database:
    """A pool of connections. Nothing holds one across a model call, a tool call or a stream."""

    def __init__(self, url: str, *, pool: int) -> None:
        self.url = with_defaults(url)
        self._engine: AsyncEngine = create_async_engine(
            "postgresql+psycopg://",
            async_creator=self._connect,
            pool_size=pool,
            max_overflow=0,
            pool_timeout=30,
            hide_parameters=True,  # Errors are logged, and parameters hold what a job is about.
        )
        self._autocommit = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        _probe_idle_connections(self._engine)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """A connection inside a transaction that commits at the end, or rolls back when the block raises."""
        async with self._engine.begin() as connection:
            yield connection

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[AsyncConnection]:
        """A connection on which each statement is a transaction of its own: one round trip instead of three."""
        async with self._autocommit.connect() as connection:
            yield connection

    async def ping(self) -> None:
        """One round trip. Raises one of `OUTAGE` when the database does not answer, or takes no writes."""
        async with self.statement() as connection:
            if (await connection.execute(text(IS_READ_ONLY))).scalar_one():
                await connection.invalidate()
                raise psycopg.OperationalError("the session is read-only")

    async def _connect(self) -> ImpatientConnection:
        return await ImpatientConnection.connect(self.url, prepare_threshold=2)

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()


def _probe_idle_connections(engine: AsyncEngine) -> None:
    """Ask a connection that lay idle whether it can be written to before it is used; a busy one has just shown it."""

    @event.listens_for(engine.sync_engine, "checkin")
    def used(_connection: Any, record: Any) -> None:
        record.info["used_at"] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def probed(connection: Any, record: Any, _proxy: Any) -> None:
        if time.monotonic() - record.info.get("used_at", time.monotonic()) > IDLE_SECONDS:
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
