"""Second looks: what a new run may take over from one that has ended, and what it does again."""

from collections.abc import Collection, Mapping

from app.domain import events as ev
from app.domain.origin import ReusedTask
from app.domain.plan import Plan, Task
from app.domain.results import Problem
from app.domain.selecting import leaves_of
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.team import Team

SUPERVISOR = "supervisor"
"""How the supervisor is named among the workers whose models are changed."""
EXCLUDED = Problem(code="excluded", message="The client left it out of this answer.")


def with_models(team: Team, models: Mapping[str, str]) -> Team:
    """The team with other models for some of its members."""
    if not models:
        return team
    supervisor = team.supervisor
    if SUPERVISOR in models:
        supervisor = supervisor.model_copy(update={"model": models[SUPERVISOR]})
    workers = tuple(
        worker.model_copy(update={"model": models.get(worker.name, worker.model)}) for worker in team.workers
    )
    return team.model_copy(update={"supervisor": supervisor, "workers": workers})


def without_ties(run: Snapshot, plan: Plan) -> Plan:
    """The plan for an answer from one chosen result: tasks that were to decide conflicts are no tries of anything."""
    ties = leaves_of(plan) & {*run.answering.ties.values()}
    return plan.model_copy(update={"tasks": tuple(task for task in plan.tasks if task.id not in ties)})


def all_results(run: Snapshot, plan: Plan, exclude: Collection[str] = ()) -> ev.ResultsReused:
    """Everything that became of the tasks of a plan in a run that has ended; what is excluded counts as left out."""
    tasks = [
        ReusedTask(task=name, status="skipped", worker=task.worker, error=EXCLUDED)
        if name in exclude and task.delivered
        else _as_it_was(task)
        for name, task in run.tasks.items()
        if name in plan.by_id
    ]
    return _reused(run, tasks)


def results_kept(run: Snapshot, plan: Plan, begin_at: Collection[str]) -> ev.ResultsReused:
    """The results of a run that still hold when its work begins anew at some tasks, under a plan that may be another.

    What is begun anew is done again with everything that rests on it. So is a task that delivered nothing, is new, or
    is told something else.
    """
    again = {task.id for task in plan.tasks if task.id in begin_at or not _holds(run.tasks.get(task.id), task)}
    while behind := {task.id for task in plan.tasks if task.id not in again and again & set(task.depends_on)}:
        again |= behind
    return _reused(run, [_as_it_was(run.tasks[task.id]) for task in plan.tasks if task.id not in again])


def _holds(done: TaskState | None, task: Task) -> bool:
    return done is not None and done.delivered and _words(done.task) == _words(task)


def _words(task: Task) -> tuple[object, ...]:
    """All that decides what a task delivers."""
    return task.instruction, task.context, task.success_criterion, task.worker, frozenset(task.depends_on)


def _as_it_was(task: TaskState) -> ReusedTask:
    status = task.status
    assert status in ("succeeded", "failed", "skipped", "cancelled")  # The run has ended, and its tasks with it.
    return ReusedTask(task=task.task.id, status=status, worker=task.worker, output=task.output, error=task.error)


def _reused(run: Snapshot, tasks: list[ReusedTask]) -> ev.ResultsReused:
    """The results, with what they rest on that was taken for granted; a part says it of itself, not of its whole."""
    assumed = [
        assumption.model_copy(update={"task": each.task})
        for each in tasks
        if each.status == "succeeded"
        for assumption in run.assumed_by([run.tasks[each.task]])
    ]
    return ev.ResultsReused(run=run.brief.run_id, tasks=tuple(tasks), assumptions=tuple(assumed))
