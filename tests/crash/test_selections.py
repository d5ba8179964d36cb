"""A run that chooses among its results, broken off at each of its commits: nobody chooses twice, and the end is the
same."""

from collections import Counter
from pathlib import Path

import pytest

from tests.crash.doomed import Zygote
from tests.crash.recovery import survivor_of
from tests.crash.test_matrix import Course, Matrix, check_calls, course_of
from tests.support.choices import choosing
from tests.support.effects import Ledger, Point
from tests.support.service import plan_of, report, running_service, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

PLAN = plan_of(*(task(name, required=False) for name in ("one", "two")), strategy="select")
DEATHS = ("selection.completed", "selection.rejected", "synthesis.completed")


def answer(seen: SeenRequest) -> Answer:
    """The judge is not understood at first; it then chooses what the second task wrote."""
    opening = seen.body["messages"][0]["content"][0]["text"]
    match seen.role:
        case "select" if len(seen.body["messages"]) == 1:
            return as_json({"choice": "none", "criteria": [], "reason": ""})
        case "select":
            return choosing("two is better")(seen)
        case "synthesize":
            return as_json(synthesis("two is better", "two"))
        case _:
            return as_json(report("two is better" if "Do two." in opening else "one"))


def check(course: Course) -> None:
    types = Counter(event.type for event in course.log)
    assert (types["selection.rejected"], types["selection.completed"], types["synthesis.completed"]) == (1, 1, 1)
    assert course.row["result"]["selection"]["task"] == "two"
    check_calls(course)


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_death_around_a_choice_neither_loses_nor_repeats_it(
    when: Point, database_url: str, stub: StubProvider, zygote: Zygote, tmp_path: Path
) -> None:
    stub.on("*", answer)
    async with running_service(database_url, stub, engine=False) as service:
        ledger, run_id = Ledger(tmp_path / "ledger"), "run_" + "5" * 32
        async with survivor_of(service, stub, ledger):
            calm = await course_of(service, stub, await service.submit(plan=PLAN, run_id=run_id), 0, ledger)
        check(calm)
        assert calm.row["status"] == "succeeded"
        deaths = {event.at for event in calm.log if event.type in DEATHS}
        firsts = [next(event.seq for event in calm.log if event.at == at) for at in sorted(deaths)]
        matrix = Matrix(service, stub, zygote, tmp_path, lambda: service.submit(plan=PLAN))
        for seq in firsts:
            course = await matrix.broken_off(seq, when)
            assert course.row["status"] == "succeeded", f"{when} event {seq}"
            check(course)
