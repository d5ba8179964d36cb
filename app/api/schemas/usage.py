"""The shapes of usage."""

from datetime import datetime

from app.api.schemas.shape import Shape
from app.domain.usage import Usage
from app.store.usage import GroupBy


class UsageGroup(Shape):
    """What the runs of a group have taken together."""

    name: str | None
    """The day (UTC), the team, the model, or the id of the key; null for runs that were posted without a key."""
    runs: int
    """Runs of the group. By model: those in which it was called."""
    usage: Usage
    """What they have taken so far."""


class UsageTotal(Shape):
    """All of them together."""

    runs: int
    """Runs that were posted in the period. Nested runs are a part of the run that they belong to."""
    usage: Usage
    """What they have taken so far."""


class UsageReport(Shape):
    """What the runs of a period have taken."""

    since: datetime
    """Its beginning."""
    until: datetime
    """Its end, which is no part of it."""
    group_by: GroupBy
    """What it is added up by."""
    data: list[UsageGroup]
    """The groups in which there is something, by name; a thousand at most."""
    total: UsageTotal
    """All groups."""
