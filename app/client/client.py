"""The client: what the API offers, as methods."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Self, cast, overload
from urllib.parse import quote as quoted
from uuid import uuid4

import httpx2

from app.client.bodies import File, body_of, has, label
from app.client.connection import Asked, Connection
from app.client.errors import Refused, Unreachable
from app.client.following import Following, OnAway
from app.client.job_shapes import DryRun, Job, Plan, Team, Tool
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

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._connection.close()

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._connection.url

    async def submit(self, job: Job, *, files: Sequence[File] = (), idempotency_key: str | None = None) -> Run:
        """Post a job; its run. Sent again under the same key, also by another process, it is the same run."""
        return cast(Run, await self._begin("/v1/jobs", body_of(job, files), idempotency_key))

    async def quote(self, job: Job, *, files: Sequence[File] = (), idempotency_key: str | None = None) -> DryRun:
        """The plan of a job and what that would take; nothing is executed. Planning is waited for."""
        key, body = idempotency_key or uuid4().hex, body_of(job, files)
        while True:
            found = await self._begin("/v1/jobs", body, key, {"dry_run": "true"}, wait_s=PLANNING_POLL_S)
            if "plan" in found:
                return cast(DryRun, found)

    async def run(self, run_id: str, *, wait_s: int | None = None) -> Run:
        """A run as it is; with `wait_s` once it has ended or waits, after so many seconds (60) at the latest."""
        headers = {} if wait_s is None else {"Prefer": f"wait={wait_s}"}
        return cast(Run, await self._get(_run(run_id), headers=headers))

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
            page = await self._get("/v1/runs", params | {"limit": min(left or PAGE_RUNS, PAGE_RUNS)})
            for run in page["data"]:
                yield run
            if page["next_cursor"] is None:
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
        return Following(self._connection, f"{_run(run_id)}/events", after, patience, params, on_away).told()

    async def plan(self, run_id: str, revision: int | None = None) -> Plan:
        """The newest plan of a run, or an older revision of it."""
        return cast(Plan, await self._get(f"{_run(run_id)}/plan", {} if revision is None else {"revision": revision}))

    async def plan_revisions(self, run_id: str) -> list[dict[str, Any]]:
        """Every revision of the plan, with its reason and its difference to the one before."""
        return await self._listed(f"{_run(run_id)}/plan/revisions")

    async def tasks(self, run_id: str) -> list[Task]:
        """The tasks of a run with every attempt; none before there is a plan."""
        return await self._listed(f"{_run(run_id)}/tasks")

    async def task(self, run_id: str, task_id: str) -> Task:
        """One of them."""
        return cast(Task, await self._get(f"{_run(run_id)}/tasks/{_part(task_id)}"))

    async def questions(self, run_id: str) -> list[Question]:
        """What a run has asked people, and what became of it."""
        return await self._listed(f"{_run(run_id)}/questions")

    async def trace(self, run_id: str, **params: str) -> Trace:
        """The whole execution of a run; `include="content"` has what models were sent, `format="otlp"` is OTLP/JSON."""
        return cast(Trace, await self._get(f"{_run(run_id)}/trace", params))

    async def answer(self, run_id: str, question_id: str, text: str) -> Question:
        """Answer a question of a run."""
        path = f"{_run(run_id)}/questions/{_part(question_id)}/answer"
        try:
            return cast(Question, await self._post(path, {"answer": text}))
        except Refused as refused:
            if refused.is_repeated and refused.code == "question_answered":
                for question in await self.questions(run_id):
                    if question["id"] == question_id and question["answer"] == text.strip():
                        return question
            raise

    async def approve(self, run_id: str, *, revision: int | None = None) -> Run:
        """Have a plan carried out that waits for approval: in this revision, if one is named, and in no other."""
        return await self._decided(run_id, "plan/approve", "plan_approved", revision)

    async def reject(self, run_id: str, *, reason: str | None = None, revision: int | None = None) -> Run:
        """Reject a plan that waits for approval, which ends its run."""
        return await self._decided(run_id, "plan/reject", "plan_rejected", revision, {"reason": reason})

    async def edit_plan(self, run_id: str, changes: Mapping[str, Any], revision: int) -> Plan:
        """Change a plan that waits for approval, as it was read in that revision; what comes of it waits too."""
        try:
            path, headers = f"{_run(run_id)}/plan", {"If-Match": f'"{revision}"'}
            return cast(Plan, await self._ask(Asked("PATCH", path, {}, headers, {"json": changes})))
        except Refused as refused:
            if refused.is_repeated and refused.code == "plan_changed":
                plan = await self.plan(run_id)
                if plan["revision"] == revision + 1 and has(plan, changes):
                    return plan
            raise

    async def cancel(self, run_id: str, *, reason: str | None = None) -> Run:
        """Have a run stopped; it may take a moment to end. Cancelled twice it is cancelled once."""
        try:
            return cast(Run, await self._post(f"{_run(run_id)}/cancel", {"reason": reason}))
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
        return cast(Run, await self._begin(f"{_run(run_id)}/retry", {"json": {"only": only}}, idempotency_key))

    async def resynthesize(
        self, run_id: str, changes: Mapping[str, Any] | None = None, *, idempotency_key: str | None = None
    ) -> Run:
        """A new run that makes the answer anew from the results of an ended one."""
        body = {"json": dict(changes or {})}
        return cast(Run, await self._begin(f"{_run(run_id)}/resynthesize", body, idempotency_key))

    async def fork(self, run_id: str, changes: Mapping[str, Any], *, idempotency_key: str | None = None) -> Run:
        """A new run from a task boundary of an ended one, with what is different about it."""
        return cast(Run, await self._begin(f"{_run(run_id)}/fork", {"json": dict(changes)}, idempotency_key))

    async def artifacts(self, run_id: str) -> list[Artifact]:
        """The files that a run has handed over so far."""
        return await self._listed(f"{_run(run_id)}/artifacts")

    async def artifact(self, run_id: str, name: str) -> bytes:
        """One of them."""
        path = f"{_run(run_id)}/artifacts/{_part(name)}"
        return (await self._connection.send(Asked("GET", path))).content

    async def teams(self) -> list[Team]:
        """Every team, in its newest version."""
        return await self._listed("/v1/teams")

    async def team(self, reference: str) -> Team:
        """A team by `name` or `name@version`."""
        return cast(Team, await self._get(f"/v1/teams/{_part(reference)}"))

    async def tools(self) -> list[Tool]:
        """Every tool that workers may be given."""
        return await self._listed("/v1/tools")

    async def _get(
        self, path: str, params: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        return await self._ask(Asked("GET", path, params or {}, headers or {}))

    async def _listed(self, path: str) -> list[Any]:
        return cast("list[Any]", (await self._get(path))["data"])

    async def _post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        told = {name: value for name, value in body.items() if value is not None}
        return await self._ask(Asked("POST", path, {}, headers or {}, {"json": told}))

    async def _begin(
        self,
        path: str,
        content: Mapping[str, Any],
        key: str | None,
        params: Mapping[str, str] | None = None,
        wait_s: int | None = None,
    ) -> Any:
        """What begins a run, under a key by which a repetition begins no other."""
        headers = {"Idempotency-Key": key or uuid4().hex}
        if wait_s is not None:
            headers["Prefer"] = f"wait={wait_s}"
        return await self._ask(Asked("POST", path, params or {}, headers, content))

    async def _decided(
        self, run_id: str, what: str, done: str, revision: int | None, body: Mapping[str, Any] | None = None
    ) -> Run:
        """A decision on a plan. `done` is the code of the refusal when it has been made already."""
        headers = {} if revision is None else {"If-Match": f'"{revision}"'}
        try:
            return cast(Run, await self._post(f"{_run(run_id)}/{what}", body or {}, headers))
        except Refused as refused:
            if refused.is_repeated and refused.code == done:
                return await self.run(run_id)
            raise

    async def _ask(self, asked: Asked) -> Any:
        answer = await self._connection.send(asked)
        try:
            return answer.json()
        except ValueError:
            raise Unreachable(self.url, "what answers there is no service of this API") from None


def _run(run_id: str) -> str:
    return f"/v1/runs/{_part(run_id)}"


def _part(name: str) -> str:
    """A name as a part of a path."""
    return quoted(name, safe="@")
