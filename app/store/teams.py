"""Stored teams: immutable versions; a run is pinned to one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import structlog
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.team import Team
from app.store.database import Database

log = structlog.get_logger(__name__)

_FIELDS = "name, version, definition, digest, origin, created_at, archived_at"
_FOR_NEW_JOBS = f"""
    (SELECT DISTINCT ON (name) {_FIELDS} FROM teams WHERE tenant = :tenant ORDER BY name, version DESC) AS newest
    WHERE archived_at IS NULL ORDER BY name
"""
_ALL = text(f"SELECT * FROM {_FOR_NEW_JOBS}")
_OFFERED = text(f"SELECT name, version FROM {_FOR_NEW_JOBS}")
_ONE = text(f"SELECT {_FIELDS} FROM teams WHERE tenant = :tenant AND name = :name ORDER BY version DESC LIMIT 1")
_EXACT = text(f"SELECT {_FIELDS} FROM teams WHERE tenant = :tenant AND name = :name AND version = :version")
_IN_LISTS = "version, digest, origin, created_at, archived_at"
_VERSIONS = text(
    f"""
    SELECT {_IN_LISTS} FROM teams
    WHERE tenant = :tenant AND name = :name AND version < :before ORDER BY version DESC LIMIT :limit
    """
)
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('team:' || :tenant || ':' || :name))")
_NEWEST = text(f"SELECT {_IN_LISTS} FROM teams WHERE tenant = :tenant AND name = :name ORDER BY version DESC LIMIT 1")
_ADD = text(
    """
    INSERT INTO teams (tenant, name, version, definition, digest, origin)
    VALUES (:tenant, :name, :version, CAST(:definition AS json), :digest, :origin)
    """
)
_CLAIM = text("UPDATE teams SET origin = :origin WHERE tenant = :tenant AND name = :name AND version = :version")
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
    name: dict[str, Any] = {"tenant": tenant, "name": team.name}
    async with database.transaction() as connection:
        await connection.execute(_LOCK, name)
        before = await _newest(connection, name)
        is_new = before is None or before.digest != team.digest
        if is_new and gives_way(before, origin):
            return None
        if is_new:
            version = before.version + 1 if before else 1
            added = {"version": version, "definition": team.definition, "digest": team.digest, "origin": origin}
            await connection.execute(_ADD, name | added)
        if before and not is_new and origin not in ("built_in", before.origin):
            await connection.execute(_CLAIM, name | {"version": before.version, "origin": origin})
        if origin != "built_in":
            await connection.execute(_RETURN, name)
        newest = await _newest(connection, name)
    assert newest is not None
    if is_new:
        log.info("team stored", team=team.name, version=newest.version, origin=origin)
    return Put(StoredTeam(team, newest.version, newest.created_at, newest.origin, newest.archived_at), is_new)


async def _newest(connection: AsyncConnection, name: dict[str, Any]) -> TeamVersion | None:
    row = (await connection.execute(_NEWEST, name)).one_or_none()
    return TeamVersion(*row) if row else None


def gives_way(newest: TeamVersion | None, origin: Origin) -> bool:
    """Whether a team that differs from the newest version of its name leaves that in its place."""
    if newest is None or origin != "built_in":
        return False
    is_built_in = newest.origin == "built_in" or (newest.origin is None and newest.digest in FIRST_BUILT_IN)
    return not is_built_in or newest.archived_at is not None


async def archive_team(database: Database, tenant: str, name: str) -> bool:
    """Withdraw a team from new jobs, in all its versions; False when there is no such team."""
    values = {"tenant": tenant, "name": name}
    async with database.transaction() as connection:
        await connection.execute(_LOCK, values)
        newest = await _newest(connection, values)
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
