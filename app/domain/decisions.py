"""All policy that needs no model: what should be under way now, and what has been settled.

`decide` looks at nothing but the snapshot and the time, and says the whole of what should be going on. The engine
starts what is missing and stops what is no longer wanted. A new run, a running one and one whose process has died are
therefore the same to it.
"""

from datetime import datetime, timedelta

from app.domain import events as ev
from app.domain.commands import Decision, Draft, MakePlan, Refine, Synthesize, WorkOn
from app.domain.conclusions import answers_alone, cancelled, delivered, failed, out_of, partial, stopped
from app.domain.conversation import Ask, Conversation, GiveUp, Step, next_step
from app.domain.events import Event
from app.domain.results import Problem
from app.domain.retries import FINAL_CODES, TRANSIENT_CODES, backoff, spread
from app.domain.snapshot import Attempt, Snapshot, TaskState
from app.domain.text import shorten

SUPERVISOR_REPLIES = 4
"""Replies that one conversation of the supervisor may take: an answer, a repair, and what a cut reply costs."""
MESSAGE_CHARACTERS = 1_000
"""What a message may quote of a model's words: events, rows and later prompts repeat it."""
TASKS_NAMED = 5
"""Tasks that the message of a failed run names."""


def decide(run: Snapshot, now: datetime) -> Decision:
    """What should be going on in a run. Deterministic; empty for a run that has ended, not started, or waits."""
    if run.ended:
        return Decision()
    if run.cancel_requested:
        return Decision(events=cancelled(run, now))
    if run.deadline is None or run.status == "waiting":
        return Decision()
    if run.fatal:
        return Decision(events=failed(run, now, run.fatal.code, run.fatal.message))
    if run.synthesis is not None or answers_alone(run):
        return Decision(events=(delivered(run, now),))
    if now >= run.deadline:
        return Decision(events=out_of(run, now, "deadline_exceeded", "The run's time is up."))
    if overspent := _overspent(run):
        return Decision(events=out_of(run, now, "budget_exhausted", overspent))
    if run.plan is None:
        return _planning(run, now)
    if all(task.ended for task in run.tasks.values()):
        return _wrapping_up(run, now)
    return _executing(run, now)


def _overspent(run: Snapshot) -> str | None:
    limits, usage = run.brief.limits, run.usage
    if limits.tokens is not None and usage.input_tokens + usage.output_tokens >= limits.tokens:
        return f"The run's {limits.tokens} tokens are spent."
    if limits.cost_usd is not None and usage.cost_usd >= limits.cost_usd:
        return f"The run's {limits.cost_usd} USD are spent."
    return None


_PLANNING_ENDS = {
    "output_truncated": "plan_truncated",
    "model_refusal": "model_refusal",
    "request_rejected": "request_rejected",
    "context_exceeded": "request_rejected",
    "unexpected_stop_reason": "provider_unavailable",
    "max_steps": "provider_unavailable",
    "result_too_large": "plan_too_large",
    "internal_error": "internal_error",
    **dict.fromkeys(TRANSIENT_CODES, "provider_unavailable"),
}
"""Why a run fails when planning had to be given up. A plan that nobody has seen is not to blame; a conversation that
came to its last reply without a plan was broken off by the provider each time."""


def _planning(run: Snapshot, now: datetime) -> Decision:
    if run.own_plan is not None:
        return Decision(events=(ev.PlanCreated(at=now, run_id=run.brief.run_id, data=run.own_plan),))
    if run.planning.unusable:
        message = "; ".join(finding.detail for finding in run.findings) or "The plan could not be used."
        return Decision(events=failed(run, now, _plan_stop_reason(run), _bounded(message)))
    match supervisor_step(run.planning):
        case GiveUp(code, message):
            return Decision(events=failed(run, now, _PLANNING_ENDS.get(code, "plan_invalid"), message))
        case _:
            draft = Draft(wakes=[deadline_of(run)])
            draft.call(MakePlan(), run.planning, now)
            return draft.decision(run, now)


def _bounded(message: str) -> str:
    return shorten(message, MESSAGE_CHARACTERS)[0]


def deadline_of(run: Snapshot) -> datetime:
    """The deadline of a run that has started."""
    assert run.deadline is not None
    return run.deadline


def _plan_stop_reason(run: Snapshot) -> str:
    codes = {finding.code for finding in run.findings}
    for code in ("plan_unparseable", "plan_empty", "plan_too_large", "worker_unknown"):
        if code in codes:
            return code
    return "plan_invalid"


def _executing(run: Snapshot, now: datetime) -> Decision:
    assert run.wrap_up_at is not None
    if run.delivered and now >= run.wrap_up_at:
        return Decision(events=stopped(run, now, Problem(code="timeout", message="The run's time was nearly up.")))
    draft = Draft(wakes=[deadline_of(run), run.wrap_up_at])
    slots = run.brief.limits.concurrency
    for task in run.tasks.values():
        if task.status == "running":
            slots -= 1
            _go_on(run, task, now, draft)
    for task in run.tasks.values():
        if task.status == "pending" and _may_begin(run, task, now, draft, slots):
            slots -= 1
    return draft.decision(run, now)


def _go_on(run: Snapshot, task: TaskState, now: datetime, draft: Draft) -> None:
    attempt = task.attempts[-1]
    ends_at = attempt.since + timedelta(seconds=timeout_s(run, task))
    talk = attempt.conversation
    match step_of(run, task):
        case GiveUp(code, message):
            draft.events.append(_attempt_failed(run, task, Problem(code=code, message=message), now))
        case _ if talk.unusable:
            said = f"The result could not be used: {talk.objection}"
            draft.events.append(_attempt_failed(run, task, Problem(code="output_invalid", message=said), now))
        case _ if attempt.escalation is not None:
            said = f"The worker escalated ({attempt.escalation.reason}): {attempt.escalation.message}"
            code = "attempts_exhausted" if _is_last(run, attempt) else "no_progress"
            draft.events.append(_attempt_failed(run, task, Problem(code=code, message=said), now))
        case _ if talk.waits(now):
            draft.call(WorkOn(task.task.id, attempt.number), talk, now)
        case Ask() if (attempt.heard_at or attempt.since) < ends_at:
            # The call keeps its own time from the reply's first word: the provider's silence is not the worker's time.
            draft.commands.append(WorkOn(task.task.id, attempt.number))
        case _ if now >= ends_at:
            slow = f"The attempt did not finish within {timeout_s(run, task):g} s."
            draft.events.append(_attempt_failed(run, task, Problem(code="timeout", message=slow), now))
        case _:
            draft.commands.append(WorkOn(task.task.id, attempt.number))
            draft.wakes.append(ends_at)


def _is_last(run: Snapshot, attempt: Attempt) -> bool:
    return attempt.number >= run.brief.limits.attempts


def time_left_s(run: Snapshot, task: TaskState, now: datetime) -> float:
    """Seconds that the latest attempt at a task may still work."""
    return max(timeout_s(run, task) - (now - task.attempts[-1].since).total_seconds(), 0)


def supervisor_step(talk: Conversation) -> Step:
    """What comes next in a conversation of the supervisor, which has no tools."""
    return next_step(talk, SUPERVISOR_REPLIES, tools=())


def step_of(run: Snapshot, task: TaskState) -> Step:
    """What comes next in the latest attempt at a task, within the task's own bounds."""
    worker = run.brief.team.worker(task.task.worker)
    step = next_step(task.attempts[-1].conversation, max_steps(run, task), (worker.tools if worker else ()) or None)
    allowed = task.task.budget.tokens
    spent = task.usage.input_tokens + task.usage.output_tokens
    if isinstance(step, Ask) and allowed is not None and spent >= allowed:
        return GiveUp("budget_exceeded", f"The task's {allowed} tokens are spent.")
    return step


def _may_begin(run: Snapshot, task: TaskState, now: datetime, draft: Draft, slots: int) -> bool:
    """Settle or start a task that does not run yet; True when it takes a slot."""
    needed = [run.tasks[name] for name in task.task.depends_on]
    if any(not other.ended for other in needed):
        return False
    dead = [other.task.id for other in needed if not other.delivered]
    if dead and task.task.on_missing_input == "skip":
        problem = Problem(
            code="dependency_failed", message=f"Needs what these tasks did not deliver: {', '.join(dead)}."
        )
        draft.events.append(
            ev.TaskSkipped(at=now, run_id=run.brief.run_id, task_id=task.task.id, data=ev.Failed(error=problem))
        )
        return False
    if task.not_before is not None and task.not_before > now:
        draft.wakes.append(task.not_before)
        return False
    if task.refine_first:
        _refine(run, task, now, draft)
        return False
    if slots <= 0:
        return False
    draft.events.append(_started(run, task, now))
    return True


def _started(run: Snapshot, task: TaskState, now: datetime) -> ev.TaskStarted:
    worker = run.brief.team.worker(task.task.worker)
    assert worker is not None  # The plan was validated against this very team.
    data = ev.AttemptStarted(
        worker=worker.name,
        model=run.brief.models.get(worker.model, worker.model),
        instruction=task.instruction,
        tools=worker.tools,
    )
    number = len(task.attempts) + 1
    return ev.TaskStarted(at=now, run_id=run.brief.run_id, task_id=task.task.id, attempt=number, data=data)


def _refine(run: Snapshot, task: TaskState, now: datetime, draft: Draft) -> None:
    match supervisor_step(task.refining):
        case GiveUp(_, message):
            draft.events.append(unrefined(run, task, message, now))
        case _:
            draft.call(Refine(task.task.id), task.refining, now)


def unrefined(run: Snapshot, task: TaskState, why: str, now: datetime) -> ev.TaskFailed:
    """The end of a task whose instruction the supervisor could not improve: its last failure stands."""
    last = task.attempts[-1].error
    assert last is not None
    problem = Problem(code=last.code, message=f"{last.message} The instruction was not improved: {why}")
    data = ev.Failed(error=problem)
    return ev.TaskFailed(at=now, run_id=run.brief.run_id, task_id=task.task.id, attempt=len(task.attempts), data=data)


def _attempt_failed(run: Snapshot, task: TaskState, error: Problem, now: datetime) -> Event:
    """What a failed attempt leads to: another one, or the end of the task."""
    name, number = task.task.id, len(task.attempts)
    error = Problem(code=error.code, message=_bounded(error.message))
    unchanged = error.code in TRANSIENT_CODES
    wait = backoff(run.brief.policy, number, spread(run.brief.run_id, name, number)) if unchanged else timedelta()
    asked_for = task.attempts[-1].conversation.not_before if unchanged else None
    at = max(now + wait, asked_for or now)
    if _is_last(run, task.attempts[-1]) or error.code in FINAL_CODES or at >= deadline_of(run):
        data = ev.Failed(error=error)
        return ev.TaskFailed(at=now, run_id=run.brief.run_id, task_id=name, attempt=number, data=data)
    retry = ev.Retrying(error=error, next_attempt=number + 1, not_before=at, refine=not unchanged)
    return ev.TaskRetrying(at=now, run_id=run.brief.run_id, task_id=name, attempt=number, data=retry)


def max_steps(run: Snapshot, task: TaskState) -> int:
    """Model replies that an attempt at the task may take."""
    worker = run.brief.team.worker(task.task.worker)
    return task.task.budget.steps or (worker.max_steps if worker else 1)


def timeout_s(run: Snapshot, task: TaskState) -> float:
    """Seconds that an attempt at the task may take."""
    worker = run.brief.team.worker(task.task.worker)
    return task.task.budget.timeout_s or (worker.timeout_s if worker else 0)


def _wrapping_up(run: Snapshot, now: datetime) -> Decision:
    if not run.delivered:
        reason, message = _why_nothing(run)
        return Decision(events=failed(run, now, reason, message))
    if run.reconciling.unusable or _given_up(run.reconciling):
        return Decision(events=(partial(run, now, "synthesis_failed"),))
    draft = Draft(wakes=[deadline_of(run)])
    draft.call(Synthesize(), run.reconciling, now)
    return draft.decision(run, now)


def _given_up(talk: Conversation) -> bool:
    return isinstance(supervisor_step(talk), GiveUp)


def _why_nothing(run: Snapshot) -> tuple[str, str]:
    failed = [(task.task.id, task.error.code) for task in run.tasks.values() if task.error and task.status == "failed"]
    first = next((task.error.message for task in run.tasks.values() if task.error and task.status == "failed"), "")
    if failed and all(code == "request_rejected" for _, code in failed):
        return "request_rejected", _bounded(first)
    if failed and all(code in TRANSIENT_CODES for _, code in failed):
        return "provider_unavailable", "Every task failed because the model provider could not be reached."
    ends = [f"{name} ended with {code}" for name, code in failed[:TASKS_NAMED]]
    if others := len(run.tasks) - len(ends):
        ends.append(f"{others} more did not deliver either")
    return "no_results", _bounded(f"No task delivered a result: {', '.join(ends)}. {first}".strip())
