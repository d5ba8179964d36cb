"""A plan of ten tasks with workers that it brings along, against the same plan with the team's own.

Both are made by the stub provider and done by one service in turn, so that the ratio of their times is what counts. The
plans have the same tasks; the one with workers of its own defines ten, one for each task.

Run as a process: `python -m benchmarks.dynamic_workers DATABASE_URL`; prints its figures as JSON.
"""

import asyncio
import json
import statistics
import sys

from app.domain.team import Team
from benchmarks.reference_job import REPORT, SYNTHESIS
from tests.support.service import Service, plan_of, running_service, task
from tests.support.stub_answers import Answer, as_json, delayed
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest

TASKS = 10
RUNS = 41
"""Of each kind; the first of them only warms up."""
CALL_S = 0.05
NAMES = [f"clerk-{number}" for number in range(1, TASKS + 1)]
CLERK = {"description": "Calculates.", "instructions": "Calculate what the task says, and show every step of it."}
STATIC = Team.model_validate(
    {"name": "static", "workers": [CLERK | {"name": name} for name in NAMES], "limits": {"concurrency": TASKS}}
)
DYNAMIC = Team.model_validate(
    {
        "name": "dynamic",
        "workers": [CLERK | {"name": "clerk"}],
        "dynamic_workers": {"tools": [], "at_most": TASKS},
        "limits": {"concurrency": TASKS},
    }
)
SUMS = [task(f"t{n}", NAMES[n - 1], instruction=f"Calculate {n} times {n} and say what it is.") for n in range(1, 11)]
PLAN = plan_of(*SUMS)
PLAN_WITH_WORKERS = plan_of(*SUMS, workers=[CLERK | {"name": name, "model": "balanced", "tools": []} for name in NAMES])


async def main(url: str) -> None:
    """Run both kinds in turn, now one first and now the other."""
    times: dict[str, list[float]] = {STATIC.name: [], DYNAMIC.name: []}
    async with StubProvider() as stub, running_service(url, stub, lease_seconds=10, poll_seconds=2) as service:
        stub.on("plan", _planned)
        stub.on("work", delayed(as_json(REPORT), CALL_S))
        stub.on("synthesize", delayed(as_json(SYNTHESIS), CALL_S))
        for number in range(RUNS):
            for team in (STATIC, DYNAMIC) if number % 2 else (DYNAMIC, STATIC):
                times[team.name].append(await _seconds(service, team))
    medians = {name: statistics.median(seconds[1:]) for name, seconds in times.items()}
    print(json.dumps(medians | {"ratio": medians["dynamic"] / medians["static"]}))


def _planned(seen: SeenRequest) -> Answer:
    told = seen.body["messages"][0]["content"][0]["text"]
    return delayed(as_json(PLAN_WITH_WORKERS if "<tools>" in told else PLAN), CALL_S)


async def _seconds(service: Service, team: Team) -> float:
    row = await service.ended(await service.submit("Do ten sums.", team))
    assert row["status"] == "succeeded", row["error"]
    return float((row["finished_at"] - row["started_at"]).total_seconds())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
