"""What the supervisor makes of a run, its plan and its answer, and what people make of the plan."""

from datetime import datetime
from typing import Self, cast

from pydantic import Field

from app.domain.approvals import ApprovalCause, ApprovalDefault, Decider
from app.domain.events.fact import Fact, Rejected
from app.domain.plan import Plan, PlanSource
from app.domain.quote import Quote
from app.domain.results import Conflict, Problem, Synthesis
from app.domain.reviews import Criterion, Verdict
from app.domain.selection import Selection


class PlanCreated(Plan, Fact):
    """The plan is sound, and its tasks may start."""

    type = "plan.created"

    quote: Quote | None = None
    """What the run is to cost and how long it is to take with this plan; null in runs of earlier releases."""
    source: PlanSource | None = None
    """Who has made it: the `supervisor`; a `rule` of the team, that sends the job to one worker; the `client`; the
    `template` of the team; or the `run` that this one comes from. Null in runs of earlier releases."""

    @classmethod
    def made_by(cls, source: PlanSource | None, plan: Plan) -> Self:
        """A plan, with who has made it."""
        return cast(Self, cls.model_construct(**plan.alone.__dict__, source=source))


class _NextRevision(Plan, Fact):
    reason: str
    """Why it has changed."""
    added: tuple[str, ...] = ()
    """Ids of the tasks that are new."""
    removed: tuple[str, ...] = ()
    """Ids of the tasks that it no longer has."""
    changed: tuple[str, ...] = ()
    """Ids of the tasks that are not as they were."""

    @classmethod
    def from_to(cls, before: Plan, plan: Plan, reason: str) -> Self:
        """The change from one revision to the next."""
        old, new = before.by_id, plan.by_id
        revision = cls.model_construct(
            **plan.alone.__dict__,
            reason=reason,
            added=tuple(name for name in new if name not in old),
            removed=tuple(name for name in old if name not in new),
            changed=tuple(name for name in new if name in old and new[name] != old[name]),
        )
        return cast(Self, revision)


class PlanRevised(_NextRevision):
    """The plan has changed. The data is the whole of it, and what is different."""

    type = "plan.revised"

    round: int | None = None
    """The round of work that begins with it; null when it changes the present one."""
    redispatched: dict[str, str] = Field(default_factory=dict)
    """Tasks of that round by those whose gaps they are to close."""
    ties: dict[str, str] = Field(default_factory=dict)
    """Tasks of that round by the conflicts that they are to decide."""


class PlanEdited(_NextRevision):
    """A client has changed the plan, which still waits for approval. The data is the whole of it, and what is
    different."""

    type = "plan.edited"

    quote: Quote | None = None
    """What the run is to cost and how long it is to take with this plan; null where that is not known."""


class PlanApprovalRequested(Fact):
    """Nothing of the plan begins before somebody has approved it, or the time for that is up."""

    type = "plan.approval_requested"

    revision: int
    """The revision of the plan."""
    cause: ApprovalCause
    """Who wants it approved: the `job`; the `team`; or the team, since its likely `cost` is above the team's bound, or
    not known."""
    expires_at: datetime
    """When the default is taken unless somebody has decided."""
    default: ApprovalDefault
    """What is done then."""


class PlanApproved(Fact):
    """The plan may be carried out."""

    type = "plan.approved"

    revision: int
    """The revision of the plan."""
    by: Decider = "client"
    """Who has decided: a `client`, or the `default`, since no client did in time."""


class PlanRejected(Fact):
    """The plan is not carried out; the run fails."""

    type = "plan.rejected"

    revision: int
    """The revision of the plan."""
    by: Decider = "client"
    """Who has decided: a `client`, or the `default`, since no client did in time."""
    reason: str | None = None
    """The client's words; null when it gave none."""


class PlanInvalid(Rejected):
    """What the supervisor wrote cannot be carried out or has a serious flaw; it is asked again or the run fails."""

    type = "plan.invalid"

    sound: Plan | None = None
    """The plan where it could be carried out all the same: it is followed if no better one comes."""


class SynthesisCompleted(Synthesis, Fact):
    """The supervisor has reconciled what the tasks delivered."""

    type = "synthesis.completed"


class SynthesisRejected(Rejected):
    """The supervisor's synthesis does not fit what was asked of it, or does not hold against what was delivered."""

    type = "synthesis.rejected"

    answer: str | None = None
    """What it said, where that could be read; null where it could not."""


class SelectionCompleted(Selection, Fact):
    """A judge has chosen one of several results that are tries of the same thing: the answer is made from it."""

    type = "selection.completed"


class SelectionRejected(Rejected):
    """The judge's reply does not fit what was asked of it."""

    type = "selection.rejected"


class SelectionFailed(Fact):
    """No choice can be had: the answer is made from all results, and the run ends as partial."""

    type = "selection.failed"

    error: Problem
    """Why."""
    candidates: tuple[str, ...]
    """Ids of the tasks among whose results one was to be chosen."""


class ConflictFound(Conflict, Fact):
    """Results contradict each other. What becomes of it stands in the answer's `conflicts`, under the same id."""

    type = "conflict.found"


class GapFound(Fact):
    """A task has delivered nothing, or little to rest on, and the answer lacks that."""

    type = "gap.found"

    task: str
    """Id of the task."""
    reason: str
    """The error code of the task; `partial`, `unverified` or `low_confidence` for one that has delivered."""
    impact: str = ""
    """What that means for the answer, in the words of the supervisor."""
    redispatched_as: str | None = None
    """Id of the task that is to close the gap; null when none is."""


class ReviewCompleted(Fact):
    """A critic has looked at the answer."""

    type = "review.completed"

    verdict: Verdict
    """Whether it may go out."""
    notes: str = ""
    """What is to be better, or what was good."""
    criteria: tuple[Criterion, ...] = ()
    """What it was held against."""
    round: int = 1
    """Which look it was, from 1."""


class ReviewRejected(Rejected):
    """The critic's reply does not fit what was asked of it."""

    type = "review.rejected"
