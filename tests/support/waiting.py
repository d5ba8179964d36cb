"""Waiting for what no signal tells of."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.store.database import Database
from tests.support.rows import every

T = TypeVar("T")


async def until(holds: Callable[[], bool], within_s: float = 15) -> None:
    """Wait until something holds. Raises `TimeoutError`."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # a row, a reader or another process's log line, of which nothing tells us


async def until_stored(database: Database, look: Callable[[], Awaitable[T | None]], within_s: float = 15) -> T:
    """What `look` finds in the database, once there is something, of which no wake-up tells. Raises `TimeoutError`."""
    async with asyncio.timeout(within_s):
        while (found := await look()) is None:
            await every(database, "SELECT pg_sleep(0.01)")
    return found


async def until_blocked(database: Database, statements: int = 1) -> None:
    """Wait until so many statements in the database wait for locks."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    async def all_wait() -> bool | None:
        return len(await every(database, waiting)) >= statements or None  # Postgres tells nobody of a wait.

    await until_stored(database, all_wait, 10)
