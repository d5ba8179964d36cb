"""What a run hands over at its end: the part of the result that code vouches for."""

from collections.abc import Mapping
from datetime import datetime

from app.domain import events as ev
from app.domain.results import Coverage, Gap, Problem, Result, Statement, TaskReport
from app.domain.snapshot import Snapshot, TaskState

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
    )


def _answer(run: Snapshot) -> tuple[str | None, float | None, tuple[Statement, ...]]:
    if run.synthesis is not None:
        return run.synthesis.answer, run.synthesis.confidence, run.synthesis.statements
    only = run.delivered[0] if len(run.tasks) == 1 else None
    if only is None or only.output is None:
        return None, None, ()
    statement = Statement(text=only.output.summary or only.output.text, tasks=(only.task.id,))
    return only.output.text or only.output.summary, only.output.confidence, (statement,)


def _gap(run: Snapshot, task: TaskState, ends: Ends) -> Gap:
    error = task.error or ends.get(task.task.id)
    impact = run.synthesis.impacts.get(task.task.id, "") if run.synthesis else ""
    return Gap(task=task.task.id, reason=error.code if error else "cancelled", impact=impact)


def _report(task: TaskState, ends: Ends) -> TaskReport:
    status = "cancelled" if task.task.id in ends else task.status
    report = TaskReport(task=task.task.id, worker=task.task.worker, status=status)
    if task.output is None:
        return report
    return report.model_copy(update={"summary": task.output.summary, "data": task.output.data})


def cancellation(run: Snapshot, now: datetime) -> ev.RunCancelled:
    """The end of a cancelled run, with the receipt of what it stopped and what was still spent."""
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
