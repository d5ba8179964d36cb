"""Each priority has a line of its own: the indexes of the lines begin with it."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

QUEUED = sa.text("status = 'queued'")


def upgrade() -> None:
    op.drop_index("runs_line_idx", table_name="runs")
    op.drop_index("runs_tenant_line_idx", table_name="runs")
    op.create_index("runs_line_idx", "runs", ["priority", "turn"], postgresql_where=QUEUED)
    op.create_index("runs_tenant_line_idx", "runs", ["tenant", "priority", "turn"], postgresql_where=QUEUED)
