"""What has become of the things that a plan from a template is about: told from the plan and its tasks alone."""

from collections.abc import Mapping

from app.domain.coverage import Covered
from app.domain.plan_material import LookPlanned, Material
from app.domain.policy.chosen import heard_in
from app.domain.snapshot import Snapshot
from app.domain.task_state import TaskState


def material_covered(run: Snapshot) -> tuple[Covered, ...]:
    """Every thing once, in the order of the plan. A result that the answer was made without counts as missing;
    of a run that ends at its plan there is nothing to tell."""
    if run.plan is None or run.brief.is_dry:
        return ()
    heard = {task.task.id: task for task in heard_in(run)}
    return tuple(_covered(each, heard) for each in run.plan.material)


def _covered(each: Material, heard: Mapping[str, TaskState]) -> Covered:
    told = Covered(input=each.input, item=each.item, lines=each.lines, status="left_out")
    if not each.tasks:
        return told.model_copy(update={"reason": each.left_out, "pattern": each.pattern})
    looked = tuple(look.task for look in each.tasks if look.task in heard)
    missing = tuple(look.task for look in each.tasks if look.task not in heard)
    cut = tuple(look.task for look in each.tasks if look.task in heard and _in_part(look, heard[look.task]))
    status = "missing" if not looked else "part" if missing or cut else "whole"
    return told.model_copy(update={"status": status, "tasks": looked, "missing": missing, "cut": cut})


def _in_part(look: LookPlanned, task: TaskState) -> bool:
    return not look.whole or (task.output is not None and task.output.partial)
