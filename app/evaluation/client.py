"""The public HTTP API, as the harness uses it: jobs, dry runs and forks, followed to their ends."""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any
from uuid import uuid4

import httpx2

from app.domain.errors import ChargehandError
from app.domain.states import TERMINAL_RUN
from app.evaluation.evidence import Evidence, Resource

TRIES = 5
"""How often a request is sent while the service cannot be reached, or asks for patience."""
FIRST_TRIES = 2
"""The same for what is asked before anything runs: somebody is waiting there, and may have mistyped the address."""
PAUSE_S = 0.5
LONGEST_PAUSE_S = 10.0
POLL_S = 20
"""How long one request waits for the end of a run."""
REQUEST_S = 90.0
_BUSY = {429, 503}
_FOR_PEOPLE = {"answer", "plan_approval"}
"""What a run waits for that nobody gives here."""


class ServiceUnusable(ChargehandError):
    """The service cannot be used; the message is one line for the operator."""


class NoRun(Exception):
    """The run of a case could not be had; the message says why."""


class Client:
    """What is asked of a service."""

    def __init__(self, http: httpx2.AsyncClient, *, pause_s: float = PAUSE_S) -> None:
        self._http = http
        self._pause_s = pause_s

    async def team(self, reference: str) -> Resource | None:
        """A team by `name` or `name@version`; None when there is none. Raises `ServiceUnusable`."""
        try:
            answer = await self._sent("GET", f"/v1/teams/{reference}", tries=FIRST_TRIES)
            return None if answer.status_code == httpx2.codes.NOT_FOUND else _object(answer)
        except NoRun as error:
            raise ServiceUnusable(f"cannot use the service at {self._http.base_url}: {error}") from None

    async def planned(self, job: Mapping[str, Any], wait_s: float) -> Resource:
        """The run of a job that is only planned, at its end. Raises `NoRun`."""
        return await self._begun("/v1/jobs?dry_run=true", job, wait_s)

    async def done(self, job: Mapping[str, Any], wait_s: float) -> Resource:
        """The run of a job, at its end. Raises `NoRun`."""
        return await self._begun("/v1/jobs", job, wait_s)

    async def forked(self, run: Resource, models: Mapping[str, str], wait_s: float) -> Resource:
        """A run that carries the plan of an ended one out with other models, at its end. Raises `NoRun`."""
        return await self._begun(f"/v1/runs/{run['id']}/fork", {"models": dict(models)}, wait_s)

    async def evidence(self, run: Resource, planning: Resource | None = None) -> Evidence:
        """What there is to see of a run that has ended. Raises `NoRun`."""
        path = f"/v1/runs/{run['id']}"
        first = f"/v1/runs/{(planning or run)['id']}"
        has_plan = run["plan_revision"] is not None
        has_worked = has_plan and not run["limits"].get("dry_run")
        plan, tasks, calls = await asyncio.gather(
            self._found(f"{path}/plan" if has_plan else None),
            self._found(f"{path}/tasks" if has_worked else None),
            self._found(f"{first}/events?types=llm.completed&limit=1"),
        )
        model = calls["data"][0]["data"]["model"] if calls and calls["data"] else None
        return Evidence(run, plan, tasks["data"] if tasks else (), model, planning)

    async def _found(self, path: str | None) -> Resource | None:
        return None if path is None else _object(await self._sent("GET", path))

    async def _begun(self, path: str, body: Mapping[str, Any], wait_s: float) -> Resource:
        deadline = monotonic() + wait_s
        # Sent twice under one key it is still one run.
        headers = {"Idempotency-Key": f"eval-{uuid4().hex}", "Prefer": f"wait={_patience(wait_s)}"}
        answer = await self._sent("POST", path, json=body, headers=headers)
        if "location" not in answer.headers:
            raise NoRun(_refusal(answer))
        # The answer to a dry run is its plan, or why there is none: its run is read where the answer says it is.
        return await self._ended(answer.headers["location"], deadline, wait_s)

    async def _ended(self, path: str, deadline: float, wait_s: float) -> Resource:
        run = _object(await self._sent("GET", path))
        while run["status"] not in TERMINAL_RUN:
            left = deadline - monotonic()
            if run["waiting_for"] in _FOR_PEOPLE:
                await self._cancelled(path)
                raise NoRun(f"{run['id']} waits for {run['waiting_for']}, which nobody gives here")
            if left <= 0:
                await self._cancelled(path)
                raise NoRun(f"{run['id']} has not ended within {wait_s:g} s")
            if run["status"] == "waiting":
                await asyncio.sleep(self._pause_s)
            run = _object(await self._sent("GET", path, headers={"Prefer": f"wait={_patience(left)}"}))
        return run

    async def _cancelled(self, path: str) -> None:
        """Have a run stopped that nobody waits for any more; one that has just ended will not mind."""
        await self._sent("POST", f"{path}/cancel", json={})

    async def _sent(self, method: str, path: str, *, tries: int = TRIES, **content: Any) -> httpx2.Response:
        """The answer to a request. Raises `NoRun` where none could be had."""
        pause_s, problem = self._pause_s, ""
        for left in reversed(range(tries)):
            try:
                answer = await self._http.request(method, path, **content)
            except (httpx2.TransportError, httpx2.InvalidURL) as error:
                problem = str(error) or type(error).__name__
            else:
                if answer.status_code not in _BUSY:
                    return answer
                problem, pause_s = _refusal(answer), max(pause_s, _asked_for(answer))
            if left:
                await asyncio.sleep(min(pause_s, LONGEST_PAUSE_S))
                pause_s *= 2
        raise NoRun(problem)


def _patience(left_s: float) -> int:
    return max(1, min(POLL_S, int(left_s)))


def _asked_for(answer: httpx2.Response) -> float:
    asked = answer.headers.get("retry-after", "")
    return float(asked) if asked.isdecimal() else 0.0


def _object(answer: httpx2.Response) -> Resource:
    """The object that was answered. Raises `NoRun` for a refusal, and for what is no object."""
    if answer.is_success:
        try:
            found = answer.json()
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
    raise NoRun(_refusal(answer))


def _refusal(answer: httpx2.Response) -> str:
    """Why a request was refused, in a line."""
    try:
        problem = answer.json()
        errors = [f"{each['pointer']}: {each['detail']}" for each in problem.get("errors", ())]
        told = "; ".join([f"{problem['code']}: {problem['detail']}", *errors])
    except (ValueError, KeyError, TypeError, AttributeError):
        told = "no answer of this API"
    return " ".join(f"HTTP {answer.status_code}: {told}".split())
