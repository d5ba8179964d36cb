"""What a process offers of one server's tools, whether the server is there or not.

What was seen of a tool first holds until the process ends: one that its server describes in another way later on is
told in the log, and neither its words nor its effect change under those who use it.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog

from app.domain.errors import ToolError, ToolInputInvalid
from app.tools.mcp.file import ServerTerms
from app.tools.mcp.listing import ListedTool, Listing, unseen
from app.tools.tool import Origin, Tool, ToolContext

log = structlog.get_logger(__name__)

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Calls a tool of the server by the name it has there."""


class Offer:
    """The tools of one server, by the names they have here: `server/tool`."""

    def __init__(self, terms: ServerTerms, origin: Origin, call: Call) -> None:
        self._terms = terms
        self._origin = origin
        self._call = call
        self._listed: Mapping[str, ListedTool] | None = None
        """What the server lists now; None before it was reached."""
        self._first: dict[str, ListedTool] = {}
        self._told: dict[str, str] = {}
        """The digest that was logged of each tool which has changed."""
        self._tools: Mapping[str, Tool] = {}
        self._show({name: unseen(terms, name) for name in terms.named})

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Those that are known: from the server, or, before it was reached, by the operator's naming them."""
        return self._tools

    def expected(self, name: str) -> Tool | None:
        """A tool that the server may turn out to have, while it has not been reached."""
        tool = name.removeprefix(f"{self._terms.name}/")
        awaited = self._listed is None and tool != name and "*" not in tool and self._terms.offers(tool)
        return self._tool(unseen(self._terms, tool)) if awaited else None

    def listed(self, tool: str) -> ListedTool:
        """A tool as its server lists it. Raises `ToolError`."""
        found = (self._listed or {}).get(tool)
        if found is None:
            raise ToolError(f"{self._terms.name} has no tool {tool}", "tool_unavailable")
        return found

    def take(self, listing: Listing) -> None:
        """Go by what the server lists now."""
        kept = {name: self._first.setdefault(name, tool) for name, tool in listing.tools.items()}
        for name, tool in listing.tools.items():
            if tool.digest not in (kept[name].digest, self._told.get(name)):
                self._told[name] = tool.digest
                log.warning(
                    "an MCP tool has changed; what was seen first holds until a restart",
                    tool=f"{self._terms.name}/{name}", seen=kept[name].digest, now=tool.digest,
                )  # fmt: skip
        if self._listed is None or kept.keys() != self._listed.keys():
            lacking = sorted(set(self._terms.named) - kept.keys() - listing.refused.keys())
            log.info("MCP tools", server=self._terms.name, offered=len(kept), lacking=lacking, refused=listing.refused)
        self._listed = kept
        self._show(kept)

    def _show(self, listed: Mapping[str, ListedTool]) -> None:
        # Replaced as a whole: other threads may be going through it.
        self._tools = {tool.name: tool for tool in map(self._tool, listed.values())}

    def _tool(self, listed: ListedTool) -> Tool:
        async def run(arguments: dict[str, Any], _context: ToolContext) -> Any:
            return await self._call(listed.name, arguments)

        return Tool(
            name=f"{self._terms.name}/{listed.name}",
            description=listed.description,
            arguments=listed.schema,
            effect=listed.effect,
            run=run,
            reads="anything",
            timeout_s=self._terms.entry.timeout_s,
            output_limit=self._terms.entry.output_limit,
            origin=self._origin,
        )


def check_arguments(tool: ListedTool, arguments: dict[str, Any]) -> None:
    """Hold the arguments against the tool's schema, which may not have been known when they were written.

    Raises `ToolInputInvalid`, with the schema.
    """
    if problems := tool.schema.problems(arguments):
        shown = json.dumps(tool.schema.shown, ensure_ascii=False)
        raise ToolInputInvalid(
            f"the input is not valid: {'; '.join(problems)}. It must fit {shown}", "tool_call_invalid"
        )
