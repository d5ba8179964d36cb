"""The inputs of jobs as tools need them: read when one is called, shared by those that are, and given back."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import structlog

from app.domain.job import JobInput
from app.store.database import OUTAGE, Database
from app.store.inputs import contents_of

log = structlog.get_logger(__name__)

KEPT_CHARACTERS = 16 * 1024 * 1024
"""Characters of inputs that are kept for the next call, of all runs together."""
RETRY_SECONDS = 0.5

Inputs = Sequence[JobInput]


class InputCache:
    """The inputs of the runs that this process executes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Inputs] = OrderedDict()
        self._reads: dict[str, asyncio.Task[Inputs]] = {}

    async def of_run(self, database: Database, tenant: str, run_id: str) -> Inputs:
        """The run's inputs, in the order of the job. An outage of the database is waited for."""
        if run_id in self._kept:
            self._kept.move_to_end(run_id)
            return self._kept[run_id]
        read = self._reads.get(run_id)
        if read is None or read.cancelled():
            read = self._reads[run_id] = asyncio.create_task(_read(database, tenant, run_id))
            read.add_done_callback(lambda done: self._keep(run_id, done))
        return await asyncio.shield(read)

    def forget(self, run_id: str) -> None:
        """The run is executed here no longer."""
        self._kept.pop(run_id, None)
        if read := self._reads.pop(run_id, None):
            read.cancel()

    def _keep(self, run_id: str, read: asyncio.Task[Inputs]) -> None:
        if self._reads.get(run_id) is not read:
            return
        del self._reads[run_id]
        if read.cancelled() or read.exception() is not None:
            return
        self._kept[run_id] = read.result()
        while sum(map(_size, self._kept.values())) > KEPT_CHARACTERS:
            self._kept.popitem(last=False)


def _size(inputs: Inputs) -> int:
    return sum(len(item.content) for item in inputs)


async def _read(database: Database, tenant: str, run_id: str) -> Inputs:
    while True:
        try:
            return await contents_of(database, tenant, run_id)
        except OUTAGE as error:
            log.warning("inputs not read", run_id=run_id, error=type(error).__name__)
            await asyncio.sleep(RETRY_SECONDS)
