"""A service for tests: the true engine and client on a test database, against the stub provider."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils.compat import uuid7

from app.domain.events import Event
from app.domain.job import Job, with_approval
from app.domain.keys import DEFAULT_TENANT
from app.domain.plan import validated
from app.domain.policy.breakers import stance
from app.domain.retries import Patience
from app.domain.snapshot import Snapshot
from app.domain.team import Team
from app.domain.worker import Worker
from app.engine.engine import Engine, running_engine
from app.runtime import Runtime, open_runtime
from app.settings import Settings
from app.store.acceptance import NewRun, accept
from app.store.connections import ImpatientConnection
from app.store.database import Database
from app.store.interventions import request_cancel
from app.store.runs import find_run
from app.store.teams import StoredTeam, put_team, team_named
from app.tools.tool import Tool
from app.tracing.pipeline import Tracing
from tests.support.rows import events_in, folded_run
from tests.support.stub_provider import StubProvider
from tests.support.waiting import until

FEW_TEAMS = Path(__file__).parent / "teams"
"""Some of the built-in teams: to store all of them would take longer than most tests."""
CREW = Team(
    name="crew",
    workers=(
        Worker(name="researcher", description="Finds things out.", instructions="Find out.", tools=("calculate",)),
        Worker(name="analyst", description="Works things out.", instructions="Work out.", tools=("read_input",)),
        Worker(name="writer", description="Writes things down.", instructions="Write down."),
    ),
)
"""A team whose workers have quick tools."""

FAST: dict[str, Any] = {
    "call_attempts": 3,
    "retry_base_s": 0.02,
    "lease_seconds": 2,
    "poll_seconds": 0.2,
    "drain_seconds": 2,
    "heartbeat_seconds": 1,
}
"""Settings under which a test need not wait."""


def settings_for(stub: StubProvider, **changes: Any) -> Settings:
    """Settings of a service whose model is the stub, whatever the environment says."""
    values: dict[str, Any] = {"anthropic_api_key": "sk-test", "anthropic_base_url": stub.url, "model": "claude"}
    return Settings(**values | FAST | changes)


def new_run_id() -> str:
    """An id for `submit`, for those who must know it before."""
    return f"run_{uuid7().hex}"


class CutDatabase(Database):
    """A database whose network can be cut: nothing can be read or written through it then."""

    cut = False
    next_error: Exception | None = None
    """Raised by the next use alone."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """As ever, while the network holds."""
        self._fail_as_told()
        async with super().transaction() as connection:
            yield connection

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[AsyncConnection]:
        """As ever, while the network holds."""
        self._fail_as_told()
        async with super().statement() as connection:
            yield connection

    @asynccontextmanager
    async def driver(self) -> AsyncIterator[ImpatientConnection]:
        """As ever, while the network holds."""
        self._fail_as_told()
        async with super().driver() as connection:
            yield connection

    def _fail_as_told(self) -> None:
        if self.cut:
            raise OSError("the network is cut")
        error, self.next_error = self.next_error, None
        if error is not None:
            raise error


@dataclass(slots=True)
class Service:
    """A running service."""

    url: str
    runtime: Runtime
    database: CutDatabase
    engine: Engine | None
    teams: dict[str, StoredTeam] = field(default_factory=dict)

    def offer(self, *tools: Tool) -> None:
        """Have further tools, which a test's own workers may name."""
        self.runtime.tools = {**self.runtime.tools, **{tool.name: tool for tool in tools}}

    async def submit(
        self, objective: str = "Find out.", team: Team = CREW, run_id: str | None = None, **job: Any
    ) -> str:
        """Post a job for a team, which is stored first; the run's id."""
        stored = await self.stored(team)
        body = Job.model_validate({"objective": objective, "team": team.name} | job)
        limits = body.limits.applied_to(team.limits)
        plan = body.plan and validated(body.plan, [worker.name for worker in team.workers], limits.tasks)
        run_id = run_id or new_run_id()
        limits = with_approval(limits) if body.approval == "plan" else limits
        new = NewRun(run_id, body, stored, limits, plan, "client")
        await accept(self.runtime.database, DEFAULT_TENANT, new)
        return run_id

    async def stored(self, team: Team) -> StoredTeam:
        """The team as it is stored, for jobs and for workers that are teams."""
        if team.digest not in self.teams:
            await put_team(self.runtime.database, DEFAULT_TENANT, team)
            stored = await team_named(self.runtime.database, DEFAULT_TENANT, team.name)
            assert stored is not None
            self.teams[team.digest] = stored
        return self.teams[team.digest]

    async def cancel(self, run_id: str) -> bool | None:
        """Ask for the run's end."""
        runtime = self.runtime
        return await request_cancel(runtime.database, runtime.queue, DEFAULT_TENANT, run_id, reason="changed my mind")

    async def until(
        self, run_id: str, holds: Callable[[dict[str, Any]], bool], timeout_s: float = 20
    ) -> dict[str, Any]:
        """The run's row, once `holds` says so of it."""
        news = asyncio.Event()
        async with asyncio.timeout(timeout_s):
            with self.runtime.wakeups.listening(run_id, lambda _: news.set()):
                while True:
                    news.clear()
                    row = await find_run(self.runtime.database, DEFAULT_TENANT, run_id)
                    assert row is not None
                    if holds(row):
                        return row
                    await _heard(news)

    async def ended(self, run_id: str, timeout_s: float = 20) -> dict[str, Any]:
        """The run's row at its end."""
        return await self.until(run_id, lambda row: row["finished_at"] is not None, timeout_s)

    async def events(self, run_id: str) -> list[Event]:
        """The run's log."""
        return await events_in(self.runtime.database, run_id)

    async def until_logged(self, run_id: str, type_: str, count: int = 1, timeout_s: float = 20) -> list[Event]:
        """The run's log, once it holds so many events of a type."""
        found: list[Event] = []
        news = asyncio.Event()
        async with asyncio.timeout(timeout_s):
            with self.runtime.wakeups.listening(run_id, lambda _: news.set()):
                while sum(event.type == type_ for event in found) < count:
                    news.clear()
                    found = await self.events(run_id)
                    if sum(event.type == type_ for event in found) < count:
                        await _heard(news)
        return found

    async def until_breaker(self, name: str, state: str | None, timeout_s: float = 10) -> None:
        """Return once this process knows that a breaker has a state; None: nothing speaks against what is behind it."""

        def known() -> bool:
            found = self.runtime.breakers.find(DEFAULT_TENANT, name)
            return (found and found.state) == state

        await until(known, timeout_s)

    async def until_breaker_is_due(self, name: str, timeout_s: float = 10) -> None:
        """Return once a call would be the probe of a breaker."""
        await until(
            lambda: stance(self.runtime.breakers.find(DEFAULT_TENANT, name), datetime.now(UTC)) == "probe", timeout_s
        )

    async def folded(self, run_id: str) -> Snapshot:
        """What the log says of the run."""
        snapshot, _ = await folded_run(self.runtime.database, run_id)
        return snapshot


def failed_in(opening: str) -> list[str]:
    """The tasks of which a supervisor is told that they delivered nothing."""
    return re.findall(r'<failed>\s*{"task": "([^"]+)"', opening)


async def _heard(news: asyncio.Event) -> None:
    """Wait for a wake-up, or for the time to look again without one."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.5):
            await news.wait()


@asynccontextmanager
async def running_service(
    url: str,
    stub: StubProvider,
    *,
    engine: bool = True,
    tools: Iterable[Tool] = (),
    park_after_s: float = Patience().park_after_s,
    built_in: Path = FEW_TEAMS,
    tracing: Tracing | None = None,
    **changes: Any,
) -> AsyncIterator[Service]:
    """A service on the database at `url`, with an engine unless told otherwise, and with `tools` beside its own.

    `changes` are settings; `park_after_s` is none, since no operator would tune it.
    `built_in` is the folder of the teams that it has; `tracing` takes its spans.
    """
    settings = settings_for(stub, **changes)
    async with open_runtime(settings, url, built_in=built_in, tracing=tracing) as runtime:
        runtime.patience = replace(runtime.patience, park_after_s=park_after_s)
        await runtime.database.close()
        runtime.database = database = CutDatabase(url, pool=settings.database_pool, witness=runtime.database.witness)
        await asyncio.wait_for(runtime.wakeups.connected.wait(), 10)
        service = Service(url, runtime, database, None)
        if tools:
            service.offer(*tools)
        if not engine:
            yield service
            return
        async with running_engine(runtime) as service.engine:
            yield service


def plan_of(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A plan as a supervisor would write it."""
    return {"goal": "the goal", "final_instruction": "", "tasks": list(tasks)} | fields


def task(name: str, worker: str = "writer", needs: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
    """A task of such a plan."""
    return {
        "id": name,
        "title": f"Task {name}",
        "instruction": f"Do {name}.",
        "context": "",
        "success_criterion": "It is done.",
        "worker": worker,
        "depends_on": list(needs),
        "required": True,
    } | fields


def report(text: str = "done", **fields: Any) -> dict[str, Any]:
    """A worker's result."""
    return {"summary": text, "text": text, "confidence": 0.9, "sources": [], "escalation": None} | fields


def synthesis(answer: str = "the answer", *tasks: str, without: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
    """A supervisor's answer that rests on `tasks`, and says that it goes `without` others."""
    statements = [{"text": answer, "tasks": list(tasks)}] if tasks else []
    gaps = [{"task": name, "impact": "Something is missing."} for name in without]
    return {"answer": answer, "confidence": 0.8, "statements": statements, "conflicts": [], "gaps": gaps} | fields
