"""First schema: runs with their events and read models, teams, and the queue's own tables."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from procrastinate.schema import SchemaManager
from sqlalchemy.dialects import postgresql

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "teams",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("definition", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "digest", sa.Text(), nullable=False, comment="SHA-256 of the definition: an unchanged team makes no version"
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", "version", name=op.f("teams_pkey")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=True),
        sa.Column("stop_reason", sa.Text(), nullable=True),
        sa.Column("objective", sa.Text(), nullable=False),
        sa.Column("team_name", sa.Text(), nullable=False),
        sa.Column("team_version", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column(
            "turn",
            sa.BigInteger(),
            nullable=False,
            comment="place in line among runs of one priority; lower goes first",
        ),
        sa.Column("metadata", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("limits", postgresql.JSON(astext_type=sa.Text()), nullable=False, comment="as applied"),
        sa.Column("waiting_for", sa.Text(), nullable=True, comment="what a waiting run waits for"),
        sa.Column(
            "wake_at", sa.DateTime(timezone=True), nullable=True, comment="when a waiting run is looked at again"
        ),
        sa.Column("plan_revision", sa.Integer(), nullable=True),
        sa.Column("progress", postgresql.JSON(astext_type=sa.Text()), nullable=False, comment="tasks by status"),
        sa.Column("usage", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("timing", postgresql.JSON(astext_type=sa.Text()), nullable=False, comment="as of the last event"),
        sa.Column("result", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("error", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column(
            "cancellation",
            postgresql.JSON(astext_type=sa.Text()),
            nullable=True,
            comment="the request, then the receipt",
        ),
        sa.Column("last_seq", sa.BigInteger(), nullable=False, comment="number of the newest event"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True, comment="the process that executes the run; null when none does"),
        sa.Column(
            "owner_epoch", sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment="rises at every claim"
        ),
        sa.Column(
            "lease_until", sa.DateTime(timezone=True), nullable=True, comment="when the run may be taken from its owner"
        ),
        sa.Column(
            "idle_claims",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="claims since the run last moved",
        ),
        sa.CheckConstraint(
            "(status = 'waiting') = (waiting_for IS NOT NULL)", name=op.f("runs_waiting_says_for_what_check")
        ),
        sa.CheckConstraint(
            "(status IN ('cancelled', 'failed', 'partial', 'succeeded')) = (finished_at IS NOT NULL)",
            name=op.f("runs_ended_has_finish_time_check"),
        ),
        sa.CheckConstraint(
            "(status IN ('cancelled', 'failed', 'partial', 'succeeded')) = (stop_reason IS NOT NULL)",
            name=op.f("runs_ended_has_stop_reason_check"),
        ),
        sa.CheckConstraint(
            "(waiting_for IS NOT DISTINCT FROM 'provider') = (wake_at IS NOT NULL)",
            name=op.f("runs_provider_has_time_check"),
        ),
        sa.CheckConstraint(
            "NOT (status IN ('cancelled', 'failed', 'partial', 'succeeded')) OR owner IS NULL",
            name=op.f("runs_ended_is_nobodys_check"),
        ),
        sa.CheckConstraint("status <> 'queued' OR started_at IS NULL", name=op.f("runs_queued_has_not_started_check")),
        sa.CheckConstraint("status <> 'waiting' OR owner IS NULL", name=op.f("runs_waiting_is_nobodys_check")),
        sa.CheckConstraint(
            "status IN ('cancelled', 'failed', 'partial', 'queued', 'running', 'succeeded', 'waiting')",
            name=op.f("runs_status_check"),
        ),
        sa.CheckConstraint("(owner IS NULL) = (lease_until IS NULL)", name=op.f("runs_owner_has_lease_check")),
        sa.ForeignKeyConstraint(
            ["tenant", "team_name", "team_version"],
            ["teams.tenant", "teams.name", "teams.version"],
            name=op.f("runs_tenant_team_name_team_version_fkey"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("runs_pkey")),
    )
    op.create_index(
        "runs_ended_idx", "runs", ["finished_at"], unique=False, postgresql_where=sa.text("finished_at IS NOT NULL")
    )
    op.create_index("runs_line_idx", "runs", ["turn"], unique=False, postgresql_where=sa.text("status = 'queued'"))
    op.create_index(
        "runs_live_idx",
        "runs",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("status IN ('queued', 'running')"),
    )
    op.create_index(
        op.f("runs_tenant_idx"),
        "runs",
        ["tenant", sa.literal_column("created_at DESC"), sa.literal_column("id DESC")],
        unique=False,
    )
    op.create_index(
        "runs_tenant_line_idx", "runs", ["tenant", "turn"], unique=False, postgresql_where=sa.text("status = 'queued'")
    )
    op.create_index(
        "runs_waiting_idx", "runs", ["wake_at"], unique=False, postgresql_where=sa.text("status = 'waiting'")
    )
    op.create_table(
        "events",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False, comment="1, 2, 3 … without gaps"),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column(
            "data",
            postgresql.JSON(astext_type=sa.Text()),
            nullable=False,
            comment="as written: a resumed conversation repeats its words byte by byte",
        ),
        sa.CheckConstraint("seq > 0", name=op.f("events_seq_from_one_check")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("events_run_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "seq", name=op.f("events_pkey")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False, comment="method and path"),
        sa.Column("digest", sa.Text(), nullable=False, comment="SHA-256 of the canonical body"),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("idempotency_keys_run_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant", "key", "request", name=op.f("idempotency_keys_pkey")),
    )
    op.create_index(op.f("idempotency_keys_run_id_idx"), "idempotency_keys", ["run_id"], unique=False)
    op.create_table(
        "plans",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("plan", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("plans_run_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "revision", name=op.f("plans_pkey")),
    )
    op.create_table(
        "run_inputs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("run_inputs_run_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "position", name=op.f("run_inputs_pkey")),
    )
    op.create_table(
        "tasks",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False, comment="place in the plan"),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("output", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("usage", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status = 'succeeded') = (output IS NOT NULL)", name=op.f("tasks_succeeded_has_output_check")
        ),
        sa.CheckConstraint(
            "(status IN ('cancelled', 'failed', 'skipped', 'succeeded')) = (finished_at IS NOT NULL)",
            name=op.f("tasks_ended_has_finish_time_check"),
        ),
        sa.CheckConstraint(
            "status IN ('cancelled', 'failed', 'pending', 'running', 'skipped', 'succeeded', 'waiting')",
            name=op.f("tasks_status_check"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("tasks_run_id_fkey"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "task_id", name=op.f("tasks_pkey")),
    )
    op.create_table(
        "attempts",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column(
            "detail",
            postgresql.JSON(astext_type=sa.Text()),
            nullable=False,
            comment="instruction, error, escalation, usage and the like",
        ),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status = 'running') = (finished_at IS NULL)", name=op.f("attempts_ended_has_finish_time_check")
        ),
        sa.CheckConstraint(
            "status IN ('cancelled', 'failed', 'running', 'succeeded')", name=op.f("attempts_status_check")
        ),
        sa.ForeignKeyConstraint(
            ["run_id", "task_id"],
            ["tasks.run_id", "tasks.task_id"],
            name=op.f("attempts_run_id_task_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "task_id", "number", name=op.f("attempts_pkey")),
    )
    op.create_index(
        "attempts_one_running_idx",
        "attempts",
        ["run_id", "task_id"],
        unique=True,
        postgresql_where=sa.text("status = 'running'"),
    )
    # The driver reads a percent sign as the start of a parameter.
    op.get_bind().exec_driver_sql(SchemaManager.get_schema().replace("%", "%%"))
