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


async def keep_house_forever(runtime: Runtime) -> None:
    """Delete the runs that have been kept for long enough, and cut the logs that have been whole for long enough."""
    while True:
        pruned = await prune_ended(runtime.database, runtime.retention)
        if pruned:
            log.info("ended runs deleted", runs=pruned)
        cut = await _thin_some(runtime)
        if cut:
            log.info("logs of ended runs cut", runs=cut)
        await asyncio.sleep(runtime.poll_s if RUNS_AT_A_TIME in (pruned, cut) else PAUSE_S)


async def _thin_some(runtime: Runtime) -> int:
    cut = 0
    while cut < RUNS_AT_A_TIME and await thin_one(runtime.database, runtime.retention):
        cut += 1
        await asyncio.sleep(BETWEEN_LOGS_S)
    return cut
