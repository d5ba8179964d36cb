"""The one file that knows the MCP SDK. It is imported when there is a server to hold: the SDK takes a second to load.

Loading it changes things that are ours: the SDK brings sse-starlette, which puts a signal handler of its own into
uvicorn. That is undone at once. What the SDK logs may repeat what servers say, so that it is not logged at all.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Self

import uvicorn

from app import version

_OUR_END = uvicorn.Server.handle_exit

import mcp_types as types  # noqa: E402
from mcp.client.client import Client  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp.shared.exceptions import MCPError  # noqa: E402
from mcp.shared.message import SessionMessage as Message  # noqa: E402

uvicorn.Server.handle_exit = _OUR_END  # type: ignore[method-assign]
_LOG = logging.getLogger("mcp")
_LOG.propagate = False
_LOG.addHandler(logging.NullHandler())

__all__ = [
    "CLOSED", "TIMED_OUT", "Connection", "MCPError", "Message", "Streams", "message_of", "streamable_http_client",
    "written",
]  # fmt: skip

Streams = tuple[Any, Any]
"""What is read and what is written: streams of `Message`, in the SDK's protocols for them."""
CLOSED, TIMED_OUT = types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT
PAGES_AT_MOST = 20
_CHANGED = "notifications/tools/list_changed"


class Connection:
    """A session with a server, opened and closed by one task. Others may call tools through it."""

    def __init__(
        self, streams: AbstractAsyncContextManager[Streams], *, patience_s: float, changed: Callable[[], None]
    ) -> None:
        """`patience_s` bounds each request but calls; `changed` is told when the server's list has changed."""

        async def notice(message: object) -> None:
            if getattr(message, "method", None) == _CHANGED:
                changed()

        self._client = Client(
            streams,
            read_timeout_seconds=patience_s,
            message_handler=notice,
            client_info=types.Implementation(name="chargehand", version=version),
            cache=None,
        )

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *why: Any) -> None:
        await self._client.__aexit__(*why)

    async def tools(self) -> list[dict[str, Any]]:
        """What the server lists, as it says it. Raises `MCPError`, `ValidationError`."""
        listed: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(PAGES_AT_MOST):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self._client.session.list_tools(params=params)
            listed += [tool.model_dump(mode="json", by_alias=True) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        return listed

    async def call(self, tool: str, arguments: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """What a call brings, as the server says it. Raises `MCPError`, `ValidationError`.

        Not by the SDK's own `call_tool`, which holds the result against the server's schema in Python: that may take
        as long as the server likes.
        """
        request = types.CallToolRequest(params=types.CallToolRequestParams(name=tool, arguments=arguments))
        result = await self._client.session.send_request(
            request, types.CallToolResult, request_read_timeout_seconds=timeout_s
        )
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def message_of(line: bytes) -> Message:
    """The message in a line. Raises `ValueError`."""
    return Message(types.jsonrpc_message_adapter.validate_json(line, by_name=False))


def written(message: Message) -> bytes:
    """A message as a line."""
    return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
