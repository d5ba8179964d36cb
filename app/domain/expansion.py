"""Making a plan from a team's template: the tasks of the template, and one for each of the things that the job has.

The same job always makes the same plan. It is an ordinary one from then on, as if a client had brought it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.crew import Crew
from app.domain.enlisting import checked
from app.domain.errors import JobRefused
from app.domain.flaws import Flaw
from app.domain.grouping import Bound, filled, grouped, groups_allowed
from app.domain.job import JobInput
from app.domain.lint import MOST_WARNINGS, RESULTS_HELD
from app.domain.material import Item
from app.domain.placeholders import ForEach, fill
from app.domain.plan import TASKS_CEILING, Plan, Planning, Task, too_long_in
from app.domain.plan_template import PlanTemplate, TemplateTask
from app.domain.policy.routing import rule_for
from app.domain.strategies import USUAL
from app.domain.team import Team
from app.domain.template_items import Found, LeftOut, Reader
from app.domain.template_material import Look, material_of
from app.domain.template_words import TaskWords, Values, words_of_job

_CALLED: Mapping[ForEach | None, str] = {
    "inputs": "inputs",
    "files": "files of diffs",
    "functions": "functions of Python sources",
    "untested": "functions and classes of Python sources without tests",
    "sections": "sections of documents",
}


def takes_template(team: Team, planning: Planning | None, objective: str, *, has_inputs: bool) -> bool:
    """Whether the plan of a job is made from the template of its team: where the job wants it, or leaves it to the team
    and no rule of the team sends it to a worker."""
    if team.plan_template is None or planning == "model":
        return False
    return planning == "template" or rule_for(team, objective, has_inputs=has_inputs) is None


def expanded(template: PlanTemplate, objective: str, inputs: Sequence[JobInput], crew: Crew) -> Plan:
    """The plan that a template makes for a job, validated. Raises `JobRefused`."""
    reader = Reader(inputs)
    asked = _asked(template, objective, inputs)
    found = _all_found(asked, reader)
    tasks = _kept(template, asked, found)
    groups = _groups(tasks, found, crew, template)
    words = words_of_job(objective, inputs, tasks, found)
    made = [each for task in tasks for each in _made(task, groups, words, reader)]
    plan = Plan(
        goal=fill(template.goal, words),
        strategy=crew.strategy or template.strategy or USUAL,
        final_instruction=fill(template.final_instruction, words),
        tasks=tuple(each.task for each in made),
    )
    if long := next(iter(too_long_in(plan)), None):
        place, most = ".".join(map(str, long[0])), long[1]
        why = f"The plan would have a text of more than {most} characters: {place}."
        at = "/objective" if len(objective) > most else "/inputs"
        raise JobRefused("template_too_large", "There is more than a plan can say.", ((at, why),))
    plan = _reported(checked(plan, crew), made)
    looks = [look for each in made for look in each.looks]
    return plan.model_copy(update={"material": tuple(material_of(asked, found, looks))})


@dataclass(frozen=True)
class _Made:
    """A task that was made."""

    task: Task
    lines_cut: int = 0
    """How many lines of its material it does not show."""
    looks: Sequence[Look] = ()
    """The things that it is to look at, where that counts."""


def _asked(template: PlanTemplate, objective: str, inputs: Sequence[JobInput]) -> list[TemplateTask]:
    """The tasks that a job wants. Raises `JobRefused` where that is none."""
    names = [given.name for given in inputs]
    asked = [task for task in template.tasks if task.when is None or task.when.holds_for(objective, names)]
    if not asked:
        why = "Every task of the team's plan is there for certain words or inputs, and the job has none of them."
        raise JobRefused("template_empty", "The job asks for nothing that the team's plan has.", (("/objective", why),))
    return asked


def _all_found(tasks: Sequence[TemplateTask], reader: Reader) -> dict[str, Found]:
    """What there is for each of the tasks for each. Raises `JobRefused` where one of them must have something."""
    found = {task.id: reader.found_for(task) for task in tasks if task.for_each is not None}
    empty = {name for name, each in found.items() if not each.taken}
    if lacking := [task for task in tasks if task.id in empty and task.when_empty == "refuse"]:
        raise _nothing_for(lacking, found)
    return found


def _nothing_for(tasks: Sequence[TemplateTask], found: Mapping[str, Found]) -> JobRefused:
    errors = []
    for task in tasks:
        left = found[task.id].left_out
        settled = sum(each.item.why_left_out is not None for each in left)
        among = f": {settled} of {len(left)} have tests already, or need none" if settled else _all_of(left)
        each = f"for each of the {_CALLED[task.for_each]}"
        why = f"The plan of the team has a task {task.id!r} {each}, and there is none{among}."
        errors.append(("/inputs", why))
    return JobRefused("template_empty", "The inputs have nothing that the team's plan could be about.", tuple(errors))


def _all_of(left: Sequence[LeftOut]) -> str:
    """Why all of these are left out, where patterns or the files themselves say so."""
    if not left:
        return ""
    binary = sum(each.reason == "binary" for each in left)
    if binary == len(left):
        return f": all {binary} are binary, of which a diff shows nothing"
    return f": its patterns leave out all {len(left) - binary}{f', and {binary} more are binary' if binary else ''}"


def _kept(template: PlanTemplate, asked: Sequence[TemplateTask], found: Mapping[str, Found]) -> list[TemplateTask]:
    """The tasks without those for which there is nothing, and those that would only have had their results."""
    gone = {task.id for task in template.tasks} - {task.id for task in asked}
    gone |= {name for name, each in found.items() if not each.taken}
    while more := {task.id for task in asked if task.id not in gone and task.depends_on and gone >= {*task.depends_on}}:
        gone |= more
    kept = [task for task in asked if task.id not in gone]
    if not kept:
        raise _nothing_for([task for task in asked if task.id in found], found)
    needs = {task.id: tuple(name for name in task.depends_on if name not in gone) for task in kept}
    return [task.model_copy(update={"depends_on": needs[task.id]}) for task in kept]


def _groups(
    tasks: Sequence[TemplateTask], found: Mapping[str, Found], crew: Crew, template: PlanTemplate
) -> dict[str, list[Sequence[Item]]]:
    """What each of the tasks for each becomes: the things of every one of its tasks. Raises `JobRefused`.

    One answer, and one task, is made from so many results at most; an answer from more, where they are reduced first.
    """
    strategy = crew.strategy or template.strategy
    room = min(crew.limits.tasks, TASKS_CEILING if strategy == "reduce" else RESULTS_HELD)
    several = [task for task in tasks if task.for_each is not None]
    names = {task.id for task in several}
    needs = [(names & {*task.depends_on}, len(task.depends_on)) for task in tasks]
    bounds = [Bound(names, room - len(tasks) + len(several))]
    bounds += [Bound(needed, RESULTS_HELD - count + len(needed)) for needed, count in needs if needed]
    wanted = {task.id: min(_wanted(task, found[task.id].taken), task.most or TASKS_CEILING) for task in several}
    sizes = {name: sum(item.size for item in found[name].taken) for name in wanted}
    counts = groups_allowed(wanted, sizes, bounds)
    if counts is None:
        why = f"The plan of the team has {len(tasks)} tasks at least, and the run may have {room}."
        raise JobRefused("template_too_large", "The plan has more tasks than fit.", (("/limits/tasks", why),))
    return {
        task.id: [
            found[task.id].taken[each.start : each.stop]
            for each in grouped(_sizes(task, found[task.id].taken), counts[task.id])
        ]
        for task in several
    }


def _wanted(task: TemplateTask, items: Sequence[Item]) -> int:
    """How many tasks it becomes where nothing bounds it."""
    return len(items) if task.fill is None else len(filled(_sizes(task, items), task.fill))


def _sizes(task: TemplateTask, items: Sequence[Item]) -> list[int]:
    """The sizes by which things are grouped. What fills a task alone counts for no more than that, so that it does not
    make room for others to be more."""
    return [item.size if task.fill is None else min(item.size, task.fill) for item in items]


def _made(
    task: TemplateTask, groups: Mapping[str, Sequence[Sequence[Item]]], words: Values, reader: Reader
) -> list[_Made]:
    needs = tuple(name for need in task.depends_on for name in _names(need, groups))
    made = []
    for name, items in zip(_names(task.id, groups), groups.get(task.id, [()]), strict=True):
        own = TaskWords(task, reader, items)
        full, short = {**words, **own.values(short=False)}, {**words, **own.values(short=True)}
        beside = own.beside_cut
        looks = [Look(name, item, not (cut or beside), beside) for item, cut in zip(items, own.is_cut, strict=True)]
        made.append(_Made(_filled(task, name, needs, full, short), own.lines_cut, looks if task.covers else ()))
    return made


def _names(name: str, groups: Mapping[str, Sequence[Sequence[Item]]]) -> list[str]:
    """What a task of the template is called in the plan."""
    return [f"{name}-{number}" for number in range(1, len(groups[name]) + 1)] if name in groups else [name]


def _filled(task: TemplateTask, name: str, needs: Sequence[str], words: Values, short: Values) -> Task:
    said = {"required": task.required} if "required" in task.model_fields_set else {}
    return Task(
        id=name,
        title=fill(task.title, short),
        instruction=fill(task.instruction, words),
        context=fill(task.context, words),
        success_criterion=fill(task.success_criterion, words),
        worker=task.worker,
        depends_on=tuple(needs),
        on_missing_input=task.on_missing_input,
        budget=task.budget,
        **said,
    )


def _reported(plan: Plan, made: Sequence[_Made]) -> Plan:
    """The plan with what its tasks do not show of their material among its warnings. Raises `JobRefused`."""
    if plan.validation.errors:
        errors = tuple(("/team", flaw.detail) for flaw in plan.validation.errors)
        raise JobRefused("plan_invalid", "The plan of the team cannot be carried out.", errors)
    cuts = [
        Flaw(
            code="material_cut",
            pointer=f"/tasks/{index}/context",
            detail=f"task {each.task.id!r} is not shown {each.lines_cut} lines of what it is about, or not in full",
        )
        for index, each in enumerate(made)
        if each.lines_cut
    ]
    if not cuts:
        return plan
    warnings = (*cuts, *plan.validation.warnings)[:MOST_WARNINGS]
    return plan.model_copy(update={"validation": plan.validation.model_copy(update={"warnings": warnings})})
