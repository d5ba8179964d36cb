"""The matrix of findings: a process dies around the commits in which these are placed, looked at again and ranked."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.doomed import Zygote
from tests.crash.recovery import survivor_of
from tests.crash.test_matrix import Course, Matrix, course_of, lost_requests
from tests.engine.test_findings import BUGS, INPUTS, REVIEWERS, SAID, STYLE, TWO, found, opening_of, verdict
from tests.support.effects import Ledger, Point
from tests.support.service import running_service, synthesis
from tests.support.stub_answers import Answer, as_json, text
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

DEATHS: Sequence[tuple[Point, str]] = (
    ("after", "findings.placed"),
    ("after", "verification.rejected"),
)


def answer(seen: SeenRequest) -> Answer:
    """By what was said: the critical finding takes a second try, the other one is refuted."""
    match seen.role:
        case "verify" if SAID in opening_of(seen) and len(seen.body["messages"]) == 1:
            return text("I would rather talk about it.")
        case "verify":
            return as_json(verdict("confirmed" if SAID in opening_of(seen) else "refuted"))
        case "synthesize":
            return as_json(synthesis("Critical: src/a.py.", "a", "b"))
        case "work:bugs":
            return as_json(found(BUGS))
        case _:
            return as_json(found(STYLE))


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
async def test_a_death_among_findings_changes_none_of_them_and_takes_no_look_twice(
    database_url: str, stub: StubProvider, zygote: Zygote, tmp_path: Path
) -> None:
    stub.on("*", answer)
    async with running_service(database_url, stub, engine=False) as service:

        async def submit() -> str:
            return await service.submit(team=REVIEWERS, plan=TWO, inputs=INPUTS)

        ledger = Ledger(tmp_path / "ledger")
        async with survivor_of(service, stub, ledger):
            calm = await course_of(service, stub, await submit(), 0, ledger)
        assert places_in(calm) == {("a", "b"): 11}
        matrix = Matrix(service, stub, zygote, tmp_path, submit)
        for when, kind in DEATHS:
            seq = next(event.seq for event in calm.log if event.type == kind)
            course = await matrix.broken_off(seq, when)
            assert course.row["status"] == calm.row["status"] == "succeeded"
            assert places_in(course) == places_in(calm), f"{when} {kind}"
            asked = [seen for seen in course.requests if seen.role == "verify"]
            assert len(asked) <= 3 + len(lost_requests(course)), f"{when} {kind}"


def places_in(course: Course) -> dict[tuple[str, ...], int]:
    """The lines of the critical findings that are left in a run, by the tasks that found them."""
    left = course.row["result"]["data"]["findings"]
    return {tuple(sorted(each["tasks"])): each["location"]["line"] for each in left if each["severity"] == "critical"}
