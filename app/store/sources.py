"""Runs that others come from: as they ended, and what they were asked."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from app.domain import events as ev
from app.domain.errors import ChargehandError
from app.domain.events import event_from
from app.domain.job import Limits
from app.domain.plan import Planning
from app.domain.questions import OnQuestion
from app.domain.retries import Patience
from app.domain.snapshot import Snapshot
from app.domain.states import TERMINAL_RUN
from app.domain.team import Team
from app.store.database import Database
from app.store.run_log import LOG_AS_TEXT, Known, read_run
from app.store.teams import StoredTeam

_SOURCE = text(
    f"""
    SELECT runs.status, runs.tenant, runs.priority, runs.metadata, teams.definition, teams.version,
           teams.created_at AS team_created_at, {LOG_AS_TEXT}
    FROM runs JOIN teams ON teams.tenant = runs.tenant AND teams.name = runs.team_name
                        AND teams.version = runs.team_version
    WHERE runs.id = :id AND runs.tenant = :tenant
    """
)
_STATUS = text("SELECT status FROM runs WHERE id = :id AND tenant = :tenant")


@dataclass(frozen=True, slots=True)
class Source:
    """A run that has ended."""

    run: Snapshot
    team: StoredTeam
    """As it is stored: without other models that the run had."""
    models: Mapping[str, str]
    """Those models, by worker."""
    on_question: OnQuestion | None
    planning: Planning | None
    priority: int
    metadata: Mapping[str, Any]
    cost_asked: ev.CostAsked | None
    """What it might have cost, where that was cut."""

    @property
    def limits(self) -> Limits:
        """Its limits as they were asked for: how little was left to its tenant then says nothing about now."""
        limits = self.run.brief.limits
        return limits if self.cost_asked is None else limits.model_copy(update={"cost_usd": self.cost_asked.usd})


class NotEnded(ChargehandError):
    """The run has not ended: what it will have brought is not known."""


async def source_of(database: Database, tenant: str, run_id: str) -> Source | None:
    """The run, or None when the tenant has no such run. Raises `NotEnded` and `RunUnreadable`.

    A long log takes seconds: in a thread it only slows others down.
    """
    values = {"id": run_id, "tenant": tenant}
    async with database.reading() as connection:
        status = (await connection.execute(_STATUS, values)).scalar_one_or_none()
        if status is not None and status not in TERMINAL_RUN:
            raise NotEnded
        row = (await connection.execute(_SOURCE, values)).one_or_none()
    return None if row is None else await asyncio.to_thread(_read, run_id, row)


def _read(run_id: str, row: Any) -> Source:
    log = json.loads(row.log)
    run = read_run(Known(run_id, row.tenant, row.definition), log, Patience(), {})
    job = event_from(log[0]).data
    assert isinstance(job, ev.RunQueued)
    team = StoredTeam(Team.model_validate(row.definition), row.version, row.team_created_at)
    return Source(run, team, job.models, job.on_question, job.planning, row.priority, row.metadata, job.cost_asked)
