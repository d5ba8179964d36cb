"""Whether one more run may be accepted, in view of what its tenant and its key have taken of what they may use.

Money is reserved: a run may spend what its own limit says, and that much is kept for it until it ends. So what runs
side by side spend never passes a limit; the limit of a run that asks for more than is left is cut to that.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_DOWN, Decimal

from app.domain.errors import LimitReached
from app.domain.quotas import CostPeriod, LimitName, Owner, Quota, Quotas, Rate, Taken, period_at

LEAST_COST_USD = Decimal("0.01")
"""With less than that a run does nothing of use, unless it asks for less itself."""
_CENT = Decimal("0.01")
_LIMIT_STEP = Decimal("0.000001")
"""What limits of runs are written to."""
SOON_S = 5
"""After how many seconds it is worth asking again where it depends on when runs begin or end."""
_HEADER_NAMES: Mapping[LimitName, str] = {
    "requests_per_second": "requests",
    "runs_in_flight": "runs-in-flight",
    "runs_queued": "runs-queued",
    "cost_usd_per_day": "cost-day",
    "cost_usd_per_month": "cost-month",
}
_PERIODS: Mapping[CostPeriod, str] = {"cost_usd_per_day": "day", "cost_usd_per_month": "month"}


@dataclass(frozen=True, slots=True)
class Note:
    """How it stands with one limit, as the headers of an answer say it."""

    limit: LimitName
    owner: Owner
    quota: int
    left: int
    window_s: int | None = None
    """For how long the quota holds; None where it is not about time."""
    reset_s: int | None = None
    """After how many seconds all of it is there again; None where that is not known."""
    unit: str | None = None
    """What is counted; None for requests."""

    @property
    def name(self) -> str:
        """Its name among the limits of its caller."""
        name = _HEADER_NAMES[self.limit]
        return name if self.owner == "tenant" else f"key-{name}"


@dataclass(frozen=True, slots=True)
class Standing:
    """What a tenant and one of its keys have taken, at a moment of the database's clock."""

    now: datetime
    tenant: Taken
    key: Taken

    def of(self, owner: Owner) -> Taken:
        """What one of them has taken."""
        return self.tenant if owner == "tenant" else self.key

    def with_one_more(self, admission: "Admission") -> "Standing":
        """How it stands once a run has been accepted so."""
        tenant, key = (_with_one_more(taken, admission) for taken in (self.tenant, self.key))
        return replace(self, tenant=tenant, key=key)


def _with_one_more(taken: Taken, admission: "Admission") -> Taken:
    costs = {
        name: replace(spending, reserved=spending.reserved + (admission.cost_usd or 0))
        for name, spending in taken.costs.items()
    }
    in_flight, held = taken.in_flight + (not admission.held), taken.held + admission.held
    return replace(taken, in_flight=in_flight, queued=taken.queued + 1, held=held, costs=costs)


@dataclass(frozen=True, slots=True)
class Admission:
    """How a run is accepted."""

    cost_usd: Decimal | None
    """What it may spend."""
    held: bool
    """Whether it waits in the queue until others of its tenant or key have ended."""


def admitted(quotas: Quotas, standing: Standing, cost_usd: Decimal | None) -> Admission:
    """How a run that would spend up to `cost_usd` is accepted. Raises `LimitReached`."""
    held = False
    for owner, quota in quotas:
        taken = standing.of(owner)
        if quota.runs_queued is not None and taken.queued >= quota.runs_queued:
            detail = f"{taken.queued} runs of the {owner} wait to begin, and there may be {quota.runs_queued}."
            raise LimitReached("runs_queued", "too_many_queued", detail, SOON_S)
        held = held or not has_room(quota, taken)
        cost_usd = _affordable(owner, quota, standing, cost_usd)
    return Admission(cost_usd, held)


def has_room(quota: Quota, taken: Taken) -> bool:
    """Whether one more run may be worked on."""
    return quota.runs_in_flight is None or taken.in_flight < quota.runs_in_flight


def _affordable(owner: Owner, quota: Quota, standing: Standing, cost_usd: Decimal | None) -> Decimal | None:
    """What a run may spend of what is left. Raises `LimitReached` when that is too little for anything."""
    for name, limit in quota.costs.items():
        spending = standing.of(owner).costs[name]
        left = spending.left(limit).quantize(_LIMIT_STEP, ROUND_DOWN).normalize()
        least = LEAST_COST_USD if cost_usd is None else min(cost_usd, LEAST_COST_USD)
        if left < least:
            raise _too_dear(owner, name, limit, standing)
        cost_usd = left if cost_usd is None else min(cost_usd, left)
    return cost_usd


def _too_dear(owner: Owner, name: CostPeriod, limit: Decimal, standing: Standing) -> LimitReached:
    spending, period = standing.of(owner).costs[name], period_at(name, standing.now)
    whole = f"The {owner} may spend {limit:f} US dollars a {_PERIODS[name]}"
    if limit - spending.spent < LEAST_COST_USD:
        detail = f"{whole}, and has spent {spending.spent:f} of them."
        return LimitReached(name, "spend_limit_reached", detail, _seconds(standing.now, period.until))
    detail = f"{whole}: {spending.spent:f} are spent, and the rest is reserved for runs that have not ended."
    return LimitReached(name, "spend_limit_reached", detail, SOON_S)


def _seconds(now: datetime, until: datetime) -> int:
    return max(int((until - now).total_seconds()) + 1, 1)


def notes_of(quotas: Quotas, standing: Standing) -> Iterator[Note]:
    """How it stands with the limits of runs and money."""
    for owner, quota in quotas:
        taken = standing.of(owner)
        if quota.runs_in_flight is not None:
            left = max(quota.runs_in_flight - taken.in_flight, 0)
            yield Note("runs_in_flight", owner, quota.runs_in_flight, left, unit="runs")
        if quota.runs_queued is not None:
            left = max(quota.runs_queued - taken.queued, 0)
            yield Note("runs_queued", owner, quota.runs_queued, left, unit="runs")
        for name, limit in quota.costs.items():
            period = period_at(name, standing.now)
            yield Note(
                name,
                owner,
                int(limit / _CENT),
                int(taken.costs[name].left(limit) / _CENT),
                window_s=int((period.until - period.since).total_seconds()),
                reset_s=_seconds(standing.now, period.until),
                unit="usd-cents",
            )


def note_of_requests(owner: Owner, rate: Rate, ahead_s: float) -> Note:
    """How it stands with requests when all that have come are worked off in so many seconds."""
    reset_s = max(-int(-ahead_s // 1), 0)
    return Note("requests_per_second", owner, rate.in_window, rate.left(ahead_s), rate.window_s, reset_s)
