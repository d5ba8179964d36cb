"""Runs say which run they come from, if they begin with the results of another."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "runs",
        sa.Column(
            "origin",
            postgresql.JSON(astext_type=sa.Text()),
            comment="the run whose results it begins with; null for a job of its own",
        ),
    )
