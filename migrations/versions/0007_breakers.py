"""Circuit breakers: what keeps failing is left alone by all replicas, and one of them finds out when it works again."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    time = sa.DateTime(timezone=True)
    op.create_table(
        "breakers",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="model:<id>, worker:<team>/<worker> or tool:<name>"),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, server_default=sa.text("'closed'")),
        sa.Column("reason", sa.Text(), nullable=True, comment="code of the failure that opened it, or tripped"),
        sa.Column("failures", sa.Integer(), nullable=False, server_default=sa.text("0"), comment="in a row"),
        sa.Column("openings", sa.Integer(), nullable=False, server_default=sa.text("0"), comment="since it was closed"),
        sa.Column("failed_at", time, nullable=True, comment="when the newest failure was counted"),
        sa.Column("opened_at", time, nullable=True),
        sa.Column(
            "probe_at", time, nullable=True, comment="when the next probe may go, or the present one is given up"
        ),
        sa.Column("prober", sa.Text(), nullable=True, comment="whose probe is under way"),
        sa.Column(
            "about",
            postgresql.ARRAY(sa.Text()),
            nullable=False,
            server_default=sa.text("'{}'"),
            comment="what the failures were about",
        ),
        sa.CheckConstraint("kind IN ('model', 'tool', 'worker')", name=op.f("breakers_kind_check")),
        sa.CheckConstraint("state IN ('closed', 'half_open', 'open')", name=op.f("breakers_state_check")),
        sa.CheckConstraint("(state = 'closed') = (opened_at IS NULL)", name=op.f("breakers_open_since_check")),
        sa.CheckConstraint("(state = 'half_open') = (prober IS NOT NULL)", name=op.f("breakers_one_prober_check")),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("breakers_pkey")),
    )
