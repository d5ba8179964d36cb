"""Lists of runs by status and by team have an index each; a version of a team says who brought it."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

NEWEST_FIRST = (sa.text("created_at DESC"), sa.text("id DESC"))


def upgrade() -> None:
    op.add_column(
        "teams",
        sa.Column("origin", sa.Text, comment="who brought it: built_in or operator; the first release does not say"),
    )
    op.create_check_constraint("origin", "teams", "origin IN ('built_in', 'operator')")
    op.create_index("runs_by_status_idx", "runs", ["tenant", "status", *NEWEST_FIRST])
    op.create_index("runs_by_team_idx", "runs", ["tenant", "team_name", *NEWEST_FIRST])
