"""What the process before us may have left unfinished, reckoned when its run is resumed."""

from datetime import datetime
from typing import Any

from app.domain.commands import MakePlan, Refine, Synthesize, WorkOn
from app.domain.conversation import Ask, Conversation, Message, next_step
from app.domain.decisions import SUPERVISOR_REPLIES, decide, max_steps
from app.domain.snapshot import Snapshot
from app.domain.usage import Usage
from app.llm.model import Model, Request
from app.llm.pricing import estimated_usage


def resumption(run: Snapshot, now: datetime, model: Model) -> dict[str, Any]:
    """Model calls that were probably under way when the last process vanished, and what they have cost.

    A conversation whose next step is a call had that call under way, unless it was still too early to repeat it.
    """
    usage = Usage()
    lost = 0
    for talk, answering in _conversations(run, now):
        lost += 1
        usage += _estimate(talk, model.model_id(answering))
    return {"lost_calls": lost, "usage": usage}


def _conversations(run: Snapshot, now: datetime) -> list[tuple[Conversation, str]]:
    supervisor = run.brief.team.supervisor.model
    found: list[tuple[Conversation, str, int]] = []
    for command in decide(run, now).commands:
        match command:
            case MakePlan():
                found.append((run.planning, supervisor, SUPERVISOR_REPLIES))
            case Synthesize():
                found.append((run.reconciling, supervisor, SUPERVISOR_REPLIES))
            case Refine(task_id):
                found.append((run.tasks[task_id].refining, supervisor, SUPERVISOR_REPLIES))
            case WorkOn(task_id, _):
                task = run.tasks[task_id]
                attempt = task.attempts[-1]
                found.append((attempt.conversation, attempt.model, max_steps(run, task)))
    return [
        (talk, answering)
        for talk, answering, replies in found
        if not talk.waits(now) and isinstance(next_step(talk, replies), Ask)
    ]


def _estimate(talk: Conversation, answering: str) -> Usage:
    said = [Message("user", [{"type": "text", "text": talk.prompt.message}])] if talk.prompt else []
    system = talk.prompt.system if talk.prompt else ""
    request = Request("work", answering, system, [*said, *talk.messages()], max_tokens=1_000)
    return estimated_usage(request, answering)
