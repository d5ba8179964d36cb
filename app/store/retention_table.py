"""The table of what tenants keep for how long."""

from sqlalchemy import CheckConstraint, Column, Integer, Table, Text

from app.store.tables import metadata

retention = Table(
    "retention",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("thin_after_days", Integer, comment="days after which logs of ended runs are cut; null: never"),
    Column("delete_after_days", Integer, comment="days after which ended runs are deleted; null: never"),
    CheckConstraint("thin_after_days > 0 AND delete_after_days > 0", name="days"),
)
