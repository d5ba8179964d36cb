"""What a run has from another one: that which it looks at once more, or whose task it does."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.domain import events as ev
from app.domain.nested import Parent
from app.domain.origin import RunOrigin


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What a run takes over from another one."""

    origin: RunOrigin
    reused: ev.ResultsReused
    models: Mapping[str, str]
    """Models that differ from the team's, by worker."""
    inputs: tuple[ev.InputListed, ...]
    """Those of the other run; they are copied."""


@dataclass(frozen=True, slots=True)
class Nesting:
    """What a run is part of that does the work of another one's task."""

    parent: Parent
    ends_by: datetime
    inputs: tuple[ev.InputListed, ...]
    """Those of its parent; they are copied."""
