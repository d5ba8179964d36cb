"""What a failed attempt leads to: another one, or the end of the task."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, assert_never

from app.domain import events as ev
from app.domain.errors import ErrorCode
from app.domain.events import Entry
from app.domain.failures import remedy_for
from app.domain.plan import Plan
from app.domain.policy.endings import MESSAGE_CHARACTERS, deadline_of
from app.domain.policy.ladder import fallback_of, is_last, next_rung, stronger_model
from app.domain.policy.repetition import echoes_of
from app.domain.questions import QUESTION_CHARACTERS, Default, Inquiry, question_id
from app.domain.results import EscalationDecision, Output, Problem
from app.domain.retries import backoff, spread
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.team import Rung
from app.domain.text import plain_words, shorten
from app.domain.tool_use import with_calls
from app.domain.topics import Topic


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the supervisor made of an escalation."""

    decision: EscalationDecision | None = None
    worker: str | None = None
    """Who does the task now, when it is reassigned."""
    instruction: str | None = None
    """What is done instead; None for the instruction as it is."""
    plan: Plan | None = None
    """The plan in which smaller tasks have taken the place of this one."""
    inquiry: Inquiry | None = None
    """What a person is asked."""
    reason: str = ""


_NONE = Ruling()
_SAID = ("result_rejected", "no_progress", "attempts_exhausted")
"""How attempts fail that end with words of the worker: a result that is turned down, an escalation."""


def fail_attempt(run: Snapshot, task: TaskState, error: Problem, now: datetime) -> Entry:
    """The end of the running attempt at a task, and what comes of it."""
    error = _named(run, task, error)
    remedy = remedy_for(error.code)
    at = _earliest(run, task, now) if remedy == "again" else now
    if is_last(run, task) or remedy in ("none", "end") or at >= _deadline(run, task):
        return _of(task, ev.TaskFailed(error=error))
    rung: Rung | Literal["again"] = "again" if remedy == "again" else next_rung(run, task)
    return _again(run, task, error, at, rung, _NONE)


def break_attempt(run: Snapshot, topic: Topic) -> Entry:
    """What comes of a fault of ours in a conversation about a task: its end, unless an attempt goes on beside it."""
    task = run.tasks[topic.task_id or ""]
    error = Problem(code="internal_error", message="An internal error ended the attempt.")
    if len(task.running) > 1:
        return topic.entry(ev.AttemptFailed(error=error))
    return Entry(ev.TaskFailed(error=error), topic.task_id, task.attempt.number if task.attempts else None)


def _deadline(run: Snapshot, task: TaskState) -> datetime:
    """When no attempt at the task may begin any more."""
    allowed = task.task.budget.deadline_s
    of_run = deadline_of(run)
    return of_run if allowed is None else min(of_run, task.attempts[0].started_at + timedelta(seconds=allowed))


def shortened(error: Problem) -> Problem:
    """The failure in few words: it may quote a model's."""
    return Problem(code=error.code, message=shorten(error.message, MESSAGE_CHARACTERS)[0])


def _named(run: Snapshot, task: TaskState, error: Problem) -> Problem:
    """The failure as it is told: in few words, and as `no_progress` when an earlier attempt ended with the same."""
    echoes = echoes_of(run, task) if error.code in _SAID else []
    told = f" Attempt {echoes[-1].number} ended with the same words." if echoes else ""
    code = "no_progress" if echoes else error.code
    return Problem(code=code, message=shorten(error.message, MESSAGE_CHARACTERS - len(told))[0] + told)


def _again(
    run: Snapshot, task: TaskState, error: Problem, at: datetime, rung: Rung | Literal["again"], ruling: Ruling
) -> Entry:
    """What a rung of the ladder comes to: another attempt, as far as a ruling says how, or the end of the task."""
    number, instruction, change = len(task.attempts) + 1, ruling.instruction, ruling.reason
    match rung:
        case "fallback_worker":
            worker = ruling.worker or fallback_of(run, task)
            assert worker is not None
            passed_on = ev.TaskReassigned(
                error=error,
                next_attempt=number,
                not_before=at,
                instruction=instruction,
                change=change,
                decision=ruling.decision,
                worker=worker,
            )
            return _of(task, passed_on)
        case "again" | "refine" | "stronger_model":
            retry = ev.TaskRetrying(
                error=error,
                next_attempt=number,
                not_before=at,
                instruction=instruction,
                change=change,
                decision=ruling.decision,
                refine=rung == "refine",
                model=stronger_model(run, task) if rung == "stronger_model" else None,
            )
            return _of(task, retry)
        case "ask_human":
            return _of(task, _question(run, task, error, at, ruling))
        case "give_up":
            return _of(task, ev.TaskFailed(error=error, decision=ruling.decision))
        case _:
            assert_never(rung)


def _question(run: Snapshot, task: TaskState, error: Problem, at: datetime, ruling: Ruling) -> ev.QuestionAsked:
    """The question that a ruling asks a person, or the one that the ladder has for an escalation.

    A job that is not to wait for people has its default taken at once, or fails.
    """
    asked = ruling.inquiry or _inquiry_about(task, error)
    if run.on_question == "fail":
        asked = asked.model_copy(update={"default": Default(action="fail")})
    return ev.QuestionAsked(
        id=question_id(run.brief.run_id, task.task.id, task.attempt.number),
        question=asked.question,
        choices=asked.choices,
        default=asked.default,
        expires_at=at,  # Whatever the ruling took: the log has the question expire so long after it was asked.
        error=error,
        decision="ask_human" if ruling.decision == "ask_human" else None,
    )


def _split(run: Snapshot, task: TaskState, error: Problem, ruling: Ruling) -> list[Entry]:
    assert run.plan is not None
    assert ruling.plan is not None
    reason = f"{task.task.id} was split. {ruling.reason}".strip()
    revised = ev.PlanRevised.from_to(run.plan, ruling.plan, reason)
    return [_of(task, ev.TaskSplit(error=error, into=revised.added, change=ruling.reason)), Entry(revised)]


def _inquiry_about(task: TaskState, error: Problem) -> Inquiry:
    about = task.task.title or task.task.id
    said = f"The task “{about}” stands still. {error.message} How should it go on?"
    return Inquiry(question=shorten(said, QUESTION_CHARACTERS)[0], default=Default(action="skip"))


def _of(task: TaskState, fact: ev.AnyFact) -> Entry:
    return Entry(fact, task.task.id, task.attempt.number)


def _earliest(run: Snapshot, task: TaskState, now: datetime) -> datetime:
    """When the same may be tried again: not before the provider wants it, and at odds with other tasks."""
    name, number = task.task.id, task.attempt.number
    asked_for = run.conversation(Topic("work", name, number)).not_before
    wait: timedelta = backoff(run.brief.patience, number, spread(run.brief.run_id, name, number))
    return max(now + wait, asked_for or now)


def give_up_refining(task: TaskState, why: str, code: ErrorCode | None = None) -> Entry:
    """The end of a task whose instruction the supervisor could not improve: its last failure stands.

    With the task's budget spent, `code`, that is why it ends.
    """
    last = task.attempt.error
    assert last is not None
    if code == "budget_exceeded":
        return _of(task, ev.TaskFailed(error=Problem(code=code, message=why)))
    said = f"The instruction was not improved: {why.removesuffix('.')}."
    message = last.message if last.message.endswith(said) else f"{last.message.removesuffix('.')}. {said}"
    problem = Problem(code=last.code, message=message)
    return _of(task, ev.TaskFailed(error=problem))


def escalated(run: Snapshot, task: TaskState, attempt: Attempt) -> Problem:
    """The escalation of an attempt as a failure."""
    escalation = attempt.escalation
    assert escalation is not None
    said = f"The worker escalated ({escalation.reason}): {escalation.message}"
    code = "attempts_exhausted" if is_last(run, task) else "no_progress"
    return Problem(code=code, message=said)


def follow(run: Snapshot, task: TaskState, ruling: Ruling) -> list[Entry]:
    """What a ruling comes to. It must be one of those that are possible. An instruction that is as before is none."""
    attempt, error = task.attempt, _named(run, task, escalated(run, task, task.attempt))
    if ruling.instruction is not None:
        words = replace(task.next, instruction=ruling.instruction).words
        if plain_words(words) == plain_words(attempt.instruction):
            ruling = replace(ruling, instruction=None)
    at = attempt.heard_at or attempt.started_at
    match ruling.decision:
        case "accept_partial":
            assert attempt.escalation is not None
            text = attempt.escalation.partial or ""
            summary = shorten(text, MESSAGE_CHARACTERS)[0]
            talk = run.conversation(Topic("work", task.task.id, attempt.number))
            output = with_calls(Output(summary=summary, text=text, partial=True), talk)
            return [_of(task, ev.TaskSucceeded.of(output))]
        case "retry_stronger_model":
            return [_again(run, task, error, at, "stronger_model", ruling)]
        case "reassign":
            return [_again(run, task, error, at, "fallback_worker", ruling)]
        case "split":
            return _split(run, task, error, ruling)
        case "ask_human":
            return [_again(run, task, error, at, "ask_human", ruling)]
        case "give_up" | None:
            return [_again(run, task, error, at, "give_up", ruling)]
        case _:
            assert_never(ruling.decision)
