"""Runs that a limit on runs in flight keeps in the queue: let go, in their order, as others of the tenant end."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.admission import has_room
from app.domain.quotas import Quota, Taken, quotas_of
from app.store.admission import COUNTS, IN_FLIGHT, LOCK
from app.store.database import Database, driver_of
from app.store.limits import all_said_of
from app.store.queue import Place, RunQueue

EACH_AT_A_TIME = 50
"""Runs of one key that are looked at: those of another may have room behind them."""

_TENANTS = text("SELECT DISTINCT tenant FROM runs WHERE held AND status = 'queued'")
_FLYING = text(
    f"""
    SELECT coalesce(key_id, '') AS key_id, count(*) AS many FROM runs
    WHERE tenant = :tenant AND {COUNTS} AND {IN_FLIGHT} GROUP BY 1
    """
)
_HELD = text(
    """
    SELECT id, key_id FROM (
        SELECT id, coalesce(key_id, '') AS key_id, priority, turn, created_at,
               row_number() OVER (PARTITION BY key_id ORDER BY priority DESC, turn, created_at, id) AS place
        FROM runs WHERE tenant = :tenant AND held AND status = 'queued'
    ) AS line
    WHERE place <= :each ORDER BY priority DESC, turn, created_at, id
    """
)
_LET_GO = text(
    """
    -- While it was held the line has moved on: it goes behind nobody who was accepted after it, and before nobody who
    -- has waited in line all the time.
    UPDATE runs SET held = false, turn = greatest(turn, (
        SELECT min(turn) FROM runs AS line
        WHERE line.status = 'queued' AND NOT line.held AND line.priority = runs.priority))
    WHERE id = :id AND held AND status = 'queued'
    RETURNING id, priority, turn
    """
)


async def let_go(database: Database, queue: RunQueue) -> tuple[bool, int]:
    """Announce the held runs for which there is room now. Whether there were held ones, and how many are no longer."""
    async with database.statement() as connection:
        tenants = (await connection.execute(_TENANTS)).scalars().all()
    return bool(tenants), sum([await _let_go_of(database, queue, tenant) for tenant in tenants])


async def _let_go_of(database: Database, queue: RunQueue, tenant: str) -> int:
    async with database.transaction() as connection:
        await (await driver_of(connection)).execute(LOCK, {"tenant": tenant})
        chosen = list(await _with_room(connection, tenant))
        for run_id in chosen:
            row = (await connection.execute(_LET_GO, {"id": run_id})).one_or_none()
            if row is not None:
                await queue.announce(connection, row.id, Place(row.priority, row.turn))
    return len(chosen)


async def _with_room(connection: AsyncConnection, tenant: str) -> Iterator[str]:
    said = await all_said_of(await driver_of(connection), tenant)
    flying = await connection.execute(_FLYING, {"tenant": tenant})
    counts = {row.key_id: row.many for row in flying}
    held = (await connection.execute(_HELD, {"tenant": tenant, "each": EACH_AT_A_TIME})).all()
    return chosen_of(said, counts, [(row.id, row.key_id) for row in held])


def chosen_of(said: Sequence[Any], flying: Mapping[str, int], held: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The held runs, in their order, for which limits leave room beside those in flight, by key."""
    counts, whole = Counter(flying), sum(flying.values())
    of_tenant: Quota = quotas_of(said, None).tenant
    of_keys = {key: quotas_of(said, key).key for _, key in held}
    for run_id, key in held:
        if not has_room(of_tenant, Taken(whole)):
            return
        if has_room(of_keys[key], Taken(counts[key])):
            counts[key] += 1
            whole += 1
            yield run_id
