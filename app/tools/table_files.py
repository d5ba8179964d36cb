"""Makes tables of data files, with every digit and letter, and says how each was read. Runs in a sandboxed process."""

import re
import unicodedata
from typing import Literal

from app.domain.base64_text import bytes_of
from app.tools.table_csv import load_csv
from app.tools.table_sql import Database, bytes_as_file, create, named, struct

Format = Literal["csv", "tsv", "json", "parquet"]
_LONG_INTEGER = re.compile("[0-9]{16}")


def load(database: Database, table: str, format_: Format, content: bytes) -> str:
    """Make `table` of a file and say how it was read. Raises `duckdb.Error` or `ValueError`."""
    match format_:
        case "parquet":
            with bytes_as_file(bytes_of(content.decode("ascii"))) as path:
                create(database, table, "read_parquet(?)", path)
            return "Parquet"
        case "json":
            return _load_json(database, table, _text(content))
        case "csv":
            return load_csv(database, table, _text(content), "")
        case "tsv":
            return load_csv(database, table, _text(content), "\t")


def _text(content: bytes) -> str:
    """The text without a byte order mark, letters in one form, so that what reads the same is the same."""
    return unicodedata.normalize("NFC", content.decode("utf-8", "replace").removeprefix("\ufeff"))


def _load_json(database: Database, table: str, text: str) -> str:
    with bytes_as_file(text.encode()) as path:
        create(database, table, "read_json(?, sample_size = -1)", path)
        if not _LONG_INTEGER.search(text):
            return "JSON"
        described = database.execute(f"DESCRIBE {named(table)}").fetchall()
        types = {name: kind for name, kind, *_ in described}
        inexact = [name for name, kind in types.items() if "DOUBLE" in kind]
        exact = {name: kind for name in inexact if (kind := _exact(database, path, name, types[name])) is not None}
        if not exact:
            return "JSON"
        create(database, table, f"read_json(?, columns = {struct(types | exact)})", path)
    names = ", ".join(exact)
    return f"JSON; integers in {names} are longer than a DOUBLE is exact, so that numbers there are {_kinds(exact)}"


def _kinds(exact: dict[str, str]) -> str:
    return "whole" if all(kind == "HUGEINT" for kind in exact.values()) else "text: cast them to calculate"


def _exact(database: Database, path: str, name: str, kind: str) -> str | None:
    """The type that keeps every digit of a column of doubles; None if a double does."""
    source = f"(SELECT CAST({named(name)} AS VARCHAR) v FROM read_json(?, columns = {struct({name: 'JSON'})}))"
    long_, whole, length = database.execute(
        r"SELECT bool_or(regexp_matches(v, '(^|[^.0-9])[0-9]{16,}($|[^.0-9eE])')),"
        f" bool_and(v = 'null' OR regexp_full_match(v, '-?[0-9]+')), max(length(v)) FROM {source} WHERE v IS NOT NULL",
        [path],
    ).fetchone() or (False, False, 0)
    if not long_:
        return None
    return "HUGEINT" if whole and length <= 38 else kind.replace("DOUBLE", "VARCHAR")
