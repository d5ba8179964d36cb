"""The tool `query_data`: SQL over the job's own data, done by DuckDB in a sandboxed process (`tables.py`)."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Literal

from pydantic import Field

from app.domain.errors import ToolError
from app.domain.job import JobInput
from app.domain.text import clean_text
from app.tools.sandbox import Sandbox
from app.tools.tool import Arguments, Tool, ToolContext

ROWS_SHOWN = 200
CELL_CHARACTERS = 500
WAIT_S = 120
"""For a place and for the work. The sandbox ends the work itself long before."""

Format = Literal["csv", "tsv", "json", "parquet"]

_FORMAT_BY_MEDIA_TYPE: Mapping[str, Format] = {
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json",
    "application/jsonl": "json",
    "application/ndjson": "json",
    "application/x-ndjson": "json",
    "application/vnd.apache.parquet": "parquet",
}
_FORMAT_BY_ENDING: Mapping[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
}


class QueryData(Arguments):
    """What to ask of the data."""

    sql: str = Field(
        default="",
        max_length=20_000,
        description=(
            "One SELECT statement in DuckDB's SQL (WITH, DESCRIBE, SUMMARIZE and SHOW TABLES too). "
            "Empty: list the tables with their columns and row counts, and how each file was read."
        ),
    )


def format_of(item: JobInput) -> Format | None:
    """How to read `item` as a table; None if it is none. A specific media type counts more than the name."""
    media_type = item.media_type.partition(";")[0].strip().lower()
    return _FORMAT_BY_MEDIA_TYPE.get(media_type) or _FORMAT_BY_ENDING.get(PurePath(item.name.lower()).suffix)


def query_data(sandbox: Sandbox) -> Tool:
    """The tool, with its work done in `sandbox`."""

    async def run(arguments: QueryData, context: ToolContext) -> str:
        formats = [(item, format_) for item in context.inputs if (format_ := format_of(item)) is not None]
        answer = await sandbox.answer(
            "app.tools.tables",
            {
                "sql": clean_text(arguments.sql),
                "tables": [{"name": item.name, "format": format_} for item, format_ in formats],
            },
            [item.content for item, _ in formats],
        )
        if "error" in answer:
            raise ToolError(answer["error"], answer["code"])
        return str(answer["text"])

    return Tool(
        name="query_data",
        description=(
            "Runs one SELECT statement (DuckDB SQL) over the job's data inputs. Every CSV, TSV, JSON, NDJSON or "
            "Parquet input is a table, named by the input's name without its ending, in lower case, other characters "
            'as _: "sales 2025.csv" is sales_2025. Call it with empty sql first to see the tables, their columns, and '
            f"how each file was read. Returns a Markdown table of at most {ROWS_SHOWN} rows, long cells cut at "
            f"{CELL_CHARACTERS} characters. Nothing can be written, and no file or address outside the job can be "
            "read. A query has 20 s of computing time and 1.5 GB of memory. For plain text inputs use read_input."
        ),
        arguments=QueryData,
        effect="read",
        reads="inputs",
        run=run,
        timeout_s=WAIT_S,
    )
