"""The SDK itself: real servers made with it, and what importing it must not change of ours."""

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from app.tools.mcp.file import ServerEntry, ServerTerms
from app.tools.mcp.server import McpServer
from app.tools.tool import ToolAnswer, ToolContext, call
from tests.support.postgres import ROOT
from tests.support.waiting import until

REAL = (sys.executable, "-m", "tests.support.mcp_server")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A real server over HTTP, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([*REAL, str(port)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


@asynccontextmanager
async def held(entry: ServerEntry) -> AsyncIterator[McpServer]:
    server = McpServer(ServerTerms("books", entry, entry.url, env={"PYTHONPATH": str(ROOT)}), first_pause_s=0.1)
    holding = asyncio.create_task(server.hold())
    try:
        await until(lambda: server.state == "ready", 60)
        yield server
    finally:
        holding.cancel()
        await asyncio.wait({holding})


async def answered(server: McpServer, name: str, title: str = "Emma") -> ToolAnswer:
    return await call(server.offer.tools, f"books/{name}", {"title": title}, ToolContext((), "k"))


async def check(server: McpServer) -> None:
    """What holds however the server is reached."""
    effects = {name: tool.effect for name, tool in server.offer.tools.items()}
    assert effects == {
        "books/find_book": "read",
        "books/set_price": "idempotent",
        "books/order": "once",
        "books/cover": "read",
        "books/text_of": "read",
    }
    assert (await answered(server, "find_book")).text == '{"title": "Emma", "pages": 300}'
    assert (await answered(server, "set_price")).text == '{"result": "Emma costs 1"}'
    missing = await answered(server, "find_book", "none")
    assert (missing.error_code, "no such book" in missing.text) == ("tool_failed", True)
    pictured = (await answered(server, "cover")).text
    assert pictured == "The cover of Emma:\n\n(image, image/png, 6 bytes, which cannot be shown)"
    whole = await answered(server, "text_of")
    assert (len(whole.text) <= 20_000, whole.omitted > 80_000, "of 100000 characters" in whole.text) == (True,) * 3
    assert set(whole.text.partition("\n[")[0]) == {"😀"}


async def test_a_real_server_over_http(url: str) -> None:
    async with held(ServerEntry(url=url, tools=("*",))) as server:
        await check(server)


async def test_a_real_server_as_a_process() -> None:
    async with held(ServerEntry(command=REAL, tools=("*",))) as server:
        await check(server)


async def test_a_call_is_cancelled_with_whoever_waits_for_it(url: str) -> None:
    async with held(ServerEntry(url=url, tools=("order", "find_book"))) as server:
        waiting = asyncio.create_task(answered(server, "order"))
        await asyncio.wait({waiting}, timeout=0.1)
        waiting.cancel()
        await asyncio.wait({waiting}, timeout=5)

        assert waiting.cancelled()
        assert (await answered(server, "find_book")).error_code is None


OURS = """
import logging, sys
import uvicorn
from app.telemetry import set_up_logging
set_up_logging()
before = uvicorn.Server.handle_exit, logging.getLogger().handlers[:], logging.getLogger().level
from app.runtime import open_runtime
assert "mcp" not in sys.modules and "sse_starlette" not in sys.modules
import app.tools.mcp.sdk
assert "sse_starlette" in sys.modules
assert before == (uvicorn.Server.handle_exit, logging.getLogger().handlers, logging.getLogger().level)
logging.getLogger("mcp.client.streamable_http").error("what a server said")
"""


def test_the_sdk_changes_neither_our_end_nor_our_log_and_is_not_loaded_without_need() -> None:
    done = subprocess.run([sys.executable, "-c", OURS], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
