"""Plays the engine: claims runs and writes what a test says has happened, through the true journal."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from app.domain import events as ev
from app.domain.coverage import Coverage
from app.domain.events import Entry
from app.domain.plan import Plan, Task, validated
from app.domain.results import Problem, Result
from app.domain.retries import Patience
from app.domain.usage import Usage
from app.store.database import Database
from app.store.journal import Journal, RunLog
from app.store.ownership import Claimant, claim_if_free

OWNER = "player"
SPENT = Usage(llm_calls=1, input_tokens=100, output_tokens=10)


class Play:
    """One run in the hands of a test."""

    log: RunLog

    def __init__(self, player: "Player", run_id: str) -> None:
        self._player = player
        self.run_id = run_id

    async def record(self, *entries: Entry) -> None:
        """Write facts, all in one commit."""
        assert await self.log.append(*entries)

    async def start(self) -> None:
        """The run is claimed, which starts it."""
        self.log = await self._player.claim(self.run_id)

    async def plan(self, *names: str) -> None:
        """The supervisor was asked, and has planned tasks that depend on nothing."""
        tasks = tuple(Task(id=name, title=name, instruction=f"Do {name}.", worker="writer") for name in names)
        plan = validated(Plan(goal="the goal", tasks=tasks), ["writer"], 100)
        written = plan.model_dump_json(include={"goal", "tasks"})
        await self.record(self.reply("plan", text=written), Entry(ev.PlanCreated.of(plan)))

    async def start_task(self, name: str, attempt: int = 1) -> None:
        """A worker has begun."""
        started = ev.TaskStarted(worker="writer", model="stub", instruction=f"Do {name}.")
        await self.record(Entry(started, name, attempt))

    async def finish_task(self, name: str, attempt: int = 1) -> None:
        """The worker has replied, and delivered."""
        delivered = Entry(ev.TaskSucceeded(summary="done", tool_calls=0), name, attempt)
        await self.record(self.reply("work", name, attempt, text='{"summary": "done"}'), delivered)

    async def fail_task(self, name: str, attempt: int = 1, *, retry: bool) -> None:
        """The attempt has failed: for good, or to be tried again."""
        problem = Problem(code="timeout", message="too slow")
        if retry:
            now = datetime.now(UTC)
            retrying = ev.TaskRetrying(error=problem, next_attempt=attempt + 1, not_before=now, refine=False)
            await self.record(Entry(retrying, name, attempt))
        else:
            await self.record(Entry(ev.TaskFailed(error=problem), name, attempt))

    async def synthesize(self) -> None:
        """The supervisor has put the answer together."""
        answered = Entry(ev.SynthesisCompleted(answer="the answer", confidence=0.9))
        written = '{"answer": "the answer", "confidence": 0.9}'
        await self.record(self.reply("synthesize", text=written), answered)

    async def succeed(self) -> None:
        """The run has ended well."""
        result = Result(answer="the answer", coverage=Coverage(required=1, delivered=1))
        await self.record(Entry(ev.RunSucceeded(stop_reason="completed", result=result)))

    async def fail(self) -> None:
        """The run has failed."""
        problem = Problem(code="provider_auth", message="the key is not accepted")
        await self.record(Entry(ev.RunFailed(stop_reason="provider_auth", error=problem)))

    async def chatter(self, count: int, characters: int = 10) -> None:
        """So many failed model calls, each with a message of so many characters."""
        failed = ev.LlmFailed(
            purpose="plan",
            model="stub",
            usage=Usage(llm_calls=1),
            duration_ms=1,
            error=Problem(code="rate_limited", message="x" * characters),
            retry_at=datetime.now(UTC),
        )
        await self.record(*[Entry(failed)] * count)

    async def whole(self) -> None:
        """All of a small run, in 10 events, its own first one included."""
        await self.start()
        await self.plan("t1")
        await self.start_task("t1")
        await self.finish_task("t1")
        await self.synthesize()
        await self.succeed()

    def reply(
        self, purpose: ev.Purpose, task_id: str | None = None, attempt: int | None = None, *, text: str = "words"
    ) -> Entry:
        """A model has replied."""
        replied = ev.LlmCompleted(
            purpose=purpose,
            model="stub",
            usage=SPENT,
            duration_ms=5,
            opening=ev.Opening(system="system", message="message"),
            stop_reason="end_turn",
            content=[{"type": "text", "text": text}],
        )
        return Entry(replied, task_id, attempt)


class Player:
    """An engine without a will of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.journal = Journal(database, OWNER)

    def play(self, run_id: str) -> Play:
        """The run, which nobody has claimed yet."""
        return Play(self, run_id)

    async def claim(self, run_id: str) -> RunLog:
        """Claim the run."""
        claim = await claim_if_free(self._database, run_id, Claimant(OWNER, 600, Patience(), {}))
        assert claim is not None
        return self.journal.open(claim.snapshot, claim.epoch, lambda: None)


@asynccontextmanager
async def playing(database: Database) -> AsyncIterator[Player]:
    """A player for as long as the block."""
    player = Player(database)
    committing = asyncio.create_task(player.journal.commit_forever())
    try:
        yield player
    finally:
        committing.cancel()
        await asyncio.wait({committing})
