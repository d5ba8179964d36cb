"""How a run ends, and what it hands over: the part of the result that code vouches for."""

from collections.abc import Mapping
from datetime import datetime

from app.domain import events as ev
from app.domain.events import Event
from app.domain.results import Coverage, Gap, Problem, Result, Statement, TaskReport
from app.domain.snapshot import Snapshot, TaskState
from app.domain.text import shorten

TEXT_CHARACTERS = 20_000
"""What a run's result repeats of each task's text: it is stored with the run, and sent whenever that is read."""

Ends = Mapping[str | None, Problem | None]
"""Errors of tasks that end together with the run, by task id."""


def result_of(run: Snapshot, ends: Ends | None = None) -> Result:
    """The result of a run in which something was delivered. The answer is null when there was no synthesis."""
    ends = ends or {}
    required = [task for task in run.tasks.values() if task.task.required]
    missing = tuple(task.task.id for task in required if not task.delivered)
    answer, confidence, statements = _answer(run)
    return Result(
        answer=answer,
        data=run.delivered[0].output.data if len(run.tasks) == 1 and run.delivered[0].output else None,
        confidence=confidence,
        statements=statements,
        conflicts=run.synthesis.conflicts if run.synthesis else (),
        gaps=tuple(_gap(run, task, ends) for task in run.tasks.values() if not task.delivered),
        coverage=Coverage(required=len(required), delivered=len(required) - len(missing), missing=missing),
        outputs=tuple(_report(task, ends) for task in run.tasks.values()),
        free_form=_is_free_form(run),
    )


def answers_alone(run: Snapshot) -> bool:
    """Whether the plan's only task has said it all: there is nothing to reconcile, and no form to put it into."""
    if run.plan is None or len(run.tasks) != 1 or not run.delivered or run.plan.final_instruction.strip():
        return False
    output = run.delivered[0].output
    return output is not None and bool(output.text.strip() or output.summary.strip())


def _answer(run: Snapshot) -> tuple[str | None, float | None, tuple[Statement, ...]]:
    if run.synthesis is not None:
        return run.synthesis.answer, run.synthesis.confidence, run.synthesis.statements
    if not answers_alone(run):
        return None, None, ()
    [only] = run.delivered
    output = only.output
    assert output is not None  # It delivered.
    answer = output.text if output.text.strip() else output.summary
    statement = Statement(text=output.summary if output.summary.strip() else answer, tasks=(only.task.id,))
    return answer, output.confidence, (statement,)


def _is_free_form(run: Snapshot) -> bool:
    if run.synthesis is not None:
        return run.synthesis.free_form
    only = run.delivered[0].output if answers_alone(run) else None
    return only is not None and only.free_form


def _gap(run: Snapshot, task: TaskState, ends: Ends) -> Gap:
    error = task.error or ends.get(task.task.id)
    impact = run.synthesis.impacts.get(task.task.id, "") if run.synthesis else ""
    return Gap(task=task.task.id, reason=error.code if error else "cancelled", impact=impact)


def _report(task: TaskState, ends: Ends) -> TaskReport:
    status = "cancelled" if task.task.id in ends else task.status
    report = TaskReport(
        task=task.task.id, worker=task.task.worker, status=status, error=task.error or ends.get(task.task.id)
    )
    output = task.output
    if output is None:
        return report
    text, omitted = shorten(output.text, TEXT_CHARACTERS)
    told = {"summary": output.summary, "data": output.data, "text": text, "omitted": omitted, "sources": output.sources}
    return report.model_copy(update=told | {"confidence": output.confidence, "free_form": output.free_form})


def _receipt(run: Snapshot, now: datetime) -> ev.RunCancelled:
    """What a cancellation stopped, and what was still spent after it was asked for."""
    assert run.cancel_requested is not None
    asked = run.cancel_requested
    receipt = ev.Cancellation(
        requested_at=asked.at,
        completed_at=now,
        reason=asked.data.reason,
        tasks=tuple(
            ev.TaskStopped(
                task=task.task.id,
                status=task.status if task.ended else "cancelled",
                stopped_at=None if task.ended else now,
            )
            for task in run.tasks.values()
        ),
        cost_usd_after_request=run.usage.cost_usd - run.usage_at_cancel.cost_usd,
    )
    return ev.RunCancelled(at=now, run_id=run.brief.run_id, data=receipt)


def cancelled(run: Snapshot, now: datetime) -> tuple[Event, ...]:
    """The end of a run whose client asked for it."""
    return (*stopped(run, now), _receipt(run, now))


def delivered(run: Snapshot, now: datetime) -> Event:
    """Succeeded, or partial when a required task is missing: code decides that, not a model."""
    missing = [task for task in run.tasks.values() if task.task.required and not task.delivered]
    if not missing:
        data = ev.Ended(stop_reason="completed", result=result_of(run))
        return ev.RunSucceeded(at=now, run_id=run.brief.run_id, data=data)
    cut = any(task.status == "cancelled" for task in missing)
    return partial(run, now, "deadline_exceeded" if cut else "gaps")


def partial(run: Snapshot, now: datetime, reason: str) -> Event:
    """The end of a run that has something to hand over, and lacks something."""
    return ev.RunPartial(at=now, run_id=run.brief.run_id, data=ev.Ended(stop_reason=reason, result=result_of(run)))


def out_of(run: Snapshot, now: datetime, reason: str, message: str) -> tuple[Event, ...]:
    """The end when time or money has run out: what is there is handed over, without another call."""
    if not run.delivered:
        return failed(run, now, reason, message)
    code = "budget_exceeded" if reason == "budget_exhausted" else "timeout"
    ends = stopped(run, now, Problem(code=code, message=message))
    errors = {event.task_id: event.data.error for event in ends}
    return (*ends, ev.RunPartial(
        at=now, run_id=run.brief.run_id, data=ev.Ended(stop_reason=reason, result=result_of(run, errors))
    ))  # fmt: skip


def failed(run: Snapshot, now: datetime, reason: str, message: str) -> tuple[Event, ...]:
    """The end of a run that brings no answer; what was delivered is shown all the same."""
    ends = stopped(run, now)
    errors = {event.task_id: event.data.error for event in ends}
    problem = Problem(code=reason, message=message)
    result = result_of(run, errors) if run.delivered else None
    data = ev.EndedInFailure(stop_reason=reason, error=problem, result=result)
    return (*ends, ev.RunFailed(at=now, run_id=run.brief.run_id, data=data))


def stopped(run: Snapshot, now: datetime, problem: Problem | None = None) -> tuple[ev.TaskCancelled, ...]:
    """Every task that has not ended, cancelled."""
    return tuple(_task_cancelled(run, task, now, problem) for task in run.tasks.values() if not task.ended)


def _task_cancelled(run: Snapshot, task: TaskState, now: datetime, problem: Problem | None) -> ev.TaskCancelled:
    number = len(task.attempts) if task.status == "running" else None
    data = ev.Stopped(error=problem)
    return ev.TaskCancelled(at=now, run_id=run.brief.run_id, task_id=task.task.id, attempt=number, data=data)
