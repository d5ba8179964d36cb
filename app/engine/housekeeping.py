"""What becomes of ended runs: their logs are cut after a time, and after another they are deleted."""

import asyncio

import structlog

from app.runtime import Runtime
from app.store.retention import RUNS_AT_A_TIME, prune_ended, thin_one

log = structlog.get_logger(__name__)

PAUSE_S = 60.0
"""Between looks at a database in which nothing was left to do."""
BETWEEN_LOGS_S = 0.05
"""Between two logs that are cut: runs under way come first."""


async def prune_forever(runtime: Runtime) -> None:
    """Delete the runs that have been kept for long enough."""
    while True:
        pruned = await prune_ended(runtime.database, runtime.retention)
        if pruned:
            log.info("ended runs deleted", runs=pruned)
        await asyncio.sleep(PAUSE_S if pruned < RUNS_AT_A_TIME else runtime.poll_s)


async def thin_forever(runtime: Runtime) -> None:
    """Cut the logs that have been kept whole for long enough."""
    while True:
        cut = 0
        while cut < RUNS_AT_A_TIME and await thin_one(runtime.database, runtime.retention):
            cut += 1
            await asyncio.sleep(BETWEEN_LOGS_S)
        if cut:
            log.info("logs of ended runs cut", runs=cut)
        await asyncio.sleep(PAUSE_S if cut < RUNS_AT_A_TIME else BETWEEN_LOGS_S)
