"""Lists of runs: which ones, in which order, a page at a time.

Each query is written for the conditions that it has, and planned for their values: a condition that may be void would
use no index, and what is best for a status that most runs have is not what is best for a rare one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from app.store.database import Database, driver_of
from app.store.projection import as_json
from app.store.run_indexes import HAS_LABELS, LABELS
from app.store.runs import RUN_COLUMNS, SHORT_OBJECTIVE, Row

Sort = Literal["created_at", "finished_at", "cost_usd"]
"""What a list is sorted by. What a run has only once it has ended leaves the others out."""
Order = Literal["desc", "asc"]
Label = str | int | float | bool | None
"""A value in the metadata of a run."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant: those that fit everything that is said. Nothing said means all."""

    statuses: tuple[str, ...] = ()
    """One of these."""
    team: str | None = None
    parent: str | None = None
    """The nested runs of this one."""
    stop_reason: str | None = None
    labels: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    """Metadata: by key, the values of which a run has one."""
    created_after: datetime | None = None
    """Included, as in all `after`."""
    created_before: datetime | None = None
    """Not included, as in all `before`."""
    finished_after: datetime | None = None
    finished_before: datetime | None = None
    cost_usd_min: Decimal | None = None
    """Included, as is the other."""
    cost_usd_max: Decimal | None = None

    def said(self) -> list[tuple[str, Any]]:
        """What is said, by name; equal filters say the same."""
        plain = {name: getattr(self, name) for name in _CONDITIONS}
        found = [(name, value) for name, value in plain.items() if value is not None]
        if self.statuses:
            found.append(("statuses", sorted({*self.statuses})))
        return found + [(f"label {key}", list(values)) for key, values in sorted(self.labels.items())]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of runs starts: behind this run, whose value in the column of the order is this."""

    value: datetime | Decimal
    run_id: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Which runs a list shows, in which order, and how much of each."""

    which: RunFilter = RunFilter()
    sort: Sort = "created_at"
    order: Order = "desc"
    after: Place | None = None
    """Only runs behind this one."""
    whole_objectives: bool = False
    results: bool = False
    levels: bool = False
    """Whether the levels of plans are wanted (`run_levels`)."""


_CONDITIONS = {
    "team": "team_name = %(team)s",
    "parent": "parent ->> 'run' = %(parent)s",
    "stop_reason": "stop_reason = %(stop_reason)s",
    "created_after": "created_at >= %(created_after)s",
    "created_before": "created_at < %(created_before)s",
    "finished_after": "finished_at >= %(finished_after)s",
    "finished_before": "finished_at < %(finished_before)s",
    "cost_usd_min": "cost_usd >= %(cost_usd_min)s",
    "cost_usd_max": "cost_usd <= %(cost_usd_max)s",
}
_HAS = {"finished_at": "stop_reason IS NOT NULL", "cost_usd": "cost_usd IS NOT NULL"}
"""What the indexes of the orders are limited to."""
_UNTOLD = "cancellation IS NULL AND finished_at IS NULL"
"""Of runs that may still be asked to end."""


async def page_of_runs(database: Database, tenant: str, listing: Listing, *, limit: int) -> Sequence[Row]:
    """Up to `limit` runs, in the order that is asked for; each with the `place` of the page behind it."""
    query, values = page_query(tenant, listing, limit)
    return [row._asdict() for row in await _found(database, query, values)]


def page_query(tenant: str, listing: Listing, limit: int) -> tuple[str, dict[str, Any]]:
    """The query of a page, and its values."""
    wanted, values = _conditions(tenant, listing.which)
    column, order = listing.sort, listing.order.upper()
    if has := _HAS.get(column):
        wanted.append(has)
    # A run ends after it was accepted. Said of the column of the order, it bounds what is read in that order.
    if column == "finished_at" and listing.which.created_after is not None:
        wanted.append("finished_at >= %(created_after)s")
    if column == "created_at" and listing.which.finished_before is not None:
        wanted.append("created_at < %(finished_before)s")
    if listing.after is not None:
        wanted.append(f"({column}, id) {'<' if order == 'DESC' else '>'} (%(after)s, %(after_id)s)")
        values |= {"after": listing.after.value, "after_id": listing.after.run_id}
    objective = "objective" if listing.whole_objectives else SHORT_OBJECTIVE
    result = "result" if listing.results else "NULL AS result"
    query = (
        f"SELECT {RUN_COLUMNS}, {objective}, {result}, {column} AS place FROM runs WHERE {' AND '.join(wanted)} "
        f"ORDER BY {column} {order}, id {order} LIMIT %(limit)s"
    )
    return query, values | {"limit": limit}


@dataclass(frozen=True, slots=True)
class Untold:
    """Runs that have not ended and were not asked to: how many, and the first of them."""

    count: int
    places: Sequence[Place]


async def untold_runs(database: Database, tenant: str, which: RunFilter, *, after: Place | None, limit: int) -> Untold:
    """Of those meant, the runs that may still be asked to end, those first that were accepted first."""
    wanted, values = _conditions(tenant, which)
    behind = "WHERE (created_at, id) > (%(after)s, %(after_id)s)" if after else ""
    if after is not None:
        values |= {"after": after.value, "after_id": after.run_id}
    query = f"""
        WITH found AS MATERIALIZED (
            SELECT id, created_at FROM runs
            WHERE (status IN ('queued', 'running') OR status = 'waiting') AND {" AND ".join([*wanted, _UNTOLD])}
        ), first AS (SELECT * FROM found {behind} ORDER BY created_at, id LIMIT %(limit)s)
        SELECT (SELECT count(*) FROM found) AS count,
               ARRAY(SELECT created_at FROM first ORDER BY created_at, id) AS moments,
               ARRAY(SELECT id FROM first ORDER BY created_at, id) AS ids
    """
    (row,) = await _found(database, query, values | {"limit": limit})
    return Untold(row.count, [Place(*place) for place in zip(row.moments, row.ids, strict=True)])


async def _found(database: Database, query: str, values: Mapping[str, Any]) -> list[Any]:
    async with database.reading() as connection:
        driver = await driver_of(connection)
        # No part of it was sent by anybody: names and words of ours, and marks for values.
        return await driver.rows(query, values, prepare=False)


def _conditions(tenant: str, which: RunFilter) -> tuple[list[str], dict[str, Any]]:
    """The conditions of a filter, and their values."""
    wanted = ["tenant = %(tenant)s"]
    values: dict[str, Any] = {"tenant": tenant}
    for name, condition in _CONDITIONS.items():
        if (value := getattr(which, name)) is not None:
            wanted.append(condition)
            values[name] = value
    if which.finished_after is not None or which.finished_before is not None:
        wanted.append(_HAS["finished_at"])
    if len(statuses := sorted({*which.statuses})) == 1:
        wanted.append("status = %(status)s")
        values["status"] = statuses[0]
    elif statuses:
        wanted.append("status = ANY(%(status)s)")
        values["status"] = statuses
    if which.labels:
        wanted.append(HAS_LABELS)
    for number, (key, labels) in enumerate(sorted(which.labels.items())):
        marks = {f"label_{number}_{place}": as_json({tenant: {key: label}}) for place, label in enumerate(labels)}
        wanted.append(f"({' OR '.join(f'{LABELS} @> CAST(%({mark})s AS jsonb)' for mark in marks)})")
        values |= marks
    return wanted, values
