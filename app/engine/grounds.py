"""What the plan of a run goes by, and its quote rests on, as this process knows it."""

from app.agents.ask import MAX_TOKENS
from app.domain.quote import Grounds
from app.domain.snapshot import Snapshot
from app.domain.team import Team
from app.domain.values import changed
from app.llm.estimates import token_prices
from app.runtime import TENANT, Runtime
from app.store.history import Histories


async def with_grounds(runtime: Runtime, histories: Histories, run: Snapshot) -> Snapshot:
    """The run with what its plan goes by; and as it can be quoted while that is to be made, a dry run by the newest
    figures."""
    run = changed(run, brief=changed(run.brief, means=runtime.means))
    if run.plan is not None or run.ended:
        return run
    brief, prices = run.brief, runtime.model.prices
    models = {runtime.model.model_id(name) for name in _models_of(brief.team)}
    grounds = Grounds(
        prices={model: token_prices(prices, model) for model in models},
        reply_tokens=MAX_TOKENS,
        searches=_searches(runtime, brief.team),
        history=await histories.of(TENANT, brief.team.name, newest=brief.is_dry),
    )
    return changed(run, brief=changed(brief, grounds=grounds))


def _models_of(team: Team) -> set[str]:
    return {team.supervisor.model, *(name for worker in team.workers for name in worker.models)}


def _searches(runtime: Runtime, team: Team) -> dict[str, int]:
    """By worker: how often the provider may search for one call of it."""
    servers = {name: tool.server for name, tool in runtime.tools.items() if tool.server is not None}
    return {
        worker.name: sum(servers[name].get("max_uses", 1) for name in worker.tools if name in servers)
        for worker in team.workers
    }
