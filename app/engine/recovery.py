"""What the process before us may have left unfinished, reckoned when its run is resumed."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from app.domain.conclusions import answers_alone
from app.domain.conversation import Ask, Conversation, Step
from app.domain.decisions import step_of, supervisor_step
from app.domain.snapshot import Snapshot
from app.domain.usage import Usage
from app.llm.model import Model, Request
from app.llm.pricing import estimated_usage


def resumption(run: Snapshot, until: datetime, model: Model) -> dict[str, Any]:
    """Model calls that were probably under way when the last process vanished, and what they have cost.

    It did nothing more after `until`. A conversation whose next step is a call had that call under way, unless it was
    still waiting to repeat a failed one, or the process has told that it broke the call off, and what that has cost. A
    run that waits had none: whoever took it and vanished had not even said so.
    """
    if run.waiting is not None:
        return {}
    usage = Usage()
    lost = 0
    for talk, answering, step in _open_conversations(run):
        if isinstance(step, Ask) and not talk.waits(until) and talk.stopped_seq <= run.claimed_seq:
            lost += 1
            usage += _estimate(talk, model.model_id(answering))
    return {"lost_calls": lost, "usage": usage}


def _open_conversations(run: Snapshot) -> Iterator[tuple[Conversation, str, Step]]:
    """Every conversation that somebody was holding, with who answers in it and what comes next."""
    supervisor = run.brief.team.supervisor.model
    held = [run.planning] if run.plan is None and run.own_plan is None else []
    for task in run.tasks.values():
        if task.status == "running":
            attempt = task.attempts[-1]
            yield attempt.conversation, attempt.model, step_of(run, task)
        elif task.status == "pending" and task.refine_first:
            held.append(task.refining)
    if run.phase == "synthesizing" and run.delivered and run.synthesis is None and not answers_alone(run):
        held.append(run.reconciling)
    for talk in held:
        yield talk, supervisor, supervisor_step(talk)


def _estimate(talk: Conversation, answering: str) -> Usage:
    said = [talk.opening(talk.prompt.message)] if talk.prompt else []
    system = talk.prompt.system if talk.prompt else ""
    request = Request("work", answering, system, [*said, *talk.messages()], max_tokens=1_000)
    return estimated_usage(request, answering)
