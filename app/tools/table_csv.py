"""Reads CSV as it is meant, and says how. Runs in a sandboxed process.

DuckDB guesses well, and in silence. What would be wrong without a word is decided here: names that are numbers, notes
above the names, days whose order nobody can tell, codes that look like numbers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from app.tools.csv_shape import first_rows, is_measured, numbers_are_names, row_of_names
from app.tools.table_days import DAY_IN_SQL, Days, form_of_day, order_of
from app.tools.table_sql import Database, bytes_as_file, create, named, quoted, struct

# No row may be lost in silence: left alone, the sniffer skips short lines as a preamble and lines with # as comments.
_WHOLE_FILE = "sample_size = -1, comment = '', null_padding = true"
_LENIENT = ", strict_mode = false"
_NAMES_OF_DELIMITERS = {"\t": "tab", " ": "space"}
_NOTE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class _Sniffed:
    """What DuckDB takes a CSV file for, and how it would be read so."""

    delimiter: str
    quote: str
    escape: str
    new_line: str
    header: bool
    types: dict[str, str]
    day_format: str | None
    time_format: str | None
    lenient: bool


def load_csv(database: Database, table: str, text: str, delimiter: str) -> str:
    """Make `table` of a text and say how it was read; `delimiter` is empty where it has to be found."""
    if "\r\n" in text and text.count("\n") != text.count("\r\n"):
        text = text.replace("\r\n", "\n")  # ends of both kinds: DuckDB knows one in a file
    try:
        return _load_lines(database, table, text, delimiter)
    except duckdb.Error:
        if "\r" not in text:
            raise
        return _load_lines(database, table, text.replace("\r\n", "\n").replace("\r", "\n"), delimiter)


def _load_lines(database: Database, table: str, text: str, delimiter: str) -> str:
    with bytes_as_file(text.encode()) as path:
        sniffed = _sniffed(database, path, delimiter, header=None)
    rows = first_rows(text, sniffed.delimiter, sniffed.quote)
    cells = [row for _, row in rows]
    above = row_of_names(cells)
    start = rows[above][0] if above else 0
    header = above > 0 or _has_names(cells, sniffed.header)
    with bytes_as_file(text[start:].encode()) as path:
        if above or header != sniffed.header:
            sniffed = _sniffed(database, path, sniffed.delimiter, header=header)
        types, day_format, more = _checked_types(database, path, sniffed, cells[above + 1 :] if header else cells)
        create(database, table, _reader(sniffed, types, day_format), path)
    names = "names in the first line" if header else "no names found, so that the first line is data"
    if above:
        said = " ".join(" ".join(cell for cell in row if cell) for row in cells[:above]).split()
        names = f"names below {above} lines that are left out ({' '.join(said)[:_NOTE_CHARACTERS]})"
    ends = _NAMES_OF_DELIMITERS.get(sniffed.delimiter, f"'{sniffed.delimiter}'")
    return "; ".join([f"CSV, cells end with {ends}, {names}", *more])


def _has_names(rows: Sequence[tuple[str, ...]], sniffed: bool) -> bool:
    """Whether the first row holds names, by what DuckDB found and what it cannot know."""
    if not rows:
        return sniffed
    return not is_measured(rows[0], rows[1:]) if sniffed else numbers_are_names(rows[0], rows[1:])


def _sniffed(database: Database, path: str, delimiter: str, *, header: bool | None) -> _Sniffed:
    options = _WHOLE_FILE
    if delimiter:
        options += f", delim = {quoted(delimiter)}"
    if header is not None:
        options += f", header = {header}"
    lenient = False
    try:
        found = _sniff(database, path, options)
    except duckdb.Error:
        lenient = True
        found = _sniff(database, path, options + _LENIENT)
    empty = {"(empty)": ""}
    mark, quote, escape, new_line, has_header, columns, day_format, time_format = found
    return _Sniffed(
        empty.get(mark, mark),
        empty.get(quote, quote),
        empty.get(escape, escape),
        new_line,
        has_header,
        {column["name"]: column["type"] for column in columns},
        day_format,
        time_format,
        lenient,
    )


def _sniff(database: Database, path: str, options: str) -> tuple[Any, ...]:
    found = database.execute(
        "SELECT Delimiter, Quote, Escape, NewLineDelimiter, HasHeader, Columns, DateFormat, TimestampFormat"
        f" FROM sniff_csv(?, {options})",
        [path],
    ).fetchone()
    assert found is not None
    return found


def _reader(sniffed: _Sniffed, types: dict[str, str], day_format: str | None) -> str:
    """The table function that reads the file exactly so."""
    options = {
        "auto_detect": "false",
        "delim": quoted(sniffed.delimiter),
        "quote": quoted(sniffed.quote),
        "escape": quoted(sniffed.escape),
        "header": str(sniffed.header),
        "columns": struct(types),
        "comment": "''",
        "null_padding": "true",
        "parallel": "false",
    }
    if sniffed.new_line in {"\\n", "\\r\\n", "\\r"}:
        options["new_line"] = quoted(sniffed.new_line)
    if day_format:
        options["dateformat"] = quoted(day_format)
    if sniffed.time_format:
        options["timestampformat"] = quoted(sniffed.time_format)
    if sniffed.lenient:
        options["strict_mode"] = "false"
    return f"read_csv(?, {', '.join(f'{name} = {value}' for name, value in options.items())})"


def _checked_types(
    database: Database, path: str, sniffed: _Sniffed, rows: Sequence[Sequence[str]]
) -> tuple[dict[str, str], str | None, list[str]]:
    """The types of the columns and the form of days, with codes and doubtful days kept as text; and what to say."""
    raw = _reader(sniffed, dict.fromkeys(sniffed.types, "VARCHAR"), None)
    types, notes = dict(sniffed.types), list[str]()
    codes = _codes(database, path, raw, [name for name, kind in types.items() if kind == "DOUBLE"])
    if codes:
        types |= dict.fromkeys(codes, "VARCHAR")
        notes.append(f"{', '.join(codes)} stays text: its values are codes like 1E10")
    days = _days(database, path, raw, sniffed, rows)
    if not days:
        return types, sniffed.day_format, notes
    changed, day_format, note = _with_days(sniffed, days)
    return types | changed, day_format, [*notes, *note]


def _codes(database: Database, path: str, raw: str, columns: Sequence[str]) -> list[str]:
    """The columns that hold values like 1E10 and none that only a measured number looks like."""
    if not columns:
        return []
    checks = ", ".join(
        f"coalesce(bool_or(regexp_full_match({named(name)}, '\\s*[0-9]+[eE][0-9]+\\s*'))"
        f" AND NOT bool_or(regexp_matches({named(name)}, '[.][0-9]*[eE]|[eE][-+]')), false)"
        for name in columns
    )
    found = database.execute(f"SELECT {checks} FROM {raw}", [path]).fetchone()
    return [name for name, is_code in zip(columns, found or (), strict=True) if is_code]


def _days(database: Database, path: str, raw: str, sniffed: _Sniffed, rows: Sequence[Sequence[str]]) -> list[Days]:
    """The columns of days whose order could be in doubt."""
    forms = {
        name: form
        for place, name in enumerate(sniffed.types)
        if (form := form_of_day([row[place] for row in rows if place < len(row)])) is not None
    }
    if not forms:
        return []
    checks = ", ".join(
        f"max(TRY_CAST(regexp_extract({named(name)}, {quoted(DAY_IN_SQL)}, {group}) AS INTEGER))"
        if group
        else f"bool_and(regexp_full_match({named(name)}, '\\s*{_form_in_sql(*forms[name])}\\s*'))"
        for name in forms
        for group in (1, 2, 0)
    )
    found = database.execute(f"SELECT {checks} FROM {raw}", [path]).fetchone()
    assert found is not None
    return [
        Days(name, *forms[name], found[at] or 0, found[at + 1] or 0, bool(found[at + 2]))
        for name, at in zip(forms, range(0, len(found), 3), strict=True)
    ]


def _form_in_sql(separator: str, year_digits: int) -> str:
    return f"[0-9]{{1,2}}[{separator}][0-9]{{1,2}}[{separator}][0-9]{{{year_digits}}}"


def _with_days(sniffed: _Sniffed, days: Sequence[Days]) -> tuple[dict[str, str], str | None, list[str]]:
    """Types for the columns of days, the form that they are read in, and what to say of it."""
    order = order_of(days)
    changed = {column.column: "VARCHAR" for column in days}
    names = json.dumps([column.column for column in days], ensure_ascii=False)[1:-1]
    if order is None:
        return changed, None, [f"{names} stays text: nothing tells the day from the month"]
    forms = {column.written_as(order) for column in days if column.pure}
    form = forms.pop() if len(forms) == 1 else None
    changed |= {column.column: "DATE" for column in days if column.pure and form}
    said = "day first, then month" if order == "day" else "month first, then day"
    as_text = "" if set(changed.values()) == {"DATE"} else " (where the type is VARCHAR: to be read so)"
    return changed, form, [f"days in {names}: {said}{as_text}"]
