"""A run with a nested one, broken off at commits of either: nothing is done twice, and no end stays unheard."""

from collections import Counter
from pathlib import Path

import pytest

from app.domain.nested import Parent, child_id
from app.domain.team import Team
from app.domain.worker import Worker
from tests.crash.doomed import Doom, Zygote
from tests.crash.recovery import leave_to_others, survivor_of
from tests.crash.test_matrix import DOOMED_KEY
from tests.support.effects import Ledger, Point
from tests.support.rows import check_rows, every
from tests.support.service import CREW, plan_of, report, running_service, synthesis, task
from tests.support.stub_answers import Answer, as_json
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest, system_of

OFFICE = Team(name="office", workers=(Worker(name="survey", description="Surveys.", team="crew"), *CREW.workers))
PLAN = plan_of(task("north", "survey"), task("files", "writer"), final_instruction="Both in one.")
INNER = plan_of(task("t1", "researcher"))
DEATHS: tuple[tuple[int, Point], ...] = (
    (3, "after"), (5, "before"), (5, "after"), (7, "before"), (7, "after"), (8, "before"), (12, "before"),
)  # fmt: skip
"""Events, of whichever run is the first to have one of that number, at whose commits a process dies: the plans, the
beginnings of tasks, the nested run, the wait for it, its end, and what its parent makes of that."""


def answer(seen: SeenRequest) -> Answer:
    """The supervisor of the nested run plans, and everybody answers as ever."""
    match seen.role:
        case "plan":
            return as_json(INNER)
        case "synthesize":
            return as_json(synthesis("Surveyed and filed.", "north", "files"))
        case _:
            return as_json(report("surveyed" if "researcher" in system_of(seen.body) else "filed"))


@pytest.mark.usefixtures("_plain_logs", "_settled_heap")
async def test_a_death_around_a_nested_run_changes_nothing_about_how_it_ends(
    database_url: str, stub: StubProvider, zygote: Zygote, tmp_path: Path
) -> None:
    stub.on("*", answer)
    async with running_service(database_url, stub, engine=False) as service:
        ledger = Ledger(tmp_path / "ledger")
        await service.stored(CREW)
        for seq, when in DEATHS:
            doom = Doom(service.url, stub.url, str(ledger.file), str(tmp_path / "logs"), seq, when, key=DOOMED_KEY)
            async with zygote.doomed(doom):
                run_id = await service.submit(team=OFFICE, plan=PLAN)
            await leave_to_others(service)
            async with survivor_of(service, stub, ledger):
                run = await service.ended(run_id)
                child = await service.ended(child_id(Parent(run=run_id, task="north", attempt=1)))
            told = f"{when} event {seq}"
            assert (run["status"], run["result"]["answer"]) == ("succeeded", "Surveyed and filed."), told
            assert (child["status"], child["result"]["answer"]) == ("succeeded", "surveyed"), told
            begun = Counter(event.task_id for event in await service.events(run_id) if event.type == "task.started")
            assert begun == {"north": 1, "files": 1}, told
            for each in (run_id, child["id"]):
                await check_rows(service.database, each)
        rows = await every(service.database, "SELECT id FROM runs WHERE parent IS NOT NULL")
        assert len(rows) == len(DEATHS)
