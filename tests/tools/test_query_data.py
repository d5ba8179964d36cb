import asyncio
import base64
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest
import pytest_asyncio

from app.domain.job import JobInput
from app.tools.query_data import query_data
from app.tools.sandbox import Sandbox
from app.tools.tool import Tool, ToolAnswer, ToolContext, call

SALES = JobInput(name="sales 2025.csv", media_type="text/csv", content="region,amount\nnorth,10\nsouth,2.5\nnorth,5\n")
ENDLESS = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 1"


pytestmark = pytest.mark.asyncio(loop_scope="module")

OFFERED: dict[str, Tool] = {}


@pytest_asyncio.fixture(scope="module", loop_scope="module", autouse=True)
async def sandbox() -> AsyncIterator[Sandbox]:
    """One for all tests, as there is one in a process of the service."""
    async with Sandbox() as sandbox:
        OFFERED["query_data"] = query_data(sandbox)
        yield sandbox


async def answered(sql: str, *inputs: JobInput) -> ToolAnswer:
    return await call(OFFERED, "query_data", {"sql": sql}, ToolContext(inputs, "call-1"))


async def rows(sql: str, *inputs: JobInput) -> list[str]:
    answer = await answered(sql, *inputs)
    assert answer.error_code is None, answer.text
    return answer.text.splitlines()[4:]


def parquet() -> JobInput:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "x.parquet")
        duckdb.connect().execute(f"COPY (SELECT 7 AS n, 'seven' AS word) TO '{path}' (FORMAT parquet)")
        content = base64.b64encode(path.read_bytes()).decode()
    return JobInput(name="numbers.parquet", media_type="application/vnd.apache.parquet", content=content)


async def test_a_query_answers_with_a_markdown_table() -> None:
    answer = await answered("SELECT region, sum(amount) AS total FROM sales_2025 GROUP BY 1 ORDER BY 2 DESC;", SALES)

    assert answer.text == "2 rows\n\n| region | total |\n| --- | --- |\n| north | 15.0 |\n| south | 2.5 |"


@pytest.mark.parametrize(
    "item",
    [
        JobInput(name="t.csv", content="n,word\n7,seven\n"),
        JobInput(name="t", media_type="text/csv; charset=utf-8", content="n;word\r\n7;seven\r\n"),
        JobInput(name="t.tsv", content="n\tword\n7\tseven\n"),
        JobInput(name="t.json", content='[{"n": 7, "word": "seven"}]'),
        JobInput(name="t", media_type="application/x-ndjson", content='{"n": 7, "word": "seven"}\n'),
        JobInput(name="t.jsonl", content='{"n": 7, "word": "seven"}\n'),
    ],
)
async def test_every_text_format_is_a_table(item: JobInput) -> None:
    assert await rows("SELECT n + 1, word FROM t", item) == ["| 8 | seven |"]


async def test_parquet_is_a_table() -> None:
    assert await rows("SELECT n + 1, word FROM numbers", parquet()) == ["| 8 | seven |"]


async def test_no_row_of_an_uneven_file_is_lost() -> None:
    short = JobInput(name="short.csv", content="a,b\n1,2\n3\n#4,5\n")
    ragged = JobInput(name="ragged.csv", content="a,b\n1,2\n3\n4,5,6\n")

    assert await rows("SELECT count(*) FROM short", short) == ["| 3 |"]
    assert await rows("FROM ragged", ragged) == ["| 1 | 2 | NULL |", "| 3 | NULL | NULL |", "| 4 | 5 | 6 |"]


async def test_without_sql_the_tables_are_listed() -> None:
    answer = await answered("", SALES, JobInput(name="bad.json", content="{x"), JobInput(name="notes.txt", content="x"))

    assert answer.text.splitlines()[:3] == [
        "Tables:",
        '- sales_2025 (input "sales 2025.csv", 3 rows): region VARCHAR, amount DOUBLE',
        "  Read as CSV, cells end with ',', names in the first line. First row: north | 10.0",
    ]
    assert answer.text.splitlines()[3].startswith("bad.json is not a table: ")


async def test_a_job_without_data_says_so() -> None:
    assert "none of the job's inputs" in (await answered("")).text


@pytest.mark.parametrize("sql", ["SHOW TABLES", "DESCRIBE sales_2025", "SUMMARIZE sales_2025", "FROM sales_2025"])
async def test_the_short_forms_of_select_work(sql: str) -> None:
    assert (await answered(sql, SALES)).error_code is None


async def test_inputs_of_like_names_are_different_tables() -> None:
    inputs = [JobInput(name=name, content=f"n\n{n}\n") for n, name in enumerate(["a.csv", "A.csv", "a .csv"], 1)]

    assert await rows("SELECT a.n, t_a.n, t_a_2.n FROM a, t_a, t_a_2", *inputs) == ["| 1 | 2 | 3 |"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO sales_2025 VALUES ('x', 1)", "DELETE FROM sales_2025", "DROP TABLE sales_2025",
        "CREATE TABLE x AS SELECT 1", "CREATE TEMP TABLE x AS SELECT 1", "COPY sales_2025 TO '/tmp/x.csv'",
        "ATTACH 'x.db'", "INSTALL httpfs", "LOAD httpfs", "SET memory_limit = '64GB'", "RESET lock_configuration",
        "PRAGMA database_list", "CALL pragma_version()", "EXPORT DATABASE 'x'", "SELECT 1; SELECT 2", "BEGIN",
        "VACUUM", "-- nothing", "EXPLAIN ANALYZE SELECT 1",
    ],
)  # fmt: skip
async def test_anything_but_one_select_is_refused(sql: str) -> None:
    assert (await answered(sql, SALES)).error_code == "query_refused"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{file}')", "SELECT * FROM read_text('{file}')", "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM '{file}'", "SELECT * FROM glob('{folder}/*')", "SELECT * FROM sniff_csv('{file}')",
        "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')", "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
        "SELECT getenv('PATH')", "SELECT * FROM duckdb_secrets()",
        "WITH x AS (INSERT INTO sales_2025 VALUES ('x', 1) RETURNING *) SELECT * FROM x",
    ],
)  # fmt: skip
async def test_nothing_outside_the_tables_is_reached(tmp_path: Path, sql: str) -> None:
    (tmp_path / "secret.csv").write_text("word\nhidden-word\n")

    answer = await answered(sql.format(file=tmp_path / "secret.csv", folder=tmp_path), SALES)

    assert answer.error_code == "query_failed"
    assert "hidden-word" not in answer.text


async def test_an_error_lists_the_tables_with_their_columns() -> None:
    answer = await answered("SELECT * FROM sales", SALES)

    assert answer.error_code == "query_failed"
    assert "sales_2025" in answer.text
    assert "region VARCHAR" in answer.text


async def test_more_rows_than_shown_are_announced() -> None:
    answer = await answered("SELECT range FROM range(201)")

    assert "there are more rows" in answer.text
    assert answer.text.count("\n| ") == 202


async def test_exactly_as_many_rows_as_shown_are_complete() -> None:
    assert (await answered("SELECT range FROM range(200)")).text.startswith("200 rows\n")


async def test_wide_rows_are_shown_whole_or_not_at_all() -> None:
    answer = await answered("SELECT repeat('x', 3000) AS a, 'END' AS b FROM range(100)")

    assert answer.omitted == 0
    assert "there are more rows" in answer.text
    assert all(line.endswith("| END |") for line in answer.text.splitlines()[4:])


async def test_cells_cannot_break_the_table() -> None:
    assert await rows("SELECT 'a|b' || chr(10) || 'c' AS x, NULL AS y") == ["| a\\|b c | NULL |"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 4_000 + "1" + ")" * 4_000,
        "SELECT " + "1+" * 9_000 + "1",
        "SELECT list(range) FROM range(1000000000)",
    ],
)
async def test_a_query_that_would_grow_too_large_is_an_error(sql: str) -> None:
    assert (await answered(sql)).error_code is not None


@pytest.mark.parametrize("sql", [ENDLESS, "SELECT max(range) FROM range(1000000000000)"])
async def test_a_query_that_takes_too_long_is_stopped(sql: str) -> None:
    async with Sandbox(wall_s=1) as hasty:
        answer = await call(
            {"query_data": query_data(hasty)}, "query_data", {"sql": sql}, ToolContext((SALES,), "call-1")
        )

    assert answer.error_code == "tool_timeout"
    assert "1 s" in answer.text


async def test_cancelling_the_call_stops_the_query() -> None:
    task = asyncio.create_task(answered(ENDLESS, SALES))
    await asyncio.wait([task], timeout=0.3)

    task.cancel()
    async with asyncio.timeout(1.5):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_query_leaves_the_loop_free() -> None:
    task = asyncio.create_task(answered("SELECT sum(sqrt(range)) FROM range(100000000)", SALES))
    lag = await longest_lag(task)

    assert (await task).error_code is None
    assert lag < 0.2


async def longest_lag(task: asyncio.Task[ToolAnswer]) -> float:
    """Seconds by which the loop was late at most while `task` ran."""
    worst = 0.0
    while not task.done():
        started = time.perf_counter()
        await asyncio.sleep(0)
        worst = max(worst, time.perf_counter() - started)
        await asyncio.wait([task], timeout=0.01)
    return worst
