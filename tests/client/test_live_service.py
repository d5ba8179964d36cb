import re
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from urllib.parse import urlsplit

import httpx2
import pytest

from app.client import Client, File, Job, Refused, ServiceError, is_delta
from tests.support.processes import ROOT, Replica, Replicas
from tests.support.service import plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

CHAIN = plan_of(task("t1", "researcher"), task("t2", "writer", ["t1"]))
JOB: Job = {"objective": "Find out.", "team": "crew-of-two", "plan": CHAIN}
TEAM = {
    "description": "Two workers.",
    "workers": [
        {"name": "researcher", "description": "Finds out.", "instructions": "Find out."},
        {"name": "writer", "description": "Writes.", "instructions": "Write."},
    ],
}


class LosesAnswers(httpx2.AsyncHTTPTransport):
    """A network that takes a request to the service and loses the answer, each time one is to be lost."""

    def __init__(self, on_loss: Callable[[], Awaitable[object]] | None = None) -> None:
        super().__init__()
        self.to_lose = 0
        self._on_loss = on_loss

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await super().handle_async_request(request)
        if not self.to_lose or request.method == "GET":
            return answer
        self.to_lose -= 1
        await answer.aread()
        if self._on_loss is not None:
            await self._on_loss()
        raise httpx2.ReadError("the connection is gone", request=request)


async def served(replicas: Replicas, port: str = "0", **settings: str) -> Replica:
    replica = await replicas.start(port=port, **settings)
    if port == "0":
        async with replica.client as http:
            assert (await http.put("/v1/teams/crew-of-two", json=TEAM)).status_code in (200, 201)
    return replica


def port_of(replica: Replica) -> str:
    return str(urlsplit(replica.url).port)


async def test_events_come_once_and_in_order_though_the_service_is_killed_in_the_middle(
    replicas: Replicas, stub: StubProvider
) -> None:
    stub.on("work:researcher", held(as_json(report())))
    doomed = await served(replicas)
    said: list[ServiceError | None] = []

    async with Client(doomed.url) as client:
        run = await client.submit(JOB)
        numbers: list[int] = []
        async with aclosing(client.events(run["id"], on_away=said.append)) as events:
            async for event in events:
                numbers.append(event["seq"])
                if event["type"] == "task.started" and event["task_id"] == "t1" and doomed.process.returncode is None:
                    await doomed.kill()
                    stub.release()
                    await served(replicas, port_of(doomed))
        ended = await client.wait(run["id"], timeout_s=10)

    assert ended["status"] == "succeeded"
    assert numbers == list(range(1, ended["last_seq"] + 1))
    assert isinstance(said[0], ServiceError)
    assert said[-1] is None


async def test_a_job_whose_answer_died_with_the_service_is_one_run(replicas: Replicas) -> None:
    doomed = await served(replicas)

    async def die() -> None:
        await doomed.kill()
        await served(replicas, port_of(doomed))

    network = LosesAnswers(die)
    network.to_lose = 1
    async with Client(doomed.url, transport=network) as client:
        run = await client.submit(JOB)

        assert [each["id"] async for each in client.runs()] == [run["id"]]


async def test_a_decision_whose_answer_is_lost_is_made_once_and_is_no_error(
    replicas: Replicas, stub: StubProvider
) -> None:
    stub.on("work", held(as_json(report())))
    network = LosesAnswers()
    async with Client((await served(replicas)).url, transport=network) as client:
        waiting = await client.submit({**JOB, "approval": "plan"})
        await client.run(waiting["id"], wait_s=20)
        network.to_lose = 3

        edited = await client.edit_plan(waiting["id"], {"goal": "another goal", "reason": "a better one"}, revision=1)
        approved = await client.approve(waiting["id"], revision=2)
        cancelled = await client.cancel(waiting["id"])

        assert (edited["revision"], edited["goal"]) == (2, "another goal")
        assert approved["waiting_for"] is None
        assert (await client.wait(cancelled["id"], timeout_s=10))["status"] == "cancelled"
        with pytest.raises(Refused) as refused:
            await client.approve(waiting["id"])
        assert refused.value.code == "plan_approved"


async def test_the_code_of_the_docs_does_what_they_say(replicas: Replicas, capsys: pytest.CaptureFixture[str]) -> None:
    url, text = (await served(replicas, model="demo")).url, (ROOT / "docs/client.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)

    for block in blocks:
        code = compile(
            block.replace("http://127.0.0.1:8000", url), "docs/client.md", "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT
        )
        await eval(code, {})

    assert len(blocks) == 3
    said = capsys.readouterr().out
    assert "run.succeeded None\nsucceeded " in said
    assert "409 plan_approved\n" in said


async def test_what_is_asked_of_a_run_comes_as_the_api_has_it(replicas: Replicas, stub: StubProvider) -> None:
    async with Client((await served(replicas)).url) as client:
        table = File("sales.csv", b"region,amount\nnorth,1200\n")
        quote = await client.quote(JOB)
        run = await client.submit({**JOB, "metadata": {"a:b": 5}}, files=[table])
        told = [each async for each in client.events(run["id"], deltas=True)]
        ended = await client.wait(run["id"])
        second = await client.resynthesize(run["id"])
        trace = await client.trace(run["id"])

        assert [each["id"] for each in quote["plan"]["tasks"]] == ["t1", "t2"]
        assert any(map(is_delta, told))
        assert [each["seq"] for each in told if not is_delta(each)] == list(range(1, ended["last_seq"] + 1))
        assert [each["id"] for each in await client.tasks(run["id"])] == ["t1", "t2"]
        assert (await client.plan(run["id"], 1))["revision"] == 1
        assert [event["seq"] for event in trace["events"]][-1] == ended["last_seq"]
        assert [each["id"] async for each in client.runs(metadata={"a:b": 5})] == [second["id"], run["id"]]
        assert [each["id"] async for each in client.runs(team="crew-of-two", limit=1)] == [second["id"]]
        assert "crew-of-two" in [team["name"] for team in await client.teams()]
        with pytest.raises(Refused, match="run_not_found"):
            await client.run("run_0")
