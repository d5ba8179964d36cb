"""What stands between us and Postgres is looked at before anything is started."""

import asyncio

import pytest

from app.store.preflight import check_server
from app.store.schema import DatabaseUnusable
from tests.support.pooler import transaction_pooler
from tests.support.proxy import proxied


async def test_a_pooler_that_shares_sessions_is_refused_with_what_is_needed(database_url: str) -> None:
    async with transaction_pooler(database_url) as url:
        for _ in range(5):
            with pytest.raises(DatabaseUnusable, match=r"transaction mode.*a pooler in session mode$"):
                await asyncio.to_thread(check_server, url)


async def test_a_pooler_that_refuses_a_parameter_of_the_url_is_named(database_url: str) -> None:
    async with transaction_pooler(database_url) as url:
        with pytest.raises(DatabaseUnusable, match=r"startup parameter: options; a pooler stands before it"):
            await asyncio.to_thread(check_server, f"{url}&options=-csearch_path%3Dch")


async def test_one_that_gives_every_connection_its_session_will_do(database_url: str) -> None:
    async with proxied(database_url) as proxy:
        where = await asyncio.to_thread(check_server, proxy.url)

    assert where.startswith("the database test_")
