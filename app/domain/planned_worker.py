"""Workers that a plan brings along: defined for its tasks by whoever wrote it, where the team allows that."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.domain.names import Name

MOST_DYNAMIC = 20
"""Workers that one plan may bring along at most, whatever its team says."""
MOST_TOOLS = 50
INSTRUCTION_CHARACTERS = 20_000


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


class PlannedWorker(BaseModel):
    """A worker of one run alone."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    name: Name
    """Its name in the plan: lower-case letters, digits, `-` and `_`; none that the team has."""
    description: str = Field(default="", max_length=INSTRUCTION_CHARACTERS)
    """What it is good for."""
    instructions: str = Field(default="", max_length=INSTRUCTION_CHARACTERS)
    """What it is told, whatever its task."""
    model: Literal["fast", "balanced", "deep"] = "balanced"
    """The tier that plays it."""
    tools: Annotated[tuple[str, ...], AfterValidator(_each_once)] = Field(default=(), max_length=MOST_TOOLS)
    """Names of the tools it may use, of those that the team allows."""


class DynamicWorkers(BaseModel):
    """What workers a plan may bring along."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    tools: tuple[str, ...] | None = None
    """Names of the tools that they may be given; null for those of the team's workers."""
    at_most: int = Field(default=5, ge=1, le=MOST_DYNAMIC)
    """How many of them a plan may have."""
