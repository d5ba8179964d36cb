"""What operators need: which processes there are, whose jobs are not taken in, and what a run has cost, as a column.

The indexes by which lists of runs are filtered and sorted are made beside the writers, in a later one, 0020. It fills
the column of runs that had ended before as well.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0017"
down_revision: str | None = "0016"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

TIME = sa.DateTime(timezone=True)

_FUNCTION = """
    CREATE FUNCTION chargehand_note_cost() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.cost_usd := coalesce(CAST(NEW.usage ->> 'cost_usd' AS numeric), 0);
        RETURN NEW;
    END $$
"""
_TRIGGER = """
    CREATE TRIGGER note_cost BEFORE UPDATE ON runs FOR EACH ROW
    WHEN (NEW.finished_at IS NOT NULL AND NEW.cost_usd IS NULL)
    EXECUTE FUNCTION chargehand_note_cost()
"""
_LABELS = """
    CREATE FUNCTION chargehand_labels(tenant text, metadata json) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CAST('{"' || tenant || '": ' || CAST(metadata AS text) || '}' AS jsonb)
"""
_STATISTICS = "CREATE STATISTICS runs_labels_stats ON (chargehand_labels(tenant, metadata)) FROM runs"


def upgrade() -> None:
    op.create_table(
        "engines",
        sa.Column("name", sa.Text(), nullable=False, comment="as run rows name their owner"),
        sa.Column("version", sa.Text(), nullable=False, comment="of the release"),
        sa.Column("runs_at_once", sa.Integer(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("renewed_at", TIME, nullable=False),
        sa.Column("silent_from", TIME, nullable=False, comment="from when it is missed unless it says something"),
        sa.Column("leaving", sa.Boolean(), nullable=False, comment="whether it was told to stop"),
        sa.Column("drained_at", TIME, comment="when it was asked to claim nothing more; null while it claims"),
        sa.PrimaryKeyConstraint("name", name=op.f("engines_pkey")),
        postgresql_with={"fillfactor": "50"},
    )
    op.create_table(
        "intake_pauses",
        sa.Column("tenant", sa.Text(), nullable=False, comment="whose jobs are not taken in; empty: those of all"),
        sa.Column("said_by", sa.Text(), nullable=False),
        sa.Column("paused_at", TIME, server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("said_by IN ('operator', 'tenant')", name=op.f("intake_pauses_said_by_check")),
        sa.CheckConstraint("tenant <> '' OR said_by = 'operator'", name=op.f("intake_pauses_all_by_operator_check")),
        sa.PrimaryKeyConstraint("tenant", "said_by", name=op.f("intake_pauses_pkey")),
    )
    op.add_column("runs", sa.Column("cost_usd", sa.Numeric(), comment="what it took, once it has ended; by a trigger"))
    op.execute(_FUNCTION)
    op.execute(_TRIGGER)
    op.execute(_LABELS)
    op.execute(_STATISTICS)
