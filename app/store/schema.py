"""The schema in a database: which revision it has, whether we can work with it, and the migrations that bring it on.

The revision is kept in a table of our own name, since other programs that migrate with Alembic may share the database.
The first releases used Alembic's own name. What they wrote there stays, so that they can be gone back to.

A release works with the schema of a later one unless that says otherwise: a migration that earlier releases cannot
live with puts `needs <its revision>` into the comment of the table of versions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from app.domain.errors import ChargehandError
from app.store.connections import UrlUnreadable, with_defaults
from app.store.migrating import Wait, in_turn
from app.telemetry import MASK

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy.engine import Connection

# Alembic is imported where it is used: a process that finds the newest schema needs none of it.

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"
VERSION_TABLE = "chargehand_version"
REVISIONS = tuple(sorted(file.name.partition("_")[0] for file in (MIGRATIONS / "versions").glob("[0-9]*.py")))
"""Every revision that this release knows, oldest first; each is the start of its file's name."""
NEWEST = REVISIONS[-1]
ADOPTED = ("0001", "0002")
"""Revisions that were recorded under Alembic's own name."""
TABLES = (
    "teams",
    "runs",
    "run_inputs",
    "events",
    "plans",
    "tasks",
    "attempts",
    "artifacts",
    "idempotency_keys",
    "api_keys",
    "webhook_endpoints",
    "webhook_deliveries",
    "limits",
    "request_rates",
    "spend_accounts",
    "spend",
    "spend_reserved",
    "limit_warnings",
    "schedules",
    "schedule_inputs",
    "schedule_firings",
    "breakers",
    "worker_loads",
    "retention",
    "engines",
    "intake_pauses",
    "procrastinate_jobs",
    "procrastinate_workers",
)
ADDED_SINCE = {
    "breakers", "worker_loads", "artifacts", "api_keys", "webhook_endpoints", "webhook_deliveries",
    "limits", "request_rates", "spend_accounts", "spend", "spend_reserved", "limit_warnings",
    "retention",
    "schedules", "schedule_inputs", "schedule_firings", "engines", "intake_pauses",
}  # fmt: skip
"""Those of them that the first releases did not have."""

_THERE = "SELECT coalesce(array_agg(name), '{}') FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
NEEDED = f"substring(obj_description(to_regclass('{VERSION_TABLE}'), 'pg_class') FROM 'needs ([0-9a-z]+)')"
"""The revision that a release must know to work with the schema, as SQL; null unless the schema says so."""
_REFUSED = """
    SELECT coalesce(array_agg(name), '{}') FROM unnest(%s::text[]) AS name
    WHERE NOT (has_table_privilege(to_regclass(name), 'SELECT') AND has_table_privilege(to_regclass(name), 'INSERT')
               AND has_table_privilege(to_regclass(name), 'UPDATE')
               AND has_table_privilege(to_regclass(name), 'DELETE'))
"""


_PATIENTLY = Wait()


class DatabaseUnusable(ChargehandError):
    """The database cannot be used as it is; the message is one line for the operator, without the password."""


@dataclass(frozen=True, slots=True)
class Schema:
    """What was found in a database."""

    revision: str

    @property
    def is_newer(self) -> bool:
        """Whether a later release has been here."""
        return self.revision not in REVISIONS


@contextmanager
def looking_at(url: str) -> Iterator[psycopg.Connection]:
    """A blocking connection for a look at the start. Raises `DatabaseUnusable`, also for what fails in the block."""
    try:
        conninfo = with_defaults(url)
    except UrlUnreadable as error:
        raise DatabaseUnusable(
            f"DATABASE_URL cannot be read: {error}; it looks like postgresql://user:password@host:port/database, "
            "what is special in a password is percent-encoded (@ as %40, / as %2F), and parameters are libpq's"
        ) from None
    try:
        with psycopg.connect(conninfo, autocommit=True, prepare_threshold=None) as connection:
            yield connection
    except psycopg.Error as error:
        message = _first_line(error)
        password = psycopg.conninfo.conninfo_to_dict(conninfo).get("password")
        shown = message.replace(str(password), MASK) if password else message
        raise DatabaseUnusable(f"cannot use the database: {shown}{_hint(message)}") from None


def _hint(message: str) -> str:
    if "startup parameter" in message:
        return "; a pooler stands before it that takes no such parameter: connect directly, or have it ignore that"
    if "read-only" in message:
        return "; DATABASE_URL must lead to the primary server, which takes writes"
    return ""


def check_schema(url: str) -> Schema:
    """The schema, when this release can work with it. Raises `DatabaseUnusable`.

    A newer one will do: while a release is rolled out, processes of the one before it still start.
    """
    with looking_at(url) as connection:
        found = _found(connection)
        needed = _needed(connection) if found else None
        refused = _names(connection, _REFUSED)
    if unfit := why_unfit(found.revision if found else None, needed):
        raise DatabaseUnusable(unfit)
    assert found is not None
    if refused:
        raise DatabaseUnusable(f"the role of DATABASE_URL may not read and write the table {refused[0]}: grant it that")
    return found


def why_unfit(revision: str | None, needed: str | None) -> str | None:
    """Why this release cannot work with a schema of that revision, and what to do; None when it can.

    `needed` is the revision that the schema says a release must know.
    """
    if revision is None:
        return "the database has no schema yet: run `chargehand migrate`"
    if revision in REVISIONS[:-1]:
        return f"the schema is at revision {revision}, older than {NEWEST}: run `chargehand migrate`"
    return _why_too_new(revision, needed)


def _why_too_new(revision: str, needed: str | None) -> str | None:
    if needed is None or needed in REVISIONS:
        return None
    return (
        f"the schema is at revision {revision}, with which no release works that does not know revision {needed}; "
        f"this one knows {NEWEST}: run a newer release"
    )


def pending(url: str) -> tuple[Schema | None, tuple[str, ...]]:
    """The schema, and which revisions `migrate` would bring. Raises `DatabaseUnusable`."""
    with looking_at(url) as connection:
        found = _found(connection)
        needed = _needed(connection) if found else None
    if found is None:
        return None, REVISIONS
    if too_new := _why_too_new(found.revision, needed):
        raise DatabaseUnusable(too_new)
    return found, () if found.is_newer else REVISIONS[REVISIONS.index(found.revision) + 1 :]


def migrate(url: str, revision: str = "head", wait: Wait = _PATIENTLY) -> Schema:
    """Bring the schema to a revision, the newest by default; one that is newer is left as it is.

    Blocks; several processes may call it at the same time. Raises `DatabaseUnusable` or `SchemaBusy`.
    """
    found, to_bring = pending(url)
    if found is not None and not to_bring:
        return found
    try:
        in_turn(lambda: _connect(url), wait, lambda connection, lock_ms: _upgrade(connection, lock_ms, revision))
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseUnusable(
            f"the role of DATABASE_URL may not make the schema: {_first_line(error)}; "
            "let it create in the schema, or run `chargehand migrate` as a role that may"
        ) from None
    except psycopg.Error as error:
        raise DatabaseUnusable(f"the schema cannot be brought up to date: {_first_line(error)}") from None
    with looking_at(url) as connection:
        found = _found(connection)
    assert found is not None
    return found


def _first_line(error: psycopg.Error) -> str:
    """What the error says in short; the rest repeats statements."""
    return str(error).strip().partition("\n")[0]


def _connect(url: str) -> psycopg.Connection:
    named = {"application_name": "chargehand migrate"}
    return psycopg.connect(make_conninfo(with_defaults(url), **named), autocommit=True, prepare_threshold=None)


def _upgrade(connection: psycopg.Connection, lock_ms: int, revision: str) -> None:
    """Bring the schema on, a transaction for each revision. What was done while we waited is not done again."""
    from alembic import command
    from sqlalchemy import NullPool, create_engine, event
    from sqlalchemy.exc import DBAPIError

    found = _found(connection)
    if found is not None and (found.is_newer or found.revision == NEWEST):
        return
    with connection.transaction():
        _make_room(connection)
    connection.autocommit = False
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: connection, poolclass=NullPool, hide_parameters=True
    )
    try:
        with engine.connect() as bound:
            event.listen(bound, "begin", lambda begun: _bound_locks(begun, lock_ms))
            command.upgrade(migration_config(bound), revision)
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise error.orig from None
        raise


def _bound_locks(begun: "Connection", lock_ms: int) -> None:
    """Whoever makes an index concurrently begins no transaction of the database, and keeps nobody waiting."""
    raw = begun.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    if not raw.autocommit:
        raw.execute(f"SET LOCAL lock_timeout = {lock_ms}".encode())


def migration_config(connection: "Connection") -> "Config":
    """The Alembic configuration for one connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    config.attributes["version_table"] = VERSION_TABLE
    return config


def _make_room(connection: psycopg.Connection) -> None:
    """Take over what the first releases have recorded; refuse a place where another program has tables of our names."""
    if _names(connection, _THERE, [VERSION_TABLE]):
        return
    found = _found(connection)
    if found is not None:
        connection.execute(f"CREATE TABLE {VERSION_TABLE} (version_num varchar(32) PRIMARY KEY)")
        connection.execute(f"INSERT INTO {VERSION_TABLE} VALUES (%s)", [found.revision])
    elif foreign := _names(connection, _THERE):
        raise DatabaseUnusable(
            f"the database has a table {foreign[0]} that is another program's: "
            "give Chargehand a database, or a schema in its search_path, of its own"
        )


def _found(connection: psycopg.Connection) -> Schema | None:
    there = _names(connection, _THERE, [*TABLES, VERSION_TABLE, "alembic_version"])
    if VERSION_TABLE in there:
        row = connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
        return Schema(str(row[0])) if row else None
    if "alembic_version" in there and set(TABLES) - ADDED_SINCE <= set(there):
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return Schema(str(row[0])) if row and row[0] in ADOPTED else None
    return None


def _needed(connection: psycopg.Connection) -> str | None:
    """The revision that a release must know to work with this schema, if the schema says so."""
    row = connection.execute(f"SELECT {NEEDED}").fetchone()
    return row[0] if row else None


def _names(connection: psycopg.Connection, query: str, names: list[str] | None = None) -> list[str]:
    row = connection.execute(query.encode(), [names or list(TABLES)]).fetchone()
    assert row is not None
    return list(row[0])
