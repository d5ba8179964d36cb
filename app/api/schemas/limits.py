"""The shapes of limits."""

from datetime import datetime
from typing import Literal

from app.api.schemas.shape import Shape
from app.domain.quotas import Owner
from app.domain.usage import Money


class CountLimit(Shape):
    """A limit of requests or runs, and how it stands with it."""

    name: Literal["requests_per_second", "runs_in_flight", "runs_queued"]
    """What is limited."""
    owner: Owner
    """Whose limit it is: that of the `key`, or that of its `tenant`. Both hold."""
    limit: int
    """How many there may be; of requests, how many may come in a second, as an average."""
    burst: int | None
    """How many requests may come at once; null for limits of runs."""
    used: int
    """How many there are; of requests, how many of the burst have come and are not made up for yet."""
    left: int
    """How many more there may be; of requests, how many more at once."""
    held: int
    """Queued runs that wait for others to end, since so many are in flight. 0 for other limits."""


class CostLimit(Shape):
    """A limit of money, and how it stands with it."""

    name: Literal["cost_usd_per_day", "cost_usd_per_month"]
    """What is limited."""
    owner: Owner
    """Whose limit it is: that of the `key`, or that of its `tenant`. Both hold."""
    limit_usd: Money
    """What the runs that are accepted in the period may cost together."""
    spent_usd: Money
    """What they have cost so far."""
    reserved_usd: Money
    """What those that have not ended may still spend, by their own limits."""
    left_usd: Money
    """What may be given to further ones."""
    since: datetime
    """Beginning of the period."""
    until: datetime
    """Its end, from which on all of it is there again."""


class CallerLimits(Shape):
    """What the caller may use, and how much of it is left."""

    object: Literal["limits"]
    """Always `limits`."""
    tenant: str
    """Whose runs are counted."""
    key: str | None
    """Id of the key that asks; null where keys are not asked for."""
    cost_usd_per_run: Money | None
    """What one run may cost; null for no limit."""
    data: list[CountLimit | CostLimit]
    """Each limit that there is. What is not in it has none."""
