"""Looking up the places of findings, which needs what the job gave: the inputs, documents among them as text."""

from app.agents.aside import done_aside, outputs_of
from app.agents.desk import Desk
from app.domain.events import Entry
from app.domain.policy.commands import PlaceFindings
from app.domain.policy.findings_due import unplaced
from app.domain.policy.sift import named_by_findings, placing
from app.tools.documents import Documents


async def place_findings(desk: Desk, documents: Documents, command: PlaceFindings) -> None:
    """Record where findings are, and which of them are one. It happens again where a process dies before that."""
    run = desk.run
    inputs = await desk.inputs()
    named = named_by_findings(run, command.tasks)
    texts = await documents.texts([given for given in inputs if given.name in named])
    contents = [*(given.content for given in inputs), *texts.values()]
    material = [*outputs_of(run.tasks[name] for name in command.tasks), *contents]
    facts = await done_aside(material, lambda: placing(run, command.tasks, inputs, texts))
    if unplaced(desk.run) == command.tasks:
        await desk.record(*map(Entry, facts))
