"""What is fixed about a run before it starts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.domain import events as ev
from app.domain.job import DryRunLimits, Limits
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
    own_schema: dict[str, Any] | None = None
    """The `output_schema` of the job itself."""

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """What the data of the result must fit: the schema of the job, else that of the team."""
        return self.own_schema if self.own_schema is not None else self.team.output_schema

    @property
    def is_dry(self) -> bool:
        """Whether the run ends at its plan."""
        return isinstance(self.limits, DryRunLimits)
