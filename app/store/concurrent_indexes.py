"""Indexes on large tables, made beside those who write, for migrations to call.

    def upgrade() -> None:
        create_index_concurrently("runs_by_cost_idx", "runs", ["tenant", "cost_usd"])

Outside of a transaction nothing is taken back: such a migration has nothing in it that may not be done twice, and
whatever was broken off is done again by the next `chargehand migrate`. Postgres leaves an index that was broken off
behind, invalid: written to by everybody and read by nobody.
"""

from collections.abc import Sequence
from typing import Any

from alembic import op
from sqlalchemy import TextClause, text

_IS_BROKEN = text("SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")


def create_index_concurrently(name: str, table: str, columns: Sequence[str | TextClause], **options: Any) -> None:
    """Make an index unless it is there, and anew if that was broken off once; `options` as `op.create_index` has."""
    with op.get_context().autocommit_block():
        if op.get_bind().execute(_IS_BROKEN, {"name": name}).scalar():
            op.drop_index(name, table, postgresql_concurrently=True)
        op.create_index(name, table, columns, postgresql_concurrently=True, if_not_exists=True, **options)


def drop_index_concurrently(name: str, table: str) -> None:
    """Take an index away, if it is there, without keeping those waiting who write."""
    with op.get_context().autocommit_block():
        op.drop_index(name, table, postgresql_concurrently=True, if_exists=True)
