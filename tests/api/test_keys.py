"""Keys: who comes in, what each sees, and for how long. What belongs to others is not there, byte for byte."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from sqlalchemy import text

from app.api.doorkeeper import scope_for
from app.domain.keys import SCOPES, Scope, SentKey
from app.store.keys import NewKey, create_key, revoke_key
from tests.support.api import Api, Starts, served
from tests.support.raw_reader import reading
from tests.support.waiting import until

ALL: frozenset[Scope] = frozenset(SCOPES)
METHODS = ("get", "put", "post", "patch", "delete")


@pytest.fixture
async def api(start_api: Starts) -> Api:
    return await start_api(auth="keys", poll_seconds=0.2)


async def key_of(api: Api, tenant: str, *scopes: Scope, expires_in: timedelta | None = None) -> tuple[str, str]:
    """A new key: its id, and the header that brings it."""
    new = NewKey(tenant, frozenset(scopes) or ALL, expires_in=expires_in)
    sent, stored = await create_key(api.runtime.database, new)
    return stored.id, f"Bearer {sent.text}"


async def ask(api: Api, method: str, path: str, bearer: str | None, **options: Any) -> httpx2.Response:
    headers = options.pop("headers", {}) | ({"authorization": bearer} if bearer else {})
    return await api.client.request(method, path, headers=headers, **options)


def told(answer: httpx2.Response) -> str:
    """What an answer says, but for the id of its request."""
    return answer.text.replace(answer.headers["x-request-id"], "")


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        (None, "key_missing"),
        ("Basic dXNlcjpwYXNz", "key_missing"),
        ("Bearer", "key_invalid"),
        ("Bearer sk-ant-something", "key_invalid"),
        (f"Bearer chk_{'a' * 16}_{'0' * 64}", "key_invalid"),
    ],
)
async def test_without_a_key_that_is_one_nobody_comes_in(api: Api, authorization: str | None, code: str) -> None:
    for method, path in (("GET", "/v1/runs"), ("POST", "/v1/jobs"), ("GET", "/v1/nothing")):
        answer = await ask(api, method, path, authorization)

        assert (answer.status_code, answer.json()["code"]) == (401, code)
        assert answer.headers["www-authenticate"].startswith('Bearer realm="chargehand"')


async def test_a_wrong_secret_is_no_key(api: Api) -> None:
    key, _ = await key_of(api, "acme")

    answer = await ask(api, "GET", "/v1/runs", f"Bearer {SentKey(key, '0' * 64).text}")

    assert (answer.status_code, answer.json()["code"]) == (401, "key_invalid")


async def test_two_keys_at_once_are_none(api: Api) -> None:
    _, bearer = await key_of(api, "acme")

    answer = await api.client.get("/v1/runs", headers=[("authorization", bearer), ("authorization", bearer)])

    assert answer.json()["code"] == "key_missing"


async def test_the_body_of_a_stranger_is_not_read(api: Api) -> None:
    read = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        for _ in range(20):
            read += 1
            yield b" " * 10_000

    answer = await api.client.post("/v1/jobs", content=body(), headers={"content-type": "application/json"})

    assert (answer.status_code, read) == (401, 0) or read <= 20
    assert answer.json()["code"] == "key_missing"


async def test_probes_documents_and_schemas_need_no_key(api: Api) -> None:
    for path in ("/livez", "/readyz", "/openapi.json", "/docs", "/v1/schemas/team"):
        assert (await api.client.get(path)).status_code == 200, path


@pytest.mark.parametrize("path", ["/livez", "/v1/teams"])
async def test_while_keys_are_not_asked_for_one_that_is_brought_means_nothing(start_api: Starts, path: str) -> None:
    open_to_all = await start_api()

    answer = await ask(open_to_all, "GET", path, "Bearer nonsense")

    assert answer.status_code == 200


def operations(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Every method and path of the document under `/v1/` that asks for a key."""
    found = [(method.upper(), path) for path, each in document["paths"].items() for method in METHODS if method in each]
    return [(method, path) for method, path in found if path.startswith("/v1/") and not path.startswith("/v1/schemas/")]


async def test_each_operation_asks_for_its_scope(api: Api) -> None:
    bearers = {scope: (await key_of(api, "acme", scope))[1] for scope in SCOPES}
    document = (await api.client.get("/openapi.json")).json()

    for method, path in operations(document):
        wanted = scope_for(method, path)
        concrete = path.replace("{", "").replace("}", "")
        for scope, bearer in bearers.items():
            answer = await ask(api, method, concrete, bearer)
            refused = answer.status_code == 403 and answer.json()["code"] == "scope_missing"
            assert refused == (scope not in (wanted, "admin")), (method, path, scope, answer.text)


def test_what_changes_something_takes_more_than_reading() -> None:
    assert scope_for("GET", "/v1/runs/run_1/events") == "runs:read"
    assert scope_for("POST", "/v1/runs/run_1/replay") == "runs:read"
    assert scope_for("POST", "/v1/runs/run_1/plan/approve") == "jobs:write"
    assert scope_for("DELETE", "/v1/teams/letters") == "teams:write"
    assert scope_for("PUT", "/v1/teams/replay") == "teams:write"
    assert scope_for("POST", "/v1/breakers/model:a/trip") == "admin"
    assert scope_for("POST", "/v1/engines/a/drain") == scope_for("POST", "/v1/intake/pause") == "admin"
    assert scope_for("GET", "/v1/engines") == scope_for("GET", "/v1/intake") == "runs:read"
    assert scope_for("POST", "/v1/runs/cancel") == "jobs:write"
    assert scope_for("GET", "/v1/keys") == "admin"
    assert scope_for("GET", "/v1/webhooks") == scope_for("POST", "/v1/webhooks/test") == "admin"
    assert scope_for("GET", "/v1/runs/run_1/deliveries") == "runs:read"
    assert scope_for("POST", "/v1/runs/run_1/redeliver") == "jobs:write"
    assert scope_for("GET", "/v1/schedules/sch_1") == "runs:read"
    assert scope_for("POST", "/v1/schedules/sch_1/run") == scope_for("PATCH", "/v1/schedules/sch_1") == "jobs:write"
    assert scope_for("GET", "/v1/keysmith") == "runs:read"


async def test_what_another_tenant_has_is_answered_like_what_nobody_has(api: Api) -> None:
    _, owner = await key_of(api, "acme")
    _, other = await key_of(api, "rival")
    job = {"objective": "Find out.", "inputs": [{"name": "a.txt", "content": "text"}]}
    run = (await ask(api, "POST", "/v1/jobs", owner, json=job, headers={"idempotency-key": "k"})).json()["id"]
    team = {"workers": [{"name": "writer", "description": "Writes.", "instructions": "Write."}]}
    assert (await ask(api, "PUT", "/v1/teams/letters", owner, json=team)).status_code == 201
    assert (await ask(api, "POST", "/v1/breakers/worker:letters%2Fwriter/trip", owner)).status_code == 200
    timed = {"cron": "0 9 * * *", "job": job}
    schedule = (await ask(api, "POST", "/v1/schedules", owner, json=timed)).json()["id"]
    key = (await ask(api, "POST", "/v1/keys", owner, json={"scopes": ["runs:read"]})).json()["id"]
    document = (await api.client.get("/openapi.json")).json()
    theirs = {"run_id": run, "key_id": key, "task_id": "t1", "question_id": "q1", "name": "letters"}
    theirs["schedule_id"] = schedule
    nobodys = {**theirs, "run_id": f"run_{uuid4().hex}", "key_id": "0" * 16, "name": "nothing"}
    nobodys["schedule_id"] = f"sch_{uuid4().hex}"
    async with api.runtime.database.statement() as connection:
        engine = text("INSERT INTO engines VALUES ('here', '1', 1, now(), now(), now() + interval '1 hour', false)")
        await connection.execute(engine)
    bodies: dict[str, Any] = {"/answer": {"answer": "yes"}, "/retry": {"only": "failed"}, "/plan": {"tasks": []}}
    bodies["/{schedule_id}"] = {"name": "Mine."}
    walked = set()

    for method, path in operations(document):
        if "{" not in path or (method, path) == ("PUT", "/v1/teams/{name}"):
            continue
        body = next((body for end, body in bodies.items() if path.endswith(end) and method != "GET"), None)
        options = {"json": body, "headers": {"if-match": '"1"'}} if body is not None else {}
        ours = dict(nobodys), dict(theirs)
        if path.startswith("/v1/breakers"):
            ours = {"name": "worker:nothing%2Fwriter"}, {"name": "worker:letters%2Fwriter"}
        elif path.startswith("/v1/engines"):
            ours = {"name": "nowhere"}, {"name": "here"}
        elif "/inputs/" in path:
            ours = {**nobodys, "name": "a.txt"}, {**theirs, "name": "a.txt"}
        unknown, foreign = [
            await ask(api, method, path.format(**values).replace(":path}", "}"), other, **options) for values in ours
        ]
        assert (foreign.status_code, told(foreign)) == (404, told(unknown)), (method, path)
        walked.add(path.split("/")[2])

    assert walked == {"runs", "teams", "keys", "breakers", "schedules", "engines"}
    assert (await ask(api, "GET", f"/v1/schedules/{schedule}", owner)).json()["name"] is None
    assert (await ask(api, "GET", "/v1/engines", owner)).json()["data"][0]["draining"] is False
    await ask(api, "POST", "/v1/runs/cancel", other, json={"all": True, "dry_run": False})
    for path in ("/v1/runs", "/v1/keys", "/v1/breakers", "/v1/engines", "/v1/schedules"):
        listed = (await ask(api, "GET", path, other)).json()["data"]
        assert schedule not in json.dumps(listed)
        assert run not in json.dumps(listed)
        assert all(each.get("tenant", "rival") == "rival" for each in listed)
    assert (await ask(api, "POST", "/v1/intake/pause", owner)).json()["paused"]
    again = await ask(api, "POST", "/v1/jobs", other, json=job, headers={"idempotency-key": "k"})
    assert again.json()["id"] != run
    untouched = (await ask(api, "GET", f"/v1/runs/{run}", owner)).json()
    assert (untouched["id"], untouched["cancellation"]) == (run, None)
    _, operator = await key_of(api, "default")
    drained = await ask(api, "POST", "/v1/engines/here/drain", operator)
    assert (drained.status_code, drained.json()["runs_of_all"]) == (200, 0)
    assert (await ask(api, "GET", "/v1/engines", other)).json()["data"][0]["runs_of_all"] is None


async def test_a_job_of_another_tenants_team_names_a_team_that_is_not_known(api: Api) -> None:
    _, owner = await key_of(api, "acme")
    _, other = await key_of(api, "rival")
    team = {"workers": [{"name": "writer", "description": "Writes.", "instructions": "Write."}]}
    await ask(api, "PUT", "/v1/teams/letters", owner, json=team)

    answer = await ask(api, "POST", "/v1/jobs", other, json={"objective": "Write.", "team": "letters"})

    assert (answer.status_code, answer.json()["code"]) == (422, "team_unknown")


async def test_built_in_teams_belong_to_all_and_a_tenants_own_one_of_the_name_to_it_alone(api: Api) -> None:
    _, owner = await key_of(api, "acme")
    _, other = await key_of(api, "rival")
    own = {"description": "Ours.", "workers": [{"name": "writer", "description": "Writes.", "instructions": "Write."}]}

    assert (await ask(api, "PUT", "/v1/teams/general", owner, json=own)).status_code == 201

    assert (await ask(api, "GET", "/v1/teams/general", owner)).json()["description"] == "Ours."
    shared = (await ask(api, "GET", "/v1/teams/general", other)).json()
    assert (shared["origin"], shared["version"]) == ("built_in", 1)
    listed = [each["name"] for each in (await ask(api, "GET", "/v1/teams", other)).json()["data"]]
    assert {"general", "support-desk"} <= {*listed}


async def test_a_key_is_shown_once_and_kept_as_a_hash(api: Api) -> None:
    _, admin = await key_of(api, "acme")

    made = await ask(api, "POST", "/v1/keys", admin, json={"name": "reports", "scopes": ["runs:read"]})

    key = made.json()
    assert (made.status_code, key["tenant"], key["scopes"]) == (201, "acme", ["runs:read"])
    assert (await ask(api, "GET", "/v1/runs", f"Bearer {key['key']}")).status_code == 200
    listed = (await ask(api, "GET", "/v1/keys", admin)).json()["data"]
    assert [each["name"] for each in listed] == ["reports", ""]
    assert key["key"].rpartition("_")[2] not in json.dumps(listed)
    async with api.runtime.database.reading() as connection:
        rows = (await connection.execute(text("SELECT api_keys::text FROM api_keys"))).scalars().all()
    assert not [row for row in rows if key["key"].rpartition("_")[2] in row]


@pytest.mark.parametrize(
    "body",
    [
        {"scopes": []},
        {"scopes": ["everything"]},
        {"scopes": ["admin"], "expires_in_days": 0},
        {"scopes": ["admin"], "tenant": "rival"},
        {},
    ],
)
async def test_a_key_that_cannot_be_is_refused(api: Api, body: dict[str, Any]) -> None:
    _, admin = await key_of(api, "acme")

    answer = await ask(api, "POST", "/v1/keys", admin, json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "request_invalid")


async def test_a_key_that_has_expired_opens_nothing(api: Api) -> None:
    _, bearer = await key_of(api, "acme", expires_in=timedelta(seconds=-1))

    assert (await ask(api, "GET", "/v1/runs", bearer)).json()["code"] == "key_invalid"


async def test_a_key_that_is_taken_back_ends_what_is_read_with_it(api: Api) -> None:
    key, bearer = await key_of(api, "acme")
    _, admin = await key_of(api, "acme")
    run = (await ask(api, "POST", "/v1/jobs", bearer, json={"objective": "Find out."})).json()["id"]
    wait = {"prefer": "wait=60"}
    async with served(api) as address:
        async with reading(address, run, authorization=bearer) as stream:
            await stream.next_event()
            poll = asyncio.create_task(ask(api, "GET", f"/v1/runs/{run}", bearer, headers=wait))
            stays = asyncio.create_task(ask(api, "GET", f"/v1/runs/{run}", admin, headers={"prefer": "wait=8"}))
            await until(lambda: api.runtime.readers == 3)

            assert (await ask(api, "DELETE", f"/v1/keys/{key}", admin)).status_code == 200

            ended = await asyncio.wait_for(poll, 6)
            assert (ended.status_code, ended.json()["code"]) == (401, "key_invalid")
            frames = await asyncio.wait_for(stream.rest(), 6)
            assert "this key opens nothing more" in frames[-1].comments
        assert (await stays).status_code == 200
        assert (await ask(api, "GET", "/v1/runs", bearer)).json()["code"] == "key_invalid"


@pytest.mark.parametrize("key", ["%00", "0" * 16, "0" * 17, "x" * 3_000, "%C3%A9"])
async def test_what_is_no_key_cannot_be_taken_back(api: Api, key: str) -> None:
    _, admin = await key_of(api, "acme")

    answer = await ask(api, "DELETE", f"/v1/keys/{key}", admin)

    assert (answer.status_code, answer.json()["code"]) == (404, "key_not_found")


async def test_taking_a_key_back_twice_changes_nothing(api: Api) -> None:
    key, _ = await key_of(api, "acme")
    _, admin = await key_of(api, "acme")

    first, second = [(await ask(api, "DELETE", f"/v1/keys/{key}", admin)).json() for _ in range(2)]

    assert first == second
    assert first["revoked_at"] is not None
    assert await revoke_key(api.runtime.database, key, tenant="rival") is None
