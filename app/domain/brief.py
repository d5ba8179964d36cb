"""What is fixed about a run before it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from app.domain import events as ev
from app.domain.crew import Crew, Means
from app.domain.job import ApprovalLimits, DryRunLimits, JobInput, Limits
from app.domain.keys import DEFAULT_TENANT
from app.domain.plan import Plan
from app.domain.planned_worker import PlannedWorker
from app.domain.quote import Grounds
from app.domain.retries import Patience
from app.domain.strategies import Strategy
from app.domain.team import Team
from app.domain.trace_ids import RunTrace, place_in

NOTHING_REUSED = ev.ResultsReused(run="")


@dataclass(frozen=True)
class Brief:
    """What is fixed about a run before it starts."""

    run_id: str
    objective: str
    team: Team
    limits: Limits
    inputs: tuple[ev.InputListed, ...] = ()
    patience: Patience = Patience()
    models: Mapping[str, str] = field(default_factory=dict)
    """Model ids of the tiers, as this process resolves them."""
    reused: ev.ResultsReused = NOTHING_REUSED
    """What the run begins with that another one has brought."""
    grounds: Grounds | None = None
    """What this process rests the quote on; None where the run's plan is not made."""
    own_schema: dict[str, Any] | None = None
    """The `output_schema` of the job itself."""
    rubric: str | None = None
    """What the critic goes by beside the criteria of the team, in the words of the job."""
    own_strategy: Strategy | None = None
    """The `strategy` of the job itself."""
    ends_by: datetime | None = None
    """When the run ends at the latest, for one that does the work of another's task."""
    means: Mapping[str, Means] = field(default_factory=dict)
    """What the tools of this process are good for, by their names."""
    tenant: str = DEFAULT_TENANT
    """Whose run it is."""
    traceparent: str | None = None
    """Where whoever has brought the run stands in its own trace."""
    given: Sequence[JobInput] = ()
    """The inputs with their contents, for a team whose results code checks or makes files of; for others they are
    fetched when needed."""

    def needs_no_answer(self, plan: Plan) -> bool:
        """Whether a plan is a single task whose result is to be the answer as it stands."""
        return plan.needs_no_answer and self.output_schema is None and not self.reports_findings(plan)

    def reports_findings(self, plan: Plan) -> bool:
        """Whether a worker of the plan reports findings."""
        return self.team.finds and any(self.finds(task.worker) for task in plan.tasks)

    def finds(self, worker: str) -> bool:
        """Whether that worker reports findings."""
        known = self.team.worker(worker)
        return known is not None and known.finds

    @property
    def is_nested(self) -> bool:
        """Whether the run does the work of another one's task."""
        return self.ends_by is not None

    @property
    def trace(self) -> RunTrace:
        """The run's place among traces."""
        return RunTrace(self.run_id, place_in(self.traceparent), self.is_nested)

    @property
    def wants_review(self) -> bool:
        """Whether a critic is to look at the answer."""
        return self.team.review.critic or self.rubric is not None

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """What the data of the result must fit: the schema of the job, else that of the team."""
        return self.own_schema if self.own_schema is not None else self.team.output_schema

    @property
    def crew(self) -> Crew:
        """Who is there to carry out a plan, and with what."""
        inputs = tuple(given.name for given in self.inputs)
        return Crew(self.team, self.means, self.limits, inputs, self.own_strategy)

    def joined_by(self, workers: Sequence[PlannedWorker]) -> "Brief":
        """The brief of the run once a plan has brought workers along: they are some of the team's from then on."""
        return replace(self, team=self.team.joined_by(workers)) if workers else self

    @property
    def is_dry(self) -> bool:
        """Whether the run ends at its plan."""
        return isinstance(self.limits, DryRunLimits)

    @property
    def wants_approval(self) -> bool:
        """Whether the job wants its plan approved before anything of it is carried out."""
        return isinstance(self.limits, ApprovalLimits)
