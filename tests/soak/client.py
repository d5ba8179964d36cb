"""The clients: each posts a job, may follow or cancel it, waits for its end, and comes back when it is cut off."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2

from app.domain.events import RUN_ENDS
from tests.soak.fleet import Fleet
from tests.soak.jobs import JobToDo
from tests.support.stub_provider import StubProvider

TRIES = 200
RUN_TAKES_S = 120
"""How long a client waits for the end of its run."""
PARKED_S = 0.5
"""How long a client leaves a run alone that waits itself: a read of it is answered at once."""
PATIENCE_S = 10
"""How long a replica may take to answer: a paused one answers late."""
UNAVAILABLE = 503


@dataclass
class Clients:
    """Everybody who uses the fleet."""

    fleet: Fleet
    stub: StubProvider
    at_once: int
    run_ids: dict[int, str] = field(default_factory=dict)
    """The run of each job that was accepted, by the job's number."""
    forks: dict[int, str] = field(default_factory=dict)
    """The fork of the run of a job, where its client wanted one, by the job's number."""
    read: dict[str, list[int]] = field(default_factory=dict)
    """The event numbers that followers have read, by run id."""
    answers: Counter[str] = field(default_factory=Counter)
    """How often each question was answered, as the clients were told."""
    decisions: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What was taken of what clients did about plans, by run id, as they were told."""
    _http: httpx2.AsyncClient = field(
        default_factory=lambda: httpx2.AsyncClient(
            timeout=PATIENCE_S, trust_env=False, limits=httpx2.Limits(max_connections=None)
        )
    )

    async def do_all(self, jobs: Iterator[JobToDo]) -> None:
        """Have every job done, `at_once` of them at a time; returns when all have ended."""

        async def one_after_another() -> None:
            for job in jobs:
                await self._do(job)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.at_once):
                    group.create_task(one_after_another())
        finally:
            await self._http.aclose()

    async def _do(self, job: JobToDo) -> None:
        key = {"idempotency-key": f"job-{job.number}"}
        accepted = await self._request("POST", "/v1/jobs", json=job.body, headers=key)
        assert accepted.status_code == 202, accepted.text
        run_id = self.run_ids[job.number] = accepted.json()["id"]
        async with asyncio.TaskGroup() as group:
            if job.cancel_after is not None:
                group.create_task(self._cancel(run_id, job.cancel_after))
            if job.shape == "asking" and job.answers:
                group.create_task(self._answer(run_id))
            if job.decides:
                group.create_task(self._decide(run_id, job.decides))
            if job.follow:
                group.create_task(self._follow(run_id))
            await self._end_of(run_id)
        if job.forks and not job.body["limits"]:  # Else what a job is served could not be held against its limit.
            await self._fork(job.number, run_id)

    async def _fork(self, number: int, run_id: str) -> None:
        headers = {"idempotency-key": f"fork-{number}"}
        accepted = await self._request("POST", f"/v1/runs/{run_id}/fork", json={}, headers=headers)
        assert accepted.status_code == 202, accepted.text
        self.forks[number] = accepted.json()["id"]
        await self._end_of(self.forks[number])

    async def _end_of(self, run_id: str) -> None:
        patience = time.monotonic() + RUN_TAKES_S
        while time.monotonic() < patience:
            run = (await self._request("GET", f"/v1/runs/{run_id}", headers={"prefer": "wait=5"})).json()
            if run["finished_at"] is not None:
                return
            if run["status"] == "waiting":
                await asyncio.sleep(PARKED_S)  # Nothing tells a client that a run goes on but another look.
        raise AssertionError(f"{run_id} does not end: {run}")

    async def _answer(self, run_id: str) -> None:
        """Answer whatever the run asks, until it has ended."""
        while True:
            found = (await self._request("GET", f"/v1/runs/{run_id}/questions")).json()["data"]
            for question in found:
                if question["status"] == "open":
                    path = f"/v1/runs/{run_id}/questions/{question['id']}/answer"
                    taken = await self._request("POST", path, json={"answer": "that one"})
                    assert taken.status_code in (200, 409), taken.text
                    self.answers[question["id"]] += taken.status_code == 200
            run = (await self._request("GET", f"/v1/runs/{run_id}", headers={"prefer": "wait=1"})).json()
            if run["finished_at"] is not None:
                return
            await asyncio.sleep(PARKED_S)  # As above: nothing tells of a question that is asked later.

    async def _decide(self, run_id: str, decisions: Sequence[str]) -> None:
        """Do something about the plan of a run once that waits for approval, one thing after the other."""
        while True:
            run = (await self._request("GET", f"/v1/runs/{run_id}", headers={"prefer": "wait=1"})).json()
            if run["finished_at"] is not None:
                return
            if run["waiting_for"] == "plan_approval":
                break
            await asyncio.sleep(PARKED_S)  # It waits for its provider, or has not got this far.
        for what in decisions:
            taken = await (self._edit(run_id) if what == "edit" else self._say(run_id, what))
            assert taken.status_code in (200, 409, 412), taken.text
            if taken.status_code == 200:
                self.decisions[run_id].append(what)

    async def _say(self, run_id: str, what: str) -> httpx2.Response:
        return await self._request("POST", f"/v1/runs/{run_id}/plan/{what}")

    async def _edit(self, run_id: str) -> httpx2.Response:
        """Have the last task done in other words, and without what it needs."""
        plan = await self._request("GET", f"/v1/runs/{run_id}/plan")
        *tasks, last = plan.json()["tasks"]
        last |= {"depends_on": [], "context": f"{last['context']} Edited."}
        headers = {"if-match": plan.headers["etag"]}
        return await self._request("PATCH", f"/v1/runs/{run_id}/plan", json={"tasks": [*tasks, last]}, headers=headers)

    async def _cancel(self, run_id: str, after: int) -> None:
        mark = len(self.stub.log) + after
        with suppress(TimeoutError):
            await self.stub.until(lambda: len(self.stub.log) >= mark, timeout_s=1)
        asked = await self._request("POST", f"/v1/runs/{run_id}/cancel", json={"reason": "soaked"})
        assert asked.status_code in (202, 409), asked.text

    async def _follow(self, run_id: str) -> None:
        """Read the stream to its end, through as many connections as it takes."""
        read = self.read[run_id] = []
        for _ in range(TRIES):
            with suppress(httpx2.TransportError):
                async for number, kind in self._stream(run_id, read[-1] if read else 0):
                    read.append(number)
                    if kind in RUN_ENDS:
                        return
        raise AssertionError(f"the stream of {run_id} does not end: {read}")

    async def _stream(self, run_id: str, after: int) -> AsyncIterator[tuple[int, str]]:
        """Number and type of the events behind `after`, for as long as one connection lasts."""
        headers = {"accept": "text/event-stream"} | ({"last-event-id": str(after)} if after else {})
        url = f"{self.fleet.any().url}/v1/runs/{run_id}/events?deltas=true"
        frame: dict[str, str] = {}
        async with self._http.stream("GET", url, headers=headers) as response:
            async for line in response.aiter_lines():
                name, _, value = line.partition(":")
                if line:
                    frame[name] = value.strip()
                elif "id" in frame:
                    yield int(frame["id"]), frame["event"]
                if not line:
                    frame = {}

    async def _request(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Ask whoever is there, until somebody answers."""
        for _ in range(TRIES):
            with suppress(httpx2.TransportError):
                response = await self._http.request(method, self.fleet.any().url + path, **more)
                if response.status_code != UNAVAILABLE:
                    assert response.status_code < 500, response.text
                    return response
        raise AssertionError(f"nobody answers {method} {path}")
