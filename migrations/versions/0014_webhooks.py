"""Webhooks, and what is to be delivered to them.

The trigger enqueues a delivery in the transaction that writes the event which it tells of, whoever writes that: the
owner of a run, a client that cancels, a process of an earlier release. A run of which nobody is to be told costs two
looks into an index at its end, and no row.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSON

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)

_FUNCTION = """
    CREATE FUNCTION chargehand_enqueue_deliveries() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    BEGIN
        INSERT INTO webhook_deliveries (id, tenant, endpoint_id, run_id, seq, type, at, said)
        SELECT 'msg_' || replace(CAST(gen_random_uuid() AS text), '-', ''), runs.tenant, endpoint.id, runs.id,
               NEW.seq, NEW.type, NEW.at,
               json_build_object('status', split_part(NEW.type, '.', 2), 'stop_reason', runs.stop_reason,
                                 'waiting_for', NEW.data -> 'reason')
        FROM runs CROSS JOIN LATERAL (
            SELECT id, types, disabled_at FROM webhook_endpoints WHERE run_id = runs.id
            UNION ALL
            SELECT id, types, disabled_at FROM webhook_endpoints WHERE tenant = runs.tenant AND run_id IS NULL
        ) AS endpoint
        -- A nested run is a part of another one, and a dry run does nothing.
        WHERE runs.id = NEW.run_id AND runs.parent IS NULL AND runs.limits -> 'dry_run' IS NULL
          AND NEW.type = ANY(endpoint.types) AND endpoint.disabled_at IS NULL
        ON CONFLICT (run_id, seq, endpoint_id) DO NOTHING;
        IF FOUND THEN
            PERFORM pg_notify('chargehand_webhooks', '');
        END IF;
        RETURN NULL;
    END $$
"""
_TRIGGER = """
    CREATE TRIGGER enqueue_deliveries AFTER INSERT ON events FOR EACH ROW
    WHEN (NEW.type IN ('run.succeeded', 'run.partial', 'run.failed', 'run.cancelled')
          OR NEW.type = 'run.waiting' AND NEW.data ->> 'reason' IN ('plan_approval', 'answer'))
    EXECUTE FUNCTION chargehand_enqueue_deliveries()
"""


def upgrade() -> None:
    _make_endpoints()
    _make_deliveries()
    op.execute(_FUNCTION)
    op.execute(_TRIGGER)


def _make_endpoints() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), comment="of a job's own; null: the tenant's"),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("types", ARRAY(sa.Text()), nullable=False),
        sa.Column("secret", sa.LargeBinary(), comment="sealed; null: that of the tenant"),
        sa.Column("earlier_secret", sa.LargeBinary(), comment="sealed; signs beside the other for a while"),
        sa.Column("earlier_until", TIME),
        sa.Column("quiet_until", TIME, comment="until when the receiver wants to be left alone"),
        sa.Column("disabled_at", TIME, comment="when the receiver said that it wants nothing more"),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "types <@ ARRAY['run.cancelled', 'run.failed', 'run.partial', 'run.succeeded', 'run.waiting'] "
            "AND cardinality(types) > 0",
            name=op.f("webhook_endpoints_types_check"),
        ),
        sa.CheckConstraint(
            "run_id IS NOT NULL OR secret IS NOT NULL", name=op.f("webhook_endpoints_tenant_signs_check")
        ),
        sa.CheckConstraint(
            "(earlier_secret IS NULL) = (earlier_until IS NULL)", name=op.f("webhook_endpoints_earlier_ends_check")
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("webhook_endpoints_run_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("webhook_endpoints_pkey")),
    )
    for name, column, where in (
        ("webhook_endpoints_tenant_idx", "tenant", "run_id IS NULL"),
        ("webhook_endpoints_run_idx", "run_id", "run_id IS NOT NULL"),
    ):
        op.create_index(name, "webhook_endpoints", [column], unique=True, postgresql_where=sa.text(where))


def _make_deliveries() -> None:
    begun = "begun since it was asked for"
    due = "when it may be tried, or an attempt counts as lost"
    answer = "of the newest answer, of which nothing else is kept"
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Text(), nullable=False, comment="webhook-id: the same however often it is sent"),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("endpoint_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), comment="null for a test"),
        sa.Column("seq", sa.BigInteger(), comment="number of the event that it tells of"),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("said", JSON(), nullable=False, comment="what the event says of the run"),
        sa.Column("status", sa.Text(), server_default=sa.text("'pending'"), nullable=False),
        sa.Column(
            "attempts",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment=begun,
        ),
        sa.Column("due_at", TIME, server_default=sa.text("now()"), comment=due),
        sa.Column("attempted_at", TIME),
        sa.Column("response_status", sa.Integer(), comment=answer),
        sa.Column("error", sa.Text(), comment="why the newest attempt has not delivered"),
        sa.Column("created_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", TIME),
        sa.CheckConstraint(
            "status IN ('delivered', 'failed', 'pending')", name=op.f("webhook_deliveries_status_check")
        ),
        sa.CheckConstraint(
            "(status = 'pending') = (due_at IS NOT NULL)", name=op.f("webhook_deliveries_pending_is_due_check")
        ),
        sa.CheckConstraint(
            "(status = 'pending') = (ended_at IS NULL)", name=op.f("webhook_deliveries_ended_has_end_time_check")
        ),
        sa.CheckConstraint("(run_id IS NULL) = (seq IS NULL)", name=op.f("webhook_deliveries_of_an_event_check")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("webhook_deliveries_run_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("webhook_deliveries_pkey")),
    )
    newest: list[str | sa.TextClause] = ["endpoint_id", sa.text("created_at DESC"), sa.text("id DESC")]
    pending = sa.text("status = 'pending'")
    op.create_index("webhook_deliveries_event_idx", "webhook_deliveries", ["run_id", "seq", "endpoint_id"], unique=True)
    op.create_index("webhook_deliveries_due_idx", "webhook_deliveries", ["due_at"], postgresql_where=pending)
    op.create_index("webhook_deliveries_endpoint_idx", "webhook_deliveries", newest)
