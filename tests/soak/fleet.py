"""Three replicas, and everything that happens to replicas."""

import asyncio
import signal
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

import psycopg

from tests.support.processes import QUICK, Replica, start_replica

SIZE = 3
PAUSE_S = 2.5 * float(QUICK["CHARGEHAND_LEASE_SECONDS"])
CONNECTIONS_AT_ONCE = 4

_OURS = "datname = %s AND pid <> pg_backend_pid()"
_LISTENERS = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_OURS} AND query LIKE 'LISTEN%%'"
_ANY = (
    f"SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE {_OURS} ORDER BY random() LIMIT %s)"
)


@dataclass
class Fleet:
    """The replicas. At least one is healthy at any time, and at the end all are."""

    server_url: str
    database_url: str
    stub_url: str
    home: Path
    chance: Random
    started: list[Replica] = field(default_factory=list)
    healthy: list[Replica] = field(default_factory=list)
    deaths: dict[int, datetime] = field(default_factory=dict)
    """When a process was killed, by its id."""
    exit_codes: list[int] = field(default_factory=list)
    """How those ended that were told to."""
    done: Counter[str] = field(default_factory=Counter)
    """How often what happened."""
    _recovering: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        await asyncio.gather(*(self._start() for _ in range(SIZE)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        for task in self._recovering:
            task.cancel()
        await asyncio.gather(*self._recovering, return_exceptions=True)
        for replica in self.started:
            await replica.end()

    def any(self) -> Replica:
        """A replica that takes requests."""
        return self.chance.choice(self.healthy)

    async def disturb(self) -> None:
        """Have one thing happen."""
        happens = self.chance.choice(
            [self.kill, self.terminate, self.pause, self.drop_listeners, self.drop_connections]
        )
        if happens in (self.kill, self.terminate, self.pause) and len(self.healthy) < SIZE - 1:
            await self.recovered()
        await happens()

    async def kill(self) -> None:
        """SIGKILL, and a new replica."""
        replica = self._taken()
        self.deaths[replica.process.pid] = datetime.now(UTC)
        await replica.kill()
        self.done["kills"] += 1
        self._replace()

    async def terminate(self) -> None:
        """SIGTERM, and a new replica."""
        replica = self._taken()
        self.done["terms"] += 1
        self._replace()

        async def leave() -> None:
            self.exit_codes.append(await replica.stop())

        self._later(asyncio.create_task(leave()))

    async def pause(self) -> None:
        """SIGSTOP until its runs belong to others, then SIGCONT."""
        replica = self._taken()
        replica.signal(signal.SIGSTOP)
        self.done["pauses"] += 1

        async def wake_up() -> None:
            await asyncio.sleep(PAUSE_S)  # The pause is the point: it must outlast a lease.
            replica.signal(signal.SIGCONT)
            self.healthy.append(replica)

        self._later(asyncio.create_task(wake_up()))

    async def drop_listeners(self) -> None:
        """Postgres ends every connection that listens."""
        await self._terminated(_LISTENERS)

    async def drop_connections(self) -> None:
        """Postgres ends some connections, whatever they are doing."""
        await self._terminated(_ANY, CONNECTIONS_AT_ONCE)

    async def recovered(self) -> None:
        """Wait until all replicas are there and awake again."""
        while self._recovering:
            await asyncio.wait(self._recovering)
        assert len(self.healthy) == SIZE, "a replica did not come back"

    async def _terminated(self, statement: str, *values: object) -> None:
        name = psycopg.conninfo.conninfo_to_dict(self.database_url)["dbname"]
        async with await psycopg.AsyncConnection.connect(self.server_url, autocommit=True) as connection:
            ended = await connection.execute(statement, [name, *values])
            self.done["connections dropped"] += ended.rowcount

    def _taken(self) -> Replica:
        return self.healthy.pop(self.chance.randrange(len(self.healthy)))

    def _replace(self) -> None:
        self._later(asyncio.create_task(self._start()))

    def _later(self, task: asyncio.Task[None]) -> None:
        self._recovering.add(task)
        task.add_done_callback(self._recovering.discard)

    async def _start(self) -> None:
        for last in (False, False, True):
            try:
                replica = await start_replica(
                    self.database_url, self.stub_url, program="tests.soak.replica", teams_dir=str(self.home)
                )
                break
            except (
                RuntimeError
            ) as ended:  # Its connection was dropped as it started: whoever keeps it up starts it again.
                if last or "cannot use the database" not in str(ended):
                    raise
        self.started.append(replica)
        self.healthy.append(replica)
