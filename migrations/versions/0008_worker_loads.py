"""How busy workers are in each process, so that of several of one kind the less loaded one is taken on all replicas.

The table is unlogged: what it says is found out anew in a moment, and it is written every few seconds.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    time = sa.DateTime(timezone=True)
    op.create_table(
        "worker_loads",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("process", sa.Text(), nullable=False),
        sa.Column(
            "loads",
            postgresql.JSON(astext_type=sa.Text()),
            nullable=False,
            comment="by <team>/<worker>: attempts under way, their seconds of late, and the weight of these",
        ),
        sa.Column("shared_at", time, nullable=False),
        sa.Column("counts_until", time, nullable=False, comment="when its attempts under way count no longer"),
        sa.PrimaryKeyConstraint("tenant", "process", name=op.f("worker_loads_pkey")),
        prefixes=["UNLOGGED"],
    )
