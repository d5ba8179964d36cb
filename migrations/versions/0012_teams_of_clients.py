"""Clients bring teams too, and a team may be archived."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0012"
down_revision: str | None = "0011"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column(
        "teams",
        sa.Column(
            "archived_at",
            sa.DateTime(timezone=True),
            comment="when the team was withdrawn from new jobs; the same in all its versions",
        ),
    )
    op.drop_constraint(op.f("teams_origin_check"), "teams")
    op.create_check_constraint(op.f("teams_origin_check"), "teams", "origin IN ('built_in', 'client', 'operator')")
    op.alter_column("teams", "origin", comment="who brought it; the first release does not say")
