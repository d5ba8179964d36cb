"""Ruling on an escalation: what becomes of a task that its worker could not or should not finish."""

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from app.agents.prompting import opening, render
from app.agents.reading import read_as, read_json, without_nulls
from app.agents.results_shown import gists_of
from app.agents.role import Offer, Role
from app.agents.shapes import TEXT, closed, listed, one_of, or_null
from app.agents.supervisor.ruled import Asking, impossible, read_inquiry, read_split
from app.domain import events as ev
from app.domain.conversation import Prompt
from app.domain.events import Entry
from app.domain.flaws import Flaw
from app.domain.plan import Task
from app.domain.policy.failed_attempts import Ruling, follow
from app.domain.policy.ladder import others_for, rulings
from app.domain.policy.splitting import parts_allowed
from app.domain.questions import DefaultAction
from app.domain.results import Escalation, EscalationDecision
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.text import is_blank, shorten
from app.domain.topics import Topic

REASON_CHARACTERS = 1_000
SHOWN_CHARACTERS = 4_000
"""Of each text that the supervisor sees of an attempt."""
_MEANINGS: Mapping[EscalationDecision, str] = {
    "retry_stronger_model": "the same worker tries again with a more capable model",
    "reassign": "another worker does the task; name it in worker",
    "split": "smaller tasks take its place; put them in parts",
    "ask_human": "a person is asked; put question, choices, default_action and assumption",
    "accept_partial": "what the worker has so far is taken as the result, and marked as partial",
    "give_up": "the task ends without a result, and the answer will name the gap",
}


def _task(run: Snapshot, topic: Topic) -> TaskState:
    return run.tasks[topic.task_id or ""]


def _options(run: Snapshot, task: TaskState) -> dict[str, str]:
    return {decision: _MEANINGS[decision] for decision in rulings(run, task)}


def _open(run: Snapshot, topic: Topic) -> Prompt:
    task = _task(run, topic)
    others, escalation = set(others_for(run, task)), task.attempt.escalation
    assert escalation is not None  # It is what is ruled on.
    return opening(
        "rule",
        team=run.brief.team,
        worker=run.brief.team.worker(task.attempt.worker),
        others=[worker for worker in run.brief.team.workers if worker.name in others],
        task=task.task,
        dependencies=gists_of(run.tasks[name] for name in task.task.depends_on),
        attempts=[_shown(attempt) for attempt in task.attempts],
        escalation=_cut(escalation),
        options=_options(run, task),
        parts_allowed=parts_allowed(run, task),
    )


def _shown(attempt: Attempt) -> dict[str, object]:
    return {
        "number": attempt.number,
        "worker": attempt.worker,
        "model": attempt.model,
        "instruction": shorten(attempt.instruction, SHOWN_CHARACTERS)[0],
        "error": attempt.error,
    }


def _cut(escalation: Escalation) -> dict[str, str]:
    """What the worker says, each part shortened with a notice: a ruling needs the gist."""
    parts = {"reason": escalation.reason, "message": escalation.message, "partial": escalation.partial or ""}
    return {name: shorten(text, SHOWN_CHARACTERS)[0] for name, text in parts.items()}


def _offer(run: Snapshot, topic: Topic) -> Offer:
    task = _task(run, topic)
    workers = others_for(run, task)
    possible = rulings(run, task)
    asking = {
        "question": or_null(TEXT),
        "choices": or_null(listed(TEXT)),
        "default_action": or_null(one_of(get_args(DefaultAction))),
        "assumption": or_null(TEXT),
    }
    part = closed(
        id=TEXT,
        title=TEXT,
        instruction=TEXT,
        success_criterion=TEXT,
        worker=one_of([worker.name for worker in run.brief.team.workers]),
        depends_on=listed(TEXT),
    )
    schema = closed(
        decision=one_of(possible),
        worker=or_null(one_of(workers)) if workers else {"type": "null"},
        instruction=or_null(TEXT),
        **({"parts": or_null(listed(part))} if "split" in possible else {}),
        **(asking if "ask_human" in possible else {}),
        reason=TEXT,
    )
    return Offer(run.brief.team.supervisor.model, schema, visible_field="reason")


def _material(run: Snapshot, topic: Topic) -> Iterable[object]:
    task = _task(run, topic)
    escalation = task.attempt.escalation
    return [task.task.context, escalation.partial if escalation else "", *(each.instruction for each in task.attempts)]


class _RulingReply(Asking):
    decision: str
    worker: str | None = None
    instruction: str | None = None
    parts: tuple[Task, ...] = ()
    reason: str = ""


def _read(run: Snapshot, topic: Topic, text: str) -> Sequence[Entry]:
    task = _task(run, topic)
    reply = read_as(_RulingReply, without_nulls(read_json(text, "output_invalid")), "output_invalid")
    possible, others = rulings(run, task), others_for(run, task)
    decision = next((each for each in possible if each == reply.decision), None)
    if decision is None:
        raise impossible("decision", f"the decision must be one of: {', '.join(possible)}")
    if decision == "reassign" and reply.worker not in others:
        raise impossible("worker", f"to reassign, the worker must be one of: {', '.join(others)}")
    instruction = None if reply.instruction is None or is_blank(reply.instruction) else reply.instruction
    inquiry = read_inquiry(reply) if decision == "ask_human" else None
    plan = read_split(run, task, reply.parts) if decision == "split" else None
    reason = shorten(reply.reason, REASON_CHARACTERS)[0]
    return follow(run, task, Ruling(decision, reply.worker, instruction, plan, inquiry, reason))


def _reject(run: Snapshot, topic: Topic, flaws: Sequence[Flaw]) -> Sequence[Entry]:
    note = None
    if run.conversation(topic).may_be_repaired:
        note = render("rule_repair", flaws=flaws, options=_options(run, _task(run, topic)))
    return [topic.entry(ev.RulingRejected(errors=tuple(flaws), note=note))]


RULE = Role(open=_open, offer=_offer, material=_material, read=_read, reject=_reject)
