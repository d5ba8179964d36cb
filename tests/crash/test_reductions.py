"""The matrix of a tree: a process dies around the commits in which groups of results are put together."""

from collections import Counter
from pathlib import Path

import pytest

from tests.crash.doomed import Zygote
from tests.crash.recovery import survivor_of
from tests.crash.test_matrix import Course, Matrix, course_of, lost_requests
from tests.engine.test_reductions import opening_of, reduction, tasks_in
from tests.support.effects import Ledger, Point
from tests.support.service import plan_of, report, running_service, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

PLAN = plan_of(task("a"), task("b"), task("c"), strategy="reduce")
LONG = report("so it is. " * 9_000, summary="done")
"""Two of these have room in one request, and three have not."""
AROUND = ("reduction.completed", "reduction.rejected", "synthesis.completed")


def answer(seen: SeenRequest) -> Answer:
    """By what was said: the group with c takes a second try."""
    match seen.role:
        case "reduce" if "c" in tasks_in(seen) and len(seen.body["messages"]) == 1:
            return as_json(reduction("nobody"))
        case "reduce":
            return as_json(reduction(*tasks_in(seen)))
        case "synthesize":
            assert opening_of(seen).count("<reduction>") == 2
            return as_json(synthesis("All are done.", "a", "b", "c"))
        case _:
            return as_json(LONG)


def check(course: Course) -> None:
    told = Counter(event.type for event in course.log)
    kinds = ("reduction.completed", "reduction.rejected", "reduction.skipped", "synthesis.completed")
    assert [told[kind] for kind in kinds] == [2, 1, 0, 1]
    assert course.row["usage"]["llm_calls"] >= len(course.requests), "a request was not counted"


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_in_the_middle_of_a_tree_puts_no_group_together_again(
    when: Point, database_url: str, stub: StubProvider, zygote: Zygote, tmp_path: Path
) -> None:
    stub.on("*", answer)
    async with running_service(database_url, stub, engine=False) as service:
        ledger = Ledger(tmp_path / "ledger")
        async with survivor_of(service, stub, ledger):
            calm = await course_of(service, stub, await service.submit(plan=PLAN), 0, ledger)
        check(calm)
        assert (calm.row["status"], calm.row["result"]["coverage"]["shortened"]) == ("succeeded", [])
        matrix = Matrix(service, stub, zygote, tmp_path, lambda: service.submit(plan=PLAN))
        for seq in [event.seq for event in calm.log if event.type in AROUND]:
            course = await matrix.broken_off(seq, when)
            assert course.end == calm.end, f"{when} event {seq}"
            check(course)
            assert len(lost_requests(course)) <= 2
            asked = [seen for seen in course.requests if seen.role == "reduce"]
            assert len(asked) <= 3 + len(lost_requests(course)), f"{when} event {seq}"
