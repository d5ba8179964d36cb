"""Three replicas under everything that can happen to them: nothing lost, nothing stuck, nothing doubled.

Jobs are begun for CHARGEHAND_SOAK_MINUTES. CHARGEHAND_SOAK_SEED repeats the jobs, the faults and the disturbances of
another soak, though not its timing.
"""

import asyncio
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from random import Random, randrange

import yaml

from app.store.database import Database
from tests.soak.client import Clients
from tests.soak.fleet import Fleet
from tests.soak.jobs import TEAMS, jobs
from tests.soak.provider import MoodyProvider
from tests.soak.verdict import Remains, faults_of, remains, takeovers_s
from tests.support.effects import Ledger
from tests.support.postgres import Databases
from tests.support.stub_provider import StubProvider
from tests.support.summary import TOLD

MINUTES = float(os.environ.get("CHARGEHAND_SOAK_MINUTES", "0.5"))
SEED = int(os.environ.get("CHARGEHAND_SOAK_SEED", randrange(10**6)))
LEAST_RUNS = 100
"""So many, however long they take."""
RUNS_AT_ONCE = 16
REQUESTS_BETWEEN_DISTURBANCES = 25


async def disturb_for_ever(fleet: Fleet, stub: StubProvider) -> None:
    """Have something happen every so many requests."""
    while True:
        mark = len(stub.log) + REQUESTS_BETWEEN_DISTURBANCES
        await stub.until(lambda mark=mark: len(stub.log) >= mark, timeout_s=600)  # type: ignore[misc]
        await fleet.disturb()


async def test_whatever_happens_every_run_ends_once_and_nothing_is_done_twice(
    databases: Databases, database_url: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    print(f"seed {SEED}")  # Shown should the soak not even come to its end.
    for team in TEAMS:
        (tmp_path / f"{team.name}.yaml").write_text(yaml.safe_dump(team.model_dump(mode="json")))
    provider, chance = MoodyProvider(SEED), Random(SEED)
    async with StubProvider() as stub:
        stub.on("*", provider)
        async with Fleet(databases.server_url, database_url, stub.url, tmp_path, chance) as fleet:
            clients = Clients(fleet, stub, RUNS_AT_ONCE)
            disturbing = asyncio.create_task(disturb_for_ever(fleet, stub))
            began = time.monotonic()
            enough = began + 60 * MINUTES
            await clients.do_all(
                takewhile(lambda job: job.number <= LEAST_RUNS or time.monotonic() < enough, jobs(SEED))
            )
            took_s = time.monotonic() - began
            disturbing.cancel()
            with suppress(asyncio.CancelledError):
                await disturbing
            await fleet.recovered()
        database = Database(database_url, pool=2)
        left = await remains(database, stub, clients, Ledger(tmp_path / "ledger"), fleet.started)
        await database.close()
    told = summary(left, took_s, fleet, provider)
    record_property(TOLD, told)
    faults = [*faults_of(left), *(f"a stopped replica ended with {code}" for code in fleet.exit_codes if code)]
    assert faults == [], "\n".join([told, *faults])


def summary(left: Remains, took_s: float, fleet: Fleet, provider: MoodyProvider) -> str:
    """What happened, in a few lines."""
    waits = takeovers_s(left, fleet.deaths)
    lines = {
        f"soak of {len(left.ends)} runs in {took_s / 60:.1f} minutes, seed {SEED}": Counter(left.ends.values()),
        "disturbances": fleet.done,
        "provider faults": provider.faults,
        "requests": {"sent": len(left.requests), "answered and lost": len(left.lost_calls)},
    }
    told = [f"{name}: {', '.join(f'{count} {what}' for what, count in each.items())}" for name, each in lines.items()]
    if waits:
        told.append(
            f"takeovers after kills: {len(waits)}, median {statistics.median(waits):.1f} s, longest {waits[-1]:.1f} s"
        )
    return "\n".join(told)
