"""What the supervisor makes of a run: its plan and its answer."""

from app.domain.events.fact import Fact, Rejected
from app.domain.plan import Plan
from app.domain.quote import Quote
from app.domain.results import Conflict, Synthesis


class PlanCreated(Plan, Fact):
    """The plan is sound, and its tasks may start."""

    type = "plan.created"

    quote: Quote | None = None
    """What the run is to cost and how long it is to take with this plan; null in runs of earlier releases."""


class PlanRevised(Plan, Fact):
    """The plan has changed. The data is the whole of it, and what is different."""

    type = "plan.revised"

    reason: str
    """Why it has changed."""
    added: tuple[str, ...] = ()
    """Ids of the tasks that are new."""
    removed: tuple[str, ...] = ()
    """Ids of the tasks that it no longer has."""
    changed: tuple[str, ...] = ()
    """Ids of the tasks that are not as they were."""

    @classmethod
    def from_to(cls, before: Plan, plan: Plan, reason: str) -> "PlanRevised":
        """The change from one revision to the next."""
        old, new = before.by_id, plan.by_id
        return cls.model_construct(
            **plan.alone.__dict__,
            reason=reason,
            added=tuple(name for name in new if name not in old),
            removed=tuple(name for name in old if name not in new),
            changed=tuple(name for name in new if name in old and new[name] != old[name]),
        )


class PlanInvalid(Rejected):
    """What the supervisor wrote cannot be carried out; it is asked once more or the run fails."""

    type = "plan.invalid"


class SynthesisCompleted(Synthesis, Fact):
    """The supervisor has reconciled what the tasks delivered."""

    type = "synthesis.completed"


class SynthesisRejected(Rejected):
    """The supervisor's synthesis does not fit what was asked of it, or does not hold against what was delivered."""

    type = "synthesis.rejected"

    answer: str | None = None
    """What it said, where that could be read; null where it could not."""


class ConflictFound(Conflict, Fact):
    """Results contradict each other. What becomes of it stands in the answer's `conflicts`, under the same id."""

    type = "conflict.found"
