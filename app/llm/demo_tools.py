"""What the demo model asks the tools, and how it reads their answers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.domain.conversation import Block
from app.llm.demo_prompts import excerpt, fenced, gist, skimmed

TABLES_QUERIED = 2
TEXTS_READ = 3
LINES_READ = 60
ROWS_WANTED = 12
COLUMNS_SUMMED = 2
PAGE_CHARACTERS = 1_200
TEXT_CHARACTERS = 1_500

_LISTED_TABLE = re.compile(r'^- (\w+) \(input "(.*)", \d+ rows\): (.*)$', re.MULTILINE)
_LISTED_TEXT = re.compile(r"^- (.+) \((\S+), \d+ characters, \d+ lines\)$", re.MULTILINE)
_COLUMN = re.compile(r"(.+) (TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|FLOAT|DOUBLE|DECIMAL\S*|VARCHAR|BOOLEAN|DATE)")
_NOT_SUMMED = re.compile(r"(^|_| )(id|no|nr|number|year|month|day|zip|code|phone)$", re.IGNORECASE)
_TELLING = re.compile(
    r"\b[A-Z]{1,6}[-_]?\d{2,6}\b|\b(?:error|fail|timeout|exception|refund|deadline|termination)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as `query_data` lists it."""

    name: str
    source: str
    """The input it was made from."""
    numbers: tuple[str, ...]
    """Columns worth adding up."""
    words: tuple[str, ...]
    """Columns worth grouping by."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one tool call brought: a sentence, the material behind it, and the source."""

    sentence: str
    detail: str = ""
    source: str | None = None
    failed: bool = False


def tables_in(listing: str) -> list[Table]:
    """The tables of a listing by `query_data`."""
    return [Table(name, source, *_columns(columns)) for name, source, columns in _LISTED_TABLE.findall(listing)]


def texts_in(listing: str) -> list[str]:
    """The names of the readable inputs in a listing by `read_input`."""
    return [name for name, _ in _LISTED_TEXT.findall(listing)]


def _columns(listed: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    columns = [found.groups() for part in listed.split(", ") if (found := _COLUMN.fullmatch(part))]
    grouping = ("VARCHAR", "BOOLEAN")
    numbers = [name for name, kind in columns if kind not in (*grouping, "DATE") and not _NOT_SUMMED.search(name)]
    return tuple(numbers), tuple(name for name, kind in columns if kind in grouping)


def aggregate_of(table: Table, task: str) -> str:
    """One query that sums a table up: what the task names first, else what comes first."""
    numbers = _named_first(table.numbers, task)[:COLUMNS_SUMMED]
    group = _named_first(table.words, task)[:1]
    sums = [part for name in numbers for part in _sums(name)]
    columns = ", ".join([*map(_quoted, group), 'count(*) AS "rows"', *sums])
    order = f" GROUP BY ALL ORDER BY {3 if sums else 2} DESC, 1 LIMIT {ROWS_WANTED}" if group else ""
    return f"SELECT {columns} FROM {_quoted(table.name)}{order}"


def _sums(column: str) -> Iterator[str]:
    yield f"round(sum({_quoted(column)}), 2) AS {_quoted(f'sum of {column}')}"
    yield f"round(avg({_quoted(column)}), 2) AS {_quoted(f'mean of {column}')}"


def _named_first(names: tuple[str, ...], task: str) -> list[str]:
    words = task.casefold()
    return sorted(names, key=lambda name: name.casefold().replace("_", " ") not in words)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def telling_word(task: str) -> str | None:
    """A word of the task that is worth searching texts for: an error code before a common word."""
    found = [match[0] for match in _TELLING.finditer(skimmed(task))]
    return next((word for word in found if any(map(str.isdigit, word))), found[0] if found else None)


def findings_of(results: Sequence[tuple[Block, str, bool]]) -> list[Finding]:
    """What tool calls brought: each call, its output, and whether that is an error. Listings are no findings."""
    tables = [table for call, output, failed in results if not failed for table in tables_in(output)]
    sources = {_quoted(table.name): table.source for table in tables}
    found = [_finding(call, output, failed=failed) for call, output, failed in results]
    return [replace(each, source=sources.get(each.source or "", each.source)) for each in found if each]


def _finding(call: Block, output: str, *, failed: bool) -> Finding | None:
    asked = call["input"]
    if failed:
        return Finding(f"`{call['name']}` failed: {gist(output, 300)}", failed=True)
    match call["name"]:
        case "calculate":
            return Finding(f"`{asked['expression']}` = {output}")
        case "query_data" if asked.get("sql"):
            return Finding(_top_row(output), f"{output}\n\n{fenced(asked['sql'], 'sql')}", _source(asked["sql"]))
        case "read_input" if asked["action"] == "read":
            return Finding(f"Read {gist(output)}.", _as_code(output), asked["name"])
        case "read_input" if asked["action"] == "search":
            return Finding(_first_match(output), _as_code(output))
        case "fetch_page":
            return Finding(f"Read {asked['url']}: {_title(output)}.", _as_quote(output), asked["url"])
        case _:
            return None


def _source(sql: str) -> str | None:
    """The quoted name of the table that a query of ours reads."""
    found = re.search(r' FROM ("\w+")', sql)
    return found[1] if found else None


def _top_row(markdown: str) -> str:
    """The first row of a Markdown table in words."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in markdown.splitlines() if line.startswith("|")]
    if len(rows) < 3:
        return "The query brought no rows."
    pairs = [f"{name.strip()} {value.strip()}" for name, value in zip(rows[0], rows[2], strict=False)]
    return f"First of {len(rows) - 2} rows: {', '.join(pairs)}."


def _title(page: str) -> str:
    found = re.match(r"Title: (.+)", page)
    return found[1] if found else "no title"


def _first_match(output: str) -> str:
    head, _, matches = output.partition("\n\n")
    return f"{gist(head)}. The first is {gist(matches)}" if matches else gist(head)


def _as_quote(output: str) -> str:
    return "\n".join(f"> {line}" for line in _body(output, PAGE_CHARACTERS).splitlines())


def _as_code(output: str) -> str:
    return fenced(_body(output, TEXT_CHARACTERS))


def _body(output: str, limit: int) -> str:
    """What follows the head of an answer."""
    return excerpt(output.partition("\n\n")[2] or output, limit)
