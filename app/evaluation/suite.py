"""What a suite says: labelled cases, what each of them is to come to, and the bars for all of them."""

from collections import Counter
from typing import Annotated, Any

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from app.domain.job import LimitChanges, Objective, OwnPlan
from app.domain.names import TEAM_REFERENCE
from app.domain.questions import OnQuestion
from app.evaluation.expectations import Expected, Money, Part, Positive, Share

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class InputGiven(Part):
    """An input of a case: its text, or a file that has it."""

    name: str = Field(min_length=1, max_length=200)
    """The name that the job gives it."""
    media_type: str | None = None
    """Its media type; null for what its name says."""
    content: str | None = None
    """The text."""
    file: str | None = None
    """Path of a file with the text, or of a document, seen from the suite."""

    @model_validator(mode="after")
    def _comes_from_one_place(self) -> "InputGiven":
        if (self.content is None) == (self.file is None):
            raise PydanticCustomError("one_source", "an input has either `content` or a `file`")
        return self


class Case(Part):
    """One job, and what it must come to."""

    id: Name
    """Its name, of which there is one in a suite."""
    objective: Objective
    """The objective of the job."""
    inputs: tuple[InputGiven, ...] = ()
    """The inputs of the job."""
    limits: LimitChanges = LimitChanges()
    """Limits that differ from the suite's and the team's."""
    plan: OwnPlan | None = None
    """A plan of one's own, which takes the planning out of the case."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of `result.data`."""
    on_question: OnQuestion = "default"
    """What becomes of questions to people: nobody is there to answer."""
    plan_only: bool | None = None
    """Whether the job is only planned; null for what the suite says."""
    needs_model: bool = False
    """True when no rule can pass it: it is skipped where the demo model answers."""
    expect: Expected
    """What it must come to."""


class Defaults(Part):
    """What holds for every case that does not say otherwise."""

    limits: LimitChanges = LimitChanges()
    """Limits that differ from the team's."""
    plan_only: bool = False
    """Whether jobs are only planned: enough for routing, and much cheaper."""
    wait_s: Positive = 900
    """How long a run is waited for."""
    at_once: Annotated[int, Field(ge=1, le=100)] = 8
    """How many cases run side by side."""


class Bars(Part):
    """What the suite as a whole must reach."""

    pass_share: Share = 1
    """The least part of the cases that pass; errors count among those that do not."""
    routing_accuracy: Share | None = None
    """The least part of the labelled cases in which the right workers are used."""
    mean_cost_usd: Money | None = None
    """The most that a case may cost on the average."""
    mean_wall_s: Positive | None = None
    """The most seconds that a case may take on the average."""
    mean_llm_calls: Positive | None = None
    """The most model calls that a case may make on the average."""
    mean_tokens: Positive | None = None
    """The most tokens that a case may take on the average."""


class Judge(Part):
    """Who holds answers against rubrics: a worker without tools does best."""

    team: str = "general"
    """The team that gets the job."""
    worker: str = "writer"
    """The worker that looks at the answer."""


class Suite(Part):
    """A suite file."""

    name: Name
    """Its name."""
    description: str = ""
    """What it measures, for people."""
    team: str = Field(pattern=f"^{TEAM_REFERENCE}$")
    """The team that its cases are for: `name`, or `name@version`."""
    defaults: Defaults = Defaults()
    """What holds for every case."""
    bars: Bars = Bars()
    """What all of them together must reach."""
    judge: Judge = Judge()
    """Who judges by rubrics."""
    cases: tuple[Case, ...] = Field(min_length=1)
    """The cases."""

    @model_validator(mode="after")
    def _can_be_run(self) -> "Suite":
        counted = Counter(case.id for case in self.cases)
        wrong: list[InitErrorDetails] = []
        for number, case in enumerate(self.cases):
            if counted[case.id] > 1:
                problem = PydanticCustomError("id_repeated", "another case has the same id")
                wrong.append(InitErrorDetails(type=problem, loc=("cases", number, "id"), input=case.id))
            if self.is_plan_only(case) and (beyond := case.expect.model_fields_set & _OF_RESULTS):
                problem = PydanticCustomError("plan_only", "a job that is only planned has no result to expect that of")
                place = ("cases", number, "expect", min(beyond))
                wrong.append(InitErrorDetails(type=problem, loc=place, input=case.id))
        if wrong:
            raise ValidationError.from_exception_data("suite", wrong)
        return self

    def is_plan_only(self, case: Case) -> bool:
        """Whether the job of a case is only planned."""
        return self.defaults.plan_only if case.plan_only is None else case.plan_only

    def limits_of(self, case: Case) -> dict[str, Any]:
        """The limits of a case as a job says them."""
        own, usual = (each.model_dump(mode="json", exclude_unset=True) for each in (case.limits, self.defaults.limits))
        return usual | own


_OF_RESULTS = frozenset({"facts", "conflicts", "gaps", "rubric"})
