"""The public HTTP API, as the harness uses it: jobs, dry runs and forks, followed to their ends."""

import asyncio
from collections.abc import Awaitable, Mapping
from time import monotonic
from typing import Any, cast

from app.client import Client as Service
from app.client import Job, Refused, Run, ServiceError, Unreachable
from app.domain.errors import ChargehandError
from app.domain.states import TERMINAL_RUN
from app.evaluation.evidence import Evidence, Resource

FIRST_PATIENCE_S = 1.0
"""How long a service is tried before anything runs: somebody is waiting there, and may have mistyped the address."""
POLL_S = 20
"""How long one request waits for the end of a run."""
_FOR_PEOPLE = {"answer", "plan_approval"}
"""What a run waits for that nobody gives here."""


class ServiceUnusable(ChargehandError):
    """The service cannot be used; the message is one line for the operator."""


class NoRun(Exception):
    """The run of a case could not be had; the message says why."""


class Client:
    """What is asked of a service."""

    def __init__(self, service: Service, first: Service, *, pause_s: float = 0.5) -> None:
        self._service = service
        self._first = first
        """The same with less patience, for what is asked before anything runs."""
        self._pause_s = pause_s

    async def team(self, reference: str) -> Resource | None:
        """A team by `name` or `name@version`; None when there is none. Raises `ServiceUnusable`."""
        try:
            return cast(Resource, await self._first.team(reference))
        except ServiceError as error:
            if isinstance(error, Refused) and error.code == "team_not_found":
                return None
            raise ServiceUnusable(f"cannot use the service at {self._first.url}: {_why(error)}") from None

    async def planned(self, job: Mapping[str, Any], wait_s: float) -> Resource:
        """The run of a job that is only planned, at its end. Raises `NoRun`."""
        return await self._ended(self._service.submit(cast(Job, job), dry_run=True), wait_s)

    async def done(self, job: Mapping[str, Any], wait_s: float) -> Resource:
        """The run of a job, at its end. Raises `NoRun`."""
        return await self._ended(self._service.submit(cast(Job, job)), wait_s)

    async def forked(self, run: Resource, models: Mapping[str, str], wait_s: float) -> Resource:
        """A run that carries the plan of an ended one out with other models, at its end. Raises `NoRun`."""
        return await self._ended(self._service.fork(run["id"], {"models": dict(models)}), wait_s)

    async def evidence(self, run: Resource, planning: Resource | None = None) -> Evidence:
        """What there is to see of a run that has ended. Raises `NoRun`."""
        service, run_id = self._service, run["id"]
        has_plan = run["plan_revision"] is not None
        has_worked = has_plan and not run["limits"].get("dry_run")
        first_call = {"types": "llm.completed", "limit": 1}
        try:
            plan, tasks, calls = await asyncio.gather(
                service.plan(run_id) if has_plan else _nothing(),
                service.tasks(run_id) if has_worked else _nothing(),
                service.event_page((planning or run)["id"], **first_call),
            )
        except ServiceError as error:
            raise NoRun(_why(error)) from None
        return Evidence(run, plan, tasks or (), calls[0]["data"]["model"] if calls else None, planning)

    async def _ended(self, begun: Awaitable[Run], wait_s: float) -> Resource:
        deadline = monotonic() + wait_s
        try:
            run = await begun
            while run["status"] not in TERMINAL_RUN:
                left = deadline - monotonic()
                if run["waiting_for"] in _FOR_PEOPLE:
                    await self._cancelled(run["id"])
                    raise NoRun(f"{run['id']} waits for {run['waiting_for']}, which nobody gives here")
                if left <= 0:
                    await self._cancelled(run["id"])
                    raise NoRun(f"{run['id']} has not ended within {wait_s:g} s")
                if run["status"] == "waiting":
                    await asyncio.sleep(self._pause_s)
                run = await self._service.run(run["id"], wait_s=max(1, min(POLL_S, int(left))))
        except ServiceError as error:
            raise NoRun(_why(error)) from None
        return cast(Resource, run)

    async def _cancelled(self, run_id: str) -> None:
        """Have a run stopped that nobody waits for any more; one that has just ended will not mind."""
        try:
            await self._service.cancel(run_id)
        except Refused:
            return


async def _nothing() -> None:
    return None


def _why(error: ServiceError) -> str:
    """Why nothing came of a request, in a line."""
    if isinstance(error, Refused):
        return f"HTTP {error.status}: {error}"
    return error.reason if isinstance(error, Unreachable) else str(error)
