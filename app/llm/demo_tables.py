"""How the demo model finds its way in a job's data: the tables there are, and the question of a task in SQL.

It never reads the prose of a listing: DuckDB itself is asked for the columns, and for the values that a task names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.llm.demo_grid import INPUT, MEASURES, ROWS, Grid
from app.llm.demo_objective import stems
from app.llm.demo_prompts import excerpt

ROWS_WANTED = 50
NUMBERS_USED = 2
GROUPS_USED = 2
VALUES_WANTED = 20
TASK_CHARACTERS = 2_000
"""Of a task, for the values that it names."""

LIST_COLUMNS = (
    "SELECT t.table_name, t.comment AS input, c.column_name, c.data_type"
    " FROM duckdb_tables() t JOIN duckdb_columns() c USING (table_oid)"
    r" WHERE regexp_replace(c.column_name, '[\pC\pZ]+', ' ', 'g') = trim(c.column_name)"
    " ORDER BY t.table_name, c.column_index"
)
"""Every column with its table, its input and its type, but for names that no printed table can hold."""

_STRUCT = re.compile(r"STRUCT\((.*)\)(\[\])?", re.DOTALL)
_FIELD = re.compile(r'\A("(?:[^"]|"")*"|\S+) (.*)', re.DOTALL)
_NUMERIC = re.compile(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\)")
_GROUPING = re.compile(r"VARCHAR|BOOLEAN|DATE|UUID|ENUM\(.*\)")
_NOT_SUMMED = re.compile(r"(?:^|[_ .])(?:id|no|nr|number|year|quarter|month|week|day|zip|code|phone)$", re.IGNORECASE)
_RANKED = stems("which", "who\\b", "compar", "rank", "welche", "vergleich")
_GROUPED = stems("by\\b", "per\\b", "each", "every", "what\\b", "je\\b", "pro\\b", "nach\\b")
_SUMMED = stems("sum\\b", "total", "add\\b", "summe", "gesamt")
_MEASURES = {
    "mean of": ("avg", stems("average", "mean\\b", "durchschnitt", "mittelwert")),
    "median of": ("median", stems("median")),
    "largest": ("max", stems("highest", "largest", "maximum", "biggest", "höchste", "größte")),
    "smallest": ("min", stems("lowest", "smallest", "minimum", "cheapest", "niedrigste", "kleinste")),
}
_MEASURED = re.compile(
    r"\b(?:sums?|totals?|averages?|means?|medians?|add up)\s+(?:of\s+)?(?:(?:the|all|our)\s+)*(\w+)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Column:
    """Something in a table that can be asked for: a column, or a field of a nested one."""

    name: str
    """With the names of what it is nested in: `order.total`."""
    sql: str
    type: str

    @property
    def summed(self) -> bool:
        """Whether adding its values up makes sense."""
        return bool(_NUMERIC.fullmatch(self.type)) and not _NOT_SUMMED.search(self.name)

    @property
    def grouping(self) -> bool:
        """Whether rows can be told apart by it."""
        return not self.summed and bool(_GROUPING.fullmatch(self.type) or _NUMERIC.fullmatch(self.type))

    def named_in(self, text: str) -> bool:
        """Whether a text names it, in singular or plural."""
        words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.name.rpartition(".")[2]))
        singular = [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]
        return bool(words) and all(re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE) for word in singular)


@dataclass(frozen=True, slots=True)
class Table:
    """A table, or the entries of a list in one."""

    name: str
    source: str
    """The input it was made from."""
    sql: str
    columns: tuple[Column, ...]


def tables_in(listed: Grid, inputs: Sequence[str]) -> list[Table]:
    """The tables behind the answer to `LIST_COLUMNS`, lists inside them included."""
    written = {" ".join(name.split()): name for name in inputs}
    found: dict[tuple[str, str], list[Column]] = {}
    for table, source, column, type_ in listed.rows:
        name = written.get(" ".join(source.split()), source)
        found.setdefault((table, name), []).append(Column(column, _quoted(column), type_))
    return [
        each for (table, source), columns in found.items() for each in _unfolded(table, source, _quoted(table), columns)
    ]


def _unfolded(name: str, source: str, sql: str, columns: Sequence[Column]) -> Iterator[Table]:
    """A table with the fields of its nested columns, and one for each list of records in it."""
    leaves = [leaf for column in columns for leaf in _leaves(column)]
    yield Table(name, source, sql, tuple(leaf for leaf in leaves if leaf.summed or leaf.grouping))
    for leaf in leaves:
        if (nested := _STRUCT.fullmatch(leaf.type)) and nested[2]:
            alias = _quoted(f"each of {leaf.name}")
            entries = Column(leaf.name, alias, f"STRUCT({nested[1]})")
            known = [column for column in leaves if column.grouping]
            unnested = f"(SELECT *, unnest({leaf.sql}) AS {alias} FROM {sql})"
            yield from _unfolded(f"{name}.{leaf.name}", source, unnested, [*known, entries])


def _leaves(column: Column) -> Iterator[Column]:
    nested = _STRUCT.fullmatch(column.type)
    if nested is None or nested[2]:
        yield column
        return
    for part in _parted(nested[1]):
        if field := _FIELD.fullmatch(part):
            name = field[1][1:-1].replace('""', '"') if field[1].startswith('"') else field[1]
            yield from _leaves(Column(f"{column.name}.{name}", f"{column.sql}.{_quoted(name)}", field[2]))


def _parted(fields: str) -> Iterator[str]:
    """The fields of a type, parted at the commas that stand in no parentheses and no quotes."""
    start = depth = 0
    for found in re.finditer(r'"(?:[^"]|"")*"|[(),]', fields):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if found[0] == "," and not depth:
            yield fields[start : found.start()].strip()
            start = found.end()
    yield fields[start:].strip()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def fitting(tables: Sequence[Table], task: str, limit: int) -> list[Table]:
    """The tables that a task is about: of each input it names, or else of each, the one with most of what it names."""
    words = task.casefold()
    named = [table for table in tables if table.source.casefold() in words]
    scores = {table: sum(column.named_in(task) for column in table.columns) for table in named or tables}
    best = max(scores.values(), default=0)
    found: dict[str, Table] = {}
    for table, score in scores.items():
        if score == best and table.columns:
            found.setdefault(table.source, table)
    return list(found.values())[:limit]


def values_query(table: Table, task: str) -> str | None:
    """A query for the values of the table that a task names; None for a table without words.

    Short ones must be written the same way, so that "it" is not IT, nor "us" the US.
    """
    words = [column for column in table.columns if column.type == "VARCHAR"]
    told = _text(excerpt(task, TASK_CHARACTERS))
    parts = [
        f'SELECT DISTINCT {_text(column.name)} AS "column", {column.sql} AS "value" FROM {table.sql}'
        f" WHERE contains(lower({told}), lower({column.sql})) AND regexp_matches({told}, "
        f"CASE WHEN length({column.sql}) > 3 THEN '(?i)' ELSE '' END"
        rf" || '(^|[^\pL\pN])' || regexp_escape({column.sql}) || '($|[^\pL\pN])')"
        for column in words
    ]
    return " UNION ALL ".join(parts) + f" ORDER BY ALL LIMIT {VALUES_WANTED}" if parts else None


def figures_query(
    table: Table, task: str, wanted: str, values: Mapping[str, Sequence[str]], *, several: bool
) -> str | None:
    """The query for what a task asks of a table; None when the table does not have what it asks for.

    `wanted` is the task with its context. `values` holds what the task names, by column. With `several` tables each row
    says which input it is about.
    """
    numbers = _numbers(table, task, wanted)
    if numbers is None:
        return None
    groups = _groups(table, task, values)
    measures = [
        f"round({function}({column.sql}), 6) AS {_quoted(f'{name} {column.name}')}"
        for column in numbers
        for name, function in _functions(wanted, grouped=bool(groups))
    ]
    keys = [f'{_text(table.source)} AS "{INPUT}"'] if several else []
    keys += [f"{column.sql} AS {_quoted(_key(column))}" for column in groups]
    where = " AND ".join(
        f"{column.sql} IN ({', '.join(map(_text, values[column.name]))})"
        for column in table.columns
        if column.name in values
    )
    filtered = f"{table.sql} WHERE {where}" if where else table.sql
    grouped = f" GROUP BY ALL ORDER BY {len(keys) + (2 if measures else 1)} DESC, 1 LIMIT {ROWS_WANTED}"
    selected = ", ".join([*keys, f"count(*) AS {_quoted(ROWS)}", *measures])
    return f"SELECT {selected} FROM {filtered}{grouped if keys else ''}"


def _key(column: Column) -> str:
    """The name of a column beside those of ours: its own, unless one of ours could be meant."""
    name = column.name.casefold()
    return f"{column.name} (column)" if name in {ROWS, INPUT} or name.startswith(MEASURES) else column.name


def _numbers(table: Table, task: str, wanted: str) -> list[Column] | None:
    """The columns to work out figures from; None when a figure is asked for that no column of numbers can give."""
    numbers = [column for column in table.columns if column.summed]
    measured = _MEASURED.search(task)
    if measured and any(column.named_in(measured[1]) for column in table.columns if not column.summed):
        return None
    if not numbers:
        asked = _SUMMED.search(task) or any(pattern.search(task) for _, pattern in _MEASURES.values())
        return None if asked else []
    return [column for column in numbers if column.named_in(wanted)] or numbers[:NUMBERS_USED]


def _functions(wanted: str, *, grouped: bool) -> list[tuple[str, str]]:
    """The measures asked for. Where rows are ranked, "the highest" is a place in the ranking."""
    asked = [
        (name, function)
        for name, (function, pattern) in _MEASURES.items()
        if pattern.search(wanted) and not (grouped and function in {"max", "min"})
    ]
    return [("sum of", "sum"), *asked] if not asked or _SUMMED.search(wanted) else asked


def _groups(table: Table, task: str, values: Mapping[str, Sequence[str]]) -> list[Column]:
    """What the rows are told apart by: the columns whose values are named, and those that the task asks about."""
    grouping = [column for column in table.columns if column.grouping]
    groups = [column for column in grouping if column.name in values]
    if _RANKED.search(task) or _GROUPED.search(task):
        groups += [column for column in grouping if column.named_in(task) and column not in groups]
    return (groups or (grouping[:1] if _RANKED.search(task) else []))[:GROUPS_USED]
