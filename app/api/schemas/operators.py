"""The shapes of what operators see and steer: processes, the intake of jobs, many runs at once."""

from datetime import datetime
from typing import Literal

from app.api.schemas.shape import Page, Shape


class Engine(Shape):
    """A process that executes runs."""

    name: str
    """Its name, as `run.started` and `run.resumed` have it: another one at each start."""
    object: Literal["engine"]
    """Always `engine`."""
    version: str
    """Its release."""
    started_at: datetime
    """When it was started."""
    renewed_at: datetime
    """When it last said that it is there."""
    stale: bool
    """Whether it has said nothing for longer than it should: it is gone, or cut off. Others take its runs over."""
    draining: bool
    """Whether it claims nothing more: somebody has asked for that, or it is about to stop."""
    drain_requested_at: datetime | None
    """When somebody has asked for it; null where nobody has."""
    runs_at_once: int
    """How many runs it executes side by side at most."""
    runs: int
    """How many of the tenant's runs it has."""
    run_ids: list[str]
    """Ids of these runs, a hundred at most."""
    runs_of_all: int | None
    """How many runs of all tenants it has; null for those who are not the operator."""


class EnginePage(Page):
    """Engines, the oldest first."""

    data: list[Engine]
    """The engines."""


class Intake(Shape):
    """Whether new jobs of the tenant are taken in."""

    object: Literal["intake"]
    """Always `intake`."""
    paused: bool
    """Whether they are not."""
    paused_at: datetime | None
    """Since when; null while they are taken in."""
    paused_by: list[Literal["operator", "tenant"]]
    """Who has said so: the operator, by the command line, or the tenant itself. What one has said, only that one takes
    back."""


class BulkCancellation(Page):
    """What would be cancelled, or was."""

    object: Literal["bulk_cancellation"]
    """Always `bulk_cancellation`."""
    dry_run: bool
    """Whether nothing was done."""
    matching: int
    """How many runs were meant when this was asked: those that had not ended, and that nobody had cancelled yet."""
    cancelled: int
    """How many of them were cancelled by this request; 0 in a dry run."""
    data: list[str]
    """Ids of the runs that would be cancelled, or were; the oldest first."""
