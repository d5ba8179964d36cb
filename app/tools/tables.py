"""SQL over a job's data, in a database that holds nothing else and can reach nothing else. Runs in a sandboxed process.

Each call loads the job's tables into a private in-memory database, closes every way out of it, and only then lets the
model's SQL in.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from app.tools.table_files import load
from app.tools.table_sql import Database, quoted

ROWS_SHOWN = 200
CHARACTERS_SHOWN = 16_000
CELL_CHARACTERS = 500
COLUMNS_LISTED = 2_000
FIRST_ROW_CHARACTERS = 300
FIRST_CELL_CHARACTERS = 40

_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "512MB",
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # a second lock: SQL must never see variables of this process
}


class _Refused(Exception):
    """The query cannot be answered: a code and a sentence."""


def answer(request: dict[str, Any], contents: Iterator[bytes]) -> dict[str, Any]:
    """`text`, or `code` and `error`. The request holds `sql` and of each content `name` and `format`."""
    with duckdb.connect(":memory:", config=_SEALED) as database:
        try:
            return {"text": _answered(database, request, contents)}
        except _Refused as refused:
            code, error = refused.args
            return {"code": code, "error": error}


def _answered(database: Database, request: dict[str, Any], contents: Iterator[bytes]) -> str:
    listing = _loaded(database, request["tables"], contents)
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    # A SELECT can write too, in a WITH clause.
    database.execute("BEGIN TRANSACTION READ ONLY")
    sql = unicodedata.normalize("NFC", request["sql"])  # as the tables are
    return _selected(database, sql, listing) if sql.strip() else listing


def _loaded(database: Database, files: Sequence[dict[str, Any]], contents: Iterator[bytes]) -> str:
    """Load what can be loaded, and list it."""
    reserved = database.execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'")
    taken = {name for (name,) in reserved.fetchall()}
    how: dict[str, str] = {}
    unread: list[str] = []
    for file, content in zip(files, contents, strict=True):
        table = table_name(file["name"], taken)
        taken.add(table)
        try:
            how[table] = load(database, table, file["format"], content)
            database.execute(f'COMMENT ON TABLE "{table}" IS {quoted(file["name"])}')
        except (duckdb.Error, ValueError) as error:
            reason = re.sub(r"[\"']?/proc/self/fd/[0-9]+[\"']?", "the file", str(error)).partition("\n")[0]
            unread.append(f"{file['name']} is not a table: {reason}")
    return _listed(database, how, unread)


def _listed(database: Database, how: dict[str, str], unread: Sequence[str]) -> str:
    found = database.execute(
        "SELECT t.table_name, t.comment, t.estimated_size, list(c.column_name || ' ' || c.data_type"
        " ORDER BY c.column_index) FROM duckdb_tables() t JOIN duckdb_columns() c USING (table_oid)"
        " GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    lines: list[str] = []
    for table, name, rows, columns in found:
        lines.append(f'- {table} (input "{name}", {rows} rows): {_cut(", ".join(columns), COLUMNS_LISTED)}')
        lines.append(f"  Read as {how[table]}. First row: {_first_row(database, table)}")
    return "\n".join(["Tables:", *(lines or ["(none of the job's inputs is a table)"]), *unread])


def _first_row(database: Database, table: str) -> str:
    cells = database.execute(
        f'SELECT left(CAST(COLUMNS(*) AS VARCHAR), {FIRST_CELL_CHARACTERS + 1}) FROM "{table}" LIMIT 1'
    ).fetchone()
    if cells is None:
        return "none"
    shown = " | ".join("NULL" if cell is None else _cut(_plain(cell), FIRST_CELL_CHARACTERS) for cell in cells)
    return _cut(shown, FIRST_ROW_CHARACTERS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def table_name(name: str, taken: set[str]) -> str:
    """`name` without its ending as a plain SQL name that is not `taken`: "sales 2025.csv" becomes sales_2025."""
    whole = unicodedata.normalize("NFC", name).lower()
    base = re.sub(r"\W+", "_", whole.rsplit(".", 1)[0]).strip("_") or "input"
    if base[0].isdigit() or base in taken:
        base = f"t_{base}"
    table, number = base, 2
    while table in taken:
        table, number = f"{base}_{number}", number + 1
    return table


def _selected(database: Database, sql: str, listing: str) -> str:
    try:
        statements = database.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise _Refused("query_refused", f"send exactly one SELECT statement.\n{listing}")
        # As text and cut inside the database, no value can grow large in our memory.
        cells = f"left(CAST(COLUMNS(*) AS VARCHAR), {CELL_CHARACTERS})"
        answer = database.sql(statements[0]).project(cells).limit(ROWS_SHOWN + 1)
        return _markdown(answer.columns, answer.fetchall())
    except (duckdb.Error, UnicodeError) as error:
        raise _Refused("query_failed", f"{str(error)[:CHARACTERS_SHOWN]}\n{listing}") from None


def _markdown(columns: Sequence[str], rows: Sequence[tuple[str | None, ...]]) -> str:
    lines = [_row(columns), _row(["---"] * len(columns))]
    room = CHARACTERS_SHOWN
    for row in rows[:ROWS_SHOWN]:
        line = _row(["NULL" if value is None else value for value in row])
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    shown = len(lines) - 2
    count = f"{shown} row{'' if shown == 1 else 's'}"
    if shown < len(rows):
        count = f"The first {count}; there are more rows: narrow the query, aggregate, or page with LIMIT and OFFSET."
    return "\n".join([count, "", *lines])


def _row(values: Sequence[str]) -> str:
    return "| " + " | ".join(_plain(value).replace("|", "\\|") for value in values) + " |"


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)
