"""The tables as tests read them: every event, and whether the rows are what the log says."""

from typing import Any

from pydantic_core import to_jsonable_python
from sqlalchemy import text

from app.domain.brief import Brief
from app.domain.events import Event, RunQueued
from app.domain.fold import fold
from app.domain.retries import Patience
from app.domain.snapshot import Snapshot
from app.domain.team import Team
from app.store.database import Database
from app.store.journal_sql import event_of
from app.store.projection import attempt_row, plans_of, run_row, task_row

_SPENT = ("usage", "steps", "tool_calls")
"""What a task and an attempt have spent."""
_UNSAID = [("partial", False), ("beside", None), ("deadline_s", None)]
_BY_THE_COMMIT = ("timing", "wake_at")
"""Columns of a run under way that go by the time of its last commit, not of its last event."""


async def events_in(database: Database, run_id: str) -> list[Event]:
    """The log of a run."""
    statement = text("SELECT seq, type, at, task_id, attempt, data FROM events WHERE run_id = :id ORDER BY seq")
    async with database.transaction() as connection:
        return [event_of(run_id, row) for row in await connection.execute(statement, {"id": run_id})]


async def every(database: Database, statement: str, **values: Any) -> list[dict[str, Any]]:
    """All rows of a query."""
    async with database.transaction() as connection:
        return [dict(row) for row in (await connection.execute(text(statement), values)).mappings()]


async def folded_run(database: Database, run_id: str) -> tuple[Snapshot, list[Event]]:
    """The state that the log of a run folds to, and the log."""
    [row] = await every(
        database,
        """
        SELECT runs.objective, runs.limits, teams.definition FROM runs JOIN teams
          ON teams.tenant = runs.tenant AND teams.name = runs.team_name AND teams.version = runs.team_version
        WHERE runs.id = :id
        """,
        id=run_id,
    )
    log = await events_in(database, run_id)
    team, queued = Team.model_validate(row["definition"]), log[0].data
    assert isinstance(queued, RunQueued)
    schema, objective = queued.output_schema, row["objective"]
    return fold(Brief(run_id, objective, team, queued.limits, patience=Patience(), own_schema=schema), log), log


async def check_rows(database: Database, run_id: str) -> None:
    """Fold the log of a run and compare it with every row that the run has."""
    run, log = await folded_run(database, run_id)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    [stored] = await every(database, "SELECT * FROM runs WHERE id = :id", id=run_id)
    for column, value in run_row(run, log[-1].at).items():
        if run.ended or column not in _BY_THE_COMMIT:
            assert _plain(stored[column]) == _plain(value), column
    stored_tasks = await every(database, "SELECT * FROM tasks WHERE run_id = :id ORDER BY position", id=run_id)
    expected = [task_row(run, task) for task in sorted(run.every_task, key=lambda task: task.position)]
    assert [_settled(row) for row in stored_tasks] == [_settled(row) for row in expected]
    stored_attempts = await every(
        database,
        "SELECT attempts.* FROM attempts JOIN tasks USING (run_id, task_id)"
        " WHERE run_id = :id ORDER BY position, number",
        id=run_id,
    )
    attempts = [
        attempt_row(run, task, attempt)
        for task in sorted(run.every_task, key=lambda task: task.position)
        for attempt in task.attempts
    ]
    assert [_settled(row) for row in stored_attempts] == [_settled(row) for row in attempts]
    plans = await every(database, "SELECT * FROM plans WHERE run_id = :id ORDER BY revision", id=run_id)
    made, _ = plans_of(log)
    assert [_plain(row) for row in plans] == [_plain(row) for row in made]


def _settled(row: dict[str, Any]) -> dict[str, Any]:
    """The row of a task or an attempt; before its end without what it has spent, which is written only then."""
    plain: dict[str, Any] = _plain(row)
    if plain["finished_at"] is not None:
        return plain
    detail = {name: value for name, value in plain.get("detail", {}).items() if name not in _SPENT}
    return {name: value for name, value in plain.items() if name not in _SPENT} | {"detail": detail}


def _plain(value: Any) -> Any:
    """As JSON, so that what was written and what is there can be compared: also what release 0.1 wrote."""
    return without_news(to_jsonable_python(value))


_NEWS: tuple[tuple[str, object], ...] = (
    ("partial", False),
    ("assumptions", []),
    ("beside", None),
    ("deadline_s", None),
    ("instruction_like", False),
    ("rejected_answer", None),
    ("data_sources", []),
)
"""What release 0.1 had no word for, where it says nothing."""


def without_news(value: Any) -> Any:
    """The JSON value as release 0.1 would have written it."""
    if isinstance(value, dict):
        return {name: without_news(item) for name, item in value.items() if (name, item) not in _NEWS}
    return [without_news(item) for item in value] if isinstance(value, list) else value
