"""Whether the schema still fits while a process works: a backup may have been restored, or a newer release come."""

from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from app.store.database import Database
from app.store.schema import NEEDED, VERSION_TABLE, why_unfit

_FOUND = text(f"SELECT version_num, {NEEDED} FROM {VERSION_TABLE}")


async def why_schema_is_unfit(database: Database) -> str | None:
    """Why this release cannot work with the schema that is there now, and what to do; None when it can."""
    try:
        async with database.reading() as connection:
            found = (await connection.execute(_FOUND)).one_or_none()
    except ProgrammingError:  # The table is not there.
        return why_unfit(None, None)
    return why_unfit(*found) if found else why_unfit(None, None)
