"""The inputs of a job, as they were sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from app.domain.job import JobInput
from app.store.database import Database

_LISTED = text(
    """
    SELECT run_inputs.name, run_inputs.media_type, char_length(run_inputs.content) AS characters
    FROM run_inputs JOIN runs ON runs.id = run_inputs.run_id
    WHERE run_inputs.run_id = :id AND runs.tenant = :tenant ORDER BY run_inputs.position
    """
)
_WHOLE = text(
    """
    SELECT run_inputs.name, run_inputs.media_type, run_inputs.content
    FROM run_inputs JOIN runs ON runs.id = run_inputs.run_id
    WHERE run_inputs.run_id = :id AND runs.tenant = :tenant ORDER BY run_inputs.position
    """
)
_NAMED = text(
    """
    SELECT run_inputs.name, run_inputs.media_type, run_inputs.content
    FROM run_inputs JOIN runs ON runs.id = run_inputs.run_id
    WHERE run_inputs.run_id = :id AND runs.tenant = :tenant AND run_inputs.name = :name
    ORDER BY run_inputs.position LIMIT 1
    """
)


@dataclass(frozen=True, slots=True)
class ListedInput:
    """An input without its content."""

    name: str
    media_type: str
    characters: int


async def inputs_of(database: Database, tenant: str, run_id: str) -> Sequence[ListedInput]:
    """The run's inputs in the order of the job; none for a run that the tenant does not have."""
    async with database.reading() as connection:
        found = await connection.execute(_LISTED, {"id": run_id, "tenant": tenant})
        return [ListedInput(row.name, row.media_type, row.characters) for row in found]


async def contents_of(database: Database, tenant: str, run_id: str) -> Sequence[JobInput]:
    """The run's inputs with what is in them, in the order of the job."""
    async with database.reading() as connection:
        found = await connection.execute(_WHOLE, {"id": run_id, "tenant": tenant})
        return [JobInput.model_construct(**row) for row in found.mappings()]


async def input_named(database: Database, tenant: str, run_id: str, name: str) -> JobInput | None:
    """The run's input of that name, or None when there is none."""
    async with database.reading() as connection:
        found = await connection.execute(_NAMED, {"id": run_id, "tenant": tenant, "name": name})
        row = found.mappings().one_or_none()
    # What is stored was checked when it came, by the rules of its day.
    return JobInput.model_construct(**row) if row else None
