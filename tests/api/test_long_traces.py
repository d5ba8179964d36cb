"""What a long trace costs the process that serves it."""

import asyncio
from urllib.parse import urlsplit

import psutil

from tests.api.serving import Api
from tests.support.processes import start_replica

MIB = 1024 * 1024
CALLS = 300
CHARACTERS = 100_000
ROOM = 24 * MIB
"""How much a process may grow, the collector's laziness included."""


async def test_a_process_hardly_grows_while_long_traces_are_read_from_it(api: Api, database_url: str) -> None:
    play = await api.played()
    await play.start()
    for _ in range(CALLS // 10):
        await play.chatter(10, CHARACTERS)
    replica = await start_replica(database_url, "http://127.0.0.1:9", engine="false")
    try:
        process = psutil.Process(replica.process.pid)
        await length_of_trace(replica.url, await api.ended(), process, [])
        before, grown = process.memory_info().rss, [0]
        lengths = await asyncio.gather(*(length_of_trace(replica.url, play.run_id, process, grown) for _ in range(4)))
    finally:
        await replica.end()

    assert min(lengths) > 2 * CALLS * CHARACTERS  # In its event, and in its span.
    assert max(grown) - before < ROOM


async def length_of_trace(url: str, run_id: str, process: psutil.Process, weighed: list[int]) -> int:
    """Read a trace, and weigh the process after every megabyte; the server never is ahead by more than its buffers."""
    reader, writer = await asyncio.open_connection(urlsplit(url).hostname, urlsplit(url).port)
    writer.write(f"GET /v1/runs/{run_id}/trace HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    length = 0
    while piece := await reader.read(64 * 1024):
        if length // MIB != (length + len(piece)) // MIB:
            weighed.append(process.memory_info().rss)
        length += len(piece)
    writer.close()
    return length
