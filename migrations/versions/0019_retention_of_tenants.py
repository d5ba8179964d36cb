"""Each tenant may keep runs for a time of its own, and logs of ended runs may be cut before that."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "retention",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("thin_after_days", sa.Integer, comment="days after which logs of ended runs are cut; null: never"),
        sa.Column("delete_after_days", sa.Integer, comment="days after which ended runs are deleted; null: never"),
        sa.CheckConstraint("thin_after_days > 0 AND delete_after_days > 0", name=op.f("retention_days_check")),
    )
    op.add_column(
        "runs",
        sa.Column(
            "thinned_at",
            sa.DateTime(timezone=True),
            comment="since when long texts in its log are cut; null while it is whole",
        ),
    )
    op.create_index(
        "runs_kept_idx", "runs", ["tenant", "finished_at"], postgresql_where=sa.text("finished_at IS NOT NULL")
    )
    op.create_index(
        "runs_whole_idx",
        "runs",
        ["tenant", "finished_at"],
        postgresql_where=sa.text("finished_at IS NOT NULL AND thinned_at IS NULL"),
    )
    op.drop_index("runs_ended_idx", "runs")
