"""Indexes by which lists of runs are filtered and sorted, and by which those are found that a limit holds, or that were
kept long enough.
"""

from collections.abc import Sequence

from alembic import op
from sqlalchemy import text

from app.store.concurrent_indexes import create_index_concurrently, drop_index_concurrently

revision: str = "0020"
down_revision: str | None = "0019"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROWS_AT_A_TIME = 2_000

_FILL = text(
    """
    WITH batch AS MATERIALIZED (
        SELECT id, finished_at IS NOT NULL AND cost_usd IS NULL AS lacks FROM runs
        WHERE id > :after ORDER BY id LIMIT :limit
    ), filled AS (
        UPDATE runs SET cost_usd = NULL FROM batch  -- The trigger says what it was.
        WHERE runs.id = batch.id AND batch.lacks AND runs.cost_usd IS NULL
    )
    SELECT max(id) FROM batch
    """
)


def upgrade() -> None:
    _fill_costs()  # While no index has the column yet, rows stay on their pages.
    create_index_concurrently(
        "runs_by_stop_reason_idx",
        "runs",
        ["tenant", "stop_reason", text("created_at DESC"), text("id DESC")],
        postgresql_where=text("stop_reason IS NOT NULL"),
    )
    create_index_concurrently(
        "runs_by_finish_idx",
        "runs",
        ["tenant", text("finished_at DESC"), text("id DESC"), "created_at"],
        postgresql_where=text("stop_reason IS NOT NULL"),
    )
    create_index_concurrently(
        "runs_by_cost_idx",
        "runs",
        ["tenant", text("cost_usd DESC"), text("id DESC")],
        postgresql_where=text("cost_usd IS NOT NULL"),
    )
    create_index_concurrently(
        "runs_by_label_idx",
        "runs",
        [text("chargehand_labels(tenant, metadata) jsonb_path_ops")],
        postgresql_using="gin",
        postgresql_where=text("CAST(metadata AS text) <> '{}'"),
    )
    create_index_concurrently(
        "runs_held_idx", "runs", ["tenant", "key_id"], postgresql_where=text("held AND status = 'queued'")
    )
    create_index_concurrently(
        "runs_whole_idx",
        "runs",
        ["tenant", "finished_at"],
        postgresql_where=text("finished_at IS NOT NULL AND thinned_at IS NULL"),
    )
    drop_index_concurrently("runs_ended_idx", "runs")


def _fill_costs() -> None:
    """Have runs say what they cost that ended before there was a trigger which notes it."""
    with op.get_context().autocommit_block():
        after: str | None = ""
        while after is not None:
            after = op.get_bind().execute(_FILL, {"after": after, "limit": ROWS_AT_A_TIME}).scalar()
        op.execute("ANALYZE runs")
