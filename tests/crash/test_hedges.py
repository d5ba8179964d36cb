"""The matrix of a hedge: two attempts side by side, broken off before and after each commit, end as if nothing were."""

from collections import Counter
from pathlib import Path

import pytest

from app.domain.team import Team
from app.domain.team_rules import Stragglers
from app.domain.worker import Worker
from tests.crash.doomed import Zygote
from tests.crash.recovery import survivor_of
from tests.crash.test_matrix import Course, Matrix, commits_in, course_of, lost_requests
from tests.support.effects import Ledger, Point
from tests.support.service import plan_of, report, running_service, synthesis, task
from tests.support.stub_answers import Answer, as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

PAIR = Team(
    name="pair",
    workers=(
        Worker(name="junior", description="Tries.", instructions="Try.", fallback="senior"),
        Worker(name="senior", description="Knows.", instructions="Do it."),
    ),
    stragglers=Stragglers(policy="hedge", after_s=0.4),
)
PLAN = plan_of(task("quick", "junior"), task("slow", "junior"))


def answer(seen: SeenRequest) -> Answer:
    """By what was said: the junior hangs over the slow task, and nobody else over anything."""
    match seen.role:
        case "plan":
            return as_json(PLAN)
        case "synthesize":
            return as_json(synthesis("the answer", "quick", "slow"))
        case "work:junior" if "Do slow." in seen.body["messages"][0]["content"][0]["text"]:
            return held(as_json(report("never")), "never")
        case _:
            return as_json(report("done"))


def check(course: Course) -> None:
    begun = Counter((event.task_id, event.attempt) for event in course.log if event.type == "task.started")
    assert begun == {("quick", 1): 1, ("slow", 1): 1, ("slow", 2): 1}
    ended = [event.type for event in course.log if event.task_id == "slow" and event.type.startswith("attempt.")]
    assert ended == ["attempt.cancelled"]
    assert course.row["usage"]["llm_calls"] >= len(course.requests), "a request was not counted"
    hung = [seen for seen in course.requests if seen.role == "work:junior" and seen.outcome == "client_disconnected"]
    assert len(hung) >= 1


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_at_any_commit_of_a_hedge_changes_nothing_about_how_the_run_ends(
    when: Point, database_url: str, stub: StubProvider, zygote: Zygote, tmp_path: Path
) -> None:
    stub.on("*", answer)
    async with running_service(database_url, stub, engine=False) as service:
        ledger = Ledger(tmp_path / "ledger")
        async with survivor_of(service, stub, ledger):
            calm = await course_of(service, stub, await service.submit(team=PAIR), 0, ledger)
        check(calm)
        assert calm.row["status"] == "succeeded"
        assert calm.row["result"]["coverage"]["substituted"] == ["slow"]
        matrix = Matrix(service, stub, zygote, tmp_path, lambda: service.submit(team=PAIR))
        for seq in commits_in(calm.log):
            course = await matrix.broken_off(seq, when)
            assert course.end == calm.end, f"{when} event {seq}"
            check(course)
            lost = [seen for seen in lost_requests(course) if seen.outcome != "client_disconnected"]
            assert len(lost) <= 2
