"""The indexes behind the filters and orders of run lists that came after those of the first releases.

Each begins with the tenant, and holds only the runs that have what it is about. None has a column that changes while a
run goes on: what a run cost is written at its end, when its status changes anyway.
"""

from sqlalchemy import Index, literal_column, text

from app.store.tables import runs

LABELS = "chargehand_labels(tenant, metadata)"
"""The metadata of a run under its tenant, so that one label of one tenant is one entry of the index."""
HAS_LABELS = "CAST(metadata AS text) <> '{}'"

NEWEST_FIRST = text("created_at DESC"), text("id DESC")

LIST_INDEXES = (
    Index(
        "runs_by_stop_reason_idx",
        runs.c.tenant,
        runs.c.stop_reason,
        *NEWEST_FIRST,
        postgresql_where=text("stop_reason IS NOT NULL"),
    ),
    Index(
        "runs_by_finish_idx",
        runs.c.tenant,
        text("finished_at DESC"),
        text("id DESC"),
        runs.c.created_at,  # Who asks for early runs by their end passes over the others within the index.
        # The same runs as those that have `finished_at`; with that said, lists would go through the index of retention,
        # which knows neither tenant nor acceptance.
        postgresql_where=text("stop_reason IS NOT NULL"),
    ),
    Index(
        "runs_by_cost_idx",
        runs.c.tenant,
        text("cost_usd DESC"),
        text("id DESC"),
        postgresql_where=text("cost_usd IS NOT NULL"),
    ),
    Index(
        "runs_by_label_idx",
        literal_column(LABELS).label("labels"),
        postgresql_using="gin",
        postgresql_ops={"labels": "jsonb_path_ops"},
        postgresql_where=text(HAS_LABELS),
        _table=runs,
    ),
)
"""By which lists of runs are filtered and sorted."""

Index(
    "runs_whole_idx",
    runs.c.tenant,
    runs.c.finished_at,
    postgresql_where=text("finished_at IS NOT NULL AND thinned_at IS NULL"),
)
