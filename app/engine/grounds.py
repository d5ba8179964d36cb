"""What the plan of a run goes by, and its quote rests on, as this process knows it."""

from app.domain.snapshot import Snapshot
from app.domain.values import changed
from app.grounds import grounds_of
from app.runtime import TENANT, Runtime
from app.store.history import Histories


async def with_grounds(runtime: Runtime, histories: Histories, run: Snapshot) -> Snapshot:
    """The run with what its plan goes by; and as it can be quoted while that is to be made, a dry run by the newest
    figures."""
    run = changed(run, brief=changed(run.brief, means=runtime.means))
    if run.plan is not None or run.ended:
        return run
    brief = run.brief
    history = await histories.of(TENANT, brief.team.name, newest=brief.is_dry)
    grounds = grounds_of(runtime.model, runtime.tools, history, brief.team)
    return changed(run, brief=changed(brief, grounds=grounds))
