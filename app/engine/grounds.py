"""What the plan of a run goes by, and its quote rests on, as this process knows it."""

from collections.abc import Sequence

from app.domain.job import JobInput
from app.domain.snapshot import Snapshot
from app.domain.values import changed
from app.grounds import grounds_of
from app.runtime import Runtime
from app.store.history import Histories


async def with_grounds(runtime: Runtime, histories: Histories, run: Snapshot) -> Snapshot:
    """The run with what its plan goes by; and as it can be quoted while that is to be made, a dry run by the newest
    figures."""
    given: Sequence[JobInput] = ()
    reads_inputs = run.brief.team.checks_results or bool(run.brief.team.files)
    if reads_inputs and run.brief.inputs and not run.ended:
        given = await runtime.input_cache.of_run(runtime.database, run.brief.tenant, run.brief.run_id)
    run = changed(run, brief=changed(run.brief, means=runtime.means, given=given))
    if run.plan is not None or run.ended:
        return run
    brief = run.brief
    history = await histories.of(brief.tenant, brief.team.name, newest=brief.is_dry)
    grounds = grounds_of(runtime.model, runtime.tools, history, brief.team)
    return changed(run, brief=changed(brief, grounds=grounds))
