"""What runs have taken, added up: by day, team, model and key, and of one's own tenant alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.domain.keys import SCOPES
from app.store.keys import NewKey, create_key
from tests.support.api import Api, Starts
from tests.support.rows import every


async def keyed(api: Api, tenant: str) -> tuple[str, dict[str, str]]:
    """The id of a new key, and the headers that bring it."""
    sent, stored = await create_key(api.runtime.database, NewKey(tenant, frozenset(SCOPES)))
    return stored.id, {"authorization": f"Bearer {sent.text}"}


async def ended(api: Api, headers: dict[str, str] | None = None, **job: Any) -> str:
    """The id of a run that has ended."""
    answer = await api.client.post("/v1/jobs", json={"objective": "Find out."} | job, headers=headers)
    assert answer.status_code == 202, answer.text
    run_id: str = answer.json()["id"]
    await api.player.play(run_id).whole()
    return run_id


async def usage(api: Api, headers: Any = None, **query: str) -> dict[str, Any]:
    answer = await api.client.get("/v1/usage", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_usage_adds_up_to_what_the_runs_say(api: Api) -> None:
    run_ids = [await ended(api) for _ in range(3)]
    runs = [await api.get(f"/v1/runs/{run_id}") for run_id in run_ids]

    found = {by: await usage(api, group_by=by) for by in ("day", "team", "model", "key")}

    for by, report in found.items():
        assert (report["group_by"], report["total"]["runs"]) == (by, 3)
        for field in ("llm_calls", "input_tokens", "output_tokens"):
            told = sum(run["usage"][field] for run in runs)
            assert report["total"]["usage"][field] == told > 0
            assert sum(group["usage"][field] for group in report["data"]) == told, (by, field)
    assert [group["name"] for group in found["day"]["data"]] == [f"{datetime.now(UTC):%Y-%m-%d}"]
    assert [(group["name"], group["runs"]) for group in found["team"]["data"]] == [("general", 3)]
    assert [group["name"] for group in found["key"]["data"]] == [None]
    assert all(group["name"] for group in found["model"]["data"])


async def test_each_tenant_sees_its_own_by_its_keys(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    (first, one), (second, two), (_, other) = [await keyed(api, tenant) for tenant in ("acme", "acme", "rival")]
    for headers in (one, two, two, other):
        await ended(api, headers)

    own, theirs = await usage(api, one, group_by="key"), await usage(api, other, group_by="key")

    assert {group["name"]: group["runs"] for group in own["data"]} == {first: 1, second: 2}
    assert theirs["total"]["runs"] == 1


async def test_a_period_begins_with_its_first_moment_and_ends_before_its_last(api: Api) -> None:
    run_ids = [await ended(api) for _ in range(2)]
    moments = ["2026-03-01T00:00:00+00:00", "2026-03-02T00:00:00+00:00"]
    for run_id, at in zip(run_ids, moments, strict=True):
        await every(
            api.runtime.database,
            "UPDATE runs SET created_at = CAST(:at AS timestamptz) WHERE id = :id RETURNING id",
            id=run_id,
            at=at,
        )

    by_days = await usage(api, **{"from": "2026-03-01", "to": "2026-03-02"})
    by_moments = await usage(api, **{"from": "2026-03-01T01:00:00+01:00", "to": "2026-03-02T00:00:01Z"})

    assert (by_days["total"]["runs"], by_moments["total"]["runs"]) == (1, 2)
    assert (by_days["since"], by_days["until"]) == ("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z")
    assert [group["name"] for group in by_moments["data"]] == ["2026-03-01", "2026-03-02"]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"from": "yesterday"}, "from"),
        ({"to": "2026-03-01T00:00:00"}, "to"),
        ({"from": "2026-03-02", "to": "2026-03-01"}, "from"),
        ({"from": "2024-03-02", "to": "2026-03-01"}, "from"),
        ({"to": "0001-01-02"}, "to"),
        ({"group_by": "colour"}, "group_by"),
    ],
)
async def test_a_period_that_is_none_is_refused(api: Api, query: dict[str, str], parameter: str) -> None:
    answer = await api.client.get("/v1/usage", params=query)

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    assert [error["parameter"] for error in answer.json()["errors"]] == [parameter]


async def test_a_period_may_end_where_the_calendar_does(api: Api) -> None:
    assert (await usage(api, **{"from": "9999-12-01", "to": "9999-12-31"}))["data"] == []


async def test_the_last_thirty_days_are_what_is_meant_without_a_word(api: Api) -> None:
    report = await usage(api)

    until = datetime.fromisoformat(report["until"])
    assert until - datetime.fromisoformat(report["since"]) == timedelta(days=30)
    assert report["data"] == []
