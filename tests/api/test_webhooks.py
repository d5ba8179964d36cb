"""Webhooks over HTTP: who is told, with which secret, and what became of it. Nobody here delivers anything."""

from typing import Any

import pytest

from app.domain.webhooks import TENANT_NEWS, Outcome, is_secret, new_secret
from app.store.deliveries import Room, settle, take_due
from tests.api.test_keys import ask, key_of
from tests.support.api import JOB, Api, Starts
from tests.support.receiver import SECRETS_KEY
from tests.support.rows import every

URL = "https://hooks.acme.example/a"
WEBHOOK = {"url": URL}


@pytest.fixture
async def api(start_api: Starts) -> Api:
    """One that has a key for secrets."""
    return await start_api(secrets_key=SECRETS_KEY, webhook_hosts="hooks.internal:8080")


async def put(api: Api, **webhook: Any) -> Any:
    answer = await api.client.put("/v1/webhooks", json=WEBHOOK | webhook)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def settle_all(api: Api, status: int) -> None:
    """The receiver has answered so to everything."""
    outcome = Outcome(status, None if status < 300 else "receiver_refused")
    for due in await take_due(api.runtime.database, Room(50, 50, (), 60)):
        await settle(api.runtime.database, due, outcome, None)


async def test_the_secret_is_shown_when_it_is_made_and_never_again(api: Api) -> None:
    assert (await api.client.get("/v1/webhooks")).json()["code"] == "webhook_not_found"

    made = await put(api)
    changed = await put(api, url=f"{URL}/other", types=["run.failed"])
    shown = await api.get("/v1/webhooks")

    assert is_secret(made["secret"])
    assert made["types"] == list(TENANT_NEWS)
    assert (changed["secret"], changed["id"]) == (None, made["id"])
    assert shown == {name: value for name, value in changed.items() if name != "secret"}
    assert (shown["url"], shown["types"]) == (f"{URL}/other", ["run.failed"])
    [row] = await every(api.runtime.database, "SELECT secret FROM webhook_endpoints")
    assert made["secret"].encode() not in row["secret"]


async def test_an_exchange_makes_another_secret_beside_which_the_first_signs_for_a_day(api: Api) -> None:
    made = await put(api)

    rotated = (await api.client.post("/v1/webhooks/rotate")).json()

    assert is_secret(rotated["secret"])
    assert rotated["secret"] != made["secret"]
    assert rotated["earlier_secret_until"] is not None
    assert (await api.get("/v1/webhooks"))["earlier_secret_until"] == rotated["earlier_secret_until"]


async def test_a_webhook_that_is_deleted_is_gone(api: Api) -> None:
    await put(api)

    assert (await api.client.delete("/v1/webhooks")).status_code == 200

    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rotate"), ("POST", "/test")):
        answer = await api.client.request(method, f"/v1/webhooks{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found"), path


@pytest.mark.parametrize(
    "webhook",
    [
        {"url": "http://hooks.acme.example/"}, {"url": "http://hooks.internal:8081/"},
        {"url": "https://user:password@a.example/"},
        {"url": "nonsense"}, {"url": URL, "types": []}, {"url": URL, "types": ["run.queued"]},
        {"url": URL, "secret": "x"}, {},
    ],
)  # fmt: skip
async def test_what_cannot_be_told_is_refused(api: Api, webhook: dict[str, Any]) -> None:
    answer = await api.client.put("/v1/webhooks", json=webhook)

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")


@pytest.mark.parametrize(
    ("webhook", "pointer"),
    [
        ({"url": URL}, "/webhook/secret"),
        ({"url": "http://hooks.acme.example/", "secret": new_secret()}, "/webhook/url"),
        ({"url": URL, "secret": "whsec_c2hvcnQ="}, "/webhook/secret"),
        ({"url": "x" * 3_000, "secret": new_secret()}, "/webhook/url"),
        ({"secret": new_secret()}, "/webhook/url"),
    ],
)
async def test_a_job_whose_webhook_cannot_be_told_is_refused(api: Api, webhook: dict[str, Any], pointer: str) -> None:
    answer = await api.client.post("/v1/jobs", json=JOB | {"webhook": webhook})

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert str(webhook.get("secret", "whsec_")) not in answer.text
    assert await every(api.runtime.database, "SELECT id FROM runs") == []


async def test_hosts_that_the_operator_has_named_need_no_tls(api: Api) -> None:
    assert (await put(api, url="http://hooks.internal:8080/a"))["url"] == "http://hooks.internal:8080/a"


async def test_without_a_key_for_secrets_there_are_no_webhooks(start_api: Starts) -> None:
    api = await start_api()

    put = await api.client.put("/v1/webhooks", json=WEBHOOK)
    job = await api.client.post("/v1/jobs", json=JOB | {"webhook": {"url": URL, "secret": new_secret()}})

    for answer in (put, job):
        assert (answer.status_code, answer.json()["code"]) == (422, "webhooks_unavailable")
        assert "CHARGEHAND_SECRETS_KEY" in answer.json()["errors"][0]["detail"]
    assert (await api.client.post("/v1/jobs", json=JOB | {"webhook": None})).status_code == 202


async def test_a_job_and_its_repetition_have_one_webhook(api: Api) -> None:
    job = JOB | {"webhook": {"url": URL, "secret": new_secret()}}
    headers = {"idempotency-key": "k"}

    runs = {(await api.client.post("/v1/jobs", json=job, headers=headers)).json()["id"] for _ in range(2)}
    other = job | {"webhook": {"url": URL, "secret": new_secret()}}
    refused = await api.client.post("/v1/jobs", json=other, headers=headers)

    assert len(runs) == len(await every(api.runtime.database, "SELECT id FROM webhook_endpoints")) == 1
    assert refused.json()["code"] == "idempotency_key_reused"


async def test_a_job_that_is_sent_again_is_the_same_run_though_the_webhook_it_signs_with_is_gone(api: Api) -> None:
    await put(api)
    job, headers = {"objective": "Find out.", "webhook": WEBHOOK}, {"idempotency-key": "k"}
    first = await api.client.post("/v1/jobs", json=job, headers=headers)
    await api.client.delete("/v1/webhooks")

    again = await api.client.post("/v1/jobs", json=job, headers=headers)

    assert (first.status_code, again.status_code) == (202, 202), again.text
    assert (again.json()["id"], again.headers["idempotent-replayed"]) == (first.json()["id"], "true")


async def test_deliveries_of_a_run_say_what_became_of_them(api: Api) -> None:
    await put(api)
    run_id = await api.post(webhook={"url": "https://own.example/b", "secret": new_secret()})
    await api.client.post(f"/v1/runs/{run_id}/cancel")

    pending = (await api.get(f"/v1/runs/{run_id}/deliveries"))["data"]
    await settle_all(api, 503)
    failed = (await api.get(f"/v1/runs/{run_id}/deliveries"))["data"]

    assert {(each["webhook"], each["host"]) for each in pending} == {
        ("job", "own.example"), ("tenant", "hooks.acme.example"),
    }  # fmt: skip
    assert {(each["type"], each["status"], each["attempts"]) for each in pending} == {("run.cancelled", "pending", 0)}
    assert {(each["status"], each["response_status"], each["error"]) for each in failed} == {
        ("failed", 503, "receiver_refused")
    }
    assert [each["id"] for each in failed] == [each["id"] for each in pending]


async def test_what_was_delivered_is_delivered_again_under_its_id(api: Api) -> None:
    await put(api)
    run_id = await api.post()
    early = await api.client.post(f"/v1/runs/{run_id}/redeliver")
    await api.client.post(f"/v1/runs/{run_id}/cancel")
    pending = await api.client.post(f"/v1/runs/{run_id}/redeliver")
    await settle_all(api, 204)

    answer = await api.client.post(f"/v1/runs/{run_id}/redeliver")

    assert [each.json()["code"] for each in (early, pending)] == ["nothing_to_deliver"] * 2
    assert answer.status_code == 202
    [again] = answer.json()["data"]
    assert (again["status"], again["attempts"], again["response_status"]) == ("pending", 0, None)
    [due] = await take_due(api.runtime.database, Room(50, 50, (), 60))
    assert due.id == again["id"]


async def test_a_test_is_delivered_to_whoever_is_told(api: Api) -> None:
    await put(api)

    made = await api.client.post("/v1/webhooks/test")
    await settle_all(api, 410)
    [found] = (await api.get("/v1/webhooks/deliveries"))["data"]
    disabled = await api.client.post("/v1/webhooks/test")
    shown = await api.get("/v1/webhooks")
    again = await put(api)

    assert (made.status_code, made.json()["type"], made.json()["run_id"]) == (202, "webhook.test", None)
    assert (found["id"], found["response_status"]) == (made.json()["id"], 410)
    assert (disabled.status_code, disabled.json()["code"]) == (409, "webhook_disabled")
    assert shown["disabled_at"] is not None
    assert again["disabled_at"] is None


async def test_a_tenant_sees_and_changes_its_own_webhook_alone(start_api: Starts) -> None:
    api = await start_api(auth="keys", secrets_key=SECRETS_KEY)
    (_, acme), (_, rival) = await key_of(api, "acme"), await key_of(api, "rival")
    await ask(api, "PUT", "/v1/webhooks", acme, json=WEBHOOK)
    run_id = (await ask(api, "POST", "/v1/jobs", acme, json=JOB)).json()["id"]
    await ask(api, "POST", f"/v1/runs/{run_id}/cancel", acme)

    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rotate"), ("POST", "/test")):
        assert (await ask(api, method, f"/v1/webhooks{path}", rival)).status_code == 404, path
    assert (await ask(api, "GET", "/v1/webhooks/deliveries", rival)).json()["data"] == []
    theirs = (await ask(api, "POST", "/v1/jobs", rival, json=JOB)).json()["id"]
    await ask(api, "POST", f"/v1/runs/{theirs}/cancel", rival)
    assert (await ask(api, "GET", f"/v1/runs/{theirs}/deliveries", rival)).json()["data"] == []
    assert len((await ask(api, "GET", f"/v1/runs/{run_id}/deliveries", acme)).json()["data"]) == 1
    own = JOB | {"webhook": {"url": URL}}
    assert (await ask(api, "POST", "/v1/jobs", rival, json=own)).status_code == 422
    assert (await ask(api, "POST", "/v1/jobs", acme, json=own)).status_code == 202
