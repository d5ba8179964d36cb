"""While intake is paused nothing new is taken in, through whichever process, and what is there goes on."""

from typing import Any

import pytest

from app.store.intake import ALL, pause_intake, resume_intake
from tests.support.api import JOB, Api, Starts


async def post(api: Api, path: str, body: Any = None, **headers: str) -> tuple[int, str | None]:
    answer = await api.client.post(path, json=body, headers=headers)
    if answer.status_code == 503:
        assert int(answer.headers["retry-after"]) > 0
    return answer.status_code, answer.json().get("code")


async def test_while_intake_is_paused_nothing_that_makes_a_run_is_taken_on_any_replica(start_api: Starts) -> None:
    api, other = await start_api(), await start_api()
    ended, queued = await api.ended(), await api.post()
    taken = await api.client.post("/v1/jobs", json=JOB, headers={"idempotency-key": "k"})
    before = len((await api.get("/v1/runs"))["data"])
    assert await api.get("/v1/intake") == {"object": "intake", "paused": False, "paused_at": None, "paused_by": []}

    paused = (await api.client.post("/v1/intake/pause")).json()

    assert (paused["paused"], paused["paused_by"]) == (True, ["tenant"])
    assert (await other.client.post("/v1/intake/pause")).json() == paused
    refused = (503, "intake_paused")
    assert await post(other, "/v1/jobs", JOB) == refused
    assert await post(other, "/v1/jobs", JOB, **{"idempotency-key": "new"}) == refused
    assert await post(other, "/v1/jobs?dry_run=true", JOB) == refused
    for how in ("retry", "fork", "resynthesize"):
        assert await post(other, f"/v1/runs/{ended}/{how}", {}) == refused, how
    again = await other.client.post("/v1/jobs", json=JOB, headers={"idempotency-key": "k"})
    assert (again.status_code, again.json()["id"]) == (202, taken.json()["id"])
    assert len((await api.get("/v1/runs"))["data"]) == before
    await api.player.play(queued).whole()
    assert (await api.get(f"/v1/runs/{queued}"))["status"] == "succeeded"

    assert not (await other.client.post("/v1/intake/resume")).json()["paused"]

    assert await post(api, "/v1/jobs", JOB, **{"idempotency-key": "new"}) == (202, None)


@pytest.mark.parametrize("tenant", [ALL, "default"])
async def test_what_the_operator_has_paused_a_tenant_does_not_resume(api: Api, tenant: str) -> None:
    database = api.runtime.database
    await pause_intake(database, tenant, "operator")
    await pause_intake(database, "rival", "operator")

    resumed = (await api.client.post("/v1/intake/resume")).json()

    assert (resumed["paused"], resumed["paused_by"]) == (True, ["operator"])
    assert await post(api, "/v1/jobs", JOB) == (503, "intake_paused")
    assert await resume_intake(database, tenant, "operator")
    assert await post(api, "/v1/jobs", JOB) == (202, None)
