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

_FIELDS = "name, version, definition, digest, origin, created_at, archived_at"
_ALL = text(
    f"""
    SELECT * FROM (
        SELECT DISTINCT ON (name) {_FIELDS} FROM teams WHERE tenant = :tenant ORDER BY name, version DESC
    ) AS newest WHERE archived_at IS NULL ORDER BY name
    """
)
_OFFERED = text(
    """
    SELECT name, version FROM (
        SELECT DISTINCT ON (name) name, version, archived_at FROM teams WHERE tenant = :tenant
        ORDER BY name, version DESC
    ) AS newest WHERE archived_at IS NULL ORDER BY name
    """
)
_ONE = text(f"SELECT {_FIELDS} FROM teams WHERE tenant = :tenant AND name = :name ORDER BY version DESC LIMIT 1")
_EXACT = text(f"SELECT {_FIELDS} FROM teams WHERE tenant = :tenant AND name = :name AND version = :version")
_VERSIONS = text(
    """
    SELECT version, digest, origin, created_at, archived_at FROM teams
    WHERE tenant = :tenant AND name = :name AND version < :before ORDER BY version DESC LIMIT :limit
    """
)
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('team:' || :tenant || ':' || :name))")
_PUT = text(
    """
    INSERT INTO teams (tenant, name, version, definition, digest, origin)
    SELECT :tenant, :name, coalesce(max(version), 0) + 1, CAST(:definition AS json), :digest, :origin
    FROM teams WHERE tenant = :tenant AND name = :name
    HAVING :digest IS DISTINCT FROM (array_agg(digest ORDER BY version DESC))[1]
       AND (:origin <> 'built_in' OR count(*) = 0
            OR (array_agg(archived_at ORDER BY version DESC))[1] IS NULL
               AND ((array_agg(origin ORDER BY version DESC))[1] = 'built_in'
                    OR (array_agg(origin ORDER BY version DESC))[1] IS NULL
                       AND (array_agg(digest ORDER BY version DESC))[1] = ANY(:first_built_in)))
    RETURNING version
    """
)
_CLAIM = text(
    """
    UPDATE teams SET origin = :origin
    WHERE tenant = :tenant AND name = :name AND digest = :digest AND origin IS DISTINCT FROM :origin
      AND version = (SELECT max(version) FROM teams WHERE tenant = :tenant AND name = :name)
    """
)
_RETURN = text(
    "UPDATE teams SET archived_at = NULL WHERE tenant = :tenant AND name = :name AND archived_at IS NOT NULL"
)
_ARCHIVE = text("UPDATE teams SET archived_at = now() WHERE tenant = :tenant AND name = :name AND archived_at IS NULL")

FIRST_BUILT_IN = (
    "6f14c1081f45c1c0becc2ce9d59cd2209909088310f1fe0d0530c9c23bb3447a",
    "ef85f0c1fcc40c8dbaf724e41dd688690dc790e3813d0775ca62c3caf55e341d",
    "e4567cee2fb3d19c87755c9261dab9f108b1bb8b57aaa97110368fde9ffb11c9",
)
"""Digests of the built-in teams of the release that did not record who brought a team."""

Origin = Literal["built_in", "operator", "client"]
"""Who brought a team: a release, a file of whoever operates the service, or a client."""


@dataclass(frozen=True, slots=True)
class StoredTeam:
    """One version of a team."""

    team: Team
    version: int
    created_at: datetime
    origin: Origin | None = None
    archived_at: datetime | None = None
    """When the team was withdrawn from new jobs."""


@dataclass(frozen=True, slots=True)
class TeamVersion:
    """What is told of a version in a list."""

    version: int
    digest: str
    origin: Origin | None
    created_at: datetime
    archived_at: datetime | None


@dataclass(frozen=True, slots=True)
class Put:
    """A team as it is stored after it was put, and whether that made a new version."""

    stored: StoredTeam
    is_new: bool


async def put_team(database: Database, tenant: str, team: Team, *, origin: Origin = "operator") -> Put | None:
    """Store the team as its newest version, unless it equals the newest one; None for a built-in one that gave way.

    A built-in team takes the place of nobody's: neither of an operator's or a client's that is newest, nor of one that
    equals them. It also stays away where it was archived; whoever else puts a team brings it back. What is stored
    already may be of another release, and is not read.
    """
    name = {"tenant": tenant, "name": team.name}
    values: dict[str, Any] = name | {"definition": team.definition, "digest": team.digest, "origin": origin}
    values |= {"first_built_in": list(FIRST_BUILT_IN)}
    async with database.transaction() as connection:
        await connection.execute(_LOCK, name)
        version = (await connection.execute(_PUT, values)).scalar_one_or_none()
        if origin != "built_in":
            await connection.execute(_CLAIM, name | {"digest": team.digest, "origin": origin})
            await connection.execute(_RETURN, name)
        row = (await connection.execute(_ONE, name)).one()
    if version is not None:
        log.info("team stored", team=team.name, version=version, origin=origin)
    if row.digest != team.digest:
        return None
    return Put(StoredTeam(team, row.version, row.created_at, row.origin, row.archived_at), version is not None)


async def archive_team(database: Database, tenant: str, name: str) -> bool:
    """Withdraw a team from new jobs, in all its versions; False when there is no such team."""
    values = {"tenant": tenant, "name": name}
    async with database.transaction() as connection:
        await connection.execute(_LOCK, values)
        newest = (await connection.execute(_ONE, values)).one_or_none()
        if newest is None or newest.archived_at is not None:
            return False
        await connection.execute(_ARCHIVE, values)
    log.info("team archived", team=name)
    return True


async def team_named(database: Database, tenant: str, reference: str) -> StoredTeam | None:
    """The team that a new job may have: by `name`, in its newest version, or by `name@version`; None for an archived
    one."""
    name, _, version = reference.partition("@")
    if version:
        stored = await team_version(database, tenant, name, int(version))
    else:
        async with database.statement() as connection:
            row = (await connection.execute(_ONE, {"tenant": tenant, "name": name})).one_or_none()
        stored = _stored(row) if row else None
    return stored if stored and stored.archived_at is None else None


async def team_version(database: Database, tenant: str, name: str, version: int) -> StoredTeam | None:
    """One version of a team, archived or not: what runs have, they keep."""
    values: dict[str, Any] = {"tenant": tenant, "name": name, "version": version}
    async with database.statement() as connection:
        row = (await connection.execute(_EXACT, values)).one_or_none()
    return _stored(row) if row else None


async def versions_of(database: Database, tenant: str, name: str, *, before: int, limit: int) -> Sequence[TeamVersion]:
    """The versions of a team below `before`, newest first, archived or not."""
    values: dict[str, Any] = {"tenant": tenant, "name": name, "before": before, "limit": limit}
    async with database.statement() as connection:
        return [TeamVersion(*row) for row in await connection.execute(_VERSIONS, values)]


async def all_teams(database: Database, tenant: str) -> Sequence[StoredTeam]:
    """Every team that a new job may have, in its newest version, by name."""
    async with database.statement() as connection:
        return [_stored(row) for row in await connection.execute(_ALL, {"tenant": tenant})]


async def offered_teams(database: Database, tenant: str) -> dict[str, int]:
    """The names of these teams with their newest versions."""
    async with database.statement() as connection:
        return {row.name: row.version for row in await connection.execute(_OFFERED, {"tenant": tenant})}


def _stored(row: Any) -> StoredTeam:
    return StoredTeam(Team.model_validate(row.definition), row.version, row.created_at, row.origin, row.archived_at)
