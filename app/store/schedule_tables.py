"""The tables of schedules."""

from typing import get_args

from sqlalchemy import Boolean, CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, Table, Text, text
from sqlalchemy.dialects.postgresql import JSON

from app.domain.schedules import OUTCOMES, Missed, Overlap, PauseReason
from app.store.tables import TIME, listed, metadata, one_of

schedules = Table(
    "schedules",
    metadata,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("name", Text, comment="for people"),
    Column("cron", Text),
    Column("timezone", Text, nullable=False),
    Column("once", TIME),
    Column("missed", Text, nullable=False),
    Column("overlap", Text, nullable=False),
    Column("job", JSON, nullable=False, comment="masked; without its secret, and without what its inputs hold"),
    Column("webhook_secret", LargeBinary, comment="of the job, sealed"),
    Column("key_id", Text, comment="id of the key that it was made with; null without keys"),
    Column("version", Integer, nullable=False, server_default=text("1"), comment="rises when a client changes it"),
    Column("next_at", TIME, comment="the time that nothing has become of yet; null: none comes any more"),
    Column("look_at", TIME, comment="when a process is to look at it, or one that has it counts as dead"),
    Column("last_run_id", Text, comment="the newest of its runs"),
    Column("refusals", Integer, nullable=False, server_default=text("0"), comment="in a row"),
    Column("paused_at", TIME),
    Column("pause_reason", Text),
    Column("idempotency_key", Text, comment="that its request came under"),
    Column("digest", Text, comment="SHA-256 of that request's body"),
    Column("created_at", TIME, nullable=False, server_default=text("now()")),
    Column("updated_at", TIME, nullable=False, server_default=text("now()"), comment="when a client last changed it"),
    CheckConstraint("(cron IS NULL) <> (once IS NULL)", name="one_timing"),
    CheckConstraint(one_of("missed", get_args(Missed)), name="missed"),
    CheckConstraint(one_of("overlap", get_args(Overlap)), name="overlap"),
    CheckConstraint(one_of("pause_reason", get_args(PauseReason)), name="pause_reason"),
    CheckConstraint("(paused_at IS NULL) = (pause_reason IS NULL)", name="pause_has_reason"),
    CheckConstraint("(look_at IS NULL) = (paused_at IS NOT NULL OR next_at IS NULL)", name="looked_at_while_active"),
    CheckConstraint("(idempotency_key IS NULL) = (digest IS NULL)", name="key_has_digest"),
    Index(None, "tenant", "id"),
    Index("schedules_due_idx", "look_at", postgresql_where=text("look_at IS NOT NULL")),
    Index(
        "schedules_key_idx", "tenant", "idempotency_key",
        unique=True, postgresql_where=text("idempotency_key IS NOT NULL"),
    ),
)  # fmt: skip

schedule_inputs = Table(
    "schedule_inputs",
    metadata,
    Column("schedule_id", ForeignKey("schedules.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("content", Text, nullable=False),
)

schedule_firings = Table(
    "schedule_firings",
    metadata,
    Column("schedule_id", ForeignKey("schedules.id", ondelete="CASCADE"), primary_key=True),
    Column("due_at", TIME, primary_key=True, comment="the time that it is about"),
    Column("at", TIME, nullable=False, server_default=text("now()"), comment="when that was decided"),
    Column("by_hand", Boolean, nullable=False),
    Column("outcome", Text, nullable=False),
    # No foreign key: a run may be deleted before what is said of it here.
    Column("run_id", Text),
    Column("code", Text, comment="why the job was refused"),
    Column("detail", Text),
    CheckConstraint(f"outcome IN ({listed(OUTCOMES)})", name="outcome"),
    CheckConstraint("(outcome = 'fired') = (run_id IS NOT NULL)", name="fired_has_run"),
    CheckConstraint("(outcome = 'refused') = (code IS NOT NULL)", name="refused_has_code"),
)
