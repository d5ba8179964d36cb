import pytest

from app.domain.keys import DEFAULT_TENANT
from app.domain.policy.breakers import Fault, fail
from app.domain.retries import Patience
from app.store.breakers import change_breaker
from tests.support.api import Api

MODEL = "model:claude-opus-5-5"
EVERY = [MODEL, "model:vendor/small", "tool:calculate", "worker:general/writer"]


async def test_nothing_is_listed_while_nothing_fails(api: Api) -> None:
    response = await api.client.get("/v1/breakers")

    assert (response.status_code, response.json()) == (200, {"data": [], "has_more": False, "next_cursor": None})


async def test_a_breaker_says_why_it_is_open_and_until_when(api: Api) -> None:
    fault = Fault("provider_billing")
    await change_breaker(
        api.runtime.database,
        DEFAULT_TENANT,
        MODEL,
        lambda breaker, now: fail(breaker, fault, now, Patience(retry_base_s=60)),
    )

    [breaker] = (await api.client.get("/v1/breakers")).json()["data"]

    times = breaker.pop("opened_at"), breaker.pop("probe_at")
    assert breaker == {
        "name": MODEL,
        "kind": "model",
        "state": "open",
        "reason": "provider_billing",
        "failures": 1,
    }
    assert all(time.endswith("Z") for time in times)
    assert times[0] < times[1]


@pytest.mark.parametrize("name", EVERY)
async def test_a_breaker_is_tripped_and_reset_by_hand(api: Api, name: str) -> None:
    tripped = await api.client.post(f"/v1/breakers/{name}/trip")
    again = await api.client.post(f"/v1/breakers/{name}/trip")
    reset = await api.client.post(f"/v1/breakers/{name}/reset")

    assert (tripped.status_code, again.status_code, reset.status_code) == (200, 200, 200)
    assert (tripped.json()["state"], tripped.json()["reason"], tripped.json()["probe_at"]) == ("open", "tripped", None)
    assert (reset.json()["state"], reset.json()["reason"], reset.json()["opened_at"]) == ("closed", None, None)
    listed = (await api.client.get("/v1/breakers")).json()["data"]
    assert [(each["name"], each["state"]) for each in listed] == [(name, "closed")]


@pytest.mark.parametrize("action", ["trip", "reset"])
@pytest.mark.parametrize(
    "name",
    [
        "model:deep",
        "tool:nope",
        "worker:general/nope",
        "worker:nope/writer",
        "worker:general",
        "door:x",
        "model:",
        "x",
        "%00",
    ],
)
async def test_what_there_is_not_can_neither_be_tripped_nor_reset(api: Api, name: str, action: str) -> None:
    response = await api.client.post(f"/v1/breakers/{name}/{action}")

    assert (response.status_code, response.json()["code"]) == (404, "breaker_not_found")


async def test_a_breaker_that_never_counted_anything_cannot_be_reset(api: Api) -> None:
    response = await api.client.post(f"/v1/breakers/{MODEL}/reset")

    assert (response.status_code, response.json()["code"]) == (404, "breaker_not_found")
