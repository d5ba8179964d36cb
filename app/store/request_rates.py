"""How many requests came, across all processes: one moment for each tenant and key that has a limit of them."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.quotas import WHOLE_TENANT, Owner, Quotas, Rate
from app.store.database import Database

_STEP = """
    INSERT INTO request_rates AS rate (tenant, key_id, full_at, refused)
    SELECT %(tenant)s, {key}, now() + make_interval(secs => %({owner}_step)s), false
    WHERE CAST(%({owner}_step)s AS float8) IS NOT NULL {condition}
    ON CONFLICT (tenant, key_id) DO UPDATE SET
        refused = {too_many},
        full_at = CASE WHEN {too_many} THEN {stands}
                       ELSE greatest({stands}, now()) + make_interval(secs => %({owner}_step)s) END
    RETURNING refused, CAST(extract(epoch FROM full_at - now()) AS float8) AS ahead_s
"""


def _step(owner: Owner, key: str, condition: str = "") -> str:
    # What came while another rate held never takes more than all the room of the one that holds now.
    stands = f"least(rate.full_at, now() + make_interval(secs => %({owner}_room)s))"
    too_many = (
        f"greatest({stands}, now()) + make_interval(secs => %({owner}_step)s) "
        f"> now() + make_interval(secs => %({owner}_room)s + 0.000001)"
    )
    return _STEP.format(owner=owner, key=key, condition=condition, stands=stands, too_many=too_many)


_COUNT = f"""
    WITH own AS ({_step("key", "CAST(%(key)s AS text)")}),
    -- What a key may not send is no request of its tenant: the others would pay for it.
    whole AS ({_step("tenant", f"'{WHOLE_TENANT}'", "AND NOT EXISTS (SELECT FROM own WHERE refused)")})
    SELECT 'key' AS owner, refused, ahead_s FROM own
    UNION ALL SELECT 'tenant', refused, ahead_s FROM whole
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a request has come to with one limit."""

    owner: Owner
    rate: Rate
    refused: bool
    ahead_s: float
    """After how many seconds all of the burst is there again."""


async def count_request(database: Database, tenant: str, key: str | None, quotas: Quotas) -> list[Counted]:
    """Count a request of a caller, in one statement; how it stands with each limit of requests that it has.

    Raises what the driver raises.
    """
    rates = dict(_rates(quotas))
    values: dict[str, object] = {"tenant": tenant, "key": key}
    for owner in ("tenant", "key"):
        rate = rates.get(owner)
        values |= {f"{owner}_step": rate and rate.step_s, f"{owner}_room": rate and rate.room_s}
    async with database.driver() as connection:
        rows = await connection.rows(_COUNT, values)
    return [Counted(row.owner, rates[row.owner], row.refused, row.ahead_s) for row in rows]


def _rates(quotas: Quotas) -> Iterator[tuple[Owner, Rate]]:
    for owner, quota in quotas:
        if (rate := quota.rate) is not None:
            yield owner, rate
