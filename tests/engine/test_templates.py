"""Nested runs of teams with plan templates: planned from what their parent was given, or a clear end of the task."""

from typing import Any

import pytest

from app.domain.nested import Parent, child_id
from app.domain.team import Team
from tests.support.service import Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest, system_of
from tests.support.templates import REVIEW, SUMMARY, diff_of, team_of

REVIEWS = team_of(REVIEW, SUMMARY)
OFFICE = Team.model_validate(
    {
        "name": "office",
        "workers": [
            {"name": "reviews", "description": "Reviews a change.", "team": "reviews"},
            {"name": "clerk", "description": "Files.", "instructions": "File."},
        ],
    }
)
DIFF = {"name": "change.diff", "content": diff_of(("src/a.py", 2), ("src/b.py", 1))}


def prepare(stub: StubProvider) -> None:
    stub.on("plan", as_json(plan_of(task("look", "reviews"), task("file", "clerk"))))
    stub.on("work", as_json(report()))

    def answer(seen: SeenRequest) -> Any:
        outer = 'team "office"' in system_of(seen.body)
        return as_json(
            synthesis("all is done", "look", "file")
            if outer
            else synthesis("no bugs", "review-1", "review-2", "summary")
        )

    stub.on("synthesize", answer)


async def test_a_nested_run_is_planned_by_the_template_of_its_team(service: Service, stub: StubProvider) -> None:
    prepare(stub)
    await service.stored(REVIEWS)

    run_id = await service.submit(team=OFFICE, inputs=[DIFF])
    run = await service.ended(run_id)

    assert run["status"] == "succeeded"
    child = await service.folded(child_id(Parent(run=run_id, task="look", attempt=1)))
    assert (child.plan_source, [*child.tasks]) == ("template", ["review-1", "review-2", "summary"])
    assert len(stub.of("plan")) == 1


@pytest.mark.parametrize(
    ("job", "code", "why"),
    [
        ({}, "template_empty", "for each of the files of diffs, and there is none"),
        ({"inputs": [DIFF | {"content": "none"}]}, "input_unparseable", "It changes no file."),
    ],
)
async def test_one_of_which_no_plan_can_be_made_is_a_failed_task_that_says_why(
    service: Service, stub: StubProvider, job: dict[str, Any], code: str, why: str
) -> None:
    prepare(stub)
    stub.on("synthesize", as_json(synthesis("half of it", "file", without=["look"])))
    await service.stored(REVIEWS)

    run_id = await service.submit(team=OFFICE, limits={"rounds": 1}, **job)
    run = await service.ended(run_id)

    assert (run["status"], run["stop_reason"]) == ("partial", "gaps")
    look = (await service.folded(run_id)).tasks["look"]
    assert look.error is not None
    assert (look.error.code, len(look.attempts)) == (code, 1)
    assert why in look.error.message
