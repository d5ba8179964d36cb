import asyncio
import time

import psycopg
import pytest

from app.domain.events import RUN_ENDS
from tests.replicas.watching import until
from tests.support.fixtures import Services
from tests.support.proxy import Proxy, listening
from tests.support.service import Service, plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

ONE = plan_of(task("t1"))
CHAIN = plan_of(task("t1", "researcher"), task("t2", "writer", ["t1"]))
POLL_S = 0.5

LISTENERS = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN "chargehand%' AND pid <> pg_backend_pid()
"""


def listeners(sql: psycopg.Connection) -> set[int]:
    """The sessions that listen to our channels, those that have been probed since included."""
    rows = sql.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND (query LIKE 'LISTEN \"chargehand%' OR query = 'SELECT 1' AND state = 'idle')"
    )
    return {row[0] for row in rows}
