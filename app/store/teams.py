"""Stored teams: immutable versions; a run is pinned to one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from app.domain.team import Team
from app.store.database import Database

_SELECT = "SELECT DISTINCT ON (name) name, version, definition, created_at FROM teams WHERE tenant = :tenant"
_ALL = text(f"{_SELECT} ORDER BY name, version DESC")
_ONE = text(f"{_SELECT} AND name = :name ORDER BY name, version DESC")
_EXACT = text(f"{_SELECT} AND name = :name AND version = :version ORDER BY name, version DESC")
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('team:' || :tenant || ':' || :name))")
_PUT = text(
    """
    INSERT INTO teams (tenant, name, version, definition, digest)
    SELECT :tenant, :name, coalesce(max(version), 0) + 1, CAST(:definition AS json), :digest
    FROM teams WHERE tenant = :tenant AND name = :name
    HAVING :digest IS DISTINCT FROM (array_agg(digest ORDER BY version DESC))[1]
    """
)


@dataclass(frozen=True, slots=True)
class StoredTeam:
    """One version of a team."""

    team: Team
    version: int
    created_at: datetime


async def put_team(database: Database, tenant: str, team: Team) -> None:
    """Store the team as its newest version, unless it equals the newest one."""
    values = {"tenant": tenant, "name": team.name, "definition": team.model_dump_json(), "digest": team.digest}
    async with database.transaction() as connection:
        await connection.execute(_LOCK, {"tenant": tenant, "name": team.name})
        await connection.execute(_PUT, values)


async def team_named(database: Database, tenant: str, reference: str) -> StoredTeam | None:
    """The team by `name`, in its newest version, or by `name@version`."""
    name, _, version = reference.partition("@")
    async with database.statement() as connection:
        if version:
            values: dict[str, Any] = {"tenant": tenant, "name": name, "version": int(version)}
            row = (await connection.execute(_EXACT, values)).one_or_none()
        else:
            row = (await connection.execute(_ONE, {"tenant": tenant, "name": name})).one_or_none()
    return _stored(row) if row else None


async def all_teams(database: Database, tenant: str) -> Sequence[StoredTeam]:
    """Every team in its newest version, by name."""
    async with database.statement() as connection:
        return [_stored(row) for row in await connection.execute(_ALL, {"tenant": tenant})]


def _stored(row: Any) -> StoredTeam:
    return StoredTeam(Team.model_validate(row.definition), row.version, row.created_at)
