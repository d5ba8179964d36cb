"""The durable floor: the floor on aiohttp that also writes each step to Postgres, over psycopg alone.

It is the least that a run costs which a crash must not lose: a row for each reply of the model and each result of a
tool, the run's own row at its start and its end, and nothing is asked before what led to it is durable. Runs share
commits as those of the service do. It has no owner, no queue, no read model and nobody to resume it.

Run as a process: `python -m benchmarks.durable_floor DATABASE_URL STUB_URL RUNS AT_ONCE`; prints its figures as JSON.
"""

import asyncio
import json
import sys
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

import psycopg
import uvloop
from pydantic_core import to_json

from app.store.journal import LOOP_TURNS
from benchmarks.floor import Record, Step, measured

_TABLES = """
    CREATE TABLE floor_runs (
        id text PRIMARY KEY, goal json NOT NULL, status json, started_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz);
    CREATE TABLE floor_steps (
        run_id text, number int, kind text NOT NULL, task_id text, content json NOT NULL,
        at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (run_id, number))
"""
_WRITE = """
    WITH new AS MATERIALIZED (
        SELECT * FROM json_to_recordset(CAST(%s AS json)) AS n(
            run_id text, number int, kind text, task_id text, content json)
    ), started AS (
        INSERT INTO floor_runs (id, goal) SELECT run_id, content FROM new WHERE kind = 'started'
    ), ended AS (
        UPDATE floor_runs SET status = content, finished_at = now() FROM new WHERE kind = 'ended' AND id = run_id
    )
    INSERT INTO floor_steps (run_id, number, kind, task_id, content)
    SELECT run_id, number, kind, task_id, content FROM new WHERE kind IN ('model', 'tool')
"""


def create_tables(database_url: str) -> None:
    """Where runs are written."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(_TABLES)


class Writer:
    """Writes steps of any number of runs; what comes while a commit is under way shares the next one."""

    def __init__(self, connection: psycopg.AsyncConnection) -> None:
        self._connection = connection
        self._rows: list[dict[str, Any]] = []
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._news = asyncio.Event()

    def recorder(self) -> Record:
        """What records the steps of a new run."""
        return partial(self._record, uuid4().hex, count())

    async def _record(self, run_id: str, numbers: Iterator[int], *steps: Step) -> None:
        """Return once the steps are durable."""
        for kind, task_id, content in steps:
            row = {"run_id": run_id, "number": next(numbers), "kind": kind, "task_id": task_id, "content": content}
            self._rows.append(row)
        self._news.set()
        await asyncio.shield(self._done)

    async def write_forever(self) -> None:
        """Carry what is recorded to Postgres, until cancelled."""
        while True:
            await self._news.wait()
            for _ in range(LOOP_TURNS):  # Replies that lie in the sockets share the commit.
                await asyncio.sleep(0)
            self._news.clear()
            rows, done = self._rows, self._done
            self._rows, self._done = [], asyncio.get_running_loop().create_future()
            await self._connection.execute(_WRITE, [to_json(rows, exclude_none=True).decode()])
            done.set_result(None)


async def main(database_url: str, url: str, runs: int, at_once: int) -> None:
    """Do `runs` jobs, `at_once` at a time, all written through one connection."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True, prepare_threshold=2) as connection:
        writer = Writer(connection)
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(writer.write_forever())
            figures = await measured(url, runs, at_once, "aiohttp", writer.recorder)
            writing.cancel()
    print(json.dumps(figures))


if __name__ == "__main__":
    _, database_url, url, runs, at_once = sys.argv
    uvloop.run(main(database_url, url, int(runs), int(at_once)))
