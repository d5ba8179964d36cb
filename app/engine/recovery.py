"""What the process before us may have left unfinished, reckoned when its run is resumed."""

from dataclasses import dataclass
from datetime import datetime

from app.agents.ask import prepare
from app.agents.desk import Desk
from app.agents.roles import ROLES
from app.domain.conversation import Ask
from app.domain.policy.agenda import open_topics, step_in
from app.domain.policy.budget import unsettled
from app.domain.usage import Amount, Usage
from app.llm.estimates import estimated_usage, worst_case


@dataclass(frozen=True, slots=True)
class Lost:
    """Model calls that were under way, and what they have probably cost."""

    calls: int = 0
    usage: Usage = Usage()
    unsettled: Amount = Amount()
    """What they may have cost beyond that, where the run has a limit."""


async def reckon_lost(desk: Desk, until: datetime) -> Lost:
    """What was under way when the last process vanished. It did nothing more after `until`.

    A conversation whose next step is a call had that call under way, unless it was still waiting to repeat a failed
    one, or the process has told that it broke the call off, and what that has cost. A run that waits had none: whoever
    took it and vanished had not even said so.
    """
    run, calls, usage, worst = desk.run, 0, Usage(), []
    if run.waiting is not None:
        return Lost()
    for topic in open_topics(run):
        talk = run.conversation(topic)
        if isinstance(step_in(run, topic), Ask) and not talk.waits(until) and talk.stopped_seq <= run.claimed_seq:
            request = (await prepare(ROLES[topic.purpose], run, topic, desk.tools)).request()
            model_id, prices = desk.model.model_id(request.model), desk.model.prices
            calls, usage = calls + 1, usage + estimated_usage(prices, request, model_id)
            worst.append(worst_case(prices, request, model_id, talk.tokens))
    return Lost(calls, usage, unsettled(run, usage, worst))
