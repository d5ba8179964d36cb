"""Workers with tools that tests make up."""

from collections.abc import Callable
from typing import Any

from app.domain.events import Effect
from app.domain.team import Team, Worker
from app.tools.tool import Arguments, Tool, ToolContext


class Nothing(Arguments):
    """No arguments."""


class Note(Arguments):
    """A note to keep, whose body may be left out."""

    path: str
    body: str = ""


class Numbers(Arguments):
    """A list of numbers."""

    ids: list[int]


def tool(
    name: str,
    run: Callable[[Any, ToolContext], Any],
    *,
    arguments: type[Arguments] = Nothing,
    effect: Effect = "read",
    **more: Any,
) -> Tool:
    """A tool that does as `run` says."""
    return Tool(name=name, description=f"Does {name}.", arguments=arguments, effect=effect, run=run, **more)


def team_with(*tools: Tool, **worker: Any) -> Team:
    """A team whose only worker, the keeper, has these tools."""
    names = tuple(each.name for each in tools)
    fields: dict[str, Any] = {"description": "Keeps.", "instructions": "Keep.", "tools": names}
    return Team(name="keepers", workers=(Worker(name="keeper", **fields | worker),))
