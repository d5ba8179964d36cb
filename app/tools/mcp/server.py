"""One server: its session is held by one task, which opens it again when it is lost, and calls go through it.

A server that is not there costs a start nothing: its tools fail until it is.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio
import structlog
from pydantic import ValidationError

from app.domain.errors import ToolError
from app.tools.mcp.bounded_http import UNREACHABLE, client_for
from app.tools.mcp.file import ServerTerms
from app.tools.mcp.listing import look_at
from app.tools.mcp.masking import masked
from app.tools.mcp.offer import Offer, check_arguments
from app.tools.mcp.results import shown_result
from app.tools.mcp.sdk import CLOSED, TIMED_OUT, Connection, MCPError, Streams, streamable_http_client
from app.tools.mcp.stdio import process_streams
from app.tools.plain_words import plain
from app.tools.tool import OriginState

log = structlog.get_logger(__name__)

PATIENCE_S = 10.0
"""For each answer while a session begins, and for the list of tools."""
LOOK_AGAIN_S = 60.0
"""Between looks at the list of tools, which also show that the server is there."""
QUIET_S = 1.0
"""The least between two looks, however often the server says that its list has changed."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
GOODBYE_S = 4.0
"""For a session to end, and the process behind it."""
GRACE_S = 5.0
"""After the time of a call: what is left of it then is given up by the connection too."""
ERROR_CHARACTERS = 1_000

BROKEN = (
    ExceptionGroup, OSError, RuntimeError, anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError,
)  # fmt: skip
"""What the SDK raises when a session goes to pieces."""
LOST = (MCPError, ValidationError, *BROKEN)
"""What a session ends with: an answer that is an error or no answer, or whatever breaks inside of the SDK."""


class McpServer:
    """A server of the operator's file, with the tools that are offered of it."""

    def __init__(self, terms: ServerTerms, *, first_pause_s: float = FIRST_PAUSE_S) -> None:
        self.name = terms.name
        self.state: OriginState = "connecting"
        self._terms = terms
        self._first_pause_s = first_pause_s
        self.offer = Offer(terms, self, self._call)
        self._connection: Connection | None = None
        self._tried = asyncio.Event()
        """Set once it is known whether the server is there."""
        self._look = asyncio.Event()
        """Set when there is reason to look at its list."""
        self._under_way: set[asyncio.Task[dict[str, Any]]] = set()

    async def hold(self) -> None:
        """Hold a session, for ever."""
        pauses = pauses_from(self._first_pause_s)
        while True:
            # In a task of its own: on its way out the SDK may put an error in the place of a cancellation.
            session = asyncio.create_task(self._hold_once(), name=f"MCP session {self.name}")
            try:
                await asyncio.wait({session})
            finally:
                was_there, self._connection, self.state = self.state == "ready", None, "down"
                session.cancel()
                await asyncio.wait({session, *self._under_way}, timeout=GOODBYE_S)
            self._tell_of_loss(session, was_there=was_there)
            self._tried.set()
            if was_there:
                pauses = pauses_from(self._first_pause_s)
            await asyncio.sleep(next(pauses))

    async def _hold_once(self) -> None:
        async with Connection(self._streams(), patience_s=PATIENCE_S, changed=self._look.set) as connection:
            await self._see(connection)
            await self._keep_seeing(connection)

    async def _see(self, connection: Connection) -> None:
        self._look.clear()
        self.offer.take(await asyncio.to_thread(look_at, self._terms, await connection.tools()))
        if self.state == "down":
            log.info("an MCP server is there again", server=self.name)
        self._connection, self.state = connection, "ready"
        self._tried.set()

    async def _keep_seeing(self, connection: Connection) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    await self._look.wait()
            await self._see(connection)
            await asyncio.sleep(QUIET_S)

    def _streams(self) -> AbstractAsyncContextManager[Streams]:
        entry = self._terms.entry
        if entry.command is not None:
            return process_streams(entry.command, self._terms.env, entry.result_bytes, self._look.set)
        return self._http_streams()

    @asynccontextmanager
    async def _http_streams(self) -> AsyncIterator[Streams]:
        terms, entry = self._terms, self._terms.entry
        assert terms.url is not None
        async with (
            client_for(terms.headers, entry.result_bytes, entry.timeout_s + GRACE_S, self._look.set) as client,
            streamable_http_client(terms.url, http_client=client, max_sse_event_size=entry.result_bytes) as streams,
        ):
            yield streams

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call a tool by the name it has on the server. Raises `ToolError`."""
        entry = self._terms.entry
        connection = await self._connected()
        listed = self.offer.listed(tool)
        check_arguments(listed, arguments)
        asking = asyncio.create_task(connection.call(tool, arguments, entry.timeout_s + GRACE_S), name="MCP call")
        self._under_way.add(asking)
        asking.add_done_callback(self._over)
        try:
            await asyncio.wait({asking})
        finally:
            asking.cancel()  # Not waited for: it tells the server, which may not listen.
        try:
            result = asking.result()
        except MCPError as error:
            raise self._failure(error) from None
        except ValidationError:
            said = f"{self.name} sent what is no result of a tool; it may ask for something, and nobody here answers it"
            raise ToolError(said, "tool_failed") from None
        except BROKEN as error:
            said = f"the session with {self.name}, the server of this tool, broke ({type(error).__name__})"
            raise ToolError(said, "tool_unavailable") from None
        return await shown_result(listed, result, limit=entry.output_limit, secrets=self._terms.secrets)

    def _over(self, asking: asyncio.Task[dict[str, Any]]) -> None:
        self._under_way.discard(asking)
        if not asking.cancelled():
            asking.exception()  # Whoever waited has heard of it.

    async def _connected(self) -> Connection:
        await self._tried.wait()
        if self._connection is None:
            raise ToolError(f"{self.name}, the server of this tool, cannot be reached", "tool_unavailable")
        return self._connection

    def _failure(self, error: MCPError) -> ToolError:
        if error.code in (UNREACHABLE, CLOSED):
            self._look.set()
            said = error.message if error.code == UNREACHABLE else "the connection to it ended"
            return ToolError(f"{self.name}, the server of this tool, did not answer: {said}", "tool_unavailable")
        if error.code == TIMED_OUT:
            return ToolError(f"{self.name} did not answer in time", "tool_timeout")
        said = masked(plain(error.message, ERROR_CHARACTERS), self._terms.secrets)
        return ToolError(f"{self.name} refused the call ({error.code}): {said}", "tool_failed")

    def _tell_of_loss(self, session: asyncio.Task[None], *, was_there: bool) -> None:
        """Log what ended a session, once until there is another. Raises what is a fault of our own."""
        error = None if session.cancelled() else session.exception()
        if error is not None and not isinstance(error, LOST):
            raise error
        if was_there or not self._tried.is_set():
            why = _why(error) if error else "it ended"
            log.warning("an MCP server is not there; its tools fail until it is", server=self.name, why=why)


def pauses_from(first_s: float) -> Iterator[float]:
    """Seconds before each next attempt to reach a server, without end."""
    pause_s = first_s
    while True:
        yield pause_s
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


def _why(error: BaseException) -> str:
    """What ended a session, in words that are not the server's."""
    if isinstance(error, ExceptionGroup):
        return ", ".join(sorted({_why(each) for each in error.exceptions}))
    if isinstance(error, MCPError):
        return error.message if error.code == UNREACHABLE else f"protocol error {error.code}"
    return type(error).__name__
