"""The matrix of an approval: a plan waits, is edited and approved, broken off at each commit of its engine."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from app.domain.events import Event
from app.domain.keys import DEFAULT_TENANT
from app.domain.plan import Task
from app.store.plans import Addressed, approve_plan, edit_plan
from tests.crash.doomed import Doom, Zygote
from tests.crash.recovery import leave_to_others, survivor_of
from tests.crash.test_matrix import DOOMED_KEY, Course, course_of, lost_requests, stored
from tests.support.effects import Ledger, Point
from tests.support.rows import check_rows
from tests.support.service import Service, plan_of, report, running_service, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider

AROUND = ("plan.created", "plan.approval_requested", "run.waiting", "run.resumed", "task.started")
"""What an engine records around an approval; the rest of such a run is that of any other."""


async def decide(service: Service, run_id: str) -> None:
    """A client edits the plan once its run is parked, and approves what it has made of it."""
    await service.until(run_id, lambda row: row["waiting_for"] == "plan_approval")
    database, queue, about = service.database, service.runtime.queue, Addressed(DEFAULT_TENANT, run_id, {1})
    changes = {"tasks": (Task(id="b", instruction="Do b.", worker="writer"),)}
    assert await edit_plan(database, queue, about, changes, reason="b will do", pricing=None)
    assert await approve_plan(database, queue, Addressed(DEFAULT_TENANT, run_id, {2}))


def check(course: Course) -> None:
    told = Counter(event.type for event in course.log)
    assert [told[f"plan.{what}"] for what in ("created", "approval_requested", "edited", "approved")] == [1, 1, 1, 1]
    assert [(event.task_id, event.attempt) for event in course.log if event.type == "task.started"] == [("b", 1)]
    assert course.row["usage"]["llm_calls"] >= len(course.requests), "a request was not counted"


def commits_around(log: Sequence[Event]) -> list[int]:
    """The first event of each commit around the approval: what is recorded together has one time."""
    return [event.seq for before, event in pairwise(log) if event.at != before.at and event.type in AROUND]


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_around_an_approval_neither_loses_nor_repeats_an_approval(
    when: Point, database_url: str, stub: StubProvider, zygote: Zygote, tmp_path: Path
) -> None:
    stub.on("work", as_json(report("done")))
    plan = plan_of(task("a"), task("c"))
    async with running_service(database_url, stub, engine=False) as service:
        ledger = Ledger(tmp_path / "ledger")
        async with survivor_of(service, stub, ledger):
            run_id = await service.submit(plan=plan, approval="plan")
            await decide(service, run_id)
            calm = await course_of(service, stub, run_id, 0, ledger)
        check(calm)
        assert calm.row["status"] == "succeeded"
        for seq in commits_around(calm.log):
            since = len(stub.log)
            doom = Doom(service.url, stub.url, str(ledger.file), str(tmp_path / "logs"), seq, when, key=DOOMED_KEY)
            async with zygote.doomed(doom):
                run_id = await service.submit(plan=plan, approval="plan")
                deciding = asyncio.create_task(decide(service, run_id))
            read = await stored(service, run_id)
            await leave_to_others(service)
            async with survivor_of(service, stub, ledger):
                await deciding
                course = await course_of(service, stub, run_id, since, ledger)
            assert course.end == calm.end, f"{when} event {seq}"
            check(course)
            assert len(lost_requests(course)) <= 1
            whole = await stored(service, run_id)
            assert [event.json for event in read] == [event.json for event in whole[: len(read)]]
            await check_rows(service.database, run_id)
