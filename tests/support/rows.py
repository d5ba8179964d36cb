"""The tables as tests read them: every event, and whether the rows are what the log says."""

from dataclasses import replace
from typing import Any

from pydantic_core import to_json, to_jsonable_python
from sqlalchemy import text

from app.domain.events import Event
from app.domain.fold import fold
from app.domain.replay import Findings
from app.domain.retries import Patience
from app.domain.snapshot import Snapshot
from app.domain.thinning import thinned
from app.store.comparison import compare, stored_run
from app.store.database import Database
from app.store.journal_sql import event_of
from app.store.run_log import Known, brief_from


async def events_in(database: Database, run_id: str) -> list[Event]:
    """The log of a run."""
    statement = text("SELECT seq, type, at, task_id, attempt, data FROM events WHERE run_id = :id ORDER BY seq")
    async with database.transaction() as connection:
        return [event_of(run_id, row) for row in await connection.execute(statement, {"id": run_id})]


async def every(database: Database, statement: str, **values: Any) -> list[dict[str, Any]]:
    """All rows of a query."""
    async with database.transaction() as connection:
        return [dict(row) for row in (await connection.execute(text(statement), values)).mappings()]


async def folded_run(database: Database, run_id: str, *, cut: bool = False) -> tuple[Snapshot, list[Event]]:
    """The state that the log of a run folds to, and the log; the log as it is, or cut."""
    [row] = await every(
        database,
        """
        SELECT runs.tenant, teams.definition FROM runs JOIN teams
          ON teams.tenant = runs.tenant AND teams.name = runs.team_name AND teams.version = runs.team_version
        WHERE runs.id = :id
        """,
        id=run_id,
    )
    log = await events_in(database, run_id)
    if cut:
        log = [_cut(event) for event in log]
    return fold(brief_from(Known(run_id, row["tenant"], row["definition"]), log, Patience(), {}), log), log


def _cut(event: Event) -> Event:
    told = to_jsonable_python(event.data)
    short = thinned(event.type, told)
    assert thinned(event.type, short) == short
    assert len(to_json(short)) <= len(to_json(told))
    return replace(event, data=type(event.data).model_validate(short))


async def check_rows(database: Database, run_id: str, *, cut: bool = False) -> None:
    """Fold the log of a run, as it is or cut, and compare it with every row that the run has."""
    run, log = await folded_run(database, run_id, cut=cut)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))
    [row] = await every(database, "SELECT tenant FROM runs WHERE id = :id", id=run_id)
    stored = await stored_run(database, row["tenant"], run_id)
    assert stored is not None
    compare(run, log, stored, findings := Findings())
    assert findings.shown == []


_NEWS: tuple[tuple[str, object], ...] = (
    ("partial", False),
    ("assumptions", []),
    ("beside", None),
    ("deadline_s", None),
    ("tool_calls", None),
    ("unverified", False),
    ("unverified", []),
    ("workers", []),
    ("instruction_like", False),
    ("rejected_answer", None),
    ("data_sources", []),
    ("selection", None),
    ("number", None),
    ("reductions", []),
    ("shortened", []),
    ("nested", None),
    ("child", None),
    ("children", []),
    ("artifacts", []),
    ("files_left", []),
)
"""What release 0.1 had no word for, where it says nothing."""


def without_news(value: Any) -> Any:
    """The JSON value as release 0.1 would have written it."""
    if isinstance(value, dict):
        return {name: without_news(item) for name, item in value.items() if (name, item) not in _NEWS}
    return [without_news(item) for item in value] if isinstance(value, list) else value
