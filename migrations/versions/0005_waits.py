"""A run may wait for anything, with or without a time, and while somebody has just taken it up."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.drop_constraint(op.f("runs_provider_has_time_check"), "runs")
    # A claim is authority alone now; the run still waits until its log says that it goes on.
    op.drop_constraint(op.f("runs_waiting_is_nobodys_check"), "runs")
    op.create_check_constraint(op.f("runs_only_waiting_wakes_check"), "runs", "status = 'waiting' OR wake_at IS NULL")
    op.alter_column(
        "runs",
        "wake_at",
        existing_type=sa.DateTime(timezone=True),
        comment="when a waiting run is looked at again; null: when there is news for it",
        existing_comment="when a waiting run is looked at again",
    )
