"""Whole jobs with the demo model, as somebody tries them who has just started the service."""

import pytest

from app.domain.job import JobInput
from app.domain.results import Escalation, Output
from app.domain.team import Team
from app.team_files import BUILT_IN_TEAMS, teams_in
from app.tools.catalogue import catalogue
from app.tools.fetch_page import PageFetcher
from app.tools.sandbox import Sandbox
from tests.llm.demo_driver import Ran, ran
from tests.support.postgres import ROOT

README_OBJECTIVE = "Compare the north, the south and the west by their sales, and write a short summary."
REGIONS = JobInput(
    name="sales.csv",
    media_type="text/csv",
    content="region,quarter,amount\nnorth,1,1200\nsouth,1,950\nwest,1,400\nnorth,2,700\nsouth,2,1800\nwest,2,900\n",
)
DIFF = JobInput(name="change.diff", media_type="text/x-diff", content="--- a/x.py\n+++ b/x.py\n-a = 1\n+a = 2\n")


@pytest.fixture
async def general() -> Team:
    async with Sandbox() as sandbox, PageFetcher(sandbox) as pages:
        teams = teams_in(BUILT_IN_TEAMS, tools=catalogue(sandbox, pages))
    return next(team for team in teams if team.name == "general")


def escalations(job: Ran) -> list[str]:
    return [task for task, done in job.tasks.items() if isinstance(done.outcome, Escalation)]


def test_the_job_of_the_readme_is_the_one_that_is_tried_here() -> None:
    assert README_OBJECTIVE in (ROOT / "README.md").read_text()


async def test_the_job_of_the_readme_compares_the_regions_by_their_own_figures(general: Team) -> None:
    job = await ran(general, README_OBJECTIVE, [REGIONS])

    assert job.undelivered == []
    assert job.answer is not None
    assert [(each.text, each.tasks) for each in job.answer.statements] == [
        (
            "By region, the sum of amount is largest for south (2750), then north (1900), then west (1300).",
            ("t1", "t2", "t3", "t4"),
        ),
        ("For north, the sum of amount is 1900, over 2 rows of sales.csv.", ("t1",)),
        ("For south, the sum of amount is 2750, over 2 rows of sales.csv.", ("t2",)),
        ("For west, the sum of amount is 1300, over 2 rows of sales.csv.", ("t3",)),
    ]
    assert "1900" not in job.output("t2").text + job.output("t3").text


async def test_two_files_are_compared(general: Team) -> None:
    north = JobInput(name="north.csv", media_type="text/csv", content="month,amount\n1,10\n2,20.5\n")
    south = JobInput(name="south.csv", media_type="text/csv", content="month,amount\n1,7\n2,8\n")

    job = await ran(general, "Compare north.csv and south.csv by amount.", [north, south])

    assert job.answer is not None
    assert "the sum of amount is largest for north.csv (30.5), then south.csv (15)" in job.answer.statements[0].text
    assert job.answer.statements[0].tasks == ("t1", "t2", "t3")


async def test_what_the_data_does_not_hold_is_missing_and_nothing_stands_in_for_it(general: Team) -> None:
    job = await ran(general, "Compare the north and the east by their sales.", [REGIONS])

    assert escalations(job) == ["t2"]
    assert job.answer is not None
    assert [each.tasks for each in job.answer.statements] == [("t1",)]
    assert "What is missing" in job.answer.answer
    assert set(job.answer.impacts) == {"t2", "t3"}


@pytest.mark.parametrize(
    ("objective", "inputs", "delivered", "missing"),
    [
        ("Compare the north and the south by their sales, and write an email to the boss.", [REGIONS], 2, 1),
        ("Review this diff for bugs.", [DIFF], 1, 1),
        ("Summarise the change.", [DIFF], 1, 1),
        ("Research e-bikes, calculate the growth from 1200 to 1500 and write a report.", [], 1, 2),
    ],
)
async def test_what_takes_a_language_model_is_missing_beside_what_was_done(
    general: Team, objective: str, inputs: list[JobInput], delivered: int, missing: int
) -> None:
    job = await ran(general, objective, inputs)

    assert len(job.undelivered) == missing
    assert sum(isinstance(done.outcome, Output) for done in job.tasks.values()) == delivered


@pytest.mark.parametrize(
    "objective", ["Write a haiku about queues.", "What is the capital of France?", "Compare tea and rum."]
)
async def test_a_job_of_nothing_else_delivers_nothing(general: Team, objective: str) -> None:
    job = await ran(general, objective)

    assert job.answer is None
    assert escalations(job)


async def test_a_job_in_german_is_done_too(general: Team) -> None:
    sales = JobInput(name="umsatz.csv", media_type="text/csv", content="Region;Umsatz\nNord;100\nSüd;50\nNord;1\n")

    job = await ran(general, "Vergleiche Nord und Süd nach Umsatz.", [sales])

    assert job.answer is not None
    assert "largest for Nord (101), then Süd (50)" in job.answer.statements[0].text
