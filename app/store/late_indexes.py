"""Indexes on tables that are large: made beside those who write, once the migrations have been committed.

An index that is made within a migration keeps all writes waiting until the migration ends. These are made with
`CONCURRENTLY`, which no transaction may contain. A migration that was broken off in between is taken up by the next.
"""

import time
from collections.abc import Mapping
from typing import Any

import psycopg
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.schema import CreateIndex, Index

from app.store.connections import with_defaults
from app.store.run_indexes import LATE_INDEXES

LOCK = 7_204_119_622
"""Advisory lock of the one process that makes them."""
LOOK_SECONDS = 0.2
ROWS_AT_A_TIME = 2_000

_MADE = """
    SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid
    WHERE indrelid = to_regclass('runs') AND indisvalid
"""
_FILL = """
    WITH batch AS MATERIALIZED (
        SELECT id, finished_at IS NOT NULL AND cost_usd IS NULL AS lacks FROM runs
        WHERE id > %(after)s ORDER BY id LIMIT %(limit)s
    ), filled AS (
        UPDATE runs SET cost_usd = NULL FROM batch  -- The trigger says what it was.
        WHERE runs.id = batch.id AND batch.lacks AND runs.cost_usd IS NULL
    )
    SELECT max(id) FROM batch
"""


def make_late_indexes(url: str) -> None:
    """Make those that are not there yet; one process at a time does it, and the others wait. Raises `psycopg.Error`."""
    with psycopg.connect(with_defaults(url), autocommit=True, prepare_threshold=None) as connection:
        if not _missing(connection):
            return
        # Whoever waits inside a statement would be waited for by the one that makes them, for ever.
        while not _value(connection, "SELECT pg_try_advisory_lock(%(lock)s)", {"lock": LOCK}):
            time.sleep(LOOK_SECONDS)
        connection.execute("SET statement_timeout = 0")
        connection.execute("SET lock_timeout = 0")
        if missing := _missing(connection):
            _fill_costs(connection)  # While no index has the column yet, rows stay on their pages.
            for index in missing:
                connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}".encode())
                connection.execute(_making(index).encode())
            connection.execute("ANALYZE runs")


def _missing(connection: psycopg.Connection) -> list[Index]:
    made = {name for (name,) in connection.execute(_MADE)}
    return [index for index in LATE_INDEXES if index.name not in made]


def _making(index: Index) -> str:
    made = str(CreateIndex(index).compile(dialect=PGDialect()))  # type: ignore[no-untyped-call]
    return made.replace("CREATE INDEX", "CREATE INDEX CONCURRENTLY", 1)


def _fill_costs(connection: psycopg.Connection) -> None:
    """Have runs say what they cost that ended before there was a trigger which notes it."""
    after: str | None = ""
    while after is not None:
        after = _value(connection, _FILL, {"after": after, "limit": ROWS_AT_A_TIME})


def _value(connection: psycopg.Connection, query: str, values: Mapping[str, Any]) -> Any:
    row = connection.execute(query.encode(), values).fetchone()
    return row[0] if row else None
