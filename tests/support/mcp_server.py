"""A real MCP server by the official SDK: `python -m tests.support.mcp_server` on its standard input and output, or with
a port over HTTP."""

import asyncio
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ImageContent, TextContent, ToolAnnotations
from pydantic import BaseModel

server = MCPServer("books")


class Book(BaseModel):
    """A book."""

    title: str
    pages: int


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def find_book(title: str) -> Book:
    """Finds a book by its title."""
    if title == "none":
        raise ToolError("there is no such book")
    return Book(title=title, pages=300)


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
async def set_price(title: str, price: float = 1) -> str:
    """Sets the price of a book."""
    return f"{title} costs {price:g}"


@server.tool()
async def order(title: str) -> str:
    """Orders a book, and takes its time."""
    await asyncio.Event().wait()
    return title


@server.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
async def cover(title: str) -> list[TextContent | ImageContent]:
    """Shows the cover of a book."""
    return [
        TextContent(type="text", text=f"The cover of {title}:"),
        ImageContent(type="image", data="QUFBQUFB", mime_type="image/png"),
    ]


@server.tool(annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
async def text_of(title: str) -> str:
    """The whole text of a book."""
    return "😀" * 100_000


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
