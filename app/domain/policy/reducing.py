"""More results than one context holds are put together in groups, before the answer is made from them."""

from datetime import datetime

from app.domain import events as ev
from app.domain.policy.agenda import step_in, why_over
from app.domain.policy.commands import DecisionBuilder
from app.domain.protocol import GiveUp
from app.domain.reduction_tree import Group, groups_due, tree_of
from app.domain.reductions import SkipReason
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic


def reduce_first(run: Snapshot, now: datetime, draft: DecisionBuilder) -> bool:
    """Go on with the groups that are to be put together before the answer is made; whether there are any.

    They have as much time as work has. Those for which none is left, nor money, are skipped, all at once.
    """
    pending = tree_of(run).pending
    if not pending:
        return False
    assert run.wrap_up_at is not None
    draft.wakes.append(run.wrap_up_at)
    over = why_over(run, now)
    for group in pending if over else groups_due(run):
        if reason := over or _why_in_vain(run, group):
            draft.settle(ev.ReductionSkipped(**group.named.model_dump(), reason=reason))
        else:
            draft.converse(Topic("reduce", number=group.named.number))
    return True


def _why_in_vain(run: Snapshot, group: Group) -> SkipReason | None:
    topic = Topic("reduce", number=group.named.number)
    if run.conversation(topic).unusable:
        return "rejected"
    return "failed" if isinstance(step_in(run, topic), GiveUp) else None
