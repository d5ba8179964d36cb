"""From the operator's file to tools: those of servers that are held, and those that a start only checks teams by."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.domain.errors import ToolError
from app.tools.mcp.file import ServerTerms
from app.tools.mcp.offer import Offer
from app.tools.tool import OriginState

if TYPE_CHECKING:
    from app.tools.mcp.server import McpServer


@dataclass(frozen=True, slots=True)
class _NotHeld:
    name: str
    state: OriginState = "connecting"


async def _call(tool: str, _arguments: dict[str, Any]) -> Any:
    raise ToolError(f"nobody holds the server of {tool}", "tool_unavailable")


def offers_of(servers: Iterable[ServerTerms]) -> list[Offer]:
    """What the servers offer as far as the file says it."""
    return [Offer(terms, _NotHeld(terms.name), _call) for terms in servers]


def servers_for(servers: Iterable[ServerTerms]) -> "list[McpServer]":
    """The servers, to be held by parts of this process."""
    terms = list(servers)
    if not terms:
        return []
    from app.tools.mcp.server import McpServer  # The SDK takes a second to import, and most services have no server.

    return [McpServer(each) for each in terms]
