"""What a suite says: labelled cases, what each of them is to come to, and the bars for all of them."""

import re
from collections import Counter
from decimal import Decimal
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from app.domain.flaws import FLAW_CODES
from app.domain.job import LimitChanges, Objective, OwnPlan
from app.domain.questions import OnQuestion
from app.domain.states import RunStatus
from app.domain.strategies import Strategy
from app.evaluation.lookups import checked_path, checked_pattern

ANSWER = "$.result.answer"


def _known_flaw(name: str) -> str:
    if name not in FLAW_CODES:
        near = get_close_matches(name, FLAW_CODES, 1) or ["instruction_vague"]
        raise PydanticCustomError("flaw_unknown", "no flaw has this code; one is {near}", {"near": near[0]})
    return name


Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Money = Annotated[Decimal, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
JsonPath = Annotated[str, AfterValidator(checked_path)]
Pattern = Annotated[str, AfterValidator(checked_pattern)]
FlawName = Annotated[str, AfterValidator(_known_flaw)]


class Part(BaseModel):
    """A part of a suite file."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class Fact(Part):
    """Something that a text or a value of the run must say, or must not. One of the ways to say it is given."""

    at: JsonPath = ANSWER
    """JSON path (RFC 9535) into the run, which has its `plan` and its `tasks` beside what the API shows of it."""
    contains: Text | None = None
    """Words that stand there, whatever their case and spacing."""
    lacks: Text | None = None
    """Words that do not stand there."""
    matches: Pattern | None = None
    """Regular expression that matches a part of it."""
    lacks_match: Pattern | None = None
    """Regular expression that matches no part of it."""
    number: float | None = None
    """A number that stands there, however it is written: 2750 is found in "2,750" and in "2.75 thousand"."""
    equals: Any = None
    """A JSON value that is found there."""
    count: Count | None = None
    """How many values the path finds."""
    tolerance: Annotated[float, Field(ge=0)] = 0
    """By how much the number may differ."""
    percent: Annotated[float, Field(ge=0, le=100)] = 0
    """By how many hundredths of itself the number may differ."""

    @property
    def way(self) -> str:
        """Which of the ways is given."""
        (way,) = self.model_fields_set & WAYS
        return way

    @model_validator(mode="after")
    def _says_one_thing(self) -> "Fact":
        ways = self.model_fields_set & WAYS
        if len(ways) != 1:
            raise PydanticCustomError("one_way", f"a fact says one of {', '.join(sorted(WAYS))}")
        if ways != {"number"} and self.model_fields_set & {"tolerance", "percent"}:
            raise PydanticCustomError("no_number", "only a number has a tolerance")
        return self


WAYS = frozenset({"contains", "lacks", "matches", "lacks_match", "number", "equals", "count"})


class Between(Part):
    """A range; both ends belong to it."""

    least: Count = 0
    """No fewer."""
    most: Count | None = None
    """No more."""


class PlanExpected(Part):
    """What the newest plan must look like."""

    tasks: Between | None = None
    """How many tasks it has."""
    parallel_share: Share | None = None
    """The least part of its tasks that have another one beside them: on the same level of the graph."""
    without: tuple[FlawName, ...] = ()
    """Flaws that its report must not name, such as `instruction_vague`."""
    shape: Literal["single", "parallel", "sequential", "hybrid"] | None = None
    """What its graph looks like."""
    strategy: Strategy | None = None
    """How its results become the answer."""


class ConflictExpected(Part):
    """A contradiction that was planted in the inputs, and must be listed."""

    words: tuple[Text, ...] = Field(min_length=1)
    """Words that its topic or its claims have, all of them."""
    tasks: tuple[str, ...] = ()
    """Tasks whose claims it has."""
    status: Literal["resolved", "unresolved"] | None = None
    """What became of it; null when either will do."""


class GapExpected(Part):
    """Something that could not be done, and must be named."""

    words: tuple[Text, ...] = ()
    """Words that its reason or its impact have, all of them."""
    task: str | None = None
    """The task that delivered nothing."""

    @model_validator(mode="after")
    def _says_something(self) -> "GapExpected":
        if not self.words and self.task is None:
            raise PydanticCustomError("gap_empty", "a gap has `words`, or a `task`")
        return self


class Rubric(Part):
    """What a judge model holds the answer against."""

    criteria: tuple[Annotated[str, Field(min_length=1, max_length=2000)], ...] = Field(min_length=1, max_length=20)
    """Each is met or not."""
    least: Annotated[int, Field(ge=1)] | None = None
    """How many must be met; null for all."""


class Most(Part):
    """What the run may take at most."""

    cost_usd: Money | None = None
    """US dollars."""
    llm_calls: Count | None = None
    """Model calls."""
    tool_calls: Count | None = None
    """Tool calls."""
    tokens: Count | None = None
    """Tokens, read and written."""
    wall_s: Positive | None = None
    """Seconds from its start to its end."""


class Expected(Part):
    """What a case must come to. What it does not mention may be as it likes."""

    status: tuple[RunStatus, ...] = Field(default=("succeeded",), min_length=1)
    """How the run may end."""
    stop_reason: str | None = None
    """Why it ends."""
    workers: tuple[str, ...] = ()
    """The workers that must be used: the label of the case for the routing."""
    secondary: tuple[str, ...] = ()
    """Workers that may be used beside them. Any other is one too many."""
    plan: PlanExpected | None = None
    """What the plan must look like."""
    facts: tuple[Fact, ...] = ()
    """What must stand somewhere, or must not."""
    conflicts: tuple[ConflictExpected, ...] = ()
    """Contradictions that must be listed."""
    gaps: tuple[GapExpected, ...] = ()
    """Gaps that must be named."""
    rubric: Rubric | None = None
    """What a judge model must find."""
    most: Most | None = None
    """What it may take."""

    @model_validator(mode="after")
    def _has_workers_before_others(self) -> "Expected":
        if self.secondary and not self.workers:
            raise PydanticCustomError("no_workers", "`secondary` needs `workers`")
        return self


class InputGiven(Part):
    """An input of a case: its text, or a file that has it."""

    name: str = Field(min_length=1, max_length=200)
    """The name that the job gives it."""
    media_type: str | None = None
    """Its media type; null for what its name says."""
    content: str | None = None
    """The text."""
    file: str | None = None
    """Path of a file with the text, seen from the suite."""

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
    team: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}(@[1-9][0-9]{0,8})?$")
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
_SPACES = re.compile(r"\s+")


def folded(text: str) -> str:
    """A text as it is compared: without case, and with single spaces."""
    return _SPACES.sub(" ", text).strip().casefold()
