"""What a case may expect of its run."""

import re
from decimal import Decimal
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.domain.flaws import FLAW_CODES
from app.domain.states import RunStatus
from app.domain.strategies import Strategy
from app.evaluation.lookups import checked_path, checked_pattern

ANSWER = "$.result.answer"


def _known_flaw(name: str) -> str:
    if name not in FLAW_CODES:
        near = get_close_matches(name, FLAW_CODES, 1) or ["instruction_vague"]
        raise PydanticCustomError("flaw_unknown", "no flaw has this code; one is {near}", {"near": near[0]})
    return name


Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Share = Annotated[float, Field(ge=0, le=1)]
Money = Annotated[Decimal, Field(ge=0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
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
    number: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """A number that stands there, however it is written: 2750 is found in "2,750" and in "2.75 thousand"."""
    equals: Any = None
    """A JSON value that is found there."""
    count: Count | None = None
    """How many values the path finds."""
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0
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
        if (way := self.way) != "equals" and getattr(self, way) is None:
            raise PydanticCustomError("no_value", "`{way}` needs a value", {"way": way})
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


_SPACES = re.compile(r"\s+")


def folded(text: str) -> str:
    """A text as it is compared: without case, and with single spaces."""
    return _SPACES.sub(" ", text).strip().casefold()
