"""A worker of a team: an agent with instructions and tools, or a team of its own."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from app.domain.names import TEAM_REFERENCE
from app.domain.planned_worker import PlannedWorker
from app.domain.team_rules import CheckName, ModelName, TeamPart, WorkerName

TIERS = ("fast", "balanced", "deep")
LONGEST_ATTEMPT_S = 86_400.0


class Worker(TeamPart):
    """A role: what it is good for, what it is told, and what it may use."""

    name: WorkerName
    """Its name in plans: lower-case letters, digits, `-` and `_`."""
    description: str = Field(min_length=1)
    """What the supervisor reads when it chooses a worker."""
    instructions: str = ""
    """What the worker itself is told, whatever its task. Only one that is a team may do without."""
    team: Annotated[str, StringConstraints(pattern=f"^{TEAM_REFERENCE}$")] | None = None
    """A team, `name` or `name@version`, that does its tasks in runs of its own; null for an agent. It has no tools and
    no model itself, and no time limit unless it says one."""
    model: ModelName = "balanced"
    """A tier (`fast`, `balanced`, `deep`) or a model id."""
    tools: tuple[str, ...] = ()
    """Names of the tools it may use, of those under `/v1/tools`."""
    max_steps: int = Field(default=10, ge=1, le=100)
    """Model replies in one attempt."""
    timeout_s: float = Field(default=180, gt=0, le=LONGEST_ATTEMPT_S)
    """Seconds of one attempt."""
    must_use: tuple[str | tuple[str, ...], ...] = Field(default=(), max_length=20)
    """Tools without which its tasks cannot be done: its result is taken once a call of each has succeeded. A list among
    them names several of which one will do."""
    output_schema: dict[str, Any] | None = None
    """JSON schema that the `data` of the worker's result must fit."""
    artifacts: bool = False
    """Whether its results may hand over files. A worker that is a team hands on what its own run has."""
    output: Literal["report", "findings"] = "report"
    """`findings`: its data are findings, each at a place in an input of the job, and what becomes of them before the
    answer is made is settled by rule. It goes with no `output_schema` then, and not with `team`."""
    checks: tuple[CheckName, ...] = Field(default=(), max_length=10)
    """What code holds its results against: one that fails goes back to it with what is wrong, and is not taken so.
    """
    fallback: WorkerName | None = None
    """Another worker of the team that may take over a task at which this one fails."""
    kind: WorkerName | None = None
    """Workers of one kind do the same work: a task for one of them is begun by whichever is less loaded."""

    @model_validator(mode="before")
    @classmethod
    def _takes_its_time_as_a_team(cls, fields: Any) -> Any:
        """A team has its own limits, and no time that would be right for each."""
        if isinstance(fields, dict) and fields.get("team") is not None and "timeout_s" not in fields:
            return {**fields, "timeout_s": LONGEST_ATTEMPT_S}
        return fields

    @model_validator(mode="after")
    def _is_agent_or_team(self) -> "Worker":
        if self.team is None and not self.instructions:
            raise ValueError(f"{self.name} needs instructions, or a team that does its tasks")
        if self.team is not None and (self.tools or self.must_use):
            raise ValueError(f"{self.name} is a team: its own workers have tools, and it has none")
        if self.team is not None and self.artifacts:
            raise ValueError(f"{self.name} is a team: its files are those of its own workers, and it has no say in it")
        if self.team is not None and self.checks:
            raise ValueError(f"{self.name} is a team: code checks the results of its own workers")
        if self.finds and (self.team is not None or self.output_schema is not None):
            other = "a team" if self.team is not None else "an output_schema"
            raise ValueError(f"{self.name} reports findings, which does not go with {other}")
        return self

    @classmethod
    def enlisted(cls, planned: PlannedWorker) -> "Worker":
        """A worker that a plan brings along, as one of the team."""
        return cls(
            name=planned.name,
            description=planned.description.strip() or planned.name,
            instructions=planned.instructions,
            model=planned.model,
            tools=planned.tools,
        )

    @property
    def finds(self) -> bool:
        """Whether its data are findings."""
        return self.output == "findings"

    @property
    def needed_tools(self) -> tuple[tuple[str, ...], ...]:
        """What it must use, as alternatives each."""
        return tuple((each,) if isinstance(each, str) else each for each in self.must_use)

    @property
    def played_by(self) -> str:
        """Who makes its attempts: a tier, a model id, or a team as `team:name`."""
        return self.model if self.team is None else f"team:{self.team}"

    @property
    def models(self) -> tuple[str, ...]:
        """Who may play it: its own model, and above a tier the higher ones. Nobody here plays a team."""
        if self.team is not None:
            return ()
        return TIERS[TIERS.index(self.model) :] if self.model in TIERS else (self.model,)


def unsaid_of(worker: Worker) -> set[str]:
    """Its fields that the first release lacked and that say nothing."""
    unsaid = {
        name for name in ("fallback", "kind", "must_use", "team", "artifacts", "checks") if not getattr(worker, name)
    }
    return unsaid if worker.finds else unsaid | {"output"}
