"""A plan template: the plan of a team's jobs, written once by people, which no model is asked for."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, field_validator
from pydantic import model_validator as validates

from app.domain.globs import fits_any
from app.domain.names import Name, Names
from app.domain.placeholders import BESIDE, LISTED, MATERIAL, OF_THE_JOB, TELLING, ForEach, check, known_for, named_in
from app.domain.plan import TASKS_CEILING, TEXT_LIMITS, TaskBudget
from app.domain.strategies import Strategy
from app.domain.team_rules import TeamPart

ID_CHARACTERS = 60
"""Of a task for each: a number comes behind it."""

Phrase = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Patterns = Annotated[
    tuple[Pattern, ...],
    BeforeValidator(_listed, json_schema_input_type=tuple[Pattern, ...] | Pattern),
    Field(max_length=50),
]
StrictBudget = Annotated[TaskBudget, BeforeValidator(lambda each: TaskBudget.model_validate(each, extra="forbid"))]


class Asked(TeamPart):
    """When a task of a template is there: what a job must say or bring for it. All that is said must hold."""

    contains: tuple[Phrase, ...] = Field(default=(), max_length=50)
    """Words or phrases, of which the objective holds at least one; letter case does not matter."""
    inputs: Patterns = ()
    """Patterns of names, of which one fits an input of the job."""

    @validates(mode="after")
    def _says_something(self) -> "Asked":
        if not self.contains and not self.inputs:
            raise ValueError("it says nothing: contains or inputs must")
        return self

    def holds_for(self, objective: str, inputs: Iterable[str]) -> bool:
        """Whether a job with this objective, and inputs of these names, wants it."""
        said = objective.casefold()
        asked = not self.contains or any(phrase.casefold() in said for phrase in self.contains)
        return asked and (not self.inputs or any(fits_any(name, self.inputs) for name in inputs))


class TemplateTask(TeamPart):
    """A task of a plan template, or one for each of several things."""

    id: Name
    """Its name in the template: lower-case letters, digits, `-` and `_`. Tasks for each are called `id-1`, `id-2` …"""
    for_each: ForEach | None = None
    """It becomes a task for each of the job's `inputs`, each of the `files` of the unified diffs among them, each of
    the `functions` and methods of the Python sources among them, each of the functions and small classes that are
    `untested` by the tests among them, or each of the `sections` of the documents among them; null for a single
    task."""
    of: Patterns = ()
    """With `for_each`: patterns of the inputs that are looked into, whatever their type. Without any: all inputs for
    `inputs`; else those that by name or media type are diffs, Python sources, or texts that are neither."""
    only: Patterns = ()
    """With `for_each`: patterns of what is taken: paths of files, names of functions as `Class.method`, headings of
    sections, names of inputs. Without any everything is."""
    without: Patterns = ()
    """With `for_each`: patterns of what is not taken, in the same way."""
    most: int | None = Field(default=None, ge=1, le=TASKS_CEILING)
    """With `for_each`: how many tasks it becomes at most. Things that are more are grouped evenly by size; null for as
    many as the run may have."""
    fill: int | None = Field(default=None, ge=1, exclude_if=lambda fill: fill is None)
    """With `for_each`: how many characters of material one task takes before another one is made, so that what is small
    is looked at together; null for a task for each thing."""
    covers: bool = Field(default=True, exclude_if=lambda covers: covers)
    """With `for_each`: whether its things count as looked at once it has delivered; false for what only prepares that,
    as a first sorting does."""
    when: Asked | None = Field(default=None, exclude_if=lambda when: when is None)
    """When it is there; null for always. Without it the tasks are omitted all of whose dependencies are."""
    beside: Patterns = Field(default=(), exclude_if=lambda beside: not beside)
    """Patterns of inputs whose text `{{beside}}` stands for in the context."""
    when_empty: Literal["refuse", "omit"] = "refuse"
    """With `for_each`: what becomes of a job in which there is nothing to be taken: it is refused, or this task is left
    out, and with it the tasks all of whose dependencies are."""
    title: str = Field(default="", max_length=TEXT_LIMITS["title"])
    """A few words for people."""
    instruction: str = Field(min_length=1, max_length=TEXT_LIMITS["instruction"])
    """What to do, complete in itself: the worker sees nothing else of the job."""
    context: str = Field(default="", max_length=TEXT_LIMITS["context"])
    """What the worker must know to do it; the place for `{{text}}`."""
    success_criterion: str = Field(default="", max_length=TEXT_LIMITS["success_criterion"])
    """By what one sees that it is done."""
    worker: Name
    """Name of the worker of the team that does it."""
    depends_on: Names = ()
    """Ids of the tasks whose results it is given; one for each stands for all that it has become."""
    required: bool = True
    """A run in which a required task fails cannot succeed."""
    on_missing_input: Literal["skip", "proceed"] = "skip"
    """What to do when a dependency failed: skip the task, or run it and say what is missing."""
    budget: StrictBudget = TaskBudget()
    """Bounds of its own."""

    @field_validator("title", "instruction", "context", "success_criterion")
    @classmethod
    def _has_known_placeholders(cls, text: str, told: ValidationInfo) -> str:
        barred = LISTED if told.field_name == "title" else () if told.field_name == "context" else MATERIAL
        check(text, {**known_for(told.data.get("for_each")), **BESIDE}, but=barred)
        return text

    @validates(mode="after")
    def _says_what_it_is_for(self) -> "TemplateTask":
        lists = {"of": self.of, "only": self.only, "without": self.without, "most": self.most, "fill": self.fill}
        if self.for_each is None and (said := [name for name, value in lists.items() if value]):
            raise ValueError(f"{', '.join(said)} goes with for_each, which this task lacks")
        if self.for_each is None and self.when_empty == "omit":
            raise ValueError("when_empty goes with for_each, which this task lacks")
        if self.for_each is None and not self.covers:
            raise ValueError("covers goes with for_each, which this task lacks")
        if bool(self.beside) != (BESIDE.keys() <= {*named_in(self.context)}):
            raise ValueError("beside and {{beside}} in the context go together, and one of them is missing")
        telling = TELLING & known_for(self.for_each).keys()
        if self.for_each and not telling & {*named_in(self.instruction), *named_in(self.context)}:
            listed = ", ".join(f"{{{{{name}}}}}" for name in sorted(telling))
            raise ValueError(f"its tasks would all be the same: instruction or context must say one of {listed}")
        return self


class PlanTemplate(TeamPart):
    """The plan of a team's jobs, which is made from it when a job is accepted."""

    goal: str = Field(default="", max_length=TEXT_LIMITS["goal"])
    """What a run is to bring."""
    strategy: Strategy | None = None
    """How results become the answer where neither job nor team says; null for `merge`."""
    final_instruction: str = Field(default="", max_length=TEXT_LIMITS["final_instruction"])
    """What the synthesis is told about the answer."""
    tasks: tuple[TemplateTask, ...] = Field(max_length=TASKS_CEILING)
    """The tasks, at least one."""

    @field_validator("goal", "final_instruction")
    @classmethod
    def _has_known_placeholders(cls, text: str) -> str:
        check(text, OF_THE_JOB)
        return text
