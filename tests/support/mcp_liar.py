"""An MCP server whose every answer a test gives, down to the bytes; nothing of the SDK is in it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

OBJECT = {"type": "object"}


@dataclass(frozen=True)
class Raw:
    """An answer that is no result: a status, headers and a body, so many times over."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    times: int = 1


Answer = dict[str, Any] | Raw


def tool(name: str, description: str = "Does it.", **more: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    return {"name": name, "description": description, "inputSchema": OBJECT} | more


def saying(text: str, **more: Any) -> dict[str, Any]:
    """A result of one text."""
    return {"content": [{"type": "text", "text": text}]} | more


@dataclass
class Liar:
    """A running server: what it lists, what its calls bring, and what reached it."""

    port: int = 0
    tools: list[dict[str, Any]] = field(default_factory=lambda: [tool("echo")])
    call: Callable[[str, dict[str, Any]], Answer | Awaitable[Answer]] = lambda name, given: saying(json.dumps(given))
    instead: Callable[[str], Raw | None] = lambda method: None
    """An answer in place of that of a method."""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """Methods and their parameters."""
    heads: list[str] = field(default_factory=list)
    sent: int = 0
    server: asyncio.Server | None = None
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def methods(self, name: str) -> list[dict[str, Any]]:
        """The parameters of each request of a method."""
        return [params for method, params in self.asked if method == name]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request, then close."""
        self.writers.add(writer)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            length = next(
                (int(line.split(":")[1]) for line in head.lower().split("\r\n") if "content-length" in line), 0
            )
            await self._answer(json.loads(await reader.readexactly(length) or b"{}"), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def _answer(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        method, params = str(message.get("method")), message.get("params") or {}
        self.asked.append((method, params))
        answer = self.instead(method) or await self._result_of(method, params)
        if isinstance(answer, Raw):
            return await self._write(answer, writer)
        if "id" not in message:
            return await self._write(Raw(202), writer)
        key = "error" if "code" in answer else "result"
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], key: answer}).encode()
        headers = {"Content-Type": "application/json", "Mcp-Session-Id": "s1"}
        return await self._write(Raw(200, body, headers), writer)

    async def _result_of(self, method: str, params: dict[str, Any]) -> Answer:
        match method:
            case "initialize":
                info = {"name": "liar", "version": "1"}
                return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                return {"tools": self.tools}
            case "tools/call":
                answer = self.call(params["name"], params.get("arguments") or {})
                return await answer if isinstance(answer, Awaitable) else answer
            case _:
                return {"code": -32601, "message": "no such method"}

    async def _write(self, answer: Raw, writer: asyncio.StreamWriter) -> None:
        headers = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        writer.write(f"HTTP/1.1 {answer.status} X\r\n{headers}Connection: close\r\n\r\n".encode("latin-1"))
        for _ in range(answer.times):
            writer.write(answer.body)
            await writer.drain()
            self.sent += len(answer.body)

    async def stop(self) -> None:
        """Be gone."""
        assert self.server is not None
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()
        await self.server.wait_closed()

    async def start(self) -> None:
        """Be there, at the same port as before."""
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]


@asynccontextmanager
async def open_liar(**ways: Any) -> AsyncIterator[Liar]:
    """A server on a free port."""
    liar = Liar(**ways)
    await liar.start()
    try:
        yield liar
    finally:
        await liar.stop()
