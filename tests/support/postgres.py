"""Test databases: one private server for all test processes of this checkout, and a template made by the migrations."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
from psycopg import sql

from app.store.embedded import LOCAL_SETTINGS, embedded_postgres

ROOT = Path(__file__).resolve().parents[2]

TEST_SETTINGS = {
    **LOCAL_SETTINGS,
    "max_connections": "500",
    "fsync": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "checkpoint_timeout": "1h",
}
"""Fast, and worth nothing after a crash of the machine. Sessions still see commits in their true order."""
ROOM_BYTES = 6 * 2**30
"""More than all databases of a test run take together, their log included."""


@dataclass(frozen=True, slots=True)
class Databases:
    """Hands out databases that hold the migrated schema and no rows."""

    server_url: str
    template: str

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """The URL of a new database; it is dropped afterwards, with whatever is still connected to it."""
        name = f"test_{uuid4().hex}"
        with psycopg.connect(self.server_url, autocommit=True) as connection:
            _create(connection, name, self.template)
            try:
                yield _database_url(self.server_url, name)
            finally:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def open_databases() -> Iterator[Databases]:
    """The databases of this checkout's tests; the last process to leave stops the server and deletes its data."""
    checkout = hashlib.sha256(os.fsencode(ROOT)).hexdigest()[:12]
    home = _roomy_memory() or Path(tempfile.gettempdir())
    home /= f"chargehand-tests-{os.geteuid()}-{checkout}"
    with embedded_postgres(home, settings=TEST_SETTINGS, erase=True) as server_url:
        yield Databases(server_url, _template(server_url))


def _roomy_memory() -> Path | None:
    """Where files are kept in memory: a database is made there in a tenth of the time, and no disk is worn by it."""
    memory = Path("/dev/shm")
    try:
        return memory if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM_BYTES else None
    except OSError:
        return None


def _template(server_url: str) -> str:
    """The name of the template, made by whoever comes first; its name says which migrations and indexes it holds."""
    name = f"template_{_migrations_digest()}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(hashtext('template'))")
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
            draft = f"draft_{uuid4().hex}"
            _create(connection, draft, "template0")
            _migrate(_database_url(server_url, draft))
            rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
            connection.execute(rename.format(sql.Identifier(draft), sql.Identifier(name)))
    return name


def _migrations_digest() -> str:
    digest = hashlib.sha256(version("procrastinate").encode())
    for path in [*sorted((ROOT / "migrations").rglob("*.py")), ROOT / "app/store/run_indexes.py"]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _migrate(url: str) -> None:
    from app.store.schema import migrate

    migrate(url)


def _create(connection: psycopg.Connection, name: str, template: str) -> None:
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
    connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))


def _database_url(server_url: str, name: str) -> str:
    return urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
