"""Servers that do not do as they should, over HTTP and as processes: what it costs, and whom."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice
from typing import Any

import psutil
import pytest
from structlog.testing import capture_logs

from app.tools.mcp.file import ServerEntry, ServerTerms
from app.tools.mcp.server import FIRST_PAUSE_S, McpServer, pauses_from
from app.tools.tool import ToolAnswer, ToolContext, call
from tests.support.mcp_liar import Liar, Raw, open_liar, saying, tool
from tests.support.processes import start_process
from tests.support.waiting import until

KIB = 1024
SECRET = "sk-test-0000111122223333"


@asynccontextmanager
async def held(terms: ServerTerms) -> AsyncIterator[McpServer]:
    """A server whose session is held, once it is known whether it is there."""
    server = McpServer(terms, first_pause_s=0.02)
    holding = asyncio.create_task(server.hold())
    try:
        await until(lambda: server.state != "connecting")
        yield server
    finally:
        holding.cancel()
        await asyncio.wait({holding})


def at(liar: Liar, **entry: Any) -> ServerTerms:
    made = ServerEntry(url=liar.url, tools=("*",), result_bytes=64 * KIB, **entry)
    headers = {"Authorization": f"Bearer {SECRET}"}
    return ServerTerms("books", made, liar.url, headers, secrets=frozenset({SECRET}))


async def answered(server: McpServer, name: str = "echo", given: Any = None) -> ToolAnswer:
    return await call(server.offer.tools, f"books/{name}", given or {}, ToolContext((), "k"))


@pytest.fixture
async def liar() -> AsyncIterator[Liar]:
    async with open_liar() as liar:
        yield liar


async def test_a_call_goes_there_and_back_under_the_headers_of_the_operator(liar: Liar) -> None:
    async with held(at(liar)) as server:
        answer = await answered(server, given={"a": 2.0})

    assert (answer.text, answer.error_code) == ('{"a": 2}', None)
    assert all(f"Authorization: Bearer {SECRET}\r\n" in head for head in liar.heads)
    assert liar.heads[-1].startswith("DELETE ")  # the session is ended in good order
    assert not any(head.startswith("GET ") for head in liar.heads)


async def test_a_result_of_a_hundred_megabytes_is_cut_and_costs_its_call_alone(liar: Liar) -> None:
    gate = asyncio.Event()

    async def answer(name: str, given: dict[str, Any]) -> Any:
        if given:
            return Raw(200, b'{"jsonrpc": "2.0", "id": 1, "x": "' + b"x" * 100 * KIB, times=1_000)
        await gate.wait()
        return saying("the other")

    liar.call = answer
    async with held(at(liar)) as server:
        other = asyncio.create_task(answered(server))
        huge = await answered(server, given={"a": 1})
        gate.set()

        assert huge.error_code == "tool_failed"
        assert (await other).text == "the other"
    assert liar.sent < 20_000 * KIB


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (Raw(302, headers={"Location": "http://127.0.0.1:9/elsewhere"}), "redirects elsewhere (302), which is not"),
        (Raw(307, headers={"Location": "/elsewhere"}), "redirects elsewhere (307)"),
        (Raw(401, b"Bearer realm"), "refuses the credentials (401)"),
        (Raw(503, b"<html>", {"Content-Type": "text/html"}), "it answered 503"),
        (Raw(200, b"\x1f\x8b", {"Content-Type": "application/json", "Content-Encoding": "gzip"}), "is compressed"),
        (Raw(404), "does not know the session any more"),
    ],
)
async def test_what_is_no_answer_is_told_without_its_content(liar: Liar, raw: Raw, said: str) -> None:
    liar.call = lambda name, given: raw
    async with held(at(liar)) as server:
        answer = await answered(server)

    assert answer.error_code == "tool_unavailable"
    assert said in answer.text
    assert "elsewhere" not in " ".join(head.split()[1] for head in liar.heads)


@pytest.mark.parametrize(
    "raw",
    [
        Raw(200, b"{"),
        Raw(200, b'{"jsonrpc": "2.0", "id": 77, "result": {}}'),
        Raw(200, b"<html>", {"Content-Type": "text/html"}),
        Raw(200, b"data: {\n\n", {"Content-Type": "text/event-stream"}),
        {"content": [{"type": "text"}]},
        {"content": "none"},
        {"resultType": "input_required", "inputRequests": {}},
    ],
)
async def test_nonsense_fails_its_call_and_not_the_session(liar: Liar, raw: Any) -> None:
    liar.call = lambda name, given: saying("well") if given else raw
    async with held(at(liar, timeout_s=0.5)) as server:
        nonsense = await answered(server)
        well = await answered(server, given={"a": 1})

    assert nonsense.error_code in ("tool_failed", "tool_timeout", "tool_unavailable")
    assert well.text == "well"
    assert len(liar.methods("initialize")) == 1


async def test_an_error_of_the_server_is_told_without_our_secret(liar: Liar) -> None:
    liar.call = lambda name, given: {"code": -32602, "message": f"no \x1b[31m{SECRET}"}
    async with held(at(liar)) as server:
        answer = await answered(server)

    assert answer.text == "tool_failed: books refused the call (-32602): no [31m[redacted]"


async def test_a_call_that_takes_too_long_is_given_up_and_its_late_answer_is_nothing(liar: Liar) -> None:
    gate, calls = asyncio.Event(), []

    async def answer(name: str, given: dict[str, Any]) -> Any:
        calls.append(given)
        if len(calls) == 1:
            await gate.wait()
        return saying(f"answer {len(calls)}")

    liar.call = answer
    async with held(at(liar, timeout_s=0.2)) as server:
        late = await answered(server)
        gate.set()
        next_one = await answered(server)
        await until(lambda: bool(liar.methods("notifications/cancelled")))

    assert (late.error_code, next_one.text) == ("tool_timeout", "answer 2")


async def test_a_call_that_hangs_does_not_keep_the_session_from_ending(liar: Liar) -> None:
    liar.call = lambda name, given: asyncio.Event().wait()  # type: ignore[return-value, assignment]
    async with held(at(liar)) as server:
        hanging = asyncio.create_task(answered(server))
        await until(lambda: bool(liar.methods("tools/call")))
        begun = time.monotonic()

    assert (await hanging).error_code == "tool_unavailable"
    assert time.monotonic() - begun < 4


async def test_a_server_that_is_down_fails_its_tools_until_it_is_back() -> None:
    async with open_liar() as liar:
        with capture_logs() as lines:
            async with held(at(liar)) as server:
                await liar.stop()
                gone = await answered(server)
                await until(lambda: server.state == "down")
                still_gone = await answered(server)
                await liar.start()
                await until(lambda: server.state == "ready")
                back = await answered(server)

    assert (gone.error_code, still_gone.error_code) == ("tool_unavailable", "tool_unavailable")
    assert "cannot be reached (ConnectError)" in gone.text
    assert back.text == "{}"
    lost = [line for line in lines if line["event"].startswith("an MCP server is not there")]
    assert [(line["server"], line["why"]) for line in lost] == [("books", "it cannot be reached (ConnectError)")]
    assert SECRET not in json.dumps(lines, default=str)


def test_the_pauses_between_attempts_double_up_to_the_longest() -> None:
    assert [*islice(pauses_from(FIRST_PAUSE_S), 7)] == [1, 2, 4, 8, 16, 30, 30]


async def test_a_server_that_was_never_there_is_waited_for_by_calls_alone() -> None:
    terms = ServerTerms("books", ServerEntry(url="http://127.0.0.1:9", tools=("buy", "sell_*")), "http://127.0.0.1:9")
    async with held(terms) as server:
        answer = await answered(server, "buy")

    assert answer.text == "tool_unavailable: books, the server of this tool, cannot be reached"
    assert [*server.offer.tools] == ["books/buy"]


async def test_arguments_written_before_the_schema_was_known_are_answered_with_it(liar: Liar) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    liar.tools = [tool("echo", inputSchema=schema)]
    server = McpServer(ServerTerms("books", ServerEntry(url=liar.url, tools=("echo",)), liar.url))
    waiting = asyncio.create_task(answered(server))
    await asyncio.sleep(0)
    holding = asyncio.create_task(server.hold())
    answer = await waiting
    holding.cancel()
    await asyncio.wait({holding})

    assert answer.error_code == "tool_call_invalid"
    assert '"a" is a required property. It must fit {"type": "object", "properties"' in answer.text
    assert liar.methods("tools/call") == []


@pytest.mark.parametrize("listed", ["none", [{"name": 7}], [tool("a", inputSchema="x")]])
async def test_a_list_that_cannot_be_read_is_a_server_that_is_down(liar: Liar, listed: Any) -> None:
    liar.tools = listed
    async with held(at(liar)) as server:
        assert (server.state, server.offer.tools) == ("down", {})


PROCESS = """
import json, os, subprocess, sys, time
def say(**message): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n"); sys.stdout.flush()
print("a banner that is no message", flush=True)
sys.stderr.write("secrets on standard error\\n" * 50_000)
for line in sys.stdin:
    asked = json.loads(line)
    method, id = asked["method"], asked.get("id")
    if method == "initialize":
        info = {"name": "p", "version": "1"}
        say(id=id, result={"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info})
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "huge", "linger", "die")]
        say(id=id, result={"tools": tools})
    elif method == "tools/call":
        name, given = asked["params"]["name"], asked["params"]["arguments"]
        if name == "huge":
            while True: sys.stdout.write("x" * 100_000)
        if name == "die":
            os._exit(1)
        if name == "linger":
            held = subprocess.Popen(["sleep", "600"])
            say(id=id, result={"content": [{"type": "text", "text": f"{os.getpid()} {held.pid}"}]})
            while sys.stdin.read(): pass
            time.sleep(600)  # it is to be killed
        say(id=id, result={"content": [{"type": "text", "text": json.dumps([given, dict(os.environ)])}]})
    elif id is not None:
        say(id=id, error={"code": -32601, "message": "no"})
"""


def process() -> ServerTerms:
    command = (sys.executable, "-S", "-c", PROCESS)
    return ServerTerms("books", ServerEntry(command=command, tools=("*",), result_bytes=64 * KIB), env={"KEY": SECRET})


async def test_a_process_gets_its_own_environment_and_nothing_else_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-ours")
    async with held(process()) as server:
        given, environment = json.loads((await answered(server, given={"a": "ü"})).text)

    assert given == {"a": "ü"}
    assert environment["KEY"] == SECRET
    assert environment.keys() <= {"KEY", "HOME", "LANG", "LC_ALL", "PATH", "TZ", "LC_CTYPE", "PWD", "SHLVL", "_"}


@pytest.mark.parametrize("deed", ["huge", "die"])
async def test_a_process_that_says_too_much_or_dies_is_started_again(deed: str) -> None:
    async with held(process()) as server:
        broken = await answered(server, deed)
        await until(lambda: server.state == "down")
        await until(lambda: server.state == "ready")
        again = await answered(server)

    assert broken.error_code == "tool_unavailable"
    assert again.error_code is None


async def test_a_process_that_lingers_ends_with_us_and_so_does_what_it_started() -> None:
    async with held(process()) as server:
        pids = [int(pid) for pid in (await answered(server, "linger")).text.split()]
        begun = time.monotonic()

    assert time.monotonic() - begun < 5
    await until(lambda: not any(map(lives, pids)))


def lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)


async def test_a_command_that_is_not_there_is_a_server_that_is_down() -> None:
    entry = ServerEntry(command=("/nowhere/to-be-found",), tools=("*",))
    async with held(ServerTerms("books", entry)) as server:
        assert server.state == "down"


KILLED = """
import asyncio, os, sys
from tests.tools.test_mcp_servers import answered, held, process
async def main():
    async with held(process()) as server:
        print("pid", (await answered(server, "linger")).text.split()[0], flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's signal is Linux's")
async def test_a_process_dies_with_a_service_that_is_killed() -> None:
    service = await start_process(["-c", KILLED], {})
    assert service.stdout is not None
    async with asyncio.timeout(30):
        while not (line := await service.stdout.readline()).startswith(b"pid "):
            assert line

    service.kill()
    await service.wait()

    await until(lambda: not lives(int(line.split()[1])))
