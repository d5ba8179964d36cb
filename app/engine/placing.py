"""Looking up the places of findings, which needs what the job gave: the inputs."""

from app.agents.aside import done_aside, outputs_of
from app.agents.desk import Desk
from app.domain.events import Entry
from app.domain.policy.commands import PlaceFindings
from app.domain.policy.findings_due import unplaced
from app.domain.policy.sift import placing


async def place_findings(desk: Desk, command: PlaceFindings) -> None:
    """Record where findings are, and which of them are one. It happens again where a process dies before that."""
    run = desk.run
    inputs = await desk.inputs()
    material = [*outputs_of(run.tasks[name] for name in command.tasks), *(given.content for given in inputs)]
    facts = await done_aside(material, lambda: placing(run, command.tasks, inputs))
    if unplaced(desk.run) == command.tasks:
        await desk.record(*map(Entry, facts))
