"""Alembic's entry: runs the revisions on the connection that `app.store.database` hands over."""

from alembic import context

from app.store.tables import metadata


def ours(_object: object, name: str | None, kind: str, _reflected: bool, _compare_to: object) -> bool:
    """Procrastinate's tables are made from its own package and are not ours to compare."""
    return not (kind == "table" and name is not None and name.startswith("procrastinate_"))


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    include_object=ours,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
