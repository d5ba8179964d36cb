"""What a run has to do with circuit breakers: those that its calls have opened or closed, and those that hold it."""

from datetime import datetime
from typing import Literal

from app.domain.events.fact import Fact


class _Breaker(Fact):
    name: str
    """Name of the breaker: `model:<id>`, `worker:<team>/<worker>` or `tool:<name>`."""
    kind: Literal["model", "worker", "tool"]
    """What stands behind it."""


class BreakerOpened(_Breaker):
    """Something that this run needs is left alone for a while: a call of this run has opened the breaker, or it is the
    first time that the breaker holds the run."""

    type = "breaker.opened"

    reason: str
    """The code of the failure that opened it; `tripped` when somebody did so by hand."""
    failures: int
    """Failures in a row that led to it, over all runs."""
    opened_at: datetime
    """When it opened."""
    probe_at: datetime | None = None
    """When one call may find out whether it works again; null when somebody has to reset it."""


class BreakerClosed(_Breaker):
    """It works again, or somebody says so: the run goes on with it."""

    type = "breaker.closed"
