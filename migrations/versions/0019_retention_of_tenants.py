"""Each tenant may keep runs for a time of its own, and logs of ended runs may be cut before that."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0019"
down_revision: str | None = "0018"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    thin = sa.Column("thin_after_days", sa.Integer, comment="days after which logs of ended runs are cut; null: never")
    delete = sa.Column("delete_after_days", sa.Integer, comment="days after which ended runs are deleted; null: never")
    op.create_table(
        "retention",
        sa.Column("tenant", sa.Text, primary_key=True),
        thin,
        delete,
        sa.CheckConstraint("thin_after_days > 0 AND delete_after_days > 0", name=op.f("retention_days_check")),
    )
    thinned = "since when long texts in its log are cut; null while it is whole"
    op.add_column("runs", sa.Column("thinned_at", sa.DateTime(timezone=True), comment=thinned))
