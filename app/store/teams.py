"""Stored teams: immutable versions; a run is pinned to one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import structlog
from sqlalchemy import text

from app.domain.team import Team
from app.store.database import Database

log = structlog.get_logger(__name__)

_SELECT = "SELECT DISTINCT ON (name) name, version, definition, created_at FROM teams WHERE tenant = :tenant"
_ALL = text(f"{_SELECT} ORDER BY name, version DESC")
_ONE = text(f"{_SELECT} AND name = :name ORDER BY name, version DESC")
_EXACT = text(f"{_SELECT} AND name = :name AND version = :version ORDER BY name, version DESC")
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('team:' || :tenant || ':' || :name))")
_PUT = text(
    """
    INSERT INTO teams (tenant, name, version, definition, digest, origin)
    SELECT :tenant, :name, coalesce(max(version), 0) + 1, CAST(:definition AS json), :digest, :origin
    FROM teams WHERE tenant = :tenant AND name = :name
    HAVING :digest IS DISTINCT FROM (array_agg(digest ORDER BY version DESC))[1]
       AND (:origin = 'operator' OR count(*) = 0 OR (array_agg(origin ORDER BY version DESC))[1] = 'built_in'
            OR (array_agg(origin ORDER BY version DESC))[1] IS NULL
               AND (array_agg(digest ORDER BY version DESC))[1] = ANY(:first_built_in))
    RETURNING version
    """
)
_CLAIM = text(
    """
    UPDATE teams SET origin = 'operator'
    WHERE tenant = :tenant AND name = :name AND digest = :digest AND origin IS DISTINCT FROM 'operator'
      AND version = (SELECT max(version) FROM teams WHERE tenant = :tenant AND name = :name)
    """
)

FIRST_BUILT_IN = (
    "6f14c1081f45c1c0becc2ce9d59cd2209909088310f1fe0d0530c9c23bb3447a",
    "ef85f0c1fcc40c8dbaf724e41dd688690dc790e3813d0775ca62c3caf55e341d",
    "e4567cee2fb3d19c87755c9261dab9f108b1bb8b57aaa97110368fde9ffb11c9",
)
"""Digests of the built-in teams of the release that did not record who brought a team."""

Origin = Literal["built_in", "operator"]
"""Who brought a team: a release, or whoever operates the service."""


@dataclass(frozen=True, slots=True)
class StoredTeam:
    """One version of a team."""

    team: Team
    version: int
    created_at: datetime


async def put_team(database: Database, tenant: str, team: Team, *, origin: Origin = "operator") -> None:
    """Store the team as its newest version, unless it equals the newest one.

    A built-in team takes the place of no operator's: neither of one that is newest, nor of an equal one.
    """
    name = {"tenant": tenant, "name": team.name}
    values: dict[str, Any] = name | {"definition": team.definition, "digest": team.digest, "origin": origin}
    values |= {"first_built_in": list(FIRST_BUILT_IN)}
    async with database.transaction() as connection:
        await connection.execute(_LOCK, name)
        version = (await connection.execute(_PUT, values)).scalar_one_or_none()
        if origin == "operator":
            await connection.execute(_CLAIM, name | {"digest": team.digest})
    if version is not None:
        log.info("team stored", team=team.name, version=version, origin=origin)


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
