"""Looks at the rows of runs, which readers share."""

import asyncio

from app.store.database import Database
from app.store.runs import Row, find_run

LOOKS_AT_ONCE = 3
"""Connections to the database that readers use between them: most are left to jobs, commits and renewals."""


class SharedLooks:
    """Looks at the rows of runs. Who asks for a run while a look at it waits for its turn shares that look.

    A look that has begun is not shared: it may miss what the one who asks has just heard of.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turns = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._waiting: dict[tuple[str, str], asyncio.Task[Row | None]] = {}

    async def at(self, tenant: str, run_id: str) -> Row | None:
        """The run's row as it is now; None when the tenant has no such run."""
        which = tenant, run_id
        look = self._waiting.get(which)
        if look is None:
            look = self._waiting[which] = asyncio.create_task(self._look(tenant, run_id))
        # One reader that goes must not take the row from the others.
        return await asyncio.shield(look)

    async def _look(self, tenant: str, run_id: str) -> Row | None:
        async with self._turns:
            del self._waiting[tenant, run_id]
            return await find_run(self._database, tenant, run_id)
