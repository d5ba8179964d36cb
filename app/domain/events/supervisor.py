"""What the supervisor makes of a run: its plan and its answer."""

from app.domain.events.fact import Fact, Rejected
from app.domain.plan import Plan
from app.domain.quote import Quote
from app.domain.results import Synthesis


class PlanCreated(Plan, Fact):
    """The plan is sound, and its tasks may start."""

    type = "plan.created"

    quote: Quote | None = None
    """What the run is to cost and how long it is to take with this plan; null in runs of earlier releases."""


class PlanInvalid(Rejected):
    """What the supervisor wrote cannot be carried out; it is asked once more or the run fails."""

    type = "plan.invalid"


class SynthesisCompleted(Synthesis, Fact):
    """The supervisor has reconciled what the tasks delivered."""

    type = "synthesis.completed"


class SynthesisRejected(Rejected):
    """The supervisor's synthesis does not fit what was asked of it."""

    type = "synthesis.rejected"
