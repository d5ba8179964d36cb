"""What a job is about stays out of the log, whatever goes wrong with it."""

import io
import logging
from collections.abc import AsyncIterator

import psycopg
import pytest
import structlog
from pydantic import ValidationError
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.domain.events import ToolCompleted
from app.domain.job import Job
from app.store.database import Database
from app.store.schema import DatabaseUnusable, migrate
from app.telemetry import set_up_logging

OBJECTIVE = "buy the rival in silence"


@pytest.fixture(params=["json", "console"])
def output(request: pytest.FixtureRequest) -> io.StringIO:
    output = io.StringIO()
    set_up_logging(form=request.param, output=output)
    return output


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(database_url, pool=2)
    yield database
    await database.close()


def logged(error: Exception, output: io.StringIO) -> str:
    """What the log holds of an error: from us, from the server in front of us, and where it is but a value."""
    structlog.get_logger("app.engine").error("run broke", exc_info=error)
    logging.getLogger("uvicorn.error").error("Exception in ASGI application", exc_info=error)
    structlog.get_logger("app.engine").error("run broke", error=error)
    return output.getvalue()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SELECT CAST(:objective AS text), 1 / 0", "division by zero"),
        ("SELECT CAST(:objective AS json)", "invalid input syntax for type json"),
        ("INSERT INTO runs (id, objective) VALUES ('run_1', :objective)", "violates not-null constraint"),
    ],
    ids=["parameter", "unreadable value", "refused row"],
)
async def test_a_statement_that_fails_shows_no_values(
    database: Database, output: io.StringIO, statement: str, reason: str
) -> None:
    with pytest.raises(DBAPIError) as failure:
        async with database.transaction() as connection:
            await connection.execute(text(statement), {"objective": OBJECTIVE})

    lines = logged(failure.value, output)
    assert reason in lines
    assert OBJECTIVE.split()[0] not in lines


def test_a_migration_that_fails_shows_no_values(database_url: str, output: io.StringIO) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("UPDATE chargehand_version SET version_num = '0003'")
    with pytest.raises(DatabaseUnusable) as failure:
        migrate(database_url)

    lines = logged(failure.value, output)
    assert "does not exist" in lines
    assert "DROP INDEX" not in lines


def test_a_value_that_does_not_validate_is_not_shown(output: io.StringIO) -> None:
    with pytest.raises(ValidationError) as job:
        Job.model_validate({"objective": [OBJECTIVE], "priority": OBJECTIVE, "metadata": {"a": OBJECTIVE * 100}})
    with pytest.raises(ValidationError) as event:
        ToolCompleted.model_validate({"output": OBJECTIVE, "omitted": OBJECTIVE + ", input_type=" + OBJECTIVE})

    logged(job.value, output)
    lines = logged(event.value, output)
    assert "Input should be a valid string" in lines
    assert "Field required" in lines
    assert OBJECTIVE.split()[0] not in lines
