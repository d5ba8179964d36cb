"""What is fixed about a run before it starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain import events as ev
from app.domain.crew import Crew, Means
from app.domain.job import DryRunLimits, Limits
from app.domain.planned_worker import PlannedWorker
from app.domain.quote import Grounds
from app.domain.retries import Patience
from app.domain.team import Team


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
    grounds: Grounds | None = None
    """What this process rests the quote on; None where the run's plan is not made."""

    means: Mapping[str, Means] = field(default_factory=dict)
    """What the tools of this process are good for, by their names."""

    @property
    def crew(self) -> Crew:
        """Who is there to carry out a plan, and with what."""
        return Crew(self.team, self.means, self.limits, tuple(given.name for given in self.inputs))

    def joined_by(self, workers: Sequence[PlannedWorker]) -> "Brief":
        """The brief of the run once a plan has brought workers along: they are some of the team's from then on."""
        return replace(self, team=self.team.joined_by(workers)) if workers else self

    @property
    def is_dry(self) -> bool:
        """Whether the run ends at its plan."""
        return isinstance(self.limits, DryRunLimits)
