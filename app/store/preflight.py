"""What must be true of a server before a process starts to work with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from app.store.connections import IS_READ_ONLY
from app.store.embedded import embedded_postgres
from app.store.migrating import Wait
from app.store.schema import DatabaseUnusable, Schema, check_schema, looking_at, migrate

_ROUNDS = 3
_SESSION = "SELECT pg_backend_pid()"


@dataclass(frozen=True, slots=True)
class UsableDatabase:
    """A database that a process can work with."""

    url: str
    where: str
    """Where it is, for people; without the password."""
    schema: Schema


@contextmanager
def usable_database(url: str | None, home: Path, wait: Wait, *, migrate_first: bool) -> Iterator[UsableDatabase]:
    """The database at `url`, or without one the private one under `home`, which is always brought up to date.

    Raises `DatabaseUnusable`, `SchemaBusy` or `EmbeddedPostgresError`.
    """
    if url is None:
        with embedded_postgres(home) as private:
            where = f"a private Postgres in {home.expanduser().resolve()}"
            yield UsableDatabase(private, where, migrate(private, wait=wait))
        return
    where = check_server(url)
    if migrate_first:
        migrate(url, wait=wait)
    yield UsableDatabase(url, where, check_schema(url))


def check_server(url: str) -> str:
    """Connect, and see that sessions are ours alone and take what we write. Raises `DatabaseUnusable`.

    Where the database is, for people.
    """
    with looking_at(url) as connection, looking_at(url) as other:
        if _value(connection, IS_READ_ONLY):
            raise DatabaseUnusable("the database takes no writes: DATABASE_URL must lead to the primary server")
        if (encoding := _value(connection, "SHOW server_encoding")) != "UTF8":
            raise DatabaseUnusable(f"the database's encoding is {encoding}: Chargehand needs one in UTF8")
        if _share_sessions(connection, other):
            raise DatabaseUnusable(
                "DATABASE_URL leads to a pooler in transaction mode: Chargehand listens and prepares statements, "
                "and needs a direct connection, or a pooler in session mode"
            )
        return f"the database {connection.info.dbname} at {connection.info.host}, port {connection.info.port}"


def _share_sessions(one: psycopg.Connection, other: psycopg.Connection) -> bool:
    """Whether connections are given a session of the server for a statement only."""
    asked = [(_value(one, _SESSION), _value(other, _SESSION)) for _ in range(_ROUNDS)]
    first, second = asked[0]
    return first == second or any(each != (first, second) for each in asked)


def _value(connection: psycopg.Connection, query: str) -> object:
    row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]
