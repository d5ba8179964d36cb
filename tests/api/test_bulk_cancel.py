"""Many runs are cancelled at once by what they have in common, once that is meant."""

from datetime import datetime
from typing import Any

import pytest

from tests.support.api import Api
from tests.support.rows import every


async def cancel(api: Api, **body: Any) -> dict[str, Any]:
    answer = await api.client.post("/v1/runs/cancel", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_runs_that_have_something_in_common_are_cancelled_together(api: Api) -> None:
    ended = await api.ended()
    mine = [await api.post(metadata={"batch": 7}) for _ in range(5)]
    other = await api.post(metadata={"batch": 8})
    running = api.player.play(mine[2])
    await running.start()
    wanted: dict[str, Any] = {"filter": {"metadata": {"batch": 7}}}

    shown = await cancel(api, **wanted)
    assert (shown["dry_run"], shown["matching"], shown["cancelled"]) == (True, 5, 0)
    assert (shown["data"], shown["has_more"], shown["next_cursor"]) == (mine, False, None)
    assert {(await api.get(f"/v1/runs/{each}"))["status"] for each in mine} == {"queued", "running"}
    page = await cancel(api, **wanted, limit=2)
    assert (page["data"], page["has_more"]) == (mine[:2], True)
    assert (await cancel(api, **wanted, limit=2, after=page["next_cursor"]))["data"] == mine[2:4]

    done = await cancel(api, **wanted, limit=3, dry_run=False, reason="the batch was wrong")

    assert (done["dry_run"], done["matching"], done["cancelled"]) == (False, 5, 3)
    assert (done["data"], done["has_more"]) == (mine[:3], True)
    rest = await cancel(api, **wanted, dry_run=False, after=done["next_cursor"], reason="the batch was wrong")
    assert (rest["data"], rest["has_more"]) == (mine[3:], False)
    assert (await cancel(api, **wanted, dry_run=False))["data"] == []
    for each in mine:
        run = await api.get(f"/v1/runs/{each}")
        assert run["status"] == ("running" if each == mine[2] else "cancelled")
        assert run["cancellation"]["reason"] == "the batch was wrong"
    for each, status in ((ended, "succeeded"), (other, "queued")):
        run = await api.get(f"/v1/runs/{each}")
        assert (run["status"], run["cancellation"]) == (status, None)
    everything = await cancel(api, all=True)
    assert everything["data"] == [other]
    assert (await cancel(api, filter={"status": ["queued"], "team": "general"}))["data"] == [other]
    assert (await cancel(api, filter={"created_before": "2020-01-01"}))["data"] == []


async def test_the_oldest_come_first_whatever_their_ids_are(api: Api) -> None:
    runs = [await api.post() for _ in range(4)]
    dated = "UPDATE runs SET created_at = CAST(:day AS timestamptz) WHERE id = :id RETURNING id"
    for run_id, day in zip(runs, ("2026-03-01", "2026-04-01", "2026-02-01", "2026-02-01"), strict=True):
        await every(api.runtime.database, dated, day=datetime.fromisoformat(f"{day}T00:00Z"), id=run_id)

    first = await cancel(api, all=True, limit=3)
    rest = await cancel(api, all=True, limit=3, after=first["next_cursor"])

    assert (first["data"], rest["data"]) == ([runs[2], runs[3], runs[0]], [runs[1]])
    assert (rest["matching"], rest["next_cursor"]) == (4, None)
    for body in ({"all": True, "after": runs[0]}, {"filter": {"team": "general"}, "after": first["next_cursor"]}):
        answer = await api.client.post("/v1/runs/cancel", json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "cursor_invalid")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/filter"),
        ({"filter": {}}, "/filter"),
        ({"dry_run": False, "filter": {"metadata": {}, "status": []}}, "/filter"),
        ({"all": True, "filter": {"team": "general"}}, "/filter"),
        ({"filter": {"stop_reason": "gaps"}}, "/filter/stop_reason"),
        ({"filter": {"created_after": "yesterday"}}, "/filter/created_after"),
        ({"all": True, "limit": 0}, "/limit"),
        ({"all": True, "after": 5}, "/after"),
        ({"filter": {"status": ["queued"], "created_before": ""}}, "/filter/created_before"),
        ({"filter": {"status": ["queued"], "created_after": ""}}, "/filter/created_after"),
        ({"all": True, "dry_run": "off"}, "/dry_run"),
        ({"all": True, "dry_run": 0}, "/dry_run"),
        ({"all": "true"}, "/all"),
    ],
)
async def test_a_bulk_cancel_that_does_not_say_what_is_meant_is_refused(api: Api, body: Any, pointer: str) -> None:
    answer = await api.client.post("/v1/runs/cancel", json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer
