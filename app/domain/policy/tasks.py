"""Carrying out the plan: which attempts go on, which begin, and which tasks are skipped."""

from datetime import datetime, timedelta

from app.domain import events as ev
from app.domain.breaker_names import worker_breaker
from app.domain.conversation import Ask, GiveUp
from app.domain.policy.agenda import step_in, timeout_s
from app.domain.policy.commands import Decision, DecisionBuilder, settled
from app.domain.policy.conditions import Conditions
from app.domain.policy.endings import deadline_of, stop_tasks
from app.domain.policy.failed_attempts import escalated, fail_attempt, give_up_refining
from app.domain.policy.ladder import ruling_on
from app.domain.results import Problem
from app.domain.snapshot import Snapshot, TaskState
from app.domain.team import Worker
from app.domain.topics import Topic


def execute(run: Snapshot, now: datetime, conditions: Conditions) -> Decision:
    """Go on with what runs, and begin what may, within the run's concurrency."""
    assert run.wrap_up_at is not None
    if run.delivered and now >= run.wrap_up_at:
        return settled(stop_tasks(run, Problem(code="timeout", message="The run's time was nearly up.")))
    draft = DecisionBuilder(run, now, conditions, wakes=[deadline_of(run), run.wrap_up_at])
    slots = run.brief.limits.concurrency
    for task in run.tasks.values():
        if task.status == "running":
            slots -= 1
            _go_on(run, task, now, draft)
    for task in run.tasks.values():
        if task.status != "pending" or not _is_ready(run, task, now, draft):
            continue
        if slots > 0 and _start(run, task, draft):
            slots -= 1
    return draft.decision()


def _go_on(run: Snapshot, task: TaskState, now: datetime, draft: DecisionBuilder) -> None:
    if task.attempt.escalation is not None:
        _have_ruled(run, task, now, draft)
        return
    topic = Topic("work", task.task.id, task.attempt.number)
    ends_at = run.clock_of(task.attempt, now) + timedelta(seconds=timeout_s(run, task))
    if problem := _why_over(run, task, topic, now, ends_at):
        draft.entries.append(fail_attempt(run, task, problem, now))
        return
    if draft.converse(topic):
        draft.wakes.append(ends_at)


def _have_ruled(run: Snapshot, task: TaskState, now: datetime, draft: DecisionBuilder) -> None:
    """Have the supervisor rule on an escalation. Where it cannot, or there is nothing to choose, the ladder does."""
    topic = ruling_on(run, task)
    step = step_in(run, topic) if topic is not None else None
    if isinstance(step, GiveUp) and step.code == "budget_exceeded":
        draft.entries.append(fail_attempt(run, task, Problem(code=step.code, message=step.message), now))
    elif topic is None or run.conversation(topic).unusable or isinstance(step, GiveUp):
        draft.entries.append(fail_attempt(run, task, escalated(run, task), now))
    else:
        draft.converse(topic)


def _why_over(run: Snapshot, task: TaskState, topic: Topic, now: datetime, ends_at: datetime) -> Problem | None:
    """Why the running attempt at a task has failed; None while it may go on."""
    attempt, talk, step = task.attempt, run.conversation(topic), step_in(run, topic)
    if isinstance(step, GiveUp):
        return Problem(code=step.code, message=step.message)
    if talk.unusable:
        code = "result_rejected" if talk.objection_code == "result_rejected" else "output_invalid"
        return Problem(code=code, message=f"The result could not be used: {talk.objection}")
    if talk.waits(now):
        return None
    if isinstance(step, Ask) and (attempt.heard_at or attempt.since) < ends_at:
        return None  # The call keeps its own time from the reply's first word: a provider's silence is nobody's work.
    if now >= ends_at:
        return Problem(code="timeout", message=f"The attempt did not finish within {timeout_s(run, task):g} s.")
    return None


def _is_ready(run: Snapshot, task: TaskState, now: datetime, draft: DecisionBuilder) -> bool:
    """Whether an attempt at a pending task may start. If not, what is due instead is settled, or will be."""
    needed = [run.tasks[name] for name in task.task.depends_on]
    if any(not other.ended for other in needed):
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
    worker = _who_starts(run, task, draft)
    wanted = task.next.model if worker.name == task.next.worker and task.next.model else worker.model
    model = run.brief.models.get(wanted, wanted)
    brake = draft.conditions.brakes.get(model, draft.now)
    if draft.now < brake < deadline_of(run):
        draft.wait("provider", brake)
        return False
    if not draft.may_call(model):
        return False
    started = ev.TaskStarted(worker=worker.name, model=model, instruction=task.next.instruction, tools=worker.tools)
    draft.settle(started, task.task.id, len(task.attempts) + 1)
    return True


def _who_starts(run: Snapshot, task: TaskState, draft: DecisionBuilder) -> Worker:
    """Who makes the next attempt: whoever was chosen, or a stand-in while a breaker keeps that one from work.

    Where nobody stands in, the attempt goes ahead all the same: a worker that fails at others' tasks may do this one.
    """
    team, chosen = run.brief.team, run.brief.team.worker(task.next.worker)
    assert chosen is not None  # The plan was validated against this very team.
    passed_over: list[str] = []
    worker: Worker | None = chosen
    while worker is not None and worker.name not in passed_over:
        if draft.may_begin(worker_breaker(team.name, worker.name)):
            return worker
        passed_over.append(worker.name)
        worker = team.worker(worker.fallback) if worker.fallback else None
    return chosen
