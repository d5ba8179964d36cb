"""What a nested run gets of its parent's budget: an equal part of what is left for tasks that are still to be paid."""

from decimal import ROUND_DOWN, Decimal

from app.domain.errors import BudgetSpent
from app.domain.nested import Allowance
from app.domain.policy.budget import Room
from app.domain.snapshot import Snapshot

LEAST_TOKENS = 20_000
"""Below which a nested run is not begun: it could not plan, work and answer."""
_MICRO = Decimal("0.000001")


def share_in(room: Room, run: Snapshot, allowed: int | None) -> Allowance | None:
    """The part of `room` for one more nested run, at most `allowed` tokens; None when that is too little to begin."""
    parts = tasks_to_pay(run)
    tokens, cost_usd = room.tokens, room.cost_usd
    if tokens is not None:
        tokens //= parts
    if allowed is not None:
        tokens = allowed if tokens is None else min(tokens, allowed)
    if cost_usd is not None:
        cost_usd = (cost_usd / parts).quantize(_MICRO, ROUND_DOWN)
    if (tokens is not None and tokens < LEAST_TOKENS) or (cost_usd is not None and cost_usd <= 0):
        return None
    return Allowance(tokens=tokens, cost_usd=cost_usd)


def tasks_to_pay(run: Snapshot) -> int:
    """How many tasks may still spend of what is left: not ended, and have no nested run under way."""
    provided = {task.task.id for task, _ in run.open_children}
    return max(sum(task.is_awaited and name not in provided for name, task in run.tasks.items()), 1)


def share_spent(run: Snapshot, room: Room) -> BudgetSpent:
    """Why no nested run can be begun."""
    limits = run.brief.limits
    if limits.tokens is not None and (room.tokens or 0) < LEAST_TOKENS * tasks_to_pay(run):
        left = Decimal(max(room.tokens or 0, 0) // tasks_to_pay(run))
        return BudgetSpent("tokens", Decimal(limits.tokens), Decimal(LEAST_TOKENS), left)
    assert limits.cost_usd is not None
    return BudgetSpent("cost_usd", limits.cost_usd, _MICRO, max(room.cost_usd or Decimal(0), Decimal(0)))
