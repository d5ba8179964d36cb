"""Connections to Postgres, and the migrations that make its schema."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
from alembic import command
from alembic.config import Config
from procrastinate.exceptions import ConnectorException
from psycopg_pool import PoolTimeout
from sqlalchemy import NullPool, create_engine, event, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from app.store.connections import ImpatientConnection, with_defaults

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

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"
MIGRATION_LOCK = 7_204_119_620
"""Advisory lock that lets one process migrate at a time."""


class Database:
    """A pool of connections. Nothing holds one across a model call, a tool call or a stream."""

    def __init__(self, url: str, *, pool: int) -> None:
        self.url = with_defaults(url)
        self._engine: AsyncEngine = create_async_engine(
            make_url(self.url).set(drivername="postgresql+psycopg"),
            pool_size=pool,
            max_overflow=0,
            pool_timeout=30,
            hide_parameters=True,  # Errors are logged, and parameters hold what a job is about.
            connect_args={"prepare_threshold": 2, "async_creator_fn": ImpatientConnection.connect},
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
        """One round trip. Raises when the database does not answer."""
        async with self.statement() as connection:
            await connection.execute(text("SELECT 1"))

    async def close(self) -> None:
        """Close every connection."""
        await self._engine.dispose()


def _probe_idle_connections(engine: AsyncEngine) -> None:
    """Ask a connection that lay idle whether it is alive before it is used; a busy one has just shown it."""

    @event.listens_for(engine.sync_engine, "checkin")
    def used(_connection: Any, record: Any) -> None:
        record.info["used_at"] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def probed(connection: Any, record: Any, _proxy: Any) -> None:
        if time.monotonic() - record.info.get("used_at", time.monotonic()) > IDLE_SECONDS:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise DisconnectionError from error


def migrate(url: str, revision: str = "head") -> None:
    """Bring the schema to a revision, the newest by default. Blocks; several processes may call it at the same time."""
    engine = create_engine(
        make_url(with_defaults(url)).set(drivername="postgresql+psycopg"), poolclass=NullPool, hide_parameters=True
    )
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
        command.upgrade(migration_config(connection), revision)


def migration_config(connection: Connection) -> Config:
    """The Alembic configuration for one connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
