"""Runs say whose task they do the work of, and are found by that."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "runs",
        sa.Column(
            "parent",
            postgresql.JSON(astext_type=sa.Text()),
            comment="the attempt whose work a nested run does; null for a job of a client",
        ),
    )
    op.add_column(
        "runs", sa.Column("reports_to", sa.Text, comment="the parent that has not heard of a nested run's end yet")
    )
    op.create_index("runs_reporting_idx", "runs", ["reports_to"], postgresql_where=sa.text("reports_to IS NOT NULL"))
    op.create_index(
        "runs_by_parent_idx",
        "runs",
        [sa.text("(parent ->> 'run')")],
        postgresql_where=sa.text("parent IS NOT NULL"),
    )
