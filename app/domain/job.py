"""What a client asks for, and the limits it is done within."""

import unicodedata
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from app.domain.names import TEAM_NAME, TEAM_REFERENCE
from app.domain.numbers import exact, exact_amount
from app.domain.plan import TASKS_CEILING, Plan, Planning, too_long_in
from app.domain.questions import OnQuestion
from app.domain.strategies import Strategy
from app.domain.text import has_line_end, is_blank
from app.domain.usage import Money
from app.domain.webhooks import JobWebhook

TeamName = Annotated[str, StringConstraints(pattern=f"^{TEAM_NAME}$")]


def one_line(text: str) -> str:
    """`text`, which must be one line."""
    if has_line_end(text):
        raise PydanticCustomError("not_one_line", "This must be one line without control characters.")
    return text


MetadataKey = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(one_line)]
MetadataText = Annotated[str, StringConstraints(max_length=512)]


Amount = Annotated[Money, Field(gt=0, max_digits=12, decimal_places=6), BeforeValidator(exact_amount)]

PlanT = TypeVar("PlanT", bound=Plan)
TOKENS_CEILING = 10**12


class Limits(BaseModel):
    """Bounds of one run, as applied."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    tasks: int = Field(default=12, ge=1, le=TASKS_CEILING)
    """Tasks a plan may have."""
    concurrency: int = Field(default=5, ge=1, le=50)
    """Tasks that may run at the same time."""
    timeout_s: float = Field(default=900, gt=0, le=86_400)
    """Seconds from the start of the run to its end, whatever is done by then."""
    attempts: int = Field(default=3, ge=1, le=10)
    """Attempts a task may have."""
    tokens: int | None = Field(default=None, ge=1)
    """Input and output tokens together; null for no limit."""
    cost_usd: Money | None = Field(default=None, gt=0, max_digits=12, decimal_places=6)
    """Null for no limit."""
    rounds: int = Field(default=2, ge=1, le=10)
    """Rounds of work and synthesis."""
    depth: int = Field(default=2, ge=1, le=5)
    """Levels of supervisors, the run's own among them: 1 for no nested ones."""


class DryRunLimits(Limits):
    """Bounds of a run that ends at its plan.

    Older releases cannot read a run that has them, so none of them executes what was not to be executed.
    """

    dry_run: Literal[True] = Field()
    """Nothing is executed."""


class ApprovalLimits(Limits):
    """Bounds of a run whose job wants its plan approved before anything of it is carried out.

    Older releases cannot read a run that has them either, so none of them carries out a plan that nobody approved.
    """

    approval: Literal["plan"] = Field()
    """The plan waits for approval."""


def dry(limits: Limits) -> DryRunLimits:
    """The same bounds for a run that ends at its plan."""
    return DryRunLimits(**limits.model_dump(), dry_run=True)


def with_approval(limits: Limits) -> ApprovalLimits:
    """The same bounds for a run whose plan is to be approved."""
    return ApprovalLimits(**limits.model_dump(), approval="plan")


class LimitChanges(BaseModel):
    """Limits that differ from the team's; what is left out stays as the team has it."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    tasks: Annotated[int, Field(ge=1, le=TASKS_CEILING), BeforeValidator(exact)] | None = None
    """Tasks a plan may have."""
    concurrency: Annotated[int, Field(ge=1, le=50), BeforeValidator(exact)] | None = None
    """Tasks that may run at the same time."""
    timeout_s: Annotated[float, Field(gt=0, le=86_400), BeforeValidator(exact)] | None = None
    """Seconds from the start of the run to its end, whatever is done by then."""
    attempts: Annotated[int, Field(ge=1, le=10), BeforeValidator(exact)] | None = None
    """Attempts a task may have."""
    tokens: Annotated[int, Field(ge=1, le=TOKENS_CEILING), BeforeValidator(exact)] | None = None
    """Input and output tokens together."""
    cost_usd: Amount | None = None
    """US dollars at the provider's published prices."""
    rounds: Annotated[int, Field(ge=1, le=10), BeforeValidator(exact)] | None = None
    """Rounds of work and synthesis: 1 for no further one, whatever is missing."""
    depth: Annotated[int, Field(ge=1, le=5), BeforeValidator(exact)] | None = None
    """Levels of supervisors, the run's own among them: 1 for no nested ones."""

    def applied_to(self, limits: Limits) -> Limits:
        """`limits` with these changes."""
        return limits.model_copy(update=self.model_dump(exclude_none=True))


class JobInput(BaseModel):
    """A named text that the job's tools may read."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]
    """The name by which tools read it; different from those of the other inputs."""
    media_type: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)] = "text/plain"
    """Its media type: `text/csv` and `application/json` become tables, those of PDF and DOCX are documents, anything
    else is text."""
    content: str = Field(max_length=20_000_000)
    """The text; base64 when `media_type` is that of Parquet, PDF or DOCX. PDF and DOCX are read as the text in them."""


def strictly(form: type[PlanT], plan: Any) -> PlanT:
    """A client's plan. Models may add fields to one and write at length, and are forgiven; clients are told."""
    read = form.model_validate(plan, extra="forbid")
    if too_long := list(too_long_in(read)):
        raise ValidationError.from_exception_data("plan", [_too_long(place, limit) for place, limit in too_long])
    return read.model_copy(update={"material": ()})  # What tasks are about is not for clients to say.


def _too_long(place: tuple[str | int, ...], limit: int) -> InitErrorDetails:
    return InitErrorDetails(type="string_too_long", loc=place, input=None, ctx={"max_length": limit})


def _saying_something(objective: str) -> str:
    if is_blank(objective):
        raise PydanticCustomError("objective_blank", "The objective must not be blank.")
    return objective


Objective = Annotated[str, Field(min_length=1, max_length=200_000), AfterValidator(_saying_something)]
OwnPlan = Annotated[Plan, BeforeValidator(lambda plan: strictly(Plan, plan))]
"""A plan of a client's own."""


class Job(BaseModel):
    """The body of `POST /v1/jobs`."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    objective: Objective
    """What to achieve, in plain words."""
    team: str = Field(default="general", pattern=f"^{TEAM_REFERENCE}$")
    """`name`, or `name@version` for an older version."""
    inputs: tuple[JobInput, ...] = Field(default=(), max_length=50)
    """Texts and data to work on. Only workers with a tool that reads inputs see them."""
    limits: LimitChanges = LimitChanges()
    """Limits that differ from the team's."""
    approval: Literal["none", "plan"] | None = "none"
    """`plan`: the run waits until a person has approved its plan. `none`, or null: it waits only if its team wants
    that."""
    strategy: Strategy | None = None
    """How results become the answer: `merge`, `select` or `reduce`; null leaves it to the team, else to the plan."""
    plan: OwnPlan | None = None
    """A plan of the client's own; the supervisor is not asked for one then."""
    planning: Planning | None = None
    """How the plan is made where the job brings none: by the supervisor's `model`, or from the `template` of the team;
    null leaves it to the team, which takes its template if it has one."""
    rubric: Annotated[str, Field(min_length=1, max_length=20_000)] | None = None
    """What a critic holds the answer against before it goes out, beside what the team wants of it."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema that `result.data` then fits, each value of it traceable to a task; null for the team's own."""
    on_question: OnQuestion | None = None
    """What becomes of a question for a human: `ask`, `default` (what it says is done when nobody answers, at once) or
    `fail` (the run fails); null is `ask`."""
    webhook: JobWebhook | None = None
    """Who is told when the run ends or waits for people, beside the tenant's own webhook."""
    priority: Annotated[int, Field(ge=-100, le=100), BeforeValidator(exact)] = 0
    """Higher runs start first."""
    metadata: dict[MetadataKey, MetadataText | int | float | bool | None] = Field(default_factory=dict, max_length=16)
    """Labels of your own, kept with the run and shown with it: at most 16."""

    @field_validator("planning")
    @classmethod
    def _does_not_contradict(cls, planning: Planning | None, told: ValidationInfo) -> Planning | None:
        if planning is not None and told.data.get("plan") is not None:
            problem = "The job brings a plan of its own, so that none is made; leave out one of the two."
            raise PydanticCustomError("planning_contradicts", problem)
        return planning

    @field_validator("inputs")
    @classmethod
    def _have_different_names(cls, inputs: tuple[JobInput, ...]) -> tuple[JobInput, ...]:
        # As a person reads them: one letter may be written as one character or as two.
        names = [unicodedata.normalize("NFC", item.name) for item in inputs]
        problem = PydanticCustomError("name_repeated", "Inputs must have different names.")
        repeated = [
            InitErrorDetails(type=problem, loc=(index, "name"), input=name)
            for index, name in enumerate(names)
            if name in names[:index]
        ]
        if repeated:
            raise ValidationError.from_exception_data("inputs", repeated)
        return inputs
