"""What becomes of groups of results, where there are more than one answer can be made from."""

from app.domain.events.fact import Fact, Rejected
from app.domain.reductions import Grouped, Reduction, SkipReason


class ReductionCompleted(Reduction, Fact):
    """A group of results is put together: the answer is made from that."""

    type = "reduction.completed"


class ReductionRejected(Rejected):
    """What was made of a group of results does not fit what was asked for, or does not hold against them."""

    type = "reduction.rejected"

    number: int
    """The number of the group."""


class ReductionSkipped(Grouped, Fact):
    """A group of results is not put together. They stand for themselves in the answer's request, each in short."""

    type = "reduction.skipped"

    reason: SkipReason
    """Why: what was made of it was `rejected`, a call for it has `failed`, or the run's `timeout` or `budget` is up."""
