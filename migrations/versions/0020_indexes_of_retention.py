"""Indexes by which runs are found that were kept for long enough, of each tenant by its own time."""

from collections.abc import Sequence

from sqlalchemy import text

from app.store.concurrent_indexes import create_index_concurrently, drop_index_concurrently

revision: str = "0020"
down_revision: str | None = "0019"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ENDED = "finished_at IS NOT NULL"


def upgrade() -> None:
    create_index_concurrently("runs_kept_idx", "runs", ["tenant", "finished_at"], postgresql_where=text(ENDED))
    whole = text(f"{ENDED} AND thinned_at IS NULL")
    create_index_concurrently("runs_whole_idx", "runs", ["tenant", "finished_at"], postgresql_where=whole)
    drop_index_concurrently("runs_ended_idx", "runs")
