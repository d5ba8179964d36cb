"""The files that runs hand over, as their table has them."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from app.domain.artifacts import Artifact, ListedArtifact
from app.store.database import Database

_LISTED = text(
    """
    SELECT artifacts.name, artifacts.media_type, artifacts.bytes, artifacts.task_id
    FROM artifacts JOIN runs ON runs.id = artifacts.run_id
    WHERE artifacts.run_id = :id AND runs.tenant = :tenant ORDER BY artifacts.position
    """
)
_ONE = text(
    """
    SELECT artifacts.name, artifacts.media_type, artifacts.content
    FROM artifacts JOIN runs ON runs.id = artifacts.run_id
    WHERE artifacts.run_id = :id AND runs.tenant = :tenant AND artifacts.name = :name
    """
)
_NAMED = text(
    "SELECT name, media_type, is_text, content FROM artifacts"
    " WHERE run_id = :id AND name = ANY(:names) ORDER BY position"
)


@dataclass(frozen=True, slots=True)
class Download:
    """A file with its content."""

    name: str
    media_type: str
    content: bytes


async def files_of(database: Database, tenant: str, run_id: str) -> Sequence[ListedArtifact]:
    """The files of a run, in the order in which they came; none for a run that the tenant does not have."""
    async with database.reading() as connection:
        found = await connection.execute(_LISTED, {"id": run_id, "tenant": tenant})
        return [
            ListedArtifact.of(run_id, row.name, media_type=row.media_type, size=row.bytes, task=row.task_id)
            for row in found
        ]


async def file_named(database: Database, tenant: str, run_id: str, name: str) -> Download | None:
    """The run's file of that name, or None when there is none."""
    async with database.reading() as connection:
        row = (await connection.execute(_ONE, {"id": run_id, "tenant": tenant, "name": name})).one_or_none()
    return Download(row.name, row.media_type, bytes(row.content)) if row else None


async def artifacts_named(database: Database, run_id: str, names: Sequence[str]) -> tuple[Artifact, ...]:
    """These files of a run, as they were handed over."""
    async with database.statement() as connection:
        rows = (await connection.execute(_NAMED, {"id": run_id, "names": list(names)})).all()
    return tuple(
        Artifact(name=row.name, media_type=row.media_type, text=bytes(row.content).decode())
        if row.is_text
        else Artifact(name=row.name, media_type=row.media_type, base64=b64encode(bytes(row.content)).decode())
        for row in rows
    )
