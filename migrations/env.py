"""Alembic's entry: runs the revisions on the connection that `app.store.schema` hands over."""

from alembic import context

from app.store import admin_tables, run_indexes, webhook_tables  # noqa: F401 - they add to what `metadata` knows
from app.store.tables import metadata


def ours(_object: object, name: str | None, kind: str, _reflected: bool, _compare_to: object) -> bool:
    """What Procrastinate makes, and what else is in the database, is not ours to compare."""
    return kind != "table" or name in metadata.tables


context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    target_metadata=metadata,
    include_object=ours,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
