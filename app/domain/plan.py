"""The plan: the supervisor's task graph, normalised by one rule and validated before anything runs."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.domain.flaws import Flaw
from app.domain.names import Name, Names, normalised
from app.domain.numbers import exact
from app.domain.plan_material import Material
from app.domain.planned_worker import MOST_DYNAMIC, PlannedWorker
from app.domain.strategies import USUAL, Strategy
from app.domain.text import is_blank, shorten

TASKS_CEILING = 100
"""Tasks that a plan can be allowed at most, whatever the limits of its run."""
NAME_SHOWN = 80
"""Characters of a task id or worker name that a flaw repeats."""

TEXT_LIMITS: Mapping[str, int] = {
    "goal": 20_000, "final_instruction": 20_000,
    "title": 1000, "instruction": 100_000, "context": 100_000, "success_criterion": 20_000,
}  # fmt: skip
"""Characters of each text of a plan and of its tasks."""
REPORT_LIMIT = 20_000
"""Characters of each text in the report of a plan's validation."""

Planning = Literal["model", "template"]
"""Whom a job wants its plan from: the supervisor, or the template of its team."""
PlanSource = Literal["supervisor", "rule", "client", "template", "run"]
"""Who has made a plan: the `supervisor`; a `rule` of the team, that sends the job to one worker; the `client`; the
`template` of the team; or the `run` that this one comes from."""

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class TaskBudget(BaseModel):
    """Bounds of one task; null where the worker's own bound holds."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    tokens: Annotated[int, Field(ge=1), BeforeValidator(exact)] | None = None
    """Input and output of all its attempts; no further call is made once they are spent."""
    steps: Annotated[int, Field(ge=1, le=100), BeforeValidator(exact)] | None = None
    """Model replies in one attempt."""
    timeout_s: Annotated[float, Field(gt=0, le=86_400), BeforeValidator(exact)] | None = None
    """Seconds of one attempt."""
    deadline_s: Annotated[float, Field(gt=0, le=86_400), BeforeValidator(exact)] | None = None
    """Seconds from the start of its first attempt to the end of its last, all waits included."""


class Task(BaseModel):
    """One node of the plan, done by one worker."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    id: Name
    """Its name in the plan: lower-case letters, digits, `-` and `_`."""
    title: str = ""
    """A few words for people."""
    instruction: str = ""
    """What to do, complete in itself: the worker sees nothing else of the job."""
    context: str = ""
    """What the worker must know to do it."""
    success_criterion: str = ""
    """By what one sees that it is done."""
    worker: Name = ""
    """Name of the worker of the team that does it."""
    depends_on: Names = ()
    """Ids of the tasks whose results it is given; it starts when they have ended."""
    required: bool = True
    """A run in which a required task fails cannot succeed."""
    on_missing_input: Literal["skip", "proceed"] = "skip"
    """What to do when a dependency failed: skip the task, or run it and say what is missing."""
    budget: TaskBudget = TaskBudget()
    """Bounds of its own."""


class Validation(BaseModel):
    """The report of the plan's validation."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    ok: bool = True
    """Whether the plan can be carried out."""
    errors: tuple[Flaw, ...] = ()
    """What makes it impossible."""
    warnings: tuple[Flaw, ...] = ()
    """What is odd and does no harm."""


class Shape(BaseModel):
    """What the graph looks like."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    width: int
    """The most tasks that can run at the same time, by levels of the graph."""
    depth: int
    """Tasks on the longest path."""
    strategy: Literal["single", "parallel", "sequential", "hybrid"]
    """How the tasks hang together: `single`, all at once, one after the other, or some of both."""


class Plan(BaseModel):
    """A task graph with the goal it serves."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    revision: int = 1
    """1 for the first plan of a run, one more with every change."""
    goal: str = ""
    """What the run is to bring, as the supervisor understood it."""
    strategy: Strategy = USUAL
    """How the results become the answer: `merge`, `select` or `reduce`."""
    final_instruction: str = ""
    """What the synthesis is told about the answer."""
    tasks: tuple[Task, ...] = ()
    """The tasks."""
    workers: tuple[PlannedWorker, ...] = Field(default=(), max_length=2 * MOST_DYNAMIC)
    """Workers that it brings along beside the team's, where the team allows it; they are those of this run alone."""
    material: tuple[Material, ...] = Field(default=(), exclude_if=lambda material: not material)
    """What the tasks that a template made are about, and what none of them is; not there in other plans. Only code says
    it: what a client sends is not taken."""
    validation: Validation = Validation()
    """What the validation found."""
    shape: Shape | None = None
    """Width, depth and kind of the graph; null for a plan that cannot be carried out."""

    @property
    def needs_no_answer(self) -> bool:
        """Whether it is a single task whose result is to be the answer as it stands."""
        return len(self.tasks) == 1 and not self.final_instruction.strip()

    @property
    def alone(self) -> "Plan":
        """The plan without what a fact about it says beside."""
        return Plan.model_construct(**{name: getattr(self, name) for name in Plan.model_fields})

    @property
    def by_id(self) -> Mapping[str, Task]:
        return {task.id: task for task in self.tasks}


def validated(plan: Plan, workers: Collection[str], tasks_allowed: int) -> Plan:
    """The plan with worker names matched to the team, its validation report, and its shape when it is sound."""
    known = {_folded(name): name for name in workers} | {name: name for name in workers}
    plan = _shortened(plan)
    tasks = tuple(
        task.model_copy(update={"worker": known.get(task.worker) or known.get(_folded(task.worker), task.worker)})
        for task in plan.tasks
    )
    errors = tuple(_flaws(tasks, workers, tasks_allowed))
    report = Validation(ok=not errors, errors=errors)
    shape = None if errors else shape_of(tasks)
    return plan.model_copy(update={"tasks": tasks, "validation": report, "shape": shape})


def too_long_in(plan: Plan) -> Iterable[tuple[tuple[str | int, ...], int]]:
    """The places of texts that are longer than a plan's may be, each with its limit."""
    for field, limit in _long_fields(plan):
        yield (field,), limit
    for index, task in enumerate(plan.tasks):
        for field, limit in _long_fields(task):
            yield ("tasks", index, field), limit
    for kind, flaws in (("errors", plan.validation.errors), ("warnings", plan.validation.warnings)):
        for index, flaw in enumerate(flaws):
            for field, text in (("pointer", flaw.pointer), ("detail", flaw.detail)):
                if len(text) > REPORT_LIMIT:
                    yield ("validation", kind, index, field), REPORT_LIMIT


def _long_fields(part: Plan | Task) -> list[tuple[str, int]]:
    return [(field, limit) for field, limit in TEXT_LIMITS.items() if len(getattr(part, field, "")) > limit]


def _shortened(plan: Plan) -> Plan:
    """The plan with over-long texts cut, as each of them then says itself: models write them, clients are refused."""

    def cut(part: Plan | Task) -> dict[str, str]:
        return {field: shorten(getattr(part, field), limit)[0] for field, limit in _long_fields(part)}

    tasks = tuple(task.model_copy(update=cut(task)) for task in plan.tasks)
    return plan.model_copy(update={**cut(plan), "tasks": tasks})


def _folded(worker: str) -> str:
    """Worker names match whether a model writes `-`, `_` or a space between their parts."""
    return str(normalised(worker)).replace("_", "-")


def _flaws(tasks: Sequence[Task], workers: Collection[str], tasks_allowed: int) -> Iterable[Flaw]:
    if not tasks:
        yield Flaw(code="plan_empty", pointer="/tasks", detail="the plan has no tasks")
        return
    if len(tasks) > tasks_allowed:
        detail = f"the plan has {len(tasks)} tasks; at most {tasks_allowed} are allowed"
        yield Flaw(code="plan_too_large", pointer="/tasks", detail=detail)
    if len(tasks) > TASKS_CEILING:
        return
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        yield from _task_flaws(task, f"/tasks/{index}", seen, workers)
        seen.add(task.id)
    yield from _edge_flaws(tasks)


def _shown(name: str) -> str:
    return repr(name[:NAME_SHOWN])


def _task_flaws(task: Task, pointer: str, seen: set[str], workers: Collection[str]) -> Iterable[Flaw]:
    shown = _shown(task.id)
    if not _ID.fullmatch(task.id):
        detail = f"task id {shown} must match [a-z0-9][a-z0-9_-]{{0,63}}"
        yield Flaw(code="id_invalid", pointer=f"{pointer}/id", detail=detail)
    if task.id in seen:
        yield Flaw(code="id_duplicate", pointer=f"{pointer}/id", detail=f"task id {shown} is used twice")
    if is_blank(task.instruction):
        detail = f"task {shown} has no instruction"
        yield Flaw(code="instruction_blank", pointer=f"{pointer}/instruction", detail=detail)
    listed = ", ".join(workers)
    if not task.worker:
        detail = f"task {shown} lacks the field worker; the team has: {listed}"
        yield Flaw(code="worker_missing", pointer=f"{pointer}/worker", detail=detail)
    elif task.worker not in workers:
        detail = f"task {shown} names the unknown worker {_shown(task.worker)}; the team has: {listed}"
        yield Flaw(code="worker_unknown", pointer=f"{pointer}/worker", detail=detail)


def _edge_flaws(tasks: Sequence[Task]) -> Iterable[Flaw]:
    ids = {task.id for task in tasks}
    for index, task in enumerate(tasks):
        for position, needed in enumerate(task.depends_on):
            pointer = f"/tasks/{index}/depends_on/{position}"
            if needed == task.id:
                detail = f"task {_shown(task.id)} depends on itself"
                yield Flaw(code="dependency_on_itself", pointer=pointer, detail=detail)
            elif needed not in ids:
                detail = f"task {_shown(task.id)} depends on {_shown(needed)}, which is not in the plan"
                yield Flaw(code="dependency_unknown", pointer=pointer, detail=detail)
    if cycle := _cycle(tasks):
        path = " -> ".join(name[:NAME_SHOWN] for name in cycle)
        yield Flaw(code="cycle", pointer="/tasks", detail=f"tasks wait for each other: {path}")


def _cycle(tasks: Sequence[Task]) -> list[str] | None:
    graph = {task.id: [needed for needed in task.depends_on if needed != task.id] for task in tasks}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(node) for node in reversed(error.args[1])]
    return None


def levels_of(depends_on: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How far each task of a sound graph is from its beginning, from 1: the longest way counts."""
    levels: dict[str, int] = {}
    for name in TopologicalSorter(depends_on).static_order():
        levels[name] = 1 + max((levels[before] for before in depends_on[name]), default=0)
    return levels


def shape_of(tasks: Sequence[Task]) -> Shape:
    """Width, depth and kind of a sound graph."""
    widths = Counter(levels_of({task.id: task.depends_on for task in tasks}).values())
    width, depth = max(widths.values()), len(widths)
    if len(tasks) == 1:
        return Shape(width=1, depth=1, strategy="single")
    strategy: Literal["parallel", "sequential", "hybrid"]
    strategy = "parallel" if depth == 1 else "sequential" if width == 1 else "hybrid"
    return Shape(width=width, depth=depth, strategy=strategy)
