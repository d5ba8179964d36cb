"""Making a plan from a team's template: the tasks of the template, and one for each of the things that the job has.

The same job always makes the same plan. It is an ordinary one from then on, as if a client had brought it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from app.domain.crew import Crew
from app.domain.enlisting import checked
from app.domain.errors import JobRefused
from app.domain.flaws import Flaw
from app.domain.grouping import Bound, grouped, groups_allowed
from app.domain.job import JobInput
from app.domain.lint import MOST_WARNINGS, RESULTS_HELD
from app.domain.material import Item, Shown, imports_of, text_of
from app.domain.placeholders import ForEach, all_of, fill, named_in
from app.domain.plan import TASKS_CEILING, Plan, Planning, Task, too_long_in
from app.domain.plan_template import PlanTemplate, TemplateTask
from app.domain.policy.routing import rule_for
from app.domain.strategies import USUAL
from app.domain.team import Team
from app.domain.template_items import Found, Reader

NAMES_IN_TITLE = 3
LEFT_OUT_SHOWN = 50

_CALLED: Mapping[ForEach | None, str] = {
    "inputs": "inputs",
    "files": "files of diffs",
    "functions": "functions of Python sources",
    "sections": "sections of documents",
}

Values = Mapping[str, Callable[[], str]]
"""What placeholders stand for, by their names."""


def takes_template(team: Team, planning: Planning | None, objective: str, *, has_inputs: bool) -> bool:
    """Whether the plan of a job is made from the template of its team: where the job wants it, or leaves it to the team
    and no rule of the team sends it to a worker."""
    if team.plan_template is None or planning == "model":
        return False
    return planning == "template" or rule_for(team, objective, has_inputs=has_inputs) is None


def expanded(template: PlanTemplate, objective: str, inputs: Sequence[JobInput], crew: Crew) -> Plan:
    """The plan that a template makes for a job, validated. Raises `JobRefused`."""
    found = _all_found(template, Reader(inputs))
    tasks = _kept(template, found)
    groups = _groups(tasks, found, crew, template)
    words = _words_of_job(objective, inputs, tasks, found)
    made = [each for task in tasks for each in _made(task, groups, words)]
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
    return _reported(checked(plan, crew), made)


@dataclass(frozen=True)
class _Made:
    """A task that was made, and how many lines of its material it does not show."""

    task: Task
    lines_cut: int = 0


@dataclass(frozen=True)
class _Words:
    """What the placeholders of one task stand for."""

    items: Sequence[Item]

    def values(self, *, short: bool) -> Values:
        """`short`: as a title has them."""
        most = NAMES_IN_TITLE if short else None
        items = self.items

        def names() -> str:
            return all_of((each.name for each in items), most)

        return {
            "item": names,
            "path": names,
            "items": lambda: "\n".join(f"- {each.described}" for each in items),
            "count": lambda: str(len(items)),
            "input": lambda: all_of((each.input for each in items), most),
            "lines": lambda: ", ".join(each.lines for each in items[:most]),
            "text": lambda: self._text.text,
            "imports": lambda: self._imports.text,
        }

    def lines_cut(self, text: str) -> int:
        """How many lines the material does not show that a text of the template has."""
        cut = {"text": lambda: self._text.lines_cut, "imports": lambda: self._imports.lines_cut}
        return sum(cut[name]() for name in cut.keys() & named_in(text))

    @cached_property
    def _text(self) -> Shown:
        return text_of(self.items)

    @cached_property
    def _imports(self) -> Shown:
        return imports_of(self.items)


def _all_found(template: PlanTemplate, reader: Reader) -> dict[str, Found]:
    """What there is for each of the tasks for each. Raises `JobRefused` where one of them must have something."""
    found = {task.id: reader.found_for(task) for task in template.tasks if task.for_each is not None}
    empty = {name for name, each in found.items() if not each.taken}
    if lacking := [task for task in template.tasks if task.id in empty and task.when_empty == "refuse"]:
        raise _nothing_for(lacking, found)
    return found


def _nothing_for(tasks: Sequence[TemplateTask], found: Mapping[str, Found]) -> JobRefused:
    errors = []
    for task in tasks:
        left = len(found[task.id].left_out)
        among = f": its patterns leave out all {left}" if left else ""
        each = f"for each of the {_CALLED[task.for_each]}"
        why = f"The plan of the team has a task {task.id!r} {each}, and there is none{among}."
        errors.append(("/inputs", why))
    return JobRefused("template_empty", "The inputs have nothing that the team's plan could be about.", tuple(errors))


def _kept(template: PlanTemplate, found: Mapping[str, Found]) -> list[TemplateTask]:
    """The tasks without those for which there is nothing, and those that would only have had their results."""
    gone = {name for name, each in found.items() if not each.taken}
    while more := {
        task.id for task in template.tasks if task.id not in gone and task.depends_on and gone >= {*task.depends_on}
    }:
        gone |= more
    kept = [task for task in template.tasks if task.id not in gone]
    if not kept:
        raise _nothing_for([task for task in template.tasks if task.id in found], found)
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
    wanted = {task.id: min(len(found[task.id].taken), task.most or TASKS_CEILING) for task in several}
    sizes = {name: sum(item.size for item in found[name].taken) for name in wanted}
    counts = groups_allowed(wanted, sizes, bounds)
    if counts is None:
        why = f"The plan of the team has {len(tasks)} tasks at least, and the run may have {room}."
        raise JobRefused("template_too_large", "The plan has more tasks than fit.", (("/limits/tasks", why),))
    return {
        name: [found[name].taken[each.start : each.stop] for each in grouped(_sizes(found[name].taken), count)]
        for name, count in counts.items()
    }


def _sizes(items: Sequence[Item]) -> list[int]:
    return [item.size for item in items]


def _words_of_job(
    objective: str, inputs: Sequence[JobInput], tasks: Sequence[TemplateTask], found: Mapping[str, Found]
) -> Values:
    taken = {item for task in tasks if task.id in found for item in found[task.id].taken}
    every = (item for each in found.values() for item in (*each.taken, *each.left_out))
    left = [item.name for item in every if item not in taken]
    return {
        "objective": lambda: objective,
        "inputs": lambda: all_of(given.name for given in inputs),
        "left_out": lambda: all_of(left, LEFT_OUT_SHOWN),
    }


def _made(task: TemplateTask, groups: Mapping[str, Sequence[Sequence[Item]]], words: Values) -> list[_Made]:
    needs = tuple(name for need in task.depends_on for name in _names(need, groups))
    if task.id not in groups:
        return [_Made(_filled(task, task.id, needs, words, words))]
    made = []
    for name, items in zip(_names(task.id, groups), groups[task.id], strict=True):
        own = _Words(items)
        full, short = {**words, **own.values(short=False)}, {**words, **own.values(short=True)}
        made.append(_Made(_filled(task, name, needs, full, short), own.lines_cut(task.context)))
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
