"""The client: what the API offers, as methods."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from copy import copy
from typing import Any, Literal, Self, cast, overload
from uuid import uuid4

import httpx2

from app.client.bodies import File, body_of, has, label
from app.client.connection import Asked, Connection, OnAway
from app.client.errors import Refused
from app.client.following import Following
from app.client.job_shapes import DryRun, Job, Plan, Team, Tool
from app.client.requests import Requests, part, path_of
from app.client.run_shapes import Artifact, Delta, Event, Question, Run, Task, Trace

TERMINAL = frozenset({"succeeded", "partial", "failed", "cancelled"})
"""Statuses in which a run has ended."""
POLL_S = 30
"""How long one request waits for the end of a run."""
PLANNING_POLL_S = 50
REST_S = 2.0
"""Between two looks at a run that waits for people, which the service does not wait out."""
PAGE_RUNS = 100


class Client:
    """A service at an address, to be used as `async with Client(url, key) as client`.

    All methods raise `Refused` when the service says no, and `Unreachable` when nobody answers for `patience_s`
    seconds: until then everything is tried again, at first after `pause_s` seconds. Jobs and second looks go under an
    `Idempotency-Key`, so that however often they are sent there is one run; a decision that was taken, though its
    answer was lost, is no error.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        key: str | None = None,
        *,
        patience_s: float = 30.0,
        pause_s: float = 0.2,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url.rstrip("/"), key, patience_s, pause_s, transport)
        self._api = Requests(self._connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._connection.close()

    def patient(self, patience_s: float, on_away: OnAway | None = None) -> Self:
        """The same service over the same connections, with another patience.

        `on_away` hears why the service is away, each time a request finds it so, and None once it has answered.
        """
        other = copy(self)
        other._connection = self._connection.patient(patience_s, on_away)
        other._api = Requests(other._connection)
        return other

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._connection.url

    async def submit(
        self, job: Job, *, files: Sequence[File] = (), idempotency_key: str | None = None, dry_run: bool = False
    ) -> Run:
        """Post a job; its run. Sent again under the same key, also by another process, it is the same run.

        With `dry_run` it is only planned: its run ends with the plan.
        """
        body = body_of(job, files)
        if not dry_run:
            return cast(Run, await self._api.begin("/v1/jobs", body, idempotency_key))
        try:
            found = await self._api.begin("/v1/jobs", body, idempotency_key, {"dry_run": "true"}, wait_s=0)
        except Refused as refused:
            if refused.location is None:
                raise
            found = {"run_id": refused.location.rpartition("/")[2]}  # It has ended already, without a plan.
        return cast(Run, found) if "run_id" not in found else await self.run(found["run_id"])

    async def quote(self, job: Job, *, files: Sequence[File] = (), idempotency_key: str | None = None) -> DryRun:
        """The plan of a job and what that would take; nothing is executed. Planning is waited for."""
        key, body = idempotency_key or uuid4().hex, body_of(job, files)
        while True:
            found = await self._api.begin("/v1/jobs", body, key, {"dry_run": "true"}, wait_s=PLANNING_POLL_S)
            if "plan" in found:
                return cast(DryRun, found)

    async def run(self, run_id: str, *, wait_s: int | None = None) -> Run:
        """A run as it is; with `wait_s` once it has ended or waits, after so many seconds (60) at the latest."""
        headers = {} if wait_s is None else {"Prefer": f"wait={wait_s}"}
        return cast(Run, await self._api.get(path_of(run_id), headers=headers))

    async def wait(self, run_id: str, timeout_s: float | None = None) -> Run:
        """A run at its end. Raises `TimeoutError` after `timeout_s` seconds; the run goes on."""
        async with asyncio.timeout(timeout_s):
            while (run := await self.run(run_id, wait_s=POLL_S))["status"] not in TERMINAL:
                if run["status"] == "waiting":
                    await asyncio.sleep(REST_S)
            return run

    async def runs(self, *, limit: int | None = None, **filters: Any) -> AsyncIterator[Run]:
        """Runs, newest first, page after page: at most `limit`, and with the filters of `GET /v1/runs`.

        A filter that may be named several times takes a list; `metadata` takes a mapping too.
        """
        params = {name: value for name, value in filters.items() if value is not None}
        if isinstance(params.get("metadata"), Mapping):
            params["metadata"] = [label(key, value) for key, value in params["metadata"].items()]
        left = limit
        while left is None or left > 0:
            page = await self._api.page("/v1/runs", params | {"limit": min(left or PAGE_RUNS, PAGE_RUNS)})
            for run in page["data"]:
                yield run
            if page.get("next_cursor") is None:
                return
            params["after"] = page["next_cursor"]
            left = None if left is None else left - len(page["data"])

    @overload
    def events(
        self, run_id: str, *, after: int = ..., patience_s: float | None = ..., on_away: OnAway | None = ...
    ) -> AsyncGenerator[Event]: ...

    @overload
    def events(
        self,
        run_id: str,
        *,
        after: int = ...,
        deltas: bool,
        patience_s: float | None = ...,
        on_away: OnAway | None = ...,
    ) -> AsyncGenerator[Event | Delta]: ...

    def events(
        self,
        run_id: str,
        *,
        after: int = 0,
        deltas: bool = False,
        patience_s: float | None = None,
        on_away: OnAway | None = None,
    ) -> Any:
        """A run's events behind number `after`, each once and in order, as they come, to its end.

        With `deltas` there is text among them while it is written, which `is_delta` tells apart. A stream that breaks
        is taken up where it was, for `patience_s` seconds without news; `on_away` hears why it is away, and None once
        it is back.
        """
        patience = self._connection.patience(patience_s)
        params = {"deltas": "true"} if deltas else {}
        return Following(self._connection, f"{path_of(run_id)}/events", after, patience, params, on_away).told()

    async def plan(self, run_id: str, revision: int | None = None) -> Plan:
        """The newest plan of a run, or an older revision of it."""
        return cast(
            Plan,
            await self._api.get(f"{path_of(run_id)}/plan", {} if revision is None else {"revision": revision}),
        )

    async def plan_revisions(self, run_id: str) -> list[dict[str, Any]]:
        """Every revision of the plan, with its reason and its difference to the one before."""
        return await self._api.listed(f"{path_of(run_id)}/plan/revisions")

    async def tasks(self, run_id: str) -> list[Task]:
        """The tasks of a run with every attempt; none before there is a plan."""
        return await self._api.listed(f"{path_of(run_id)}/tasks")

    async def task(self, run_id: str, task_id: str) -> Task:
        """One of them."""
        return cast(Task, await self._api.get(f"{path_of(run_id)}/tasks/{part(task_id)}"))

    async def questions(self, run_id: str) -> list[Question]:
        """What a run has asked people, and what became of it."""
        return await self._api.listed(f"{path_of(run_id)}/questions")

    async def event_page(self, run_id: str, **params: Any) -> list[Event]:
        """Some of a run's events as they are by now, by the `after`, `limit` and `types` of `GET …/events`."""
        return cast("list[Event]", await self._api.listed(f"{path_of(run_id)}/events", params))

    async def trace(self, run_id: str, **params: str) -> Trace:
        """The whole execution of a run; `include="content"` has what models were sent, `format="otlp"` is OTLP/JSON."""
        return cast(Trace, await self._api.get(f"{path_of(run_id)}/trace", params))

    async def answer(self, run_id: str, question_id: str, text: str) -> Question:
        """Answer a question of a run."""
        path = f"{path_of(run_id)}/questions/{part(question_id)}/answer"
        try:
            return cast(Question, await self._api.post(path, {"answer": text}))
        except Refused as refused:
            if refused.is_repeated and refused.code == "question_answered":
                for question in await self.questions(run_id):
                    if question["id"] == question_id and question["answer"] == text.strip():
                        return question
            raise

    async def approve(self, run_id: str, *, revision: int | None = None) -> Run:
        """Have a plan carried out that waits for approval: in this revision, if one is named, and in no other."""
        return await self._api.decided(run_id, "plan/approve", "plan_approved", revision)

    async def reject(self, run_id: str, *, reason: str | None = None, revision: int | None = None) -> Run:
        """Reject a plan that waits for approval, which ends its run."""
        return await self._api.decided(run_id, "plan/reject", "plan_rejected", revision, {"reason": reason})

    async def edit_plan(self, run_id: str, changes: Mapping[str, Any], revision: int) -> Plan:
        """Change a plan that waits for approval, as it was read in that revision; what comes of it waits too."""
        try:
            path, headers = f"{path_of(run_id)}/plan", {"If-Match": f'"{revision}"'}
            return cast(Plan, await self._api.ask(Asked("PATCH", path, {}, headers, {"json": changes})))
        except Refused as refused:
            if refused.is_repeated and refused.code == "plan_changed":
                plan = await self.plan(run_id)
                if plan["revision"] == revision + 1 and has(plan, changes):
                    return plan
            raise

    async def cancel(self, run_id: str, *, reason: str | None = None) -> Run:
        """Have a run stopped; it may take a moment to end. Cancelled twice it is cancelled once."""
        try:
            return cast(Run, await self._api.post(f"{path_of(run_id)}/cancel", {"reason": reason}))
        except Refused as refused:
            if refused.is_repeated and refused.code == "run_ended":
                run = await self.run(run_id)
                if run["status"] == "cancelled":
                    return run
            raise

    async def retry(
        self, run_id: str, *, only: Literal["failed"] | None = None, idempotency_key: str | None = None
    ) -> Run:
        """A new run of the same job: all of it, or only what failed."""
        return cast(Run, await self._api.begin(f"{path_of(run_id)}/retry", {"json": {"only": only}}, idempotency_key))

    async def resynthesize(
        self, run_id: str, changes: Mapping[str, Any] | None = None, *, idempotency_key: str | None = None
    ) -> Run:
        """A new run that makes the answer anew from the results of an ended one."""
        body = {"json": dict(changes or {})}
        return cast(Run, await self._api.begin(f"{path_of(run_id)}/resynthesize", body, idempotency_key))

    async def fork(self, run_id: str, changes: Mapping[str, Any], *, idempotency_key: str | None = None) -> Run:
        """A new run from a task boundary of an ended one, with what is different about it."""
        return cast(Run, await self._api.begin(f"{path_of(run_id)}/fork", {"json": dict(changes)}, idempotency_key))

    async def artifacts(self, run_id: str) -> list[Artifact]:
        """The files that a run has handed over so far."""
        return await self._api.listed(f"{path_of(run_id)}/artifacts")

    async def artifact(self, run_id: str, name: str) -> bytes:
        """One of them."""
        path = f"{path_of(run_id)}/artifacts/{part(name)}"
        return (await self._connection.send(Asked("GET", path))).content

    async def teams(self) -> list[Team]:
        """Every team, in its newest version."""
        return await self._api.listed("/v1/teams")

    async def team(self, reference: str) -> Team:
        """A team by `name` or `name@version`."""
        return cast(Team, await self._api.get(f"/v1/teams/{part(reference)}"))

    async def tools(self) -> list[Tool]:
        """Every tool that workers may be given."""
        return await self._api.listed("/v1/tools")
