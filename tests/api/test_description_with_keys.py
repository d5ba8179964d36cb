"""The description, with keys on: whatever the key of an admin sends to any operation is answered as it says."""

import asyncio
import re
from collections import Counter
from typing import Any
from urllib.parse import quote

import httpx2
import hypothesis
import pytest
import requests
from schemathesis.core.transport import Response

from app.domain.keys import DEFAULT_TENANT, SCOPES
from app.store.keys import NewKey, create_key
from tests.api.test_description import CHECKS, EXAMPLES, OPERATIONS, probe
from tests.support.api import JOB, Api, Starts
from tests.support.receiver import SECRETS_KEY

FEW = hypothesis.settings(EXAMPLES, max_examples=4, phases=[hypothesis.Phase.generate])
PAUSES = ("/v1/intake/pause", "post")
"""After it no job is taken."""
IN_ORDER = sorted(OPERATIONS, key=lambda each: (each == PAUSES, each[1] == "delete"))
"""All operations: those that leave less to ask for come later."""
NAMING = [each for each in OPERATIONS if "{" in each[0]]
NO_NAMES = ["\0", "a\0", "a/b", "%", "é", "x" * 300]
SCHEDULE = {"cron": "0 9 * * *", "timezone": "UTC", "job": JOB}
WEBHOOK = {"url": "https://hooks.acme.example/a"}


class Admin:
    """A client with an admin's key, also for the thread in which Hypothesis asks."""

    def __init__(self, client: httpx2.AsyncClient, bearer: str) -> None:
        self._client = client
        self._bearer = bearer
        self._loop = asyncio.get_running_loop()
        self.statuses: Counter[int] = Counter()

    async def ask(self, method: str, url: str, headers: dict[str, str] | None = None, **body: Any) -> httpx2.Response:
        """Send a request with the key, and no other."""
        answer = await self._client.request(
            method, url, headers=(headers or {}) | {"Authorization": self._bearer}, **body
        )
        self.statuses[answer.status_code] += 1
        return answer

    async def made(self, method: str, path: str, body: object) -> Any:
        """What such a request has made."""
        answer = await self.ask(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def check(self, case: Any) -> None:
        """Send what schemathesis has thought of, from its thread, and hold the answer to the description."""
        case.validate_response(self._send(case), checks=CHECKS)

    def _send(self, case: Any) -> Response:
        prepared = requests.Request(**case.as_transport_kwargs(base_url="http://api.test")).prepare()
        assert prepared.method is not None
        assert prepared.url is not None
        asking = self.ask(
            prepared.method,
            prepared.url,
            {name: str(value) for name, value in prepared.headers.items()},
            content=prepared.body,
        )
        return Response.from_any(asyncio.run_coroutine_threadsafe(asking, self._loop).result(timeout=10))


@pytest.fixture
async def api(start_api: Starts) -> Api:
    return await start_api(auth="keys", secrets_key=SECRETS_KEY)


@pytest.fixture
async def admin(api: Api) -> Admin:
    sent, _ = await create_key(api.runtime.database, NewKey(DEFAULT_TENANT, frozenset(SCOPES)))
    return Admin(api.client, f"Bearer {sent.text}")


@pytest.fixture
async def known(api: Api, admin: Admin) -> dict[str, str]:
    """Names of what is there."""
    run_id: str = (await admin.made("POST", "/v1/jobs", JOB))["id"]
    await api.player.play(run_id).whole()
    await admin.made("PUT", "/v1/webhooks", WEBHOOK)
    return {
        "run_id": run_id,
        "key_id": (await admin.made("POST", "/v1/keys", {"scopes": ["runs:read"]}))["id"],
        "schedule_id": (await admin.made("POST", "/v1/schedules", SCHEDULE))["id"],
        "name": "general",
    }


async def test_whatever_an_admin_sends_is_answered_as_described(admin: Admin, known: dict[str, str]) -> None:
    for path, method in IN_ORDER:
        await asyncio.to_thread(probe, path, method, known, FEW, admin.check)

    assert {200, 201, 202, 204, 404, 422} <= admin.statuses.keys()
    assert admin.statuses.keys() & {401, 403} == set()


async def test_what_cannot_be_a_name_is_the_name_of_nothing(admin: Admin, known: dict[str, str]) -> None:
    for path, method in NAMING:
        for parameter in re.findall(r"{(\w+)}", path):
            for odd in NO_NAMES:
                names = {"task_id": "t1", "question_id": "q_1"} | known | {parameter: quote(odd, safe="")}
                body: dict[str, Any] = {} if method == "get" else {"json": {}}

                answer = await admin.ask(method, path.format(**names), **body)

                assert answer.status_code in (400, 404, 409, 422, 428), f"{method} {path} {odd!r}: {answer.text}"
                assert answer.headers["content-type"] == "application/problem+json"
