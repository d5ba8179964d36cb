"""Workers with tools that tests make up, and a model that breaks."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from app.domain.events import Effect
from app.domain.team import Team
from app.domain.worker import Worker
from app.llm.model import Model, Reply, Request
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


class BreakingModel:
    """A model with a bug: it breaks when it is asked for a purpose."""

    def __init__(self, model: Model, purpose: str) -> None:
        self._model = model
        self._purpose = purpose
        self.prices = model.prices
        self.broken = 0

    async def reply(self, request: Request) -> Reply:
        """Answer, or break."""
        if request.purpose == self._purpose:
            self.broken += 1
            raise KeyError("a bug")
        return await self._model.reply(request)

    def model_id(self, model: str) -> str:
        """The id that a tier or an id stands for."""
        return self._model.model_id(model)

    def lift(self, model: str) -> None:
        self._model.lift(model)

    def brakes(self) -> Mapping[str, datetime]:
        """Models that are to be left alone for a while."""
        return self._model.brakes()

    async def close(self) -> None:
        """Let go of connections."""
        await self._model.close()
