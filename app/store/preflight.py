"""What must be true of a database before a process starts to work on it."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from alembic.script import ScriptDirectory

from app.domain.errors import ChargehandError
from app.store.connections import with_defaults
from app.store.database import MIGRATIONS


class DatabaseUnusable(ChargehandError):
    """The database cannot be used as it is; the message is one line for the operator, without the password."""


def check_reachable(url: str) -> None:
    """Connect once. Raises `DatabaseUnusable`."""
    with _connection(url):
        pass


def check_schema(url: str) -> None:
    """Refuse a schema that is older than our migrations, by raising `DatabaseUnusable`.

    A newer one passes: while a release is rolled out, processes of the one before it still start.
    """
    script = ScriptDirectory(str(MIGRATIONS))
    newest = script.get_current_head()
    with _connection(url) as connection:
        found = _revision(connection)
    if found is None:
        raise DatabaseUnusable("the database has no schema yet: run `chargehand migrate`")
    if found != newest and found in {each.revision for each in script.walk_revisions()}:
        raise DatabaseUnusable(f"the schema is at revision {found}, older than {newest}: run `chargehand migrate`")


@contextmanager
def _connection(url: str) -> Iterator[psycopg.Connection]:
    try:
        with psycopg.connect(with_defaults(url)) as connection:
            yield connection
    except psycopg.Error as error:
        raise DatabaseUnusable(f"cannot use the database: {_first_line(error)}") from None


def _revision(connection: psycopg.Connection) -> str | None:
    try:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except psycopg.errors.UndefinedTable:
        return None
    return None if row is None else str(row[0])


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().partition("\n")[0]
