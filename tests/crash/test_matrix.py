"""The matrix: a run that uses everything, broken off at each of its commits, ends as if nothing were.

Deaths are before one commit and after the next, in turn: what is recorded right after one and right before the next is
the same. With CHARGEHAND_WHOLE_MATRIX in the environment (`make soak`) there are both for each.
"""

import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.domain import events as ev
from app.domain.events import Event
from app.domain.keys import DEFAULT_TENANT
from app.store.runs import StoredEvent, events_of
from tests.crash.doomed import Doom, Zygote
from tests.crash.features import ANSWER, EVERYBODY, LIMITS, Features
from tests.crash.recovery import leave_to_others, survivor_of
from tests.support.effects import Ledger, Point
from tests.support.rows import check_rows
from tests.support.service import Service, plan_of, report, running_service, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.support.summary import COUNTED

SHARES = 2
"""Parts of the matrix, so that several processes can work on it."""
IS_WHOLE = bool(os.environ.get("CHARGEHAND_WHOLE_MATRIX"))
FEATURES = {
    "plan.invalid", "task.rejected", "task.escalated", "task.retrying", "task.refined", "task.failed", "task.skipped",
    "task.succeeded", "tool.started", "tool.completed", "llm.failed", "synthesis.rejected", "synthesis.completed",
    "run.waiting", "ruling.rejected", "task.reassigned", "question.asked", "question.expired",
    "task.split", "plan.revised", "gap.found", "conflict.found", "conflict.judged", "conflict.left_open",
    "review.completed",
}  # fmt: skip
"""Types of event that the run must have for the matrix to be worth its name."""
DOOMED_KEY = "sk-doomed"


@dataclass(frozen=True, slots=True)
class Course:
    """One run from its start to its end."""

    row: dict[str, Any]
    log: Sequence[Event]
    requests: Sequence[SeenRequest]
    ledger: Ledger
    recorded: int = 0
    """Events that were recorded when its process died; 0 where none did."""

    @property
    def end(self) -> tuple[Any, ...]:
        """How it ended, and with what."""
        result = json.loads(json.dumps(self.row["result"]).replace(self.row["id"], "run"))  # The links name it.
        return self.row["status"], self.row["stop_reason"], result


async def course_of(service: Service, stub: StubProvider, run_id: str, since: int, ledger: Ledger) -> Course:
    """What became of a run whose first request came after the stub's request number `since`."""
    row = await service.ended(run_id)
    return Course(row, await service.events(run_id), stub.log[since:], ledger)


async def undisturbed(service: Service, stub: StubProvider, ledger: Ledger) -> Course:
    """The run as it goes when nobody dies."""
    stub.on("*", Features())
    since = len(stub.log)
    async with survivor_of(service, stub, ledger):
        run_id = await service.submit(team=EVERYBODY, limits=LIMITS)
        return await course_of(service, stub, run_id, since, ledger)


async def stored(service: Service, run_id: str) -> Sequence[StoredEvent]:
    """The log as readers get it."""
    return await events_of(service.database, DEFAULT_TENANT, run_id, limit=1_000)


def calls_in(log: Sequence[Event]) -> list[ev.LlmCompleted | ev.LlmFailed]:
    """The model calls that the log knows of."""
    return [event.data for event in log if isinstance(event.data, ev.LlmCompleted | ev.LlmFailed)]


def lost_requests(course: Course) -> list[SeenRequest]:
    """Requests of which the log does not know how they ended."""
    known = {call.request_id for call in calls_in(course.log)}
    return [seen for seen in course.requests if f"req_{seen.number:06}" not in known]


def check_calls(course: Course) -> None:
    """What was finished is not asked again, and what was under way at the death at most once."""
    numbers = {f"req_{seen.number:06}": seen for seen in course.requests}
    for event in course.log:
        if isinstance(event.data, ev.LlmCompleted):
            finished = numbers[str(event.data.request_id)]
            again = [s for s in course.requests if s.body_sha256 == finished.body_sha256 and s.number > finished.number]
            assert again == [], f"{finished.role} was asked again after its reply was recorded"
    lost = lost_requests(course)
    assert all(DOOMED_KEY in seen.headers["x-api-key"] for seen in lost), "the survivor lost a call"
    working = [seen for seen in lost if seen.role != "refine"]  # An instruction is rewritten beside what runs.
    assert len(working) <= LIMITS["concurrency"]
    assert max(Counter(seen.body_sha256 for seen in lost).values(), default=0) <= 1
    assert course.row["usage"]["llm_calls"] >= len(course.requests), "a request was not counted"


def check_effects(course: Course) -> None:
    """A mail goes out once, or nobody knows and the model is told; a record is put under one key."""
    mails, records = course.ledger.times("send_mail"), course.ledger.times("put_record")
    ends = {
        event.data.name: event.data.error.code if isinstance(event.data, ev.ToolFailed) else None
        for event in course.log
        if isinstance(event.data, ev.ToolCompleted | ev.ToolFailed) and not event.data.provider
    }
    assert ends["send_mail"] in (None, "tool_outcome_unknown")
    assert mails.total() == 1 or (mails.total() == 0 and ends["send_mail"] == "tool_outcome_unknown")
    assert ends["put_record"] is None
    assert len(records) == 1
    assert records.total() <= 2
    intents = {event.data.key for event in course.log if isinstance(event.data, ev.ToolStarted)}
    assert mails.keys() | records.keys() <= intents


async def test_the_run_of_the_matrix_uses_everything(database_url: str, stub: StubProvider, tmp_path: Path) -> None:
    async with running_service(database_url, stub, engine=False) as service:
        course = await undisturbed(service, stub, Ledger(tmp_path / "ledger"))

    assert (course.row["status"], course.row["result"]["answer"]) == ("succeeded", ANSWER)
    assert [each["name"] for each in course.row["result"]["artifacts"]] == ["notes.md", "notes-2.md", "notes-3.md"]
    assert {event.type for event in course.log} >= FEATURES
    assert {stop for event in course.log for stop in [getattr(event.data, "stop_reason", None)]} >= {
        "max_tokens", "pause_turn", "refusal", "tool_use", "end_turn",
    }  # fmt: skip
    closed = [(gap["task"], gap["redispatched_as"]) for gap in course.row["result"]["gaps"]]
    assert closed == [("hopeless", "hopeless-1"), ("needs-hopeless", "needs-hopeless-1")]
    assert lost_requests(course) == []


@dataclass(frozen=True, slots=True)
class Matrix:
    """What the deaths of a test are done with."""

    service: Service
    stub: StubProvider
    zygote: Zygote
    place: Path
    submit: Callable[[], Awaitable[str]]
    """Has the run accepted that is broken off; its id."""

    async def broken_off(self, seq: int, when: Point) -> Course:
        """The run, with a death before or after the commit of event `seq`."""
        service, ledger = self.service, Ledger(self.place / f"{when}-{seq}.ledger")
        logs, since = str(self.place / "logs"), len(self.stub.log)
        doom = Doom(service.url, self.stub.url, str(ledger.file), logs, seq, when, key=DOOMED_KEY)
        async with self.zygote.doomed(doom):
            run_id = await self.submit()
        read = await stored(service, run_id)
        await leave_to_others(service)
        async with survivor_of(service, self.stub, ledger):
            course = await course_of(service, self.stub, run_id, since, ledger)
        whole = await stored(service, run_id)
        seen = [event.json for event in read]
        assert seen == [event.json for event in whole[: len(seen)]], "what a reader had seen has changed"
        assert [event.seq for event in whole] == list(range(1, len(whole) + 1))
        await check_rows(service.database, run_id)
        return replace(course, recorded=len(read))


def commits_in(log: Sequence[Event]) -> list[int]:
    """The first event of each commit but that which accepts the job: what is recorded together has one time."""
    return [event.seq for before, event in pairwise(log) if event.at != before.at]


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_commit_changes_nothing_about_how_the_run_ends(
    when: Point,
    share: int,
    database_url: str,
    stub: StubProvider,
    zygote: Zygote,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    async with running_service(database_url, stub, engine=False) as service:
        calm = await undisturbed(service, stub, Ledger(tmp_path / "ledger"))

        async def submit() -> str:
            stub.on("*", Features())
            return await service.submit(team=EVERYBODY, limits=LIMITS)

        matrix = Matrix(service, stub, zygote, tmp_path, submit)
        points = commits_in(calm.log)
        if not IS_WHOLE:
            points = points[("before", "after").index(when) :: 2]
        points = points[share::SHARES]
        for seq in points:
            course = await matrix.broken_off(seq, when)
            assert course.recorded < seq if when == "before" else course.recorded >= seq
            assert course.end == calm.end, f"{when} event {seq}"
            check_calls(course)
            check_effects(course)
            record_property(f"{COUNTED}calls repeated after deaths of the crash matrix", len(lost_requests(course)))
        record_property(f"{COUNTED}deaths in the crash matrix", len(points))


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_whose_process_dies_while_it_is_cancelled_ends_cancelled_and_asks_nothing_more(
    when: Point, database_url: str, stub: StubProvider, zygote: Zygote, tmp_path: Path
) -> None:
    stub.on("work", held(as_json(report())))
    async with running_service(database_url, stub, engine=False) as service:

        async def cancelled() -> str:
            asked = len(stub.log)
            run_id = await service.submit(plan=plan_of(task("a"), task("b"), task("c", needs=["a"])))
            await stub.seen(asked + 2)
            assert await service.cancel(run_id) is True
            return run_id

        ledger = Ledger(tmp_path / "ledger")
        async with survivor_of(service, stub, ledger):
            run_id = await cancelled()
            await service.ended(run_id)
        types = [event.type for event in await service.events(run_id)]
        for seq in range(types.index("run.cancel_requested") + 2, len(types) + 1):
            asked = len(stub.log)
            doom = Doom(service.url, stub.url, str(ledger.file), str(tmp_path / "logs"), seq, when, key=DOOMED_KEY)
            async with zygote.doomed(doom):
                run_id = await cancelled()
            await leave_to_others(service)
            async with survivor_of(service, stub, ledger):
                run = await service.ended(run_id)

            assert run["status"] == "cancelled", f"{when} event {seq}"
            assert [stopped["status"] for stopped in run["cancellation"]["tasks"]] == ["cancelled"] * 3
            assert run["usage"]["llm_calls"] == len(stub.log) - asked == 2
            await check_rows(service.database, run_id)
