"""The rules of a team: who is sent what, what is done about stragglers, which plans people approve, and who reviews."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.domain.usage import Money

WorkerName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""A tier (`fast`, `balanced`, `deep`) or a model id."""

APPROVAL_TIMEOUT_S = 3_600.0

ConflictMethod = Literal["judge", "tie_break"]
"""How a contradiction between results may be resolved that the supervisor leaves open: a model judges it blind, or one
more task establishes what holds."""

CheckName = Literal["python_tests", "trades"]
"""What code holds a result against before it is taken."""
FileMaker = Literal["review", "tests"]
"""What code makes files of at the end of a run."""


class TeamPart(BaseModel):
    """A part of a team file, which has no other fields."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")


class Condition(TeamPart):
    """What a job or a task must have for a route to be taken."""

    contains: tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...] = Field(
        min_length=1, max_length=50
    )
    """Words or phrases, of which the text holds at least one; letter case does not matter."""
    inputs: bool | None = None
    """True for jobs that bring inputs, and their tasks, false for those that bring none; null for all."""

    def holds_for(self, texts: Iterable[str], *, has_inputs: bool) -> bool:
        """Whether a text meets it, in a job with or without inputs."""
        phrases = [phrase.casefold() for phrase in self.contains]
        fits = self.inputs is None or self.inputs == has_inputs
        return fits and any(phrase in text.casefold() for text in texts for phrase in phrases)


class Secondary(TeamPart):
    """Who goes on with what the worker of a rule has brought."""

    worker: WorkerName
    """The second worker."""
    instruction: str = Field(min_length=1, max_length=20_000)
    """What it does with the result of the first; the objective is its context."""


class Route(TeamPart):
    """A rule that sends jobs or tasks to a worker, without asking a model."""

    when: Condition
    """Looked for in the objective of a job, and in the title and the instruction of a task."""
    worker: WorkerName
    """Who does them."""
    secondary: Secondary | None = None
    """For jobs, a second task that takes up the result of the first; null for none."""
    applies_to: Literal["jobs", "tasks", "both"] = "both"
    """Whether it sends `jobs`, `tasks` that the supervisor has planned, or `both`."""

    @property
    def workers(self) -> tuple[str, ...]:
        """Whoever it sends anything to."""
        return tuple(worker for _, worker in self.workers_at)

    @property
    def workers_at(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """The same, each with its place in the rule."""
        second = self.secondary
        return (("worker",), self.worker), *(() if second is None else ((("secondary", "worker"), second.worker),))

    @property
    def unsaid(self) -> dict[str, Any]:
        """The fields that an earlier release lacked and that say nothing."""
        left = {name: True for name in ("secondary", "applies_to") if getattr(self, name) == _default_of(Route, name)}
        return left | ({"when": {"inputs"}} if self.when.inputs is None else {})


def _default_of(part: type[TeamPart], name: str) -> Any:
    return part.model_fields[name].default


class Stragglers(TeamPart):
    """What is done about tasks that take much longer than the others."""

    policy: Literal["wait", "drop", "hedge"] = "wait"
    """`wait` for them; `drop` them once all else is done: the run goes on to its answer, and uses what still comes
    before its end; or `hedge`: a second worker tries the same side by side, and the first result counts."""
    quorum: float | None = Field(default=None, gt=0, lt=1)
    """With `drop`, the part of the tasks that must have delivered before any is dropped; null for 0.75."""
    after_s: float | None = Field(default=None, gt=0, le=86_400)
    """Seconds after which a task is a straggler; null for three times what the others took."""

    @model_validator(mode="after")
    def _fits_its_policy(self) -> "Stragglers":
        if self.quorum is not None and self.policy != "drop":
            raise ValueError(f"a quorum goes with the policy drop; this is {self.policy}")
        if self.after_s is not None and self.policy == "wait":
            raise ValueError("after_s goes with the policies drop and hedge; this is wait")
        return self


class ApprovalRules(TeamPart):
    """Whose plans people approve before they are carried out, and how long that is waited for."""

    required: bool = False
    """Every plan of the team, also where a job does not ask for it."""
    above_cost_usd: Money | None = Field(default=None, ge=0, max_digits=12, decimal_places=6)
    """Every plan whose quote is above it, by the `likely` cost in US dollars, or whose cost is not known; null for no
    such bound."""
    timeout_s: float = Field(default=APPROVAL_TIMEOUT_S, gt=0, le=86_400)
    """Seconds until the default is taken; sooner where the run has less time."""
    default: Literal["approve", "reject"] = "reject"
    """What is done when nobody decides in time."""

    @model_validator(mode="after")
    def _says_it_once(self) -> "ApprovalRules":
        if self.required and self.above_cost_usd is not None:
            raise ValueError("above_cost_usd goes without required, which is about every plan")
        return self


class FindingRules(TeamPart):
    """What becomes of the findings of workers before the answer is made."""

    threshold: int = Field(default=80, ge=0, le=100)
    """The confidence that a finding must have to be left, 0 to 100."""
    second_looks: int = Field(default=10, ge=0, le=50)
    """How many findings of a run a verifier looks at, at most: critical ones, and those up to 20 points below the
    threshold. Each is one model call, or two, within the budget of the run; 0 for none."""
    model: ModelName = "deep"
    """Who looks: a tier (`fast`, `balanced`, `deep`) or a model id."""


class ReviewRules(TeamPart):
    """Whether a critic looks at answers before they go out, and by what."""

    critic: bool = False
    """Whether one does, also where a job has no `rubric`."""
    rounds: int = Field(default=1, ge=0, le=5)
    """How often an answer is revised that the critic does not accept."""
    criteria: tuple[Annotated[str, StringConstraints(min_length=1, max_length=1000)], ...] = Field(
        default=(), max_length=20
    )
    """What an answer must be like, one sentence each; a job's `rubric` comes on top. Without either the critic goes by
    what every answer must be like."""
    model: ModelName | None = None
    """A tier or a model id; null for the supervisor's."""
