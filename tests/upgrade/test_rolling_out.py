"""Release 0.1, from its wheel, and this one on one database: while one takes the place of the other, and afterwards."""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import copyfile, copytree, ignore_patterns
from subprocess import run as run_process
from typing import Any
from zipfile import ZipFile

import psycopg
import pytest

from app.domain.keys import DEFAULT_TENANT
from app.domain.webhooks import RUN_NEWS, new_secret
from app.store import webhooks
from app.store.database import Database
from app.store.schema import NEWEST, Schema, migrate
from app.store.vault import Vault
from tests.support.processes import Replica, Replicas, post_job, run_at_end, start_process
from tests.support.receiver import SECRETS_KEY
from tests.support.rows import check_rows, without_news
from tests.support.service import plan_of, report, synthesis, task
from tests.support.sightings import authority, runs_on
from tests.support.stub_answers import Answer, as_json, held
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest
from tests.upgrade.keep_wheel import BUILT_FROM, ROOT, files_at, files_in, knows
from tests.upgrade.left import RELEASE_0_1
from tests.upgrade.outcomes import case_of

BUILD = "from setuptools.build_meta import build_wheel; build_wheel('.')"
COMMIT = "7d8200d8b84c3acf6ccf5e7e0e412522d1e818aa"
LEASE_S = "2"
"""Long enough for a process that is alive on a busy machine."""
START_S = 30
"""Until a job is worked on, there."""
[WHEEL] = RELEASE_0_1.glob("*.whl")
SHOWN = ("id", "objective", "status", "stop_reason", "result", "error", "usage", "progress", "last_seq", "finished_at")
PARTS = ("/plan", "/tasks", "/events", "/trace", "/trace?include=content", "/inputs")


@pytest.fixture(scope="session")
def release_0_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the packages of the release are."""
    directory = tmp_path_factory.mktemp("release_0_1")
    with ZipFile(WHEEL) as wheel:
        wheel.extractall(directory)
    return directory


@dataclass(slots=True)
class Fleet:
    """Replicas of both releases on one database, and jobs for them. Work for the cases that are `held` hangs."""

    replicas: Replicas
    stub: StubProvider
    sql: psycopg.Connection
    release: Path
    held: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.stub.on("plan", self._plan)
        self.stub.on("work", self._work)
        self.stub.on("synthesize", as_json(synthesis("All of it.", "text")))

    async def older(self) -> Replica:
        """A replica of release 0.1."""
        return await self.replicas.start(self.release, lease_seconds=LEASE_S)

    async def newer(self) -> Replica:
        """One of this release."""
        return await self.replicas.start(lease_seconds=LEASE_S)

    async def post(self, replica: Replica, case: str) -> str:
        """A job, through this replica."""
        return await post_job(replica, objective=f"Find out (case {case}).", inputs=[{"name": "a", "content": "b"}])

    async def under_way(self, replica: Replica, case: str) -> str:
        """A job whose run this replica has, and whose work hangs until it is released."""
        self.held |= {case}
        run_id = await self.post(replica, case)
        await self.stub.until(lambda: "work:researcher" in self.asked(case), timeout_s=START_S)
        assert runs_on(replica, authority(self.sql, run_id)[0])
        return run_id

    def let_go(self, case: str) -> None:
        """Answer what hangs, and what is asked from here on."""
        self.held -= {case}
        self.stub.release(case)

    def asked(self, case: str) -> list[str]:
        """Whom the provider was asked to be."""
        return [seen.role for seen in self.stub.log if case_of(seen) == case]

    def _plan(self, seen: SeenRequest) -> Answer:
        case = case_of(seen)
        facts = task("facts", "researcher", instruction=f"Find the facts (case {case}).")
        return as_json(plan_of(facts, task("text", "writer", ["facts"], instruction=f"Write the text (case {case}).")))

    def _work(self, seen: SeenRequest) -> Answer:
        answer = as_json(report("done"))
        return held(answer, case_of(seen)) if case_of(seen) in self.held else answer


@pytest.fixture
async def fleet(database_url: str, stub: StubProvider, release_0_1: Path) -> AsyncIterator[Fleet]:
    """A database with the schema of 0.1, and nobody there yet."""
    with psycopg.connect(database_url, autocommit=True) as sql:
        async with Replicas(database_url, stub.url) as replicas:
            yield Fleet(replicas, stub, sql, release_0_1)


async def shown(replica: Replica, run_id: str) -> dict[str, Any]:
    """What a replica tells of a run, as 0.1 had words for it. All there is to be read of it can be read."""
    async with replica.client as client:
        answers = [await client.get(f"/v1/runs/{run_id}{part}") for part in ("", *PARTS)]
    assert [answer.status_code for answer in answers] == [200] * len(answers)
    run, *_ = [answer.json() for answer in answers]
    tasks = [(each["id"], each["status"], without_news(each["output"])) for each in answers[2].json()["data"]]
    fields: dict[str, Any] = without_news({name: run[name] for name in SHOWN})
    return fields | {"tasks": tasks}


async def ends(replica: Replica, run_id: str) -> None:
    """The run succeeds, and this replica tells of it."""
    run = await run_at_end(replica, run_id)
    assert (run["status"], run["stop_reason"]) == ("succeeded", "completed")


async def put_webhook(url: str) -> None:
    """Have the tenant's receiver told of ends. Nobody here has the key with which its secret is kept."""
    database = Database(url, pool=1)
    try:
        secret = Vault([SECRETS_KEY]).seal(new_secret())
        await webhooks.put_webhook(database, DEFAULT_TENANT, "https://hooks.example/", RUN_NEWS, sealed=secret)
    finally:
        await database.close()


async def test_what_the_wheel_holds_is_what_the_release_was() -> None:
    if not knows(COMMIT):
        pytest.skip(
            f"whether the kept wheel is the release cannot be seen: no commit {COMMIT[:8]} here (git fetch --unshallow)"
        )
    kept, was = files_in(WHEEL), files_at(COMMIT)

    assert kept == {name: was[name] for name in was if not name.endswith(".mako")}


def test_a_wheel_of_today_has_the_migrations_in_it(tmp_path: Path) -> None:
    for path in BUILT_FROM:
        copy = partial(copytree, ignore=ignore_patterns("__pycache__")) if (ROOT / path).is_dir() else copyfile
        copy(ROOT / path, tmp_path / path)

    run_process([sys.executable, "-c", BUILD], cwd=tmp_path, check=True, capture_output=True)

    [wheel] = tmp_path.glob("*.whl")
    assert {f"migrations/versions/{file.name}" for file in (ROOT / "migrations/versions").glob("*.py")} < {
        *files_in(wheel)
    }


async def test_one_release_takes_the_place_of_the_other_and_is_taken_back(fleet: Fleet) -> None:
    newer, runs = await rolled_out(fleet)
    runs += await taken_back(fleet, newer, runs)

    database = Database(fleet.replicas.database_url, pool=1)
    try:
        for run_id in runs:
            await check_rows(database, run_id)
    finally:
        await database.close()


async def rolled_out(fleet: Fleet) -> tuple[Replica, list[str]]:
    """The older release works while the schema changes and after it; the newer one reads and goes on with its runs."""
    older = await fleet.older()
    before = await fleet.post(older, "before")
    await ends(older, before)
    through = await fleet.under_way(older, "through")
    told_before = await shown(older, before)

    assert await asyncio.to_thread(migrate, fleet.replicas.database_url) == Schema(NEWEST)

    fleet.let_go("through")
    await ends(older, through)
    after = await fleet.post(older, "after")
    await ends(older, after)
    passed_on = await fleet.under_way(older, "passed_on")
    newer = await fleet.newer()
    assert await shown(newer, before) == await shown(older, before) == told_before
    await older.kill()
    fleet.let_go("passed_on")
    await ends(newer, passed_on)
    assert fleet.asked("passed_on") == ["plan", "work:researcher", "work:researcher", "work:writer", "synthesize"]
    return newer, [before, through, after, passed_on]


async def taken_back(fleet: Fleet, newer: Replica, runs: list[str]) -> list[str]:
    """The older release reads what the newer one has written, goes on with its runs, and works on alone."""
    url = fleet.replicas.database_url
    await put_webhook(url)
    entire = await fleet.post(newer, "entire")
    await ends(newer, entire)
    handed_back = await fleet.under_way(newer, "handed_back")
    told = [await shown(newer, run_id) for run_id in (*runs, entire)]
    older = await fleet.older()

    assert [await shown(older, run_id) for run_id in (*runs, entire)] == told
    await newer.kill()
    fleet.let_go("handed_back")
    await ends(older, handed_back)
    assert fleet.asked("handed_back") == ["plan", "work:researcher", "work:researcher", "work:writer", "synthesize"]
    alone = await fleet.post(older, "alone")
    await ends(older, alone)
    to_be_told = fleet.sql.execute("SELECT run_id FROM webhook_deliveries").fetchall()
    assert sorted(to_be_told) == sorted((run_id,) for run_id in (entire, handed_back, alone))
    async with older.client as client:
        listed = (await client.get("/v1/runs")).json()["data"]
    written_back = [entire, handed_back, alone]
    assert {run["id"] for run in listed} == {*runs, *written_back}
    process = await start_process(["-m", "app", "migrate"], {"DATABASE_URL": url}, fleet.release)
    _, said = await process.communicate()
    assert (process.returncode, f"revision {NEWEST}, of a newer release" in said.decode()) == (0, True)
    return written_back
