"""Commits and renewals touch no index: none holds the lease any more, and pages keep room for what rows become."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    # The strongest lock first: whoever holds a row of the table and waits for us would never let us have it later.
    op.drop_index("runs_live_idx", "runs")
    op.create_index("runs_under_way_idx", "runs", ["id"], postgresql_where=sa.text("status IN ('queued', 'running')"))
    # Of pages that are filled from here on.
    op.execute("ALTER TABLE runs SET (fillfactor = 50)")
    op.execute("ALTER TABLE tasks SET (fillfactor = 30)")
