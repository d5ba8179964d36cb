"""What is fixed about a run before it starts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.domain import events as ev
from app.domain.job import DryRunLimits, Limits
from app.domain.quote import Grounds
from app.domain.retries import Patience
from app.domain.team import Team

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

    @property
    def is_dry(self) -> bool:
        """Whether the run ends at its plan."""
        return isinstance(self.limits, DryRunLimits)
