"""What an answer has to do without, task by task, and why."""

from collections.abc import Mapping

from app.domain.policy.conflicts import is_unused_tie
from app.domain.protocol import SUPERVISOR_REPLIES, GiveUp, next_step
from app.domain.results import Gap, Problem
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.topics import Topic

TOO_LATE = "Its result came too late for the answer. It stands among the outputs."
UNUSED = "The answer made with its result could not be used. The result stands among the outputs."

Errors = Mapping[str | None, Problem | None]
"""Errors of tasks that end together with the run, by task id."""


def gaps_in(run: Snapshot, errors: Errors) -> list[Gap]:
    """What the answer there is lacks. That a conflict went without what its task has found is told of the conflict."""
    in_vain = _why_in_vain(run)
    lacking = [task for name, task in run.tasks.items() if not task.delivered or name in run.unheard]
    named = [task for task in lacking if in_vain is None or not is_unused_tie(run, task.task.id)]
    return [_gap(run, task, errors, in_vain) for task in named]


def _why_in_vain(run: Snapshot) -> str | None:
    """Why the answer with all results cannot be had, as a code; None while it may still come."""
    talk = run.conversation(Topic("synthesize"))
    step = next_step(talk, SUPERVISOR_REPLIES, tools=())
    if isinstance(step, GiveUp):
        return step.code
    return "output_invalid" if talk.unusable else None


def _gap(run: Snapshot, task: TaskState, errors: Errors, in_vain: str | None) -> Gap:
    if task.delivered and in_vain is not None and not task.dropped:
        return Gap(task=task.task.id, reason=in_vain, impact=UNUSED)
    if task.delivered:
        return Gap(task=task.task.id, reason="timeout", impact=TOO_LATE)
    error = task.error or errors.get(task.task.id)
    impact = run.synthesis.impacts.get(task.task.id, "") if run.synthesis else ""
    return Gap(task=task.task.id, reason=error.code if error else "cancelled", impact=impact)
