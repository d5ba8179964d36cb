"""How commands work that have to do with the database alone."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.cli.processes import database_of
from app.settings import read_settings
from app.store.database import Database
from app.telemetry import set_up_logging

T = TypeVar("T")


def with_database(work: Callable[[Database], Awaitable[T]]) -> T:
    """What `work` finds or does in the database of the settings. Standard output is left to what it is asked for."""

    async def run(url: str) -> T:
        database = Database(url, pool=2)
        try:
            return await work(database)
        finally:
            await database.close()

    settings = read_settings()
    set_up_logging(level="warning", form=settings.log_format, output=sys.stderr)
    with database_of(settings, migrate=False) as usable:
        return asyncio.run(run(usable.url))
