"""The tool `query_data`: SQL over the job's own data, in a database that holds nothing else and can reach nothing else.

Each call loads the job's tables into a private in-memory database, closes every way out of it, and only then lets the
model's SQL in. What a query may cost is bounded by memory, rows, characters and time.
"""

import asyncio
import base64
import re
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import duckdb
from pydantic import Field

from app.domain.errors import ToolError
from app.domain.job import JobInput
from app.tools.tool import Arguments, Tool, ToolContext

ROWS_SHOWN = 200
CHARACTERS_SHOWN = 16_000
CELL_CHARACTERS = 500
INTERRUPTS = 40
INTERRUPT_EVERY_S = 0.05

Format = Literal["csv", "tsv", "json", "parquet"]

_FORMAT_BY_MEDIA_TYPE: dict[str, Format] = {
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/jsonl": "json",
    "application/ndjson": "json",
    "application/x-ndjson": "json",
    "application/vnd.apache.parquet": "parquet",
}
_FORMAT_BY_ENDING: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
# No row may be lost in silence: left alone, the sniffer skips short lines as a preamble and lines with # as comments.
_CSV = "sample_size = -1, comment = '', null_padding = true, parallel = false"
_READERS: dict[Format, str] = {
    "csv": f"read_csv(?, {_CSV})",
    "tsv": f"read_csv(?, delim = '\t', {_CSV})",
    "json": "read_json(?, sample_size = -1)",
    "parquet": "read_parquet(?)",
}
_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "512MB",
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # a second lock: SQL must never see variables of this process
}


class QueryData(Arguments):
    """What to ask of the data."""

    sql: str = Field(
        default="",
        max_length=20_000,
        description=(
            "One SELECT statement in DuckDB's SQL (WITH, DESCRIBE, SUMMARIZE and SHOW TABLES too). "
            "Empty: list the tables with their columns and row counts."
        ),
    )


class _Stopped(Exception):
    """Nobody waits for the query any more."""


class DataQuery:
    """One query over `inputs`, to be run in a thread and stopped from any other."""

    def __init__(self, sql: str, inputs: Sequence[JobInput]) -> None:
        self._sql = sql
        self._inputs = inputs
        self._stopped = threading.Event()
        self._tables = ""
        self._unread: list[str] = []
        self._database = duckdb.connect(":memory:", config=_SEALED)

    def run(self) -> str:
        """The answer as a Markdown table under a line that says how complete it is; raises `ToolError`."""
        try:
            self._load()
            self._tables = self._listed()
            self._lock()
            return self._selected() if self._sql.strip() else self._tables
        finally:
            self._database.close()

    def stop(self) -> None:
        """End the statement that runs now, and let no other one start."""
        self._stopped.set()
        self._database.interrupt()

    def _execute(self, sql: str, parameters: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        self._refuse_if_stopped()
        return self._database.execute(sql, parameters)

    def _refuse_if_stopped(self) -> None:
        if self._stopped.is_set():
            raise _Stopped

    def _load(self) -> None:
        reserved = self._execute("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'")
        taken = {name for (name,) in reserved.fetchall()}
        with tempfile.TemporaryDirectory(prefix="query-data-") as directory:
            for item in self._inputs:
                if (format_ := format_of(item)) is not None:
                    table = table_name(item.name, taken)
                    taken.add(table)
                    self._load_one(item, format_, table, Path(directory, "input"))

    def _lock(self) -> None:
        self._execute("SET enable_external_access = false")
        self._execute("SET lock_configuration = true")
        # A SELECT can write too, in a WITH clause.
        self._execute("BEGIN TRANSACTION READ ONLY")

    def _load_one(self, item: JobInput, format_: Format, table: str, path: Path) -> None:
        try:
            path.write_bytes(_content(item, format_))
            self._execute(f'CREATE TABLE "{table}" AS SELECT * FROM {_READERS[format_]}', [str(path)])
            self._execute(f'COMMENT ON TABLE "{table}" IS {_quoted(item.name)}')
        except (duckdb.Error, ValueError) as error:
            reason = str(error).replace(str(path), item.name).partition("\n")[0]
            self._unread.append(f"{item.name} is not a table: {reason}")

    def _selected(self) -> str:
        try:
            statements = self._database.extract_statements(self._sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise ToolError(f"send exactly one SELECT statement.\n{self._tables}", "query_refused")
            self._refuse_if_stopped()
            # As text and cut inside the database, no value can grow large in our memory.
            cells = f"left(CAST(COLUMNS(*) AS VARCHAR), {CELL_CHARACTERS})"
            answer = self._database.sql(statements[0]).project(cells).limit(ROWS_SHOWN + 1)
            return _markdown(answer.columns, answer.fetchall())
        except duckdb.Error as error:
            raise ToolError(f"{error}\n{self._tables}", "query_failed") from None

    def _listed(self) -> str:
        found = self._execute(
            "SELECT t.table_name, t.comment, t.estimated_size, list(c.column_name || ' ' || c.data_type"
            " ORDER BY c.column_index) FROM duckdb_tables() t JOIN duckdb_columns() c USING (table_oid)"
            " GROUP BY ALL ORDER BY ALL"
        )
        lines = [
            f'- {table} (input "{name}", {rows} rows): {", ".join(columns)[:2_000]}'
            for table, name, rows, columns in found.fetchall()
        ]
        return "\n".join(["Tables:", *(lines or ["(none of the job's inputs is a table)"]), *self._unread])


def format_of(item: JobInput) -> Format | None:
    """How to read `item` as a table; None if it is none. A specific media type counts more than the name."""
    media_type = item.media_type.partition(";")[0].strip().lower()
    return _FORMAT_BY_MEDIA_TYPE.get(media_type) or _FORMAT_BY_ENDING.get(Path(item.name.lower()).suffix)


def table_name(name: str, taken: set[str]) -> str:
    """`name` without its ending as a plain SQL name that is not `taken`: "sales 2025.csv" becomes sales_2025."""
    base = re.sub(r"\W+", "_", name.lower().rsplit(".", 1)[0]).strip("_") or "input"
    if base[0].isdigit() or base in taken:
        base = f"t_{base}"
    table, number = base, 2
    while table in taken:
        table, number = f"{base}_{number}", number + 1
    return table


def _content(item: JobInput, format_: Format) -> bytes:
    if format_ == "parquet":
        return base64.b64decode(item.content)
    return item.content.encode("utf-8", "replace")


def _quoted(text: str) -> str:
    return "'" + text.replace("\x00", "").replace("'", "''") + "'"


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
    return "| " + " | ".join(re.sub(r"\s+", " ", value).replace("|", "\\|") for value in values) + " |"


async def _run(arguments: QueryData, context: ToolContext) -> str:
    query = await asyncio.to_thread(DataQuery, arguments.sql, context.inputs)
    answer = asyncio.ensure_future(asyncio.to_thread(query.run))
    try:
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        await _stop(query, answer)
        raise


async def _stop(query: DataQuery, answer: asyncio.Future[Any]) -> None:
    """Stop the query; again and again, since an interrupt between two statements is lost."""
    answer.add_done_callback(lambda done: done.cancelled() or done.exception())
    for _ in range(INTERRUPTS):
        query.stop()
        await asyncio.wait([answer], timeout=INTERRUPT_EVERY_S)
        if answer.done():
            return


QUERY_DATA = Tool(
    name="query_data",
    description=(
        "Runs one SELECT statement (DuckDB SQL) over the job's data inputs. Every CSV, TSV, JSON, NDJSON or Parquet "
        "input is a table, named by the input's name without its ending, in lower case, other characters as _: "
        '"sales 2025.csv" is sales_2025. Call it with empty sql first to see the tables and their columns. Returns a '
        f"Markdown table of at most {ROWS_SHOWN} rows, long cells cut at {CELL_CHARACTERS} characters. Nothing can be "
        "written, and no file or address outside the job can be read. For plain text inputs use read_input."
    ),
    arguments=QueryData,
    effect="read",
    run=_run,
)
