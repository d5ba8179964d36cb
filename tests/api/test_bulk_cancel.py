"""Many runs are cancelled at once by what they have in common, once that is meant."""

from typing import Any

import pytest

from tests.support.api import Api


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
        ({"all": True, "after": "x"}, "/after"),
    ],
)
async def test_a_bulk_cancel_that_does_not_say_what_is_meant_is_refused(api: Api, body: Any, pointer: str) -> None:
    answer = await api.client.post("/v1/runs/cancel", json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer
