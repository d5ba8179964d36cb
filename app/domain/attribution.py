"""What the tasks of a plan are about, once the plan is no longer as its template made it.

It is code's word alone: whoever changes a plan cannot say that a task has looked at something. A task goes on being
about what it was made for as long as it is shown that, and its worker is one of those that look at things; what no task
is about any more is left out, and says so.
"""

from collections.abc import Collection, Sequence

from app.domain.material import MARK
from app.domain.plan import Plan, Task
from app.domain.plan_material import Material


def attributed(plan: Plan, before: Plan | None) -> Plan:
    """The plan with what its tasks are about: those of the plan before that are shown it still."""
    if before is None or not before.material:
        return plan.model_copy(update={"material": ()}) if plan.material else plan
    known, now = before.by_id, plan.by_id
    lookers = lookers_of(before)
    kept = {name for name in known if name in now and _looks(now[name], known[name], lookers)}
    return plan.model_copy(update={"material": tuple(_looked_at_by(kept, each) for each in before.material)})


def lookers_of(plan: Plan) -> set[str]:
    """The workers whose tasks look at what the plan is about. One that only prepares others is none of them."""
    looks = {look.task for each in plan.material for look in each.tasks}
    return {task.worker for task in plan.tasks if task.id in looks}


def _looks(task: Task, before: Task, lookers: Collection[str]) -> bool:
    return task.worker in lookers and _is_shown(task, before)


def _is_shown(task: Task, before: Task) -> bool:
    """Whether a task still has what it was made with: its material, or else the words that name it."""
    if MARK in before.context:
        return before.context in task.context
    return before.instruction in task.instruction


def _looked_at_by(names: set[str], each: Material) -> Material:
    if each.left_out is not None:
        return each
    tasks = tuple(look for look in each.tasks if look.task in names)
    return each.model_copy(update={"tasks": tasks, "left_out": None if tasks else "edited"})


def passed_on(plan: Plan, whole: Task, parts: Sequence[Task]) -> tuple[Material, ...]:
    """What is looked at once a task was split: by those of its parts that are shown what it was, and in part where some
    are not."""
    lookers = lookers_of(plan)
    shown = [part.id for part in parts if _looks(part, whole, lookers)]
    return tuple(_by_parts(each, whole.id, shown, all_shown=len(shown) == len(parts)) for each in plan.material)


def _by_parts(each: Material, whole: str, parts: Sequence[str], *, all_shown: bool) -> Material:
    if all(look.task != whole for look in each.tasks) or not parts:
        return each
    looks = [look for look in each.tasks if look.task != whole]
    [split] = [look for look in each.tasks if look.task == whole]
    looks += [split.model_copy(update={"task": name, "whole": split.whole and all_shown}) for name in parts]
    return each.model_copy(update={"tasks": tuple(looks)})
