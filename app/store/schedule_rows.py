"""Schedules as values, and as rows of their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.schedules import PauseReason, Policy, Timing
from app.store.projection import as_json
from app.store.webhooks import OwnWebhook

IN_LISTS = """
    id, tenant, name, cron, timezone, once, missed, overlap, key_id, version, next_at, look_at, paused_at, pause_reason,
    created_at, updated_at, now() AS now
"""
COLUMNS = f"{IN_LISTS}, job, webhook_secret"


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job as it is stored with its schedule."""

    told: Mapping[str, Any]
    """All of it but what its inputs hold, and its secret."""
    contents: Sequence[str] | None
    """What its inputs hold; None where that was not read, or stays as it is."""
    webhook_secret: bytes | None
    """Sealed."""

    @property
    def webhook(self) -> OwnWebhook | None:
        """Who is told of its runs."""
        wanted = self.told.get("webhook")
        return OwnWebhook(wanted["url"], self.webhook_secret) if wanted else None


@dataclass(frozen=True, slots=True)
class Terms:
    """What a client says of a schedule."""

    name: str | None
    timing: Timing
    policy: Policy
    job: StoredJob | None
    """None where it was not read."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it is."""

    id: str
    terms: Terms
    key: str | None
    """Id of the key that its runs count for."""
    version: int
    next_at: datetime | None
    """The time that nothing has become of yet."""
    look_at: datetime | None
    """When somebody is to see to that; None while it is paused, and after its end."""
    paused_at: datetime | None
    pause_reason: PauseReason | None
    created_at: datetime
    updated_at: datetime
    now: datetime
    """When it was read, by the database's clock."""

    def upcoming(self, count: int) -> list[datetime]:
        """The times at which it runs next, `count` at most. None of them is over: in the place of one that is tried
        again are those that follow it, and where none does, the moment at which that is."""
        if self.next_at is None or self.look_at is None:
            return []
        if self.next_at > self.now:
            return self.terms.timing.upcoming(self.next_at, count)
        times = self.terms.timing.upcoming(self.terms.timing.after(self.now), count)
        return times or [max(self.look_at, self.now)]


def values_of(terms: Terms) -> dict[str, Any]:
    """What is stored of terms, by column."""
    assert terms.job is not None
    return {
        "name": terms.name,
        "cron": terms.timing.cron,
        "timezone": terms.timing.timezone,
        "once": terms.timing.once,
        "missed": terms.policy.missed,
        "overlap": terms.policy.overlap,
        "job": as_json(terms.job.told),
        "webhook_secret": terms.job.webhook_secret,
    }


def terms_in(row: Any) -> Terms:
    """The terms that a row has."""
    job = StoredJob(row.job, None, row.webhook_secret) if hasattr(row, "job") else None
    return Terms(row.name, Timing(row.cron, row.timezone, row.once), Policy(row.missed, row.overlap), job)


def schedule_in(row: Any) -> Schedule:
    """The schedule that a row is."""
    return Schedule(
        row.id,
        terms_in(row),
        row.key_id,
        row.version,
        row.next_at,
        row.look_at,
        row.paused_at,
        row.pause_reason,
        row.created_at,
        row.updated_at,
        row.now,
    )
