"""Waiting for what no signal tells of."""

import asyncio
from collections.abc import Callable

from app.store.database import Database
from tests.support.rows import every


async def until(holds: Callable[[], bool], within_s: float = 15) -> None:
    """Wait until something holds. Raises `TimeoutError`."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # a row, a reader or another process's log line, of which nothing tells us


async def until_blocked(database: Database, statements: int = 1) -> None:
    """Wait until so many statements in the database wait for locks."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with asyncio.timeout(10):
        while len(await every(database, waiting)) < statements:  # Postgres tells nobody of a wait.
            await every(database, "SELECT pg_sleep(0.01)")
