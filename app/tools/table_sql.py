"""Small words of SQL, and files that DuckDB reads without a disk. Runs in a sandboxed process."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

Database = duckdb.DuckDBPyConnection


def quoted(text: str) -> str:
    """`text` as a string of SQL."""
    return "'" + text.replace("\x00", "").replace("'", "''") + "'"


def named(name: str) -> str:
    """`name` as a name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def create(database: Database, table: str, source: str, path: str) -> None:
    """Make `table` of what the table function `source` reads at `path`, its one parameter."""
    database.execute(f"CREATE OR REPLACE TABLE {named(table)} AS SELECT * FROM {source}", [path])


@contextmanager
def bytes_as_file(content: bytes) -> Iterator[str]:
    """A path under which the bytes can be read: of memory where the system has that, so that no disk is needed."""
    if sys.platform == "linux" and os.path.isdir("/proc/self/fd"):
        with os.fdopen(os.memfd_create("input"), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name


def struct(types: dict[str, str]) -> str:
    """Columns and their types, as the readers take them."""
    return "{" + ", ".join(f"{named(name)}: {quoted(kind)}" for name, kind in types.items()) + "}"
