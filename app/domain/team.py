"""A team: a supervisor, its workers, and the limits they work within."""

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from app.domain.job import Limits, TeamName

WorkerName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
TIERS = ("fast", "balanced", "deep")
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""A tier (`fast`, `balanced`, `deep`) or a model id."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Supervisor(_Part):
    """Who plans and reconciles."""

    model: ModelName = "deep"
    instructions: str = ""
    examples: tuple[str, ...] = ()


class Worker(_Part):
    """A role: what it is good for, what it is told, and what it may use."""

    name: WorkerName
    description: str = Field(min_length=1)
    """What the supervisor reads when it chooses a worker."""
    instructions: str = Field(min_length=1)
    model: ModelName = "balanced"
    tools: tuple[str, ...] = ()
    max_steps: int = Field(default=10, ge=1, le=100)
    """Model replies in one attempt."""
    timeout_s: float = Field(default=180, gt=0, le=86_400)
    """Seconds of one attempt."""
    output_schema: dict[str, Any] | None = None
    """JSON schema that the `data` of the worker's result must fit."""


class Team(_Part):
    """A team as it is stored: immutable, and numbered by version."""

    name: TeamName
    description: str = ""
    supervisor: Supervisor = Supervisor()
    workers: tuple[Worker, ...] = Field(min_length=1, max_length=50)
    tool_isolation: Literal["exclusive", "shared"] = "exclusive"
    """`exclusive` refuses a team in which two workers share a tool."""
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _is_consistent(self) -> "Team":
        names = [worker.name for worker in self.workers]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"workers named twice: {', '.join(repeated)}")
        tools = [tool for worker in self.workers for tool in worker.tools]
        shared = sorted({tool for tool in tools if tools.count(tool) > 1})
        if shared and self.tool_isolation == "exclusive":
            raise ValueError(f"workers share tools, and tool_isolation is exclusive: {', '.join(shared)}")
        return self

    def worker(self, name: str) -> Worker | None:
        """The worker of that name."""
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, Worker]:
        return {worker.name: worker for worker in self.workers}

    @property
    def digest(self) -> str:
        """SHA-256 of the definition: equal digests mean an unchanged team."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class TeamRef(_Part):
    """A team and the version a run is pinned to."""

    name: str
    version: int
