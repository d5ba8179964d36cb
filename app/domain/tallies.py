"""What calls, attempts and tasks of a run took, added up: the rows of the report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from app.domain.outcomes import Told
from app.domain.report import OneAgent, PartShare, WorkerShare
from app.domain.timing import milliseconds, together_ms

_MICRO = Decimal("0.000001")
PARTS = ("planning", "work", "supervision", "synthesis", "lost")


@dataclass(slots=True)
class Spent:
    """What calls took."""

    calls: int = 0
    read: int = 0
    written: int = 0
    cost_usd: Decimal = Decimal(0)
    duration_ms: int = 0

    def add(self, usage: Told, duration_ms: int) -> None:
        self.calls += usage["llm_calls"]
        self.read += usage["input_tokens"]
        self.written += usage["output_tokens"]
        self.cost_usd += Decimal(usage["cost_usd"])
        self.duration_ms += duration_ms

    @property
    def tokens(self) -> int:
        return self.read + self.written


@dataclass(slots=True)
class AttemptTally:
    """What an attempt took."""

    worker: str
    started_at: datetime
    ended_at: datetime | None = None
    spent: Spent = field(default_factory=Spent)
    replies: int = 0
    left_behind: int = 0
    """Tokens that its conversation held after its newest reply."""
    tool_calls: int = 0
    is_nested: bool = False
    """Whether a nested run did the work."""


@dataclass(slots=True)
class TaskTally:
    """What a task took."""

    needs: Sequence[str] = ()
    part_of: str | None = None
    """The task that was split into this one, which begins where that one ended."""
    attempts: list[AttemptTally] = field(default_factory=list)
    ended_at: datetime | None = None
    dropped: bool = False
    delivered_by: int | None = None

    @property
    def waits_for(self) -> Sequence[str]:
        return self.needs if self.part_of is None else (*self.needs, self.part_of)

    def worked_ms(self, end: datetime) -> int:
        """As `timing.worked_ms`: what two attempts do side by side counts once."""
        last = self.ended_at or end
        return together_ms((attempt.started_at, min(attempt.ended_at or end, last)) for attempt in self.attempts)


def workers_in(tasks: Iterable[TaskTally]) -> tuple[WorkerShare, ...]:
    """What each worker took."""
    shares: dict[str, WorkerShare] = {}
    for task in tasks:
        counted: set[str] = set()
        for number, attempt in enumerate(task.attempts, 1):
            name, spent = attempt.worker, attempt.spent
            share = shares.get(name) or WorkerShare(worker=name)
            shares[name] = WorkerShare(
                worker=name,
                tasks=share.tasks + (name not in counted),
                attempts=share.attempts + 1,
                delivered=share.delivered + (task.delivered_by == number),
                llm_calls=share.llm_calls + spent.calls,
                tool_calls=share.tool_calls + attempt.tool_calls,
                input_tokens=share.input_tokens + spent.read,
                output_tokens=share.output_tokens + spent.written,
                cost_usd=share.cost_usd + spent.cost_usd,
            )
            counted.add(name)
    return tuple(shares.values())


def shares_of(parts: Mapping[str, Spent], lasted: Mapping[str, int]) -> tuple[PartShare, ...]:
    """What each part of the run took, and how long each `lasted`, against the whole."""
    spent = {name: parts.get(name, Spent()) for name in PARTS}
    tokens = sum(part.tokens for part in spent.values())
    cost = sum((part.cost_usd for part in spent.values()), Decimal(0))
    duration = sum(lasted.values())
    return tuple(
        PartShare(
            part=name,
            llm_calls=part.calls,
            tokens=part.tokens,
            cost_usd=part.cost_usd,
            duration_ms=lasted.get(name, 0),
            tokens_share=_share(part.tokens, tokens),
            cost_share=_share(float(part.cost_usd), float(cost)),
            duration_share=_share(lasted.get(name, 0), duration),
        )
        for name, part in spent.items()
    )


def _share(part: float, whole: float) -> float:
    return round(part / whole, 3) if whole else 0.0


def one_agent(tasks: Iterable[TaskTally], parts: Mapping[str, Spent], answer: Spent, wall_ms: int) -> OneAgent | None:
    """What one agent would take for it all; None when nothing was delivered by a model, or something by a nested run:
    what the conversations in that held is not known here.

    `answer` is the call that made the answer. How this is reckoned: see `OneAgent`.
    """
    winners = [task.attempts[task.delivered_by - 1] for task in tasks if task.delivered_by]
    done = sorted((each for each in winners if each.replies), key=lambda each: each.ended_at or each.started_at)
    if not done or any(each.is_nested for each in winners):
        return None
    calls = read = held = 0
    for attempt in done:
        read += attempt.spent.read + attempt.replies * held
        calls += attempt.replies
        held += attempt.left_behind
    written = sum(attempt.spent.written for attempt in done) + answer.written
    if answer.calls:
        calls, read, held = calls + 1, read + held, held + answer.written
    work = parts["work"]
    rate = work.cost_usd / work.tokens if work.tokens else Decimal(0)
    lasts = sum(milliseconds(each.started_at, each.ended_at or each.started_at) for each in done) + answer.duration_ms
    tokens = sum(part.tokens for part in parts.values())
    return OneAgent(
        llm_calls=calls,
        input_tokens=read,
        output_tokens=written,
        largest_context_tokens=held,
        cost_usd=(rate * (read + written)).quantize(_MICRO).normalize(),
        duration_ms=lasts,
        tokens_ratio=round((read + written) / tokens, 2) if tokens else None,
        duration_ratio=round(lasts / wall_ms, 2) if wall_ms else None,
    )
