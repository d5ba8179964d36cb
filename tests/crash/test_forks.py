"""A fork that is broken off before its commits: whoever goes on does nothing again that it has taken over."""

from collections import Counter
from pathlib import Path

import pytest

from app.domain.job import Job
from app.domain.keys import DEFAULT_TENANT
from app.domain.origin import RunOrigin
from app.domain.second_looks import results_kept
from app.store.acceptance import NewRun, accept
from app.store.inheritance import Inheritance
from app.store.sources import source_of
from tests.crash.doomed import Zygote
from tests.crash.recovery import survivor_of
from tests.crash.test_matrix import Course, Matrix, check_calls, course_of
from tests.support.effects import Ledger
from tests.support.service import Service, new_run_id, plan_of, report, running_service, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

DEATHS = ("run.started", "plan.created", "task.succeeded", "run.succeeded")
"""The commits before which a process dies; what comes between is like in any run."""
PLAN = plan_of(task("kept"), task("again", needs=["kept"]), final_instruction="In one sentence.")


def answer(seen: SeenRequest) -> Answer:
    """The supervisor answers, workers report."""
    return as_json(synthesis("the answer", "kept", "again") if seen.role == "synthesize" else report("done"))


async def forked(service: Service, run_id: str) -> str:
    """A fork of the run from its second task on; its id."""
    source = await source_of(service.runtime.database, DEFAULT_TENANT, run_id)
    assert source is not None
    run = source.run
    assert run.plan is not None
    inherited = Inheritance(
        RunOrigin(run=run_id, kind="fork"), results_kept(run, run.plan, ["again"]), source.models, run.brief.inputs
    )
    job, fork_id = Job(objective=run.brief.objective), new_run_id()
    new = NewRun(fork_id, job, source.team, run.brief.limits, run.plan, inherited=inherited)
    await accept(service.runtime.database, DEFAULT_TENANT, new)
    return fork_id


def check(course: Course) -> None:
    begun = Counter(event.task_id for event in course.log if event.type == "task.started")
    assert begun == {"again": 1}
    check_calls(course)


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
async def test_a_death_before_a_commit_of_a_fork_changes_nothing_about_how_it_ends(
    database_url: str, stub: StubProvider, zygote: Zygote, tmp_path: Path
) -> None:
    stub.on("*", answer)
    async with running_service(database_url, stub, engine=False) as service:
        ledger = Ledger(tmp_path / "ledger")
        async with survivor_of(service, stub, ledger):
            source = await service.submit(plan=PLAN)
            await service.ended(source)
            since = len(stub.log)
            calm = await course_of(service, stub, await forked(service, source), since, ledger)
        check(calm)
        assert calm.row["status"] == "succeeded"
        matrix = Matrix(service, stub, zygote, tmp_path, lambda: forked(service, source))
        for seq in [event.seq for event in calm.log if event.type in DEATHS]:
            course = await matrix.broken_off(seq, "before")
            assert course.end == calm.end, f"before event {seq}"
            check(course)
