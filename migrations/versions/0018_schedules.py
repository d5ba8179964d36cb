"""Schedules, and what has become of their times; a run says which schedule it comes from."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)
NOW = sa.text("now()")


def upgrade() -> None:
    _make_schedules()
    _make_parts()
    op.add_column("runs", sa.Column("schedule", JSON, comment="the schedule that it comes from, and for which time"))


def _make_schedules() -> None:
    op.create_table(
        "schedules",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), comment="for people"),
        sa.Column("cron", sa.Text()),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("once", TIME),
        sa.Column("missed", sa.Text(), nullable=False),
        sa.Column("overlap", sa.Text(), nullable=False),
        sa.Column("job", JSON, nullable=False, comment="masked; without its secret, and without what its inputs hold"),
        sa.Column("webhook_secret", sa.LargeBinary(), comment="of the job, sealed"),
        sa.Column("key_id", sa.Text(), comment="id of the key that it was made with; null without keys"),
        sa.Column(
            "version",
            sa.Integer(),
            server_default=sa.text("1"),
            nullable=False,
            comment="rises when a client changes it",
        ),
        sa.Column("next_at", TIME, comment="the time that nothing has become of yet; null: none comes any more"),
        sa.Column("look_at", TIME, comment="when a process is to look at it, or one that has it counts as dead"),
        sa.Column("last_run_id", sa.Text(), comment="the newest of its runs"),
        sa.Column("refusals", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="in a row"),
        sa.Column("paused_at", TIME),
        sa.Column("pause_reason", sa.Text()),
        sa.Column("idempotency_key", sa.Text(), comment="that its request came under"),
        sa.Column("digest", sa.Text(), comment="SHA-256 of that request's body"),
        sa.Column("created_at", TIME, server_default=NOW, nullable=False),
        sa.Column("updated_at", TIME, server_default=NOW, nullable=False, comment="when a client last changed it"),
        *(
            sa.CheckConstraint(condition, name=op.f(f"schedules_{name}_check"))
            for name, condition in (
                ("one_timing", "(cron IS NULL) <> (once IS NULL)"),
                ("missed", "missed IN ('run_once', 'skip')"),
                ("overlap", "overlap IN ('allow', 'skip')"),
                ("pause_reason", "pause_reason IN ('client', 'refused')"),
                ("pause_has_reason", "(paused_at IS NULL) = (pause_reason IS NULL)"),
                ("looked_at_while_active", "(look_at IS NULL) = (paused_at IS NOT NULL OR next_at IS NULL)"),
                ("key_has_digest", "(idempotency_key IS NULL) = (digest IS NULL)"),
            )
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("schedules_pkey")),
    )
    op.create_index(op.f("schedules_tenant_id_idx"), "schedules", ["tenant", "id"])
    op.create_index("schedules_due_idx", "schedules", ["look_at"], postgresql_where=sa.text("look_at IS NOT NULL"))
    keyed = sa.text("idempotency_key IS NOT NULL")
    op.create_index(
        "schedules_key_idx", "schedules", ["tenant", "idempotency_key"], unique=True, postgresql_where=keyed
    )


def _make_parts() -> None:
    op.create_table(
        "schedule_inputs",
        sa.Column("schedule_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        _hangs_on_schedule("schedule_inputs"),
        sa.PrimaryKeyConstraint("schedule_id", "position", name=op.f("schedule_inputs_pkey")),
    )
    op.create_table(
        "schedule_firings",
        sa.Column("schedule_id", sa.Text(), nullable=False),
        sa.Column("due_at", TIME, nullable=False, comment="the time that it is about"),
        sa.Column("at", TIME, server_default=NOW, nullable=False, comment="when that was decided"),
        sa.Column("by_hand", sa.Boolean(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text()),
        sa.Column("code", sa.Text(), comment="why the job was refused"),
        sa.Column("detail", sa.Text()),
        *(
            sa.CheckConstraint(condition, name=op.f(f"schedule_firings_{name}_check"))
            for name, condition in (
                ("outcome", "outcome IN ('fired', 'missed', 'overlapped', 'refused')"),
                ("fired_has_run", "(outcome = 'fired') = (run_id IS NOT NULL)"),
                ("refused_has_code", "(outcome = 'refused') = (code IS NOT NULL)"),
            )
        ),
        _hangs_on_schedule("schedule_firings"),
        sa.PrimaryKeyConstraint("schedule_id", "due_at", name=op.f("schedule_firings_pkey")),
    )


def _hangs_on_schedule(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"{table}_schedule_id_fkey")
    return sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name=name, ondelete="CASCADE")
