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
    models = {model.model_id(name) for name in team.used_models}
    return Grounds(
        prices={name: token_prices(model.prices, name) for name in models},
        reply_tokens=MAX_TOKENS,
        searches={name: tool.server.get("max_uses", 1) for name, tool in tools.items() if tool.server is not None},
        history=history,
    )
