"""Alembic's entry: runs the revisions on the connection that `app.store.schema` hands over."""

from alembic import context

from app.store.schedule_tables import schedules
from app.store.webhook_tables import webhook_endpoints

metadata = webhook_endpoints.metadata
assert schedules.metadata is metadata  # Each module of tables adds its own.


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
