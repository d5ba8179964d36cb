from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.events import LlmCompleted
from app.domain.keys import DEFAULT_TENANT
from app.domain.quote import History, Typical
from app.store import history
from app.store.database import Database
from app.store.history import Histories, history_of
from app.store.schema import migrate
from tests.support.fixtures import Services
from tests.support.service import CREW, Service, plan_of, report, synthesis, task
from tests.support.stub_answers import as_json, refusal
from tests.support.stub_provider import StubProvider
from tests.upgrade.left import left_run, put

PLAN = plan_of(task("a", "researcher"), task("b", "writer", ["a"]))


class CountedDatabase(Database):
    """A database that counts the looks of readers, and may be out of reach."""

    looks = 0
    gone = False

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """As ever, while it can be reached."""
        self.looks += 1
        if self.gone:
            raise OSError("out of reach")
        async with super().reading() as connection:
            yield connection


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[CountedDatabase]:
    database = CountedDatabase(database_url, pool=2)
    yield database
    await database.close()


@pytest.fixture
async def service(services: Services, stub: StubProvider) -> Service:
    stub.on("plan", as_json(PLAN))
    stub.on("work", as_json(report()))
    stub.on("synthesize", as_json(synthesis("the answer", "a", "b")))
    return await services.start()


async def crew(database: Database) -> History:
    return await history_of(database, DEFAULT_TENANT, CREW.name)


async def test_it_tells_what_tasks_and_answers_of_a_team_have_taken(service: Service) -> None:
    runs = [await service.folded(await ended(service)) for _ in range(3)]

    found = await crew(service.database)

    model = service.runtime.model.model_id("balanced")
    assert (found.runs, set(found.tasks)) == (3, {("researcher", model), ("writer", model)})
    for name, worker in (("a", "researcher"), ("b", "writer")):
        typical = found.tasks[worker, model]
        amounts = sorted((run.tasks[name].usage.amount for run in runs), key=lambda amount: amount.tokens)
        assert (typical.amount.tokens, typical.count) == (amounts[1].tokens, 3)
        assert typical.amount.cost_usd in {amount.cost_usd for amount in amounts}
    assert found.answer is not None
    facts = [event.data for run in runs for event in await service.events(run.brief.run_id)]
    answers = [fact.usage for fact in facts if isinstance(fact, LlmCompleted) and fact.purpose == "synthesize"]
    assert found.answer.amount.tokens in {usage.amount.tokens for usage in answers}


async def ended(service: Service) -> str:
    run_id = await service.submit()
    await service.ended(run_id)
    return run_id


async def test_runs_that_brought_nothing_other_teams_and_other_tenants_do_not_count(
    service: Service, stub: StubProvider
) -> None:
    await ended(service)
    stub.on("plan", replies=[refusal()])
    await ended(service)
    other = CREW.model_copy(update={"name": "others"})
    await service.ended(await service.submit(team=other))

    assert (await crew(service.database)).runs == 1
    assert await history_of(service.database, "somebody", CREW.name) == History()


async def test_no_more_than_the_newest_runs_are_looked_at(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        await ended(service)
    monkeypatch.setattr(history, "RUNS_CONSIDERED", 2)

    assert (await crew(service.database)).runs == 2


async def test_runs_of_earlier_releases_count_by_their_tasks(database_url: str, database: CountedDatabase) -> None:
    left = left_run("succeeded")
    put(database_url, left)
    migrate(database_url)

    found = await history_of(database, DEFAULT_TENANT, left.row["team_name"])

    assert found.runs == 1
    assert found.tasks
    assert found.answer is None


async def test_what_was_found_is_kept_for_a_while_unless_the_newest_is_wanted(database: CountedDatabase) -> None:
    histories = Histories(database)

    for newest in (False, False, True):
        assert await histories.of(DEFAULT_TENANT, "crew", newest=newest) == History()

    assert database.looks == 2


async def test_an_outage_leaves_what_was_known(
    service: Service, database: CountedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    histories = Histories(database)
    database.gone = True
    assert await histories.of(DEFAULT_TENANT, CREW.name) == History()
    database.gone = False
    await ended(service)
    known = await histories.of(DEFAULT_TENANT, CREW.name, newest=True)

    database.gone = True
    monkeypatch.setattr(history, "LITTLE_KEPT_S", 0)

    assert await histories.of(DEFAULT_TENANT, CREW.name) == known
    assert isinstance(known.answer, Typical)
    assert known.answer.amount.cost_usd > Decimal(0)


def test_the_look_goes_by_an_index(database_url: str) -> None:
    query = str(history._HISTORY).replace(":tenant", "'t'").replace(":team", "'crew'").replace(":runs", "100")
    with psycopg.connect(database_url) as connection:
        connection.execute("SET enable_seqscan = off")
        plan = "\n".join(row[0] for row in connection.execute(f"EXPLAIN {query}".encode()))

    assert "runs_by_team_idx" in plan
    assert "Seq Scan on runs" not in plan
    assert "Seq Scan on tasks" not in plan
