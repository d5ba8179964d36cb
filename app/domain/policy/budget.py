"""What a run may still spend. Before a call its worst case is reserved, so that calls side by side never overshoot.

Spent, reserved and kept for the answer together never pass a limit. What is reserved lives with the run's owner and is
given back when a call has ended; what a crash leaves unknown counts as spent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from app.domain import events as ev
from app.domain.errors import BudgetSpent
from app.domain.events import Entry
from app.domain.policy.endings import end_partially, fail, stop_tasks
from app.domain.results import Problem
from app.domain.snapshot import Snapshot
from app.domain.topics import Topic
from app.domain.usage import LEAST_REPLY, Amount

EXPECTED_SHARE = Decimal("0.15")
"""At most this part of a limit is kept for results that are still to come and for a longer answer."""
ANSWER_TOKENS = 4_000
"""What is kept for the writing of the answer."""
FORM_TOKENS = 4_000
"""What is kept for its reading before there is a plan."""
REPORT_TOKENS = 3_000
"""What a task that has not ended is taken to bring into it, at the worst."""


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most that a call can consume."""

    input_tokens: int
    output_tokens: int
    """The cap on its reply."""
    input_usd: Decimal
    output_usd: Decimal
    """For each token of the reply."""

    def under(self, cap: int) -> Amount:
        """The most that it can consume when its reply is held to `cap` tokens."""
        return Amount(tokens=self.input_tokens + cap, cost_usd=self.input_usd + cap * self.output_usd)


@dataclass(frozen=True, slots=True)
class Room:
    """What may be reserved; None where there is no limit."""

    tokens: int | None
    cost_usd: Decimal | None

    def less(self, amount: Amount) -> "Room":
        """What is left of it."""
        tokens = None if self.tokens is None else self.tokens - amount.tokens
        return Room(tokens, None if self.cost_usd is None else self.cost_usd - amount.cost_usd)

    def cap(self, call: WorstCase) -> int:
        """Tokens that the reply may have so that the call fits, at most those asked for; below 1 when it does not."""
        caps = [call.output_tokens]
        if self.tokens is not None:
            caps.append(self.tokens - call.input_tokens)
        if self.cost_usd is not None:
            left = self.cost_usd - call.input_usd
            if left < 0:
                return 0
            if call.output_usd:
                caps.append(int(left / call.output_usd))
        return min(caps)


def is_limited(run: Snapshot) -> bool:
    """Whether anything has to be reserved."""
    limits = run.brief.limits
    return limits.tokens is not None or limits.cost_usd is not None


@dataclass(frozen=True, slots=True)
class Kept:
    """What the answer will take at the worst."""

    sure: Amount = Amount()
    """To read what has been delivered, and to write a short one."""
    expected: Amount = Amount()
    """To read what is still to come, and to write at length; never more than a part of the limit is kept for it."""


def room_in(run: Snapshot, reserved: Iterable[Amount], kept: Kept) -> Room:
    """What is neither spent nor `reserved` for calls under way, less what is `kept` for the answer."""
    limits = run.brief.limits
    spent = reduce(Amount.__add__, reserved, run.usage.amount + run.unsettled + run.allotted)
    tokens, cost_usd = limits.tokens, limits.cost_usd
    if tokens is not None:
        tokens -= spent.tokens + kept.sure.tokens + min(kept.expected.tokens, int(tokens * EXPECTED_SHARE))
    if cost_usd is not None:
        expected = min(kept.expected.cost_usd, cost_usd * EXPECTED_SHARE)
        cost_usd -= spent.cost_usd + kept.sure.cost_usd + expected
    return Room(tokens, cost_usd)


def cap_in(room: Room, call: WorstCase, *, alone: bool) -> int | None:
    """Tokens that the reply to a call may have; None while it has to wait for calls under way to end.

    A call that is `alone` with the rest of the budget takes a shorter reply; 0 when not even that fits.
    """
    cap = room.cap(call)
    if cap >= call.output_tokens:
        return call.output_tokens
    if not alone:
        return None
    return cap if cap >= LEAST_REPLY else 0


def room_of_task(run: Snapshot, topic: Topic) -> Room:
    """What a task may still spend of the tokens that the plan gives it."""
    if topic.task_id is None or topic.task_id not in run.tasks:
        return Room(None, None)
    task = run.tasks[topic.task_id]
    allowed = task.task.budget.tokens
    return Room(None if allowed is None else allowed - task.usage.amount.tokens, None)


def spent_for(run: Snapshot, room: Room, call: WorstCase) -> BudgetSpent:
    """Why the call does not fit. Where more is kept for the answer than there is, nothing is left for it."""
    least, limits = call.under(min(LEAST_REPLY, call.output_tokens)), run.brief.limits
    if limits.tokens is not None and room.tokens is not None and room.tokens < least.tokens:
        return BudgetSpent("tokens", Decimal(limits.tokens), Decimal(least.tokens), Decimal(max(room.tokens, 0)))
    assert limits.cost_usd is not None
    assert room.cost_usd is not None
    return BudgetSpent("cost_usd", limits.cost_usd, least.cost_usd, max(room.cost_usd, Decimal(0)))


def together(room: Room, calls: Sequence[WorstCase]) -> dict[int, int]:
    """Which of `calls` may have been under way side by side, and the cap of each: as many as there was room for."""
    caps: dict[int, int] = {}
    for place in sorted(range(len(calls)), key=lambda place: (calls[place].input_tokens, calls[place].input_usd)):
        cap = cap_in(room, calls[place], alone=not caps)
        if not cap:
            break
        caps[place] = cap
        room = room.less(calls[place].under(cap))
    return caps


def overspent(run: Snapshot) -> str | None:
    """Which limit is spent, in words; None while something is left. A provider may count more than was reserved."""
    limits, spent = run.brief.limits, run.usage.amount
    if limits.tokens is not None and spent.tokens >= limits.tokens:
        return f"The run's {limits.tokens} tokens are spent."
    if limits.cost_usd is not None and spent.cost_usd >= limits.cost_usd:
        return f"The run's {limits.cost_usd} USD are spent."
    return None


def end_work(run: Snapshot, exhausted: ev.BudgetExhausted) -> list[Entry]:
    """What follows when the budget is exhausted: the work ends, or the run. Nothing while the answer may still come."""
    if run.plan is None:
        return fail(run, "budget_exhausted", in_words(exhausted))
    if exhausted.call == "synthesize":
        return end_partially(run, "budget_exhausted", spent_problem(exhausted))
    return stop_tasks(run, spent_problem(exhausted)) if run.phase == "executing" else []


def spent_problem(exhausted: ev.BudgetExhausted) -> Problem:
    """Why work ends when the budget is exhausted."""
    return Problem(code="budget_exceeded", message=in_words(exhausted))


def in_words(exhausted: ev.BudgetExhausted) -> str:
    """For people."""
    unit = "tokens" if exhausted.limit == "tokens" else "USD"
    allowed, needed, left = (
        f"{amount.normalize():f}" for amount in (exhausted.allowed, exhausted.needed, exhausted.left)
    )
    return f"The run may spend {allowed} {unit}; a call needed up to {needed}, and {left} were left for it."
