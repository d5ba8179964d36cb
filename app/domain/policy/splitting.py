"""Splitting a task: smaller ones take its place in a new revision of the plan."""

from collections.abc import Sequence

from app.domain.attribution import passed_on
from app.domain.lint import linted
from app.domain.plan import Plan, Task, validated
from app.domain.plan_strategy import candidates_of
from app.domain.policy.routing import routed
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState
from app.domain.usage import LEAST_REPLY

FEWEST = 2
_ROOM_IN_NAME = 58
"""Characters of a task's id that the ids of its parts repeat."""


def parts_allowed(run: Snapshot, task: TaskState) -> int:
    """How many tasks may take the place of one; 0 where none may.

    A part is not split again, nor is a task that the answer goes without, one that is to decide a conflict, or one
    whose tokens are nearly spent. Of several tries of the same thing none is: its parts could not be chosen among.
    """
    if run.plan is not None and task.task.id in candidates_of(run.plan):
        return 0
    room = run.brief.limits.tasks - len(run.tasks) + 1
    is_whole = task.task.id in run.answering.ties.values()
    is_part = is_whole or any(task.task.id in other.split_into for other in run.replaced.values())
    allowed = task.task.budget.tokens
    if allowed is not None:
        room = min(room, (allowed - task.usage.amount.tokens) // LEAST_REPLY)
    return room if room >= FEWEST and not is_part and not task.dropped else 0


def split(run: Snapshot, task: TaskState, parts: Sequence[Task]) -> Plan:
    """The plan with `parts` in the place of a task, and its validation report.

    Parts refer to each other by the ids they come with, and get such as tell where they come from. They are given what
    the task was given, and whoever needs the task needs all of them.
    """
    assert run.plan is not None
    names = part_names(run, task, parts)
    by_rule = routed(run, Plan(tasks=tuple(parts))).tasks
    placed = tuple(_placed(task, part, names, len(parts)) for part in by_rule)
    tasks: list[Task] = []
    for each in run.plan.tasks:
        if each.id == task.task.id:
            tasks.extend(placed)
        else:
            needs = [name for need in each.depends_on for name in _instead(task, need, placed)]
            tasks.append(each.model_copy(update={"depends_on": tuple(needs)}))
    material = passed_on(run.plan, task.task, placed)
    plan = run.plan.model_copy(update={"revision": run.plan.revision + 1, "tasks": tuple(tasks), "material": material})
    crew = run.brief.crew
    return linted(validated(plan, [*crew.workers], crew.limits.tasks), crew)


def part_names(run: Snapshot, task: TaskState, parts: Sequence[Task]) -> dict[str, str]:
    """New ids by those that the parts came with."""
    taken = {*run.tasks, *run.replaced}
    stem, number, names = task.task.id[:_ROOM_IN_NAME], 0, dict[str, str]()
    for part in parts:
        number += 1
        while f"{stem}-{number}" in taken:
            number += 1
        names[part.id] = f"{stem}-{number}"
    return names


def _placed(task: TaskState, part: Task, names: dict[str, str], count: int) -> Task:
    whole = task.task
    tokens = whole.budget.tokens
    if tokens is not None:
        tokens = max((tokens - task.usage.amount.tokens) // count, 1)
    deadline_s = whole.budget.deadline_s
    if deadline_s is not None:
        spent = (task.attempt.heard_at or task.attempt.started_at) - task.attempts[0].started_at
        deadline_s = max(deadline_s - spent.total_seconds(), 1)
    needs = [*whole.depends_on, *(names.get(need, need) for need in part.depends_on)]
    return part.model_copy(
        update={
            "id": names[part.id],
            "context": "\n\n".join(filter(None, (part.context or whole.context, *task.next.told))),
            "worker": part.worker or whole.worker,
            "depends_on": tuple(dict.fromkeys(needs)),
            "required": whole.required,
            "on_missing_input": whole.on_missing_input,
            "budget": whole.budget.model_copy(update={"tokens": tokens, "deadline_s": deadline_s}),
        }
    )


def _instead(task: TaskState, need: str, placed: Sequence[Task]) -> list[str]:
    return [part.id for part in placed] if need == task.task.id else [need]
