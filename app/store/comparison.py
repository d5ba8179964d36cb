"""Whether the rows of a run are what its log says: the proof that the read models and the fold agree."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_jsonable_python
from sqlalchemy import text

from app.domain.events import Event
from app.domain.replay import Findings
from app.domain.snapshot import Snapshot
from app.store.database import Database
from app.store.projection import Row, attempt_row, file_row, plans_of, run_row, task_row
from app.store.run_log import LOG_AS_TEXT

_SPENT = ("usage", "steps", "tool_calls")
"""What a task and an attempt have spent: written at their end."""
_BY_THE_COMMIT = ("timing", "wake_at")
"""Columns of a run under way that go by the time of its last commit, not of its last event."""
_EMPTY: tuple[object, ...] = (None, False, "", [], {})

_RUN = text(
    f"""
    SELECT runs.*, teams.definition, {LOG_AS_TEXT}
    FROM runs JOIN teams ON teams.tenant = runs.tenant AND teams.name = runs.team_name
                        AND teams.version = runs.team_version
    WHERE runs.id = :id AND runs.tenant = :tenant
    """
)
_PARTS = {
    "plans": text("SELECT * FROM plans WHERE run_id = :id ORDER BY revision"),
    "tasks": text("SELECT * FROM tasks WHERE run_id = :id ORDER BY position"),
    "attempts": text("SELECT * FROM attempts WHERE run_id = :id ORDER BY task_id, number"),
    "artifacts": text(
        "SELECT run_id, name, position, media_type, task_id, is_text, bytes FROM artifacts"
        " WHERE run_id = :id ORDER BY position"
    ),
}
_NAMES = {"plans": ("revision",), "tasks": ("task_id",), "attempts": ("task_id", "number"), "artifacts": ("name",)}
"""The columns that name a row of a run."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """All that is stored of a run, as of one moment."""

    definition: Any
    """Of its team."""
    log: str
    """Its events as JSON."""
    row: Row
    parts: Mapping[str, Sequence[Row]]
    """Its plans, tasks, attempts and files, by table."""


async def stored_run(database: Database, tenant: str, run_id: str) -> StoredRun | None:
    """Everything about a run, or None when the tenant has no such run."""
    async with database.one_view() as connection:
        row = (await connection.execute(_RUN, {"id": run_id, "tenant": tenant})).mappings().one_or_none()
        if row is None:
            return None
        parts = {
            table: [dict(each) for each in (await connection.execute(query, {"id": run_id})).mappings()]
            for table, query in _PARTS.items()
        }
    columns = dict(row)
    return StoredRun(columns.pop("definition"), columns.pop("log"), columns, parts)


def compare(run: Snapshot, log: Sequence[Event], stored: StoredRun, findings: Findings) -> None:
    """Note every place where a row says something else than the fold of the log does."""
    for column, value in run_row(run, log[-1].at).items():
        if run.ended or column not in _BY_THE_COMMIT:
            _compare_values(findings, "runs", column, stored.row[column], value)
    folded = {
        "plans": plans_of(log)[0],
        "tasks": [task_row(run, task) for task in run.every_task],
        "attempts": [attempt_row(run, task, tried) for task in run.every_task for tried in task.attempts],
        "artifacts": [file_row(run, filed, position) for position, filed in enumerate(run.files)],
    }
    for table, rows in folded.items():
        _compare_rows(findings, table, stored.parts[table], rows)


def _compare_rows(findings: Findings, table: str, stored: Iterable[Row], folded: Iterable[Row]) -> None:
    """Rows of attempts that run are not stored before their end, but by the first release."""
    was, would_be = _by_name(table, stored), _by_name(table, folded)
    for name in {**was, **would_be}:
        if name not in was:
            if table != "attempts" or would_be[name]["finished_at"] is not None:
                findings.add("row", None, "there", row=name)
        elif name not in would_be:
            findings.add("row", "there", None, row=name)
        else:
            _compare_columns(findings, name, _settled(was[name]), _settled(would_be[name]))


def _compare_columns(findings: Findings, name: str, stored: Row, folded: Row) -> None:
    for column in folded:
        _compare_values(findings, name, column, stored[column], folded[column])


def _compare_values(findings: Findings, row: str, column: str, stored: Any, folded: Any) -> None:
    was, would_be = _plain(stored), _plain(folded)
    if not _says_the_same(was, would_be):
        findings.add(column, was, would_be, row=row)


def _by_name(table: str, rows: Iterable[Row]) -> dict[str, Row]:
    return {"/".join([table, *(str(row[column]) for column in _NAMES[table])]): row for row in rows}


def _settled(row: Row) -> Row:
    """The row of a task or an attempt; before its end without what it has spent, which is written only then."""
    if "finished_at" not in row or row["finished_at"] is not None:
        return row
    settled = {name: value for name, value in row.items() if name not in _SPENT}
    if "detail" in row:
        settled["detail"] = {name: value for name, value in _plain(row["detail"]).items() if name not in _SPENT}
    return settled


def _plain(value: Any) -> Any:
    return to_jsonable_python(value.astimezone(UTC) if isinstance(value, datetime) else value)


def _says_the_same(stored: Any, folded: Any) -> bool:
    """Whether two JSON values are equal, but for fields that only one release knows and that say nothing."""
    if isinstance(stored, dict) and isinstance(folded, dict):
        return all(_agree(name, stored, folded) for name in {**stored, **folded})
    if isinstance(stored, list) and isinstance(folded, list):
        return len(stored) == len(folded) and all(map(_says_the_same, stored, folded))
    return bool(stored == folded)


def _agree(name: str, stored: Row, folded: Row) -> bool:
    if name in stored and name in folded:
        return _says_the_same(stored[name], folded[name])
    return (stored if name in stored else folded)[name] in _EMPTY
