"""Runs as a release left them: the rows of a database at one moment, to be put into a database of today."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

Row = dict[str, Any]

RELEASE_0_1 = Path(__file__).parent / "release_0_1"
SCHEMA_0_1 = "0003"
"""The revision of the schema that the release had."""
TABLES = ("teams", "runs", "run_inputs", "events", "plans", "tasks", "attempts")
"""In an order in which rows find those that they refer to."""
MARK = "\n(So it was worded in release 0.1.)"
_TIME = re.compile(r'"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"')


@dataclass(frozen=True, slots=True)
class LeftRun:
    """A run as it was left."""

    rows: Mapping[str, Sequence[Row]]
    """By table."""

    @property
    def row(self) -> Row:
        """Its row."""
        [row] = self.rows["runs"]
        return row

    @property
    def id(self) -> str:
        """Its id."""
        return str(self.row["id"])

    @property
    def events(self) -> Sequence[Row]:
        """Its log."""
        return self.rows["events"]

    def of_type(self, *types: str) -> list[Row]:
        """What its events of these types say."""
        return [event["data"] for event in self.events if event["type"] in types]

    @property
    def openings(self) -> list[Row]:
        """How its conversations were opened, those of which a call has ended."""
        return [call["opening"] for call in self.of_type("llm.completed", "llm.failed") if call["opening"]]


def left_run(name: str, since: timedelta = timedelta()) -> LeftRun:
    """The run of a file, with all its times moved: it is found now, or could have been found `since` that long.

    Its prompts get a mark, as though they had been worded otherwise then: who goes on with a conversation repeats it.
    """
    text = (RELEASE_0_1 / f"{name}.json").read_text()
    passed = datetime.now(UTC) - since - datetime.fromisoformat(json.loads(text)["found_at"])
    run = LeftRun(json.loads(_TIME.sub(lambda found: _later(found[1], passed), text))["rows"])
    for opening in run.openings:
        opening["message"] += MARK
    return run


def _later(time: str, by: timedelta) -> str:
    return f'"{(datetime.fromisoformat(time) + by).isoformat().removesuffix("+00:00")}Z"'


def put(url: str, run: LeftRun) -> None:
    """Insert the run's rows. Columns that they do not name get their defaults; several runs may have one team."""
    with psycopg.connect(url) as connection:
        for table in TABLES:
            for row in run.rows[table]:
                connection.execute(_insert(table, row), [_written(value) for value in row.values()])


def _insert(table: str, row: Row) -> sql.Composed:
    statement = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO NOTHING")
    names = sql.SQL(", ").join(map(sql.Identifier, row))
    return statement.format(sql.Identifier(table), names, sql.SQL(", ").join([sql.Placeholder()] * len(row)))


def _written(value: Any) -> Any:
    """JSON in the very words in which it was stored: a conversation goes on with what was said, byte by byte."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) if isinstance(value, dict | list) else value
