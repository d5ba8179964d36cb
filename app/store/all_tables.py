"""Every table, of whatever module: what the migrations are held against."""

from app.store import retention_table, webhook_tables
from app.store.tables import metadata

__all__ = ["metadata", "retention_table", "webhook_tables"]
