"""Every table, of whatever module: what the migrations are held against."""

from app.store import limit_tables, retention_table, schedule_tables, webhook_tables
from app.store.tables import metadata

__all__ = ["limit_tables", "metadata", "retention_table", "schedule_tables", "webhook_tables"]
