"""Files that runs hand over, one row each, so that a download reads that one alone."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "artifacts",
        sa.Column("run_id", sa.Text, sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("position", sa.Integer, nullable=False, comment="place among the files of the run"),
        sa.Column("media_type", sa.Text, nullable=False, comment="as it was handed over"),
        sa.Column("task_id", sa.Text, comment="who handed it over; null: it came with the answer"),
        sa.Column("is_text", sa.Boolean, nullable=False, comment="whether it was handed over as text"),
        sa.Column("bytes", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
