"""What a tenant, or a key of it, may use: requests, runs and money. Whatever is not said has no bound."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from app.domain.job import Amount, Limits
from app.domain.numbers import exact

Owner = Literal["tenant", "key"]
"""Whose limit it is. Both hold."""
CostPeriod = Literal["cost_usd_per_day", "cost_usd_per_month"]
"""A limit of money for a day or a month, of UTC."""
COST_PERIODS: tuple[CostPeriod, ...] = get_args(CostPeriod)
LimitName = Literal["requests_per_second", "runs_in_flight", "runs_queued", "cost_usd_per_day", "cost_usd_per_month"]
"""What may run out."""
LIMIT_NAMES: tuple[LimitName, ...] = get_args(LimitName)
WARNED_FROM = Decimal("0.8")
"""The part of a limit of money from which on its owner is warned."""
DEFAULTS = ""
"""In place of a tenant: what holds for all who have nothing else."""
WHOLE_TENANT = ""
"""In place of a key: the limits of a tenant itself."""

_Count = Annotated[int, Field(ge=1, le=1_000_000), BeforeValidator(exact)]


class Quota(BaseModel):
    """What one tenant or one key may use."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    requests_per_second: _Count | None = None
    """Requests a second, as an average; null for no limit."""
    requests_burst: _Count | None = None
    """Requests that may come at once; null for as many as may come in a second."""
    runs_in_flight: _Count | None = None
    """Runs that are worked on at the same time. Further ones wait in the queue. Those that wait for a person do not
    count. Null for no limit."""
    runs_queued: _Count | None = None
    """Runs that have not begun. Further ones are refused. Null for no limit."""
    cost_usd_per_run: Amount | None = None
    """US dollars that one run may cost: a higher limit of its own is cut to this one. Null for no limit."""
    cost_usd_per_day: Amount | None = None
    """US dollars that the runs of a day (UTC) may cost together; null for no limit."""
    cost_usd_per_month: Amount | None = None
    """US dollars that the runs of a month (UTC) may cost together; null for no limit."""

    def over(self, other: "Quota") -> "Quota":
        """This one, with what it says nothing about taken from another. A limit that is said to be null is none."""
        said = {name: getattr(self, name) for name in self.model_fields_set}
        return other.model_copy(update=said)

    def at_most(self, other: "Quota") -> "Quota":
        """This one, with the limits of another where those are stricter. A burst belongs to its rate."""
        strictest: dict[str, Any] = {}
        for name, limit in other:
            if limit is not None and name != "requests_burst":
                own = getattr(self, name)
                strictest[name] = limit if own is None else min(own, limit)
        if other.rate is not None:
            bursts = [quota.requests_burst or quota.requests_per_second for quota in (self, other)]
            strictest["requests_burst"] = min(burst for burst in bursts if burst is not None)
        return self.model_copy(update=strictest)

    @property
    def said(self) -> Mapping[str, Any]:
        """What it says, in plain values, also of what is to have no limit."""
        return self.model_dump(mode="json", exclude_unset=True)

    @property
    def bounds(self) -> Mapping[str, Any]:
        """The limits that there are, in plain values."""
        return self.model_dump(mode="json", exclude_none=True)

    @property
    def costs(self) -> Mapping[CostPeriod, Decimal]:
        """The limits of money for a period that there are."""
        asked = {name: getattr(self, name) for name in COST_PERIODS}
        return {name: limit for name, limit in asked.items() if limit is not None}

    @property
    def rate(self) -> "Rate | None":
        """The limit of requests; None without one."""
        if self.requests_per_second is None:
            return None
        return Rate(self.requests_per_second, self.requests_burst or self.requests_per_second)


NOTHING_SAID = Quota()


@dataclass(frozen=True, slots=True)
class Quotas:
    """What a caller may use: what is left to its tenant, and what is left to its key."""

    tenant: Quota = NOTHING_SAID
    key: Quota = NOTHING_SAID

    def __iter__(self) -> Iterator[tuple[Owner, Quota]]:
        """Both, with whose they are."""
        yield "tenant", self.tenant
        yield "key", self.key

    @property
    def bind(self) -> bool:
        """Whether there is any limit."""
        return any(quota.bounds for _, quota in self)

    @property
    def count_runs(self) -> bool:
        """Whether runs have to be counted before one more is accepted."""
        return any(quota.runs_in_flight is not None or quota.runs_queued is not None for _, quota in self)

    @property
    def count_money(self) -> bool:
        """Whether money has to be counted before a run is accepted."""
        return any(quota.costs for _, quota in self)

    @property
    def count(self) -> bool:
        """Whether anything has to be counted before one more run is accepted."""
        return self.count_runs or self.count_money

    def within(self, limits: Limits) -> Limits:
        """The limits of a run with the money that a run may ever cost here: what is left of it now is seen later."""
        most = [quota.cost_usd_per_run for _, quota in self if quota.cost_usd_per_run is not None]
        most += [limit for _, quota in self for limit in quota.costs.values()]
        if limits.cost_usd is not None:
            most.append(limits.cost_usd)
        return limits.model_copy(update={"cost_usd": min(most)}) if most else limits


UNBOUND = Quotas()


def quotas_of(stored: Sequence[tuple[str, str, Any]], key: str | None) -> Quotas:
    """What a caller may use, by the limits that are `stored` for its tenant and for all: tenant, key, what is said."""
    said = {(tenant == DEFAULTS, of_key): Quota.model_validate(limits) for tenant, of_key, limits in stored}
    of_tenant, of_all = (said.get((is_default, WHOLE_TENANT), NOTHING_SAID) for is_default in (False, True))
    if "requests_per_second" in of_tenant.model_fields_set:  # A burst belongs to its rate.
        of_all = of_all.model_copy(update={"requests_burst": None})
    of_tenant = of_tenant.over(of_all)
    return Quotas(of_tenant, said.get((False, key), NOTHING_SAID) if key else NOTHING_SAID)


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests that may come: so many a second, and so many at once.

    It is counted by the generic cell rate algorithm (GCRA; ITU-T I.371). What is kept is one moment: when everything
    that has come would be worked off, were there one request each `step_s`. That moment may lie `room_s` ahead.
    """

    per_second: int
    burst: int

    @property
    def step_s(self) -> float:
        """Seconds by which a request puts the moment off."""
        return 1 / self.per_second

    @property
    def room_s(self) -> float:
        """Seconds by which the moment may lie ahead."""
        return self.burst / self.per_second

    @property
    def window_s(self) -> int:
        """Whole seconds after which all of the burst is there again."""
        return -(-self.burst // self.per_second)

    @property
    def in_window(self) -> int:
        """Requests that may come in each window of that length, as an average: never less than the burst."""
        return self.per_second * self.window_s

    def left(self, ahead_s: float) -> int:
        """Requests that may come at once while the moment lies so far ahead."""
        # What is added makes up for the rounding of times: a microsecond, at most a part of a step.
        return max(int((self.room_s - ahead_s + min(2e-6, self.step_s / 10)) / self.step_s), 0)

    def wait_s(self, ahead_s: float) -> float:
        """Seconds until one more may come."""
        return max(ahead_s + self.step_s - self.room_s, 0.0)


@dataclass(frozen=True, slots=True)
class Period:
    """A day or a month of UTC."""

    since: datetime
    until: datetime


def period_at(name: CostPeriod, now: datetime) -> Period:
    """The period in which `now` lies."""
    day = datetime.combine(now.astimezone(UTC).date(), time(), UTC)
    if name == "cost_usd_per_day":
        return Period(day, day + timedelta(days=1))
    first = day.replace(day=1)
    return Period(first, (first + timedelta(days=32)).replace(day=1))


@dataclass(frozen=True, slots=True)
class Spending:
    """What the runs of a period have taken of it."""

    spent: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    """What those that have not ended may still spend."""

    def left(self, limit: Decimal) -> Decimal:
        """What of a limit may be given to another run."""
        return max(limit - self.spent - self.reserved, Decimal(0))


@dataclass(frozen=True, slots=True)
class Taken:
    """What a tenant or a key has taken so far."""

    in_flight: int = 0
    queued: int = 0
    held: int = 0
    """Of the queued ones, those that wait for others to end."""
    costs: Mapping[CostPeriod, Spending] = field(default_factory=dict)
