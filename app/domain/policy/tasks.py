"""Carrying out the plan: which attempts go on, which begin, and which tasks are skipped."""

from datetime import datetime, timedelta

from app.domain import events as ev
from app.domain.breaker_names import worker_breaker
from app.domain.policy.agenda import is_nested, step_in, timeout_s
from app.domain.policy.children import go_on_with_child, why_child_over
from app.domain.policy.commands import Decision, DecisionBuilder, settled
from app.domain.policy.conditions import Conditions
from app.domain.policy.endings import MESSAGE_CHARACTERS, deadline_of, stop_attempts, stop_tasks
from app.domain.policy.failed_attempts import escalated, fail_attempt, give_up_refining, shortened
from app.domain.policy.ladder import ruling_on
from app.domain.policy.staffing import who_starts
from app.domain.policy.stragglers import drop_stragglers, hedge
from app.domain.protocol import Ask, GiveUp
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.task_state import Attempt, TaskState
from app.domain.text import shorten
from app.domain.topics import Topic
from app.domain.worker import Worker

NO_TIME = Problem(code="timeout", message="The run's time was nearly up.")


def execute(run: Snapshot, now: datetime, conditions: Conditions) -> Decision:
    """Do what is left of the plan, until the run's time is nearly up, or it goes on without the rest."""
    assert run.wrap_up_at is not None
    if run.delivered and now >= run.wrap_up_at:
        return settled(stop_tasks(run, NO_TIME))
    draft = DecisionBuilder(run, now, conditions, wakes=[deadline_of(run), run.wrap_up_at])
    carry_on(run, now, draft)
    drop_stragglers(run, now, draft)
    return draft.decision()


def carry_on(run: Snapshot, now: datetime, draft: DecisionBuilder) -> None:
    """Go on with what runs, and begin what may, within the run's concurrency; what was never begun goes first."""
    slots = run.brief.limits.concurrency
    for task in run.tasks.values():
        if task.status == "running":
            slots -= len(task.running)
            _go_on(run, task, now, draft)
        elif task.status == "waiting" and not _is_overdue(run, task, now, draft):
            _await_answer(run, task, now, draft)
    for task in run.tasks.values():
        if task.status != "pending" or _is_overdue(run, task, now, draft) or not _is_ready(run, task, now, draft):
            continue
        if slots > 0 and _start(run, task, draft):
            slots -= 1
    ending = {entry.task_id for entry in draft.entries}
    for name, task in run.tasks.items():
        if slots > 0 and task.status == "running" and name not in ending and hedge(run, task, draft):
            slots -= 1


def _go_on(run: Snapshot, task: TaskState, now: datetime, draft: DecisionBuilder) -> None:
    """Go on with each attempt that runs. The end of one that is not alone is settled before anything else."""
    if _is_overdue(run, task, now, draft):
        return
    over = {attempt.number: problem for attempt in task.running if (problem := _why_over(run, task, attempt, now))}
    if len(task.running) > 1 and over:
        number, problem = next(iter(over.items()))
        draft.settle(ev.AttemptFailed(error=shortened(problem)), task.task.id, number)
    elif over:
        draft.entries.append(fail_attempt(run, task, over[task.attempt.number], now))
    elif len(task.running) == 1 and task.attempt.escalation is not None:
        _have_ruled(run, task, now, draft)
    for attempt in task.running:
        if attempt.number not in over and attempt.escalation is None:
            _work_on(run, task, attempt, now, draft)


def _work_on(run: Snapshot, task: TaskState, attempt: Attempt, now: datetime, draft: DecisionBuilder) -> None:
    if is_nested(run, attempt):
        go_on_with_child(run, task, attempt, draft)
        return
    topic = Topic("work", task.task.id, attempt.number)
    if draft.converse(topic):
        draft.wakes.append(_ends_at(run, task, attempt, now))


def _ends_at(run: Snapshot, task: TaskState, attempt: Attempt, now: datetime) -> datetime:
    topic = Topic("work", task.task.id, attempt.number)
    return run.clock_of(attempt, now) + timedelta(seconds=timeout_s(run, topic))


def _is_overdue(run: Snapshot, task: TaskState, now: datetime, draft: DecisionBuilder) -> bool:
    """Whether the time is up that the task has for all its attempts: then it fails."""
    allowed = task.task.budget.deadline_s
    if allowed is None or not task.attempts:
        return False
    ends_at = task.attempts[0].started_at + timedelta(seconds=allowed)
    draft.wakes.append(ends_at)
    if now < ends_at:
        return False
    draft.entries += stop_attempts(task)
    problem = Problem(code="timeout", message=f"The task did not deliver within {allowed:g} s.")
    draft.settle(ev.TaskFailed(error=problem), task.task.id, task.attempt.number)
    return True


def _await_answer(run: Snapshot, task: TaskState, now: datetime, draft: DecisionBuilder) -> None:
    """Wait until somebody has answered, or the time for it is up."""
    question = run.questions[task.question or ""]
    if now >= question.expires_at:
        draft.settle(ev.QuestionExpired(id=question.id), task.task.id, task.attempt.number)
    else:
        draft.wait("answer", question.expires_at)


def _have_ruled(run: Snapshot, task: TaskState, now: datetime, draft: DecisionBuilder) -> None:
    """Have the supervisor rule on an escalation. Where it cannot, or there is nothing to choose, the ladder does."""
    topic = ruling_on(run, task)
    step = step_in(run, topic) if topic is not None else None
    if isinstance(step, GiveUp) and step.code == "budget_exceeded":
        draft.entries.append(fail_attempt(run, task, Problem(code=step.code, message=step.message), now))
    elif topic is None or run.conversation(topic).unusable or isinstance(step, GiveUp):
        draft.entries.append(fail_attempt(run, task, escalated(run, task, task.attempt), now))
    else:
        draft.converse(topic)


def _why_over(run: Snapshot, task: TaskState, attempt: Attempt, now: datetime) -> Problem | None:
    """Why a running attempt at a task has failed; None while it may go on.

    Of two that have both been escalated the later one is ruled on.
    """
    if is_nested(run, attempt):
        return why_child_over(run, task, attempt, now)
    topic, ends_at = Topic("work", task.task.id, attempt.number), _ends_at(run, task, attempt, now)
    talk, step = run.conversation(topic), step_in(run, topic)
    if attempt.escalation is not None:
        is_left = all(other.escalation is not None for other in task.running) and attempt.number != task.attempt.number
        return escalated(run, task, attempt) if is_left else None
    if isinstance(step, GiveUp):
        return Problem(code=step.code, message=step.message)
    if talk.unusable:
        code = talk.objection_code if talk.objection_code in ("result_rejected", "breaker_open") else "output_invalid"
        return Problem(code=code, message=f"The result could not be used: {talk.objection}")
    if talk.waits(now):
        return None
    if isinstance(step, Ask) and (attempt.heard_at or attempt.since) < ends_at:
        return None  # The call keeps its own time from the reply's first word: a provider's silence is nobody's work.
    if now >= ends_at:
        return Problem(code="timeout", message=f"The attempt did not finish within {timeout_s(run, topic):g} s.")
    return None


def _is_ready(run: Snapshot, task: TaskState, now: datetime, draft: DecisionBuilder) -> bool:
    """Whether an attempt at a pending task may start. If not, what is due instead is settled, or will be."""
    needed = [run.tasks[name] for name in task.task.depends_on]
    if any(other.is_awaited for other in needed):
        return False
    if task.question is not None:  # Nobody has answered it, and without an answer the task is left out.
        said = f"Nobody has answered the question: {run.questions[task.question].question}"
        problem = Problem(code="no_progress", message=shorten(said, MESSAGE_CHARACTERS)[0])
        draft.settle(ev.TaskSkipped(error=problem), task.task.id)
        return False
    dead = [other.task.id for other in needed if not other.delivered]
    if dead and task.task.on_missing_input == "skip":
        said = f"Needs what these tasks did not deliver: {', '.join(dead)}."
        draft.settle(ev.TaskSkipped(error=Problem(code="dependency_failed", message=said)), task.task.id)
        return False
    if task.next.not_before is not None and task.next.not_before > now:
        draft.wait("provider", task.next.not_before)
        return False
    if task.next.first is not None:
        _prepare(run, task, task.next.first, now, draft)
        return False
    return True


def _prepare(run: Snapshot, task: TaskState, first: Topic, now: datetime, draft: DecisionBuilder) -> None:
    """Have what comes before the next attempt."""
    match step_in(run, first):
        case GiveUp(code, message):
            draft.entries.append(give_up_refining(task, message, code))
        case _:
            draft.converse(first)


def _start(run: Snapshot, task: TaskState, draft: DecisionBuilder) -> bool:
    """Start an attempt, unless its model is to be left alone for a while."""
    worker = who_starts(run, task, draft)
    if worker.team is not None:
        _start_nested(run, task, worker, draft)
        return True
    wanted = task.next.model if worker.name == task.next.worker and task.next.model else worker.model
    model = run.brief.models.get(wanted, wanted)
    brake = draft.conditions.brakes.get(model, draft.now)
    if draft.now < brake < deadline_of(run):
        draft.wait("provider", brake)
        return False
    if not draft.may_call(model):
        return False
    draft.begin(worker_breaker(run.brief.team.name, worker.name))
    started = ev.TaskStarted(worker=worker.name, model=model, instruction=task.next.words, tools=worker.tools)
    draft.settle(started, task.task.id, len(task.attempts) + 1)
    return True


def _start_nested(run: Snapshot, task: TaskState, worker: Worker, draft: DecisionBuilder) -> None:
    """Start an attempt whose work a nested run does. Its models are the nested team's affair."""
    draft.begin(worker_breaker(run.brief.team.name, worker.name))
    started = ev.TaskStarted(worker=worker.name, model=worker.played_by, instruction=task.next.words)
    draft.settle(started, task.task.id, len(task.attempts) + 1)
