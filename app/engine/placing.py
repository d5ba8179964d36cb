"""Looking up the places of findings, which needs what the job gave: the inputs."""

from app.agents.aside import done_aside
from app.agents.desk import Desk
from app.domain.events import Entry
from app.domain.policy.commands import PlaceFindings
from app.domain.policy.findings_due import unplaced
from app.domain.policy.sift import inputs_named, placing


async def place_findings(desk: Desk, command: PlaceFindings) -> None:
    """Record where findings are, and which of them are one. It happens again where a process dies before that."""
    run = desk.run
    wanted = inputs_named(run, command.tasks)
    inputs = [given for given in await desk.inputs() if given.name in wanted]
    facts = await done_aside([given.content for given in inputs], lambda: placing(run, command.tasks, inputs))
    if unplaced(desk.run) == command.tasks:
        await desk.record(*map(Entry, facts))
