"""What quotes rest on, as a process knows it: prices, bounds and the history of a team."""

from collections.abc import Mapping

from app.agents.ask import MAX_TOKENS
from app.domain.quote import Grounds, History
from app.domain.team import Team
from app.llm.estimates import token_prices
from app.llm.model import Model
from app.tools.tool import Tool


def grounds_of(model: Model, tools: Mapping[str, Tool], history: History, team: Team) -> Grounds:
    """What the quotes of a team's runs rest on."""
    models = {model.model_id(name) for name in _models_of(team)}
    return Grounds(
        prices={name: token_prices(model.prices, name) for name in models},
        reply_tokens=MAX_TOKENS,
        searches=_searches(tools, team),
        history=history,
    )


def _models_of(team: Team) -> set[str]:
    return {team.supervisor.model, *(name for worker in team.workers for name in worker.models)}


def _searches(tools: Mapping[str, Tool], team: Team) -> dict[str, int]:
    """By worker: how often the provider may search for one call of it."""
    servers = {name: tool.server for name, tool in tools.items() if tool.server is not None}
    return {
        worker.name: sum(servers[name].get("max_uses", 1) for name in worker.tools if name in servers)
        for worker in team.workers
    }
