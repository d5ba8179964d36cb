"""What the plan of a run goes by, and its quote rests on, as this process knows it."""

from app.agents.ask import MAX_TOKENS
from app.domain.quote import Grounds
from app.domain.snapshot import Snapshot
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
    models = {runtime.model.model_id(name) for name in brief.team.used_models}
    grounds = Grounds(
        prices={model: token_prices(prices, model) for model in models},
        reply_tokens=MAX_TOKENS,
        searches={
            name: tool.server.get("max_uses", 1) for name, tool in runtime.tools.items() if tool.server is not None
        },
        history=await histories.of(TENANT, brief.team.name, newest=brief.is_dry),
    )
    return changed(run, brief=changed(brief, grounds=grounds))
