"""What the process before us may have left unfinished, reckoned when its run is resumed."""

from dataclasses import dataclass
from datetime import datetime

from app.agents.ask import prepare
from app.agents.desk import Desk
from app.agents.roles import ROLES
from app.domain.conversation import Ask
from app.domain.policy.agenda import open_topics, step_in
from app.domain.usage import Usage
from app.llm.pricing import estimated_usage


@dataclass(frozen=True, slots=True)
class Lost:
    """Model calls that were under way, and what they have probably cost."""

    calls: int = 0
    usage: Usage = Usage()


async def reckon_lost(desk: Desk, until: datetime) -> Lost:
    """What was under way when the last process vanished. It did nothing more after `until`.

    A conversation whose next step is a call had that call under way, unless it was still waiting to repeat a failed
    one, or the process has told that it broke the call off, and what that has cost. A run that waits had none: whoever
    took it and vanished had not even said so.
    """
    run, lost = desk.run, Lost()
    if run.waiting is not None:
        return lost
    for topic in open_topics(run):
        talk = run.conversation(topic)
        if isinstance(step_in(run, topic), Ask) and not talk.waits(until) and talk.stopped_seq <= run.claimed_seq:
            request = (await prepare(ROLES[topic.purpose], run, topic, desk.tools)).request()
            usage = estimated_usage(request, desk.model.model_id(request.model))
            lost = Lost(lost.calls + 1, lost.usage + usage)
    return lost
