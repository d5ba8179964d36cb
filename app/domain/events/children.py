"""What the run of a task that a nested team does tells its parent."""

from app.domain.events.fact import Fact
from app.domain.nested import Allowance, ChildStatus
from app.domain.results import Problem
from app.domain.team import TeamRef
from app.domain.usage import Amount, Usage


class ChildStarted(Fact):
    """The attempt has its nested run, which waits in line like any other."""

    type = "child.started"

    run: str
    """Id of the nested run."""
    team: TeamRef
    """The team that does it, pinned to a version."""
    allowance: Allowance = Allowance()
    """What it may spend of this run's budget, and is kept for it until it ends."""


class ChildEnded(Fact):
    """The nested run has ended. What it delivered follows as `task.succeeded`."""

    type = "child.ended"

    run: str
    """Id of the nested run."""
    status: ChildStatus
    """What it ended as."""
    stop_reason: str
    """Why it ended this way."""
    error: Problem | None = None
    """Why it delivered nothing, as the error of the attempt; null when it delivered."""
    usage: Usage = Usage()
    """What it has spent: part of this run's usage from here on."""
    unsettled: Amount = Amount()
    """What it may have spent beyond that. It counts towards the run's limits, and nowhere else."""
