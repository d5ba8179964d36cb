import asyncio
import time
from contextlib import AsyncExitStack

import httpx2
import psycopg

from tests.support.processes import Replicas, following, post_job, run_at_end
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

JOBS, READERS, POOL, ASKED = 10, 10, 5, 60
ONE = plan_of(task("t1"))
PATIENCE_S = 0.5

_IDLE = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND state_change < now() - interval '0.5 s'
"""


async def test_slow_calls_and_open_streams_hold_no_connection_of_a_small_pool(
    replicas: Replicas, stub: StubProvider, sql: psycopg.Connection
) -> None:
    [name] = sql.execute("SELECT current_database()").fetchone() or ("",)
    sql.execute(f"ALTER DATABASE {name} SET idle_in_transaction_session_timeout = '1s'".encode())
    stub.on("work", held(as_json(report())))
    replica = await replicas.start(database_pool=str(POOL))
    runs = [await post_job(replica, plan=ONE) for _ in range(JOBS)]
    await stub.seen(JOBS)
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(following(replica, run_id)) for run_id in runs[:READERS]]
        await asyncio.gather(*(anext(stream) for stream in streams))
        client = await stack.enter_async_context(replica.client)
        waits = [
            await answered_in(client, path) for _ in range(ASKED // 2) for path in ("/readyz", f"/v1/runs/{runs[0]}")
        ]
        idle = sql.execute(_IDLE).fetchone()
        stub.release()
        ended = [await run_at_end(replica, run_id) for run_id in runs]

    assert sorted(waits)[-2] < PATIENCE_S
    assert idle == (0,)
    assert [run["status"] for run in ended] == ["succeeded"] * JOBS
    assert not [line for line in replica.logged if "QueuePool" in line or "PoolTimeout" in line]


async def answered_in(client: httpx2.AsyncClient, path: str) -> float:
    """Seconds until a request is answered."""
    start = time.monotonic()
    (await client.get(path)).raise_for_status()
    return time.monotonic() - start
