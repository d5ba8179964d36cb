"""Every table, of whatever module: what the migrations are held against."""

from app.store import admin_tables, limit_tables, retention_table, run_indexes, schedule_tables, webhook_tables
from app.store.tables import metadata

__all__ = [
    "admin_tables",
    "limit_tables",
    "metadata",
    "retention_table",
    "run_indexes",
    "schedule_tables",
    "webhook_tables",
]
