"""Limits of tenants and keys: what is refused, what waits, what a run may spend, and who is warned of what."""

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from app.domain.keys import DEFAULT_TENANT, SCOPES
from app.domain.quotas import DEFAULTS, NOTHING_SAID, Quota
from app.store.held_runs import let_go
from app.store.keys import NewKey, create_key
from app.store.limit_warnings import look_after_accounts
from app.store.limits import change_limits
from app.store.retention import Retention, prune_ended
from tests.support.api import JOB, Api, Starts
from tests.support.rows import every

PRICED = {"cost_usd": "1.00"}
KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


async def limited(api: Api, tenant: str = DEFAULT_TENANT, **limits: Any) -> None:
    """Have a tenant limited from the next request on."""
    await change_limits(api.runtime.database, tenant, Quota.model_validate(limits))
    api.app.state.keys._anybody = 0.0, api.app.state.keys._anybody[1]
    api.app.state.keys._known.clear()


async def post(api: Api, headers: dict[str, str] | None = None, **job: Any) -> httpx2.Response:
    return await api.client.post("/v1/jobs", json=JOB | job, headers=headers)


async def keyed(api: Api, tenant: str, quota: Quota = NOTHING_SAID) -> dict[str, str]:
    sent, _ = await create_key(api.runtime.database, NewKey(tenant, frozenset(SCOPES), quota=quota))
    return {"authorization": f"Bearer {sent.text}"}


async def costs(api: Api, run_id: str, cost_usd: str) -> None:
    """Have a run say that it has cost so much."""
    change = "usage = CAST(jsonb_set(CAST(usage AS jsonb), '{cost_usd}', to_jsonb(CAST(:cost AS text))) AS json)"
    await every(api.runtime.database, f"UPDATE runs SET {change} WHERE id = :id RETURNING id", id=run_id, cost=cost_usd)


async def left(api: Api, name: str) -> dict[str, Any]:
    """How it stands with a limit of the tenant."""
    found = (await api.get("/v1/limits"))["data"]
    return next(each for each in found if each["name"] == name)


def refused(answer: httpx2.Response, code: str) -> int:
    """After how many seconds a refused client may come again."""
    assert (answer.status_code, answer.json()["code"]) == (429, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return int(answer.headers["retry-after"])


async def test_without_limits_nothing_is_said_of_any(api: Api) -> None:
    answer = await post(api)

    assert answer.status_code == 202
    assert not [name for name in answer.headers if name.startswith("ratelimit")]
    assert (await api.get("/v1/limits"))["data"] == []
    assert await every(api.runtime.database, "SELECT count(*) AS many FROM spend_reserved") == [{"many": 0}]


async def test_too_many_requests_are_refused_until_there_is_room_again(api: Api) -> None:
    await limited(api, requests_per_second=1, requests_burst=3)

    answers = [await api.client.get("/v1/runs") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert [answer.headers["ratelimit"].partition(";t=")[0] for answer in answers] == [
        f'"requests";r={n}' for n in (2, 1, 0, 0)
    ]
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"requests";q=3;w=3'}
    assert refused(answers[3], "too_many_requests") == 1
    counted = await api.runtime.scrape.text(api.runtime.database, 0)
    assert b'chargehand_limit_refusals_total{limit="requests_per_second"} 1.0' in counted
    assert (await api.client.get("/livez")).status_code == 200
    await every(api.runtime.database, "UPDATE request_rates SET full_at = full_at - interval '1 s' RETURNING tenant")
    assert [(await api.client.get("/v1/runs")).status_code for _ in range(2)] == [200, 429]


async def test_whoever_may_send_more_than_before_is_not_kept_waiting_for_what_came_then(api: Api) -> None:
    await limited(api, requests_per_second=1, requests_burst=100)
    for _ in range(60):
        assert (await api.client.get("/v1/runs?limit=1")).status_code == 200
    await limited(api, requests_per_second=50, requests_burst=50)

    full = await api.client.get("/v1/runs?limit=1")
    assert (full.status_code, full.headers["ratelimit"]) == (429, '"requests";r=0;t=1')
    await every(api.runtime.database, "UPDATE request_rates SET full_at = full_at - interval '1 s' RETURNING tenant")

    assert (await api.client.get("/v1/runs?limit=1")).headers["ratelimit"].startswith('"requests";r=49;')


async def test_the_rate_is_told_and_beside_it_what_may_come_at_once(api: Api) -> None:
    await limited(api, requests_per_second=50, requests_burst=200)

    stands = await left(api, "requests_per_second")

    assert [stands[name] for name in ("limit", "burst", "used", "left", "held")] == [50, 200, 1, 199, 0]


async def test_what_a_key_may_not_send_is_not_taken_from_its_tenant(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    await limited(api, "acme", requests_per_second=1, requests_burst=10)
    narrow, wide, other = (
        await keyed(api, "acme", Quota(requests_per_second=1, requests_burst=2)),
        await keyed(api, "acme"),
        await keyed(api, "rival"),
    )

    of_narrow = [await api.client.get("/v1/runs", headers=narrow) for _ in range(9)]
    of_wide = [await api.client.get("/v1/runs", headers=wide) for _ in range(9)]
    of_other = [await api.client.get("/v1/runs", headers=other) for _ in range(9)]

    assert [answer.status_code for answer in of_narrow].count(200) == 2
    assert [answer.status_code for answer in of_wide].count(200) == 8
    assert {answer.status_code for answer in of_other} == {200}
    assert of_narrow[0].headers["ratelimit-policy"] == '"key-requests";q=2;w=2, "requests";q=10;w=10'
    assert "ratelimit" not in of_other[0].headers


async def test_runs_beyond_those_in_flight_wait_until_one_has_ended(api: Api) -> None:
    await limited(api, runs_in_flight=2)
    runs = [(await post(api)).json()["id"] for _ in range(4)]
    held = "SELECT id FROM runs WHERE held ORDER BY created_at"
    entries = "SELECT args ->> 'run_id' AS id FROM procrastinate_jobs WHERE status = 'todo' ORDER BY id"
    assert [row["id"] for row in await every(api.runtime.database, held)] == runs[2:]
    assert [row["id"] for row in await every(api.runtime.database, entries)] == runs[:2]
    assert (await left(api, "runs_in_flight"))["held"] == 2

    assert await let_go(api.runtime.database, api.runtime.queue) == (True, 0)
    await api.player.play(runs[0]).whole()
    assert await let_go(api.runtime.database, api.runtime.queue) == (True, 1)

    assert [row["id"] for row in await every(api.runtime.database, held)] == runs[3:]
    assert [row["id"] for row in await every(api.runtime.database, entries)][-1] == runs[2]
    await api.client.post(f"/v1/runs/{runs[3]}/cancel")
    assert (await api.get(f"/v1/runs/{runs[3]}"))["status"] == "cancelled"


async def test_runs_that_wait_for_others_of_their_tenant_are_in_nobodys_way(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    await limited(api, "acme", runs_in_flight=1)
    acme, rival, third = [await keyed(api, tenant) for tenant in ("acme", "rival", "third")]
    for headers in (acme, acme, acme, rival, rival, third):
        assert (await post(api, headers)).status_code == 202
    line = "SELECT tenant, turn FROM runs WHERE NOT held ORDER BY created_at"

    assert [tuple(row.values()) for row in await every(api.runtime.database, line)] == [
        ("acme", 0), ("rival", 0), ("rival", 1), ("third", 0),
    ]  # fmt: skip
    await every(api.runtime.database, "DELETE FROM runs WHERE tenant = 'acme' AND NOT held RETURNING id")
    await every(api.runtime.database, "UPDATE runs SET turn = turn + 100 WHERE tenant <> 'acme' RETURNING id")
    await let_go(api.runtime.database, api.runtime.queue)

    assert next(tuple(row.values()) for row in await every(api.runtime.database, line)) == ("acme", 100)


async def test_a_limit_that_is_taken_back_holds_nobody(api: Api) -> None:
    await limited(api, runs_in_flight=1)
    for _ in range(3):
        await post(api)

    await change_limits(api.runtime.database, DEFAULT_TENANT, NOTHING_SAID, anew=True)

    assert await let_go(api.runtime.database, api.runtime.queue) == (True, 2)
    assert await let_go(api.runtime.database, api.runtime.queue) == (False, 0)


async def test_a_repetition_is_answered_as_before_though_there_is_no_room(api: Api) -> None:
    await limited(api, runs_queued=1, cost_usd_per_day="1.00")
    first = await post(api, {"idempotency-key": "k"}, limits=PRICED)

    again, other = await post(api, {"idempotency-key": "k"}, limits=PRICED), await post(api, limits=PRICED)

    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert again.headers["idempotent-replayed"] == "true"
    assert refused(other, "too_many_queued") == 5


async def test_fifty_jobs_at_once_through_two_processes_never_take_more_than_there_is(start_api: Starts) -> None:
    first, second = await start_api(), await start_api()
    await change_limits(
        first.runtime.database, DEFAULT_TENANT, Quota(runs_in_flight=3, runs_queued=7, cost_usd_per_day=Decimal("5.5"))
    )
    limits = {"cost_usd": "0.70"}

    answers = await asyncio.gather(*(post((first, second)[number % 2], limits=limits) for number in range(50)))

    taken = [answer.json() for answer in answers if answer.status_code == 202]
    assert len(taken) == 7
    assert sum(Decimal(run["limits"]["cost_usd"]) for run in taken) <= Decimal("5.5")
    assert await every(first.runtime.database, "SELECT count(*) AS many FROM runs WHERE held") == [{"many": 4}]
    assert {answer.json()["code"] for answer in answers if answer.status_code != 202} == {"too_many_queued"}


async def test_a_run_gets_what_is_left_and_none_comes_when_nothing_is(api: Api) -> None:
    await limited(api, cost_usd_per_day="2.50")
    answers = [await post(api, limits=PRICED) for _ in range(4)]

    assert [answer.json().get("limits", {}).get("cost_usd") for answer in answers] == ["1.00", "1.00", "0.5", None]
    assert refused(answers[3], "spend_limit_reached") == 5
    assert [answers[n].headers["ratelimit"].partition(";t=")[0] for n in (1, 3)] == [
        '"cost-day";r=50',
        '"cost-day";r=0',
    ]
    assert answers[1].headers["ratelimit-policy"] == '"cost-day";q=250;w=86400;qu="usd-cents"'
    stands = await left(api, "cost_usd_per_day")
    assert [Decimal(stands[name]) for name in ("spent_usd", "reserved_usd", "left_usd")] == [0, Decimal("2.5"), 0]

    for answer in answers[:3]:
        await api.player.play(answer.json()["id"]).whole()
        await costs(api, answer.json()["id"], "0.90")
    assert Decimal((await left(api, "cost_usd_per_day"))["spent_usd"]) == Decimal("2.70")
    midnight_s = 86_400 - datetime.now(UTC).timestamp() % 86_400
    assert abs(refused(await post(api, limits=PRICED), "spend_limit_reached") - midnight_s) < 5


async def test_every_way_to_a_run_is_counted(api: Api) -> None:
    ended, cancelled = await api.ended(), await api.post()
    await api.client.post(f"/v1/runs/{cancelled}/cancel")
    await limited(api, runs_queued=1)
    assert (await post(api)).status_code == 202

    for path, body in (
        (f"{ended}/resynthesize", {}),
        (f"{ended}/fork", {"from": ["t1"]}),
        (f"{cancelled}/retry", {"only": "failed"}),
    ):
        answer = await api.client.post(f"/v1/runs/{path}", json=body)
        assert refused(answer, "too_many_queued") == 5, path


async def test_a_dry_run_may_spend_no_more_than_is_left_either(api: Api) -> None:
    await limited(api, cost_usd_per_month="1.00")
    await post(api, limits={"cost_usd": "0.75"})

    dry = [
        await api.client.post("/v1/jobs?dry_run=true", json=JOB | {"limits": PRICED}, headers={"prefer": "wait=0"})
        for _ in range(2)
    ]

    assert (dry[0].status_code, dry[0].json()["limits"]["cost_usd"]) == (202, "0.25")
    refused(dry[1], "spend_limit_reached")


async def test_what_was_spent_before_there_was_a_limit_counts_and_outlives_its_run(api: Api) -> None:
    spent, reserving = await api.ended(), (await post(api, limits=PRICED)).json()["id"]
    await costs(api, spent, "3.00")
    await limited(api, cost_usd_per_month="6.00")
    assert (await post(api, limits=PRICED)).status_code == 202
    stands = await left(api, "cost_usd_per_month")
    assert [Decimal(stands[name]) for name in ("spent_usd", "reserved_usd")] == [3, 2]

    await every(
        api.runtime.database, "UPDATE runs SET finished_at = '2026-01-01' WHERE id = :id RETURNING id", id=spent
    )
    assert await prune_ended(api.runtime.database, Retention(delete_after_days=7)) == 1
    await limited(api, cost_usd_per_month="6.01")

    assert Decimal((await left(api, "cost_usd_per_month"))["spent_usd"]) == 3
    await api.player.play(reserving).whole()
    await costs(api, reserving, "0.50")
    for pause_s in (0, 0):
        await look_after_accounts(api.runtime.database, pause_s=pause_s)
    stands = await left(api, "cost_usd_per_month")
    assert [Decimal(stands[name]) for name in ("spent_usd", "reserved_usd")] == [Decimal("3.5"), 1]


async def test_a_warning_comes_once_whoever_looks(start_api: Starts) -> None:
    api, other = await start_api(secrets_key=KEY), await start_api(secrets_key=KEY)
    await api.client.put("/v1/webhooks", json={"url": "https://hooks.example/"})
    await limited(api, cost_usd_per_day="2.00")
    run_id = (await post(api, limits=PRICED)).json()["id"]
    await costs(api, run_id, "1.59")
    assert not await look_after_accounts(api.runtime.database, pause_s=0)
    await costs(api, run_id, "1.60")

    found = await asyncio.gather(
        *(look_after_accounts(each.runtime.database, pause_s=0) for each in (api, other) for _ in range(4))
    )

    warned = [each for some in found for each in some]
    assert [(each.name, each.spent, each.limit) for each in warned] == [
        ("cost_usd_per_day", Decimal("1.60"), Decimal(2))
    ]
    deliveries = (await api.get("/v1/webhooks/deliveries"))["data"]
    assert [(each["type"], each["run_id"]) for each in deliveries] == [("limit.warning", None)]
    told = await every(api.runtime.database, "SELECT said FROM webhook_deliveries")
    assert told[0]["said"]["spent_usd"] == "1.60"


async def test_a_limit_of_all_tenants_holds_for_each_by_itself(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    await limited(api, DEFAULTS, runs_queued=1)
    await limited(api, "exempt", runs_queued=None)
    acme, rival, exempt = [await keyed(api, tenant) for tenant in ("acme", "rival", "exempt")]

    statuses = [[(await post(api, headers)).status_code for _ in range(2)] for headers in (acme, rival, exempt)]

    assert statuses == [[202, 429], [202, 429], [202, 202]]


async def test_a_key_is_made_with_its_limits_and_shown_with_them(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    admin = await keyed(api, "acme")
    wanted = {"runs_queued": 1, "cost_usd_per_day": "3"}

    made = await api.client.post("/v1/keys", json={"scopes": ["admin"], "limits": wanted}, headers=admin)

    assert made.status_code == 201
    listed = (await api.client.get("/v1/keys", headers=admin)).json()["data"]
    for shown in (made.json(), listed[0]):
        assert {name: limit for name, limit in shown["limits"].items() if limit is not None} == wanted
    own = {"authorization": f"Bearer {made.json()['key']}"}
    assert [(await post(api, headers)).status_code for headers in (own, own, admin)] == [202, 429, 202]
    found = (await api.client.get("/v1/limits", headers=own)).json()
    assert {(each["name"], each["owner"]) for each in found["data"]} == {
        ("runs_queued", "key"), ("cost_usd_per_day", "key"),
    }  # fmt: skip
    assert (found["tenant"], found["key"]) == ("acme", made.json()["id"])


async def test_a_key_that_is_made_over_http_may_no_more_than_its_maker(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    admin = await keyed(api, "acme", Quota(runs_queued=1, cost_usd_per_day=Decimal(3)))
    wanted = {"runs_queued": 50, "cost_usd_per_day": "2"}

    free, bound = [
        (await api.client.post("/v1/keys", json={"scopes": ["admin"]} | limits, headers=admin)).json()
        for limits in ({}, {"limits": wanted})
    ]

    shown = [{name: limit for name, limit in key["limits"].items() if limit is not None} for key in (free, bound)]
    assert shown == [{"runs_queued": 1, "cost_usd_per_day": "3"}, {"runs_queued": 1, "cost_usd_per_day": "2"}]
    own = {"authorization": f"Bearer {free['key']}"}
    assert [(await post(api, own)).status_code for _ in range(2)] == [202, 429]


@pytest.mark.parametrize(("path", "body"), [("retry", None), ("retry", {"only": "failed"}), ("fork", {})])
async def test_a_second_look_is_not_bound_by_how_little_was_left_to_the_first(
    api: Api, path: str, body: dict[str, Any] | None
) -> None:
    await limited(api, cost_usd_per_day="1.02")
    taken = (await post(api, limits=PRICED)).json()["id"]
    first = (await post(api, limits={"cost_usd": "0.80"})).json()
    assert first["limits"]["cost_usd"] == "0.02"
    for run_id in (taken, first["id"]):
        await api.client.post(f"/v1/runs/{run_id}/cancel")
    await limited(api, cost_usd_per_day="0.50")

    second = (await api.client.post(f"/v1/runs/{first['id']}/{path}", json=body)).json()
    assert Decimal(second["limits"]["cost_usd"]) == Decimal("0.5")
    await api.client.post(f"/v1/runs/{second['id']}/cancel")
    await limited(api, cost_usd_per_day=None)
    third = (await api.client.post(f"/v1/runs/{second['id']}/{path}", json=body)).json()

    assert third["limits"]["cost_usd"] == "0.80"
    [queued] = (await api.get(f"/v1/runs/{second['id']}/events?types=run.queued"))["data"]
    assert queued["data"]["cost_asked"] == {"usd": "0.80"}
    [queued] = (await api.get(f"/v1/runs/{third['id']}/events?types=run.queued"))["data"]
    assert "cost_asked" not in queued["data"]


async def test_a_run_that_may_cost_so_much_is_cut_and_one_without_a_price_refused(api: Api) -> None:
    await limited(api, cost_usd_per_run="0.20")

    answer = await post(api)

    assert answer.json()["limits"]["cost_usd"] == "0.20"
    assert (await api.get("/v1/limits"))["cost_usd_per_run"] == "0.20"
