"""Runs as they are drawn in a true terminal."""

from collections.abc import Mapping

import pytest

from tests.engine.test_escalations import EMPTY_HANDED, ONE, crew
from tests.engine.test_questions import asking
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.tmux import typed

PLAN = as_json(plan_of(task("t1", "researcher"), task("t2", "analyst"), task("t3", "writer", ["t1", "t2"])))
HOSTILE = "[red]not red[/red]\x1b]0;taken over\x07\x1b[2J and list<int>"


@pytest.fixture
def environment(address: str) -> Mapping[str, str]:
    return {"CHARGEHAND_URL": address, "TERM": "screen-256color", "LC_ALL": "C.UTF-8"}


async def test_a_tree_grows_and_its_end_is_the_exit_status(
    service: Service, stub: StubProvider, environment: Mapping[str, str]
) -> None:
    await service.stored(CREW)
    stub.on("plan", PLAN)
    stub.on("work:researcher", held(as_json(report("found")), "first"))
    stub.on("work:analyst", held(as_json(report("reckoned")), "second"))
    stub.on("work:writer", held(as_json(report("written")), "third"))
    stub.on("synthesize", as_json(synthesis(f"# All told\n\n{HOSTILE}", "t1", "t2", "t3")))

    async with typed("run", "Find out.", "--team", "crew", "--limit", "cost=2", environment=environment) as pane:
        begun = await pane.until("├─ ▶ t1 Task t1", "└─ ▶ t2 Task t2", "   └─ · t3 Task t3", "waits for t1, t2")
        assert "running   researcher   #1" in begun
        assert "0 of 3 tasks" in begun
        assert " of $2.00 " in begun
        stub.release("first")
        await pane.until("✓ t1 Task t1", "waits for t2", "1 of 3 tasks")
        stub.release("second")
        await pane.until("▶ t3 Task t3", "2 of 3 tasks")
        stub.release("third")

        assert await pane.exit_status() == 0
        ended = await pane.shown()
        assert ended.count("Find out.") == 1, "what is drawn is drawn over"
        assert "3 of 3 tasks" in ended
        assert "All told" in ended
        assert "[red]not red[/red]␛]0;taken over␇␛[2J and list<int>" in ended
        assert await pane.title() != "taken over"


async def test_an_interrupted_run_is_left_and_found_again_and_cancelled(
    service: Service, stub: StubProvider, environment: Mapping[str, str]
) -> None:
    stub.on("work:writer", held(as_json(report())))
    run_id = await service.submit(plan=plan_of(task("t1")))

    async with typed("watch", run_id, environment=environment) as pane:
        await pane.until("▶ t1 Task t1")
        await pane.type("C-c")
        await pane.until("[c/l/g]")
        await pane.type("g", "Enter")
        await pane.until("▶ t1 Task t1", times=2)
        await pane.type("C-c")
        await pane.until("[c/l/g]", times=2)
        await pane.type("C-c")
        assert await pane.exit_status() == 130
        assert f"chargehand watch {run_id}" in (await pane.shown()).replace("\n", "")
    async with typed("watch", "last", environment=environment, columns=40, lines=12) as pane:
        narrow = await pane.until("▶ t1 Task t1", "writer #1")
        assert all(len(line) <= 40 for line in narrow.splitlines())
        await pane.type("C-c")
        await pane.until("[c/l/g]")
        await pane.type("c", "Enter")
        assert await pane.exit_status() == 5
        assert "⊘ t1" in await pane.shown()

    assert (await service.ended(run_id))["cancellation"]["reason"] == "cancelled at the terminal"


async def test_what_a_run_asks_is_asked_where_it_is_watched(
    service: Service, stub: StubProvider, environment: Mapping[str, str]
) -> None:
    await service.stored(crew())
    stub.on("plan", as_json(ONE))
    stub.on("work:junior", replies=[EMPTY_HANDED], reply=as_json(report("done")))
    stub.on("rule", asking("proceed", "calendar year", "business year"))

    async with typed("run", "Which year?", "--team", crew().name, "--approve", environment=environment) as pane:
        await pane.until("Approve this plan?", "waiting for approval of its plan")
        await pane.type("y", "Enter")
        await pane.until("1. calendar year", "2. business year", "Answer, or Enter")
        await pane.type("2", "Enter")
        assert await pane.exit_status() == 0

    assert "The answer: business year" in stub.of("work:junior")[-1].body["messages"][0]["content"][0]["text"]
