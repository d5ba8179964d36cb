import re
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from urllib.parse import urlsplit

import httpx2
import pytest

from app.client import Client, File, Job, Refused, ServiceError, is_delta
from tests.support.processes import ROOT, Replicas
from tests.support.service import CREW, Service, plan_of, report, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider

CHAIN = plan_of(task("t1", "researcher"), task("t2", "writer", ["t1"]))
JOB: Job = {"objective": "Find out.", "team": "crew", "plan": CHAIN}


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


async def test_neither_a_job_nor_an_event_is_lost_or_doubled_though_the_service_is_killed(
    replicas: Replicas, stub: StubProvider
) -> None:
    stub.on("work:researcher", held(as_json(report())))
    alive = [await replicas.start()]
    said: list[ServiceError | None] = []

    async def die_and_come_back() -> None:
        await alive[-1].kill()
        alive.append(await replicas.start(port=str(urlsplit(alive[-1].url).port)))

    network = LosesAnswers(die_and_come_back)
    network.to_lose = 1
    async with Client(alive[0].url, transport=network) as client:
        run = await client.submit({"objective": "Find out.", "plan": CHAIN})
        numbers: list[int] = []
        async with aclosing(client.events(run["id"], patience_s=60, on_away=said.append)) as events:
            async for event in events:
                numbers.append(event["seq"])
                if event["type"] == "task.started" and len(alive) == 2:
                    stub.release()
                    await die_and_come_back()
        ended = await client.wait(run["id"], timeout_s=10)

        assert [each["id"] async for each in client.runs()] == [run["id"]]
    assert ended["status"] == "succeeded"
    assert numbers == list(range(1, ended["last_seq"] + 1))
    assert isinstance(said[0], ServiceError)
    assert said[-1] is None


async def test_a_decision_whose_answer_is_lost_is_made_once_and_is_no_error(
    service: Service, stub: StubProvider, address: str
) -> None:
    await service.stored(CREW)
    stub.on("work", held(as_json(report())))
    network = LosesAnswers()
    async with Client(address, transport=network) as client:
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


async def test_the_code_of_the_docs_does_what_they_say(
    service: Service, stub: StubProvider, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stub.on("plan", as_json(plan_of(task("t1", "analyst"))))
    stub.on("work", replies=[as_json(report("467.5"))] * 2, reply=held(as_json(report())))
    text = (ROOT / "docs/client.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)

    for block in blocks:
        source = block.replace("http://127.0.0.1:8000", address)
        await eval(compile(source, "docs/client.md", "exec", PyCF_ALLOW_TOP_LEVEL_AWAIT), {})

    assert len(blocks) == 3
    said = capsys.readouterr().out
    assert "run.succeeded None\n" in said
    assert "succeeded 467.5\n" in said
    assert "409 plan_approved\n" in said


async def test_what_is_asked_of_a_run_comes_as_the_api_has_it(
    service: Service, stub: StubProvider, address: str
) -> None:
    await service.stored(CREW)
    stub.on("work", as_json(report()))
    async with Client(address) as client:
        table = File("sales.csv", b"region,amount\nnorth,1200\n")
        quote = await client.quote(JOB)
        run = await client.submit({**JOB, "metadata": {"a:b": 5}}, files=[table])
        told = [each async for each in client.events(run["id"], deltas=True)]
        ended = await client.wait(run["id"])
        second = await client.resynthesize(run["id"])
        trace = await client.trace(run["id"])

        assert [each["id"] for each in quote["plan"]["tasks"]] == ["t1", "t2"]
        assert [each["seq"] for each in told if not is_delta(each)] == list(range(1, ended["last_seq"] + 1))
        assert [each["id"] for each in await client.tasks(run["id"])] == ["t1", "t2"]
        assert (await client.plan(run["id"], 1))["revision"] == 1
        assert [event["seq"] for event in trace["events"]][-1] == ended["last_seq"]
        assert [each["id"] async for each in client.runs(metadata={"a:b": 5})] == [second["id"], run["id"]]
        assert [each["id"] async for each in client.runs(team="crew", limit=1)] == [second["id"]]
        assert "crew" in [team["name"] for team in await client.teams()]
        with pytest.raises(Refused, match="run_not_found"):
            await client.run("run_0")
