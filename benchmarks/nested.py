"""Three nested runs of four tasks each, against one flat run of the same twelve tasks.

Both are made by the stub provider and done by one service in turn, so that the ratio of their times is what counts. A
nested run has two more calls in a row, its own plan and its own answer, so that even without any overhead it takes five
calls where the flat one takes three.

Run as a process: `python -m benchmarks.nested DATABASE_URL`; prints its figures as JSON.
"""

import asyncio
import json
import statistics
import sys
from typing import Any

from app.domain.team import Team
from benchmarks.reference_job import REPORT
from tests.support.service import Service, plan_of, running_service, synthesis, task
from tests.support.stub_answers import Answer, as_json, delayed
from tests.support.stub_provider import StubProvider
from tests.support.stub_script import SeenRequest, system_of

PARTS, TASKS = 3, 4
RUNS = 41
"""Of each kind; the first of them only warms up."""
CALL_S = 0.05
CLERK = {"name": "clerk", "description": "Calculates.", "instructions": "Calculate."}
FLAT = Team.model_validate({"name": "flat", "workers": [CLERK], "limits": {"concurrency": PARTS * TASKS}})
INNER = Team.model_validate({"name": "inner", "workers": [CLERK], "limits": {"concurrency": TASKS}})
NESTED = Team.model_validate(
    {"name": "nested", "workers": [{"name": "bureau", "description": "Has it calculated.", "team": "inner"}]}
)
SUMS = [task(f"t{n}", "clerk", instruction=f"Calculate {n} times {n} and say what it is.") for n in range(1, 13)]
PLANS = {
    "flat": plan_of(*SUMS, final_instruction="All of them."),
    "inner": plan_of(*SUMS[:TASKS], final_instruction="All of them."),
    "nested": plan_of(
        *(
            task(f"t{n}", "bureau", instruction=f"Have part {n} of the squares calculated.")
            for n in range(1, PARTS + 1)
        ),
        final_instruction="All of them.",
    ),
}


async def main(url: str) -> None:
    """Run both kinds in turn, now one first and now the other."""
    times: dict[str, list[float]] = {FLAT.name: [], NESTED.name: []}
    async with StubProvider() as stub, running_service(url, stub, lease_seconds=10, poll_seconds=2) as service:
        stub.on("plan", _planned)
        stub.on("work", delayed(as_json(REPORT), CALL_S))
        stub.on("synthesize", _reconciled)
        await service.submit("Do four sums.", INNER)  # So that the team is known.
        for number in range(RUNS):
            for team in (FLAT, NESTED) if number % 2 else (NESTED, FLAT):
                times[team.name].append(await _seconds(service, team))
    medians = {name: statistics.median(seconds[1:]) for name, seconds in times.items()}
    print(json.dumps(medians | {"ratio": medians["nested"] / medians["flat"]}))


def _planned(seen: SeenRequest) -> Answer:
    return delayed(as_json(_plan_for(seen)), CALL_S)


def _reconciled(seen: SeenRequest) -> Answer:
    names = [each["id"] for each in _plan_for(seen)["tasks"]]
    return delayed(as_json(synthesis("All of them.", *names)), CALL_S)


def _plan_for(seen: SeenRequest) -> dict[str, Any]:
    return next(plan for name, plan in PLANS.items() if f'team "{name}"' in system_of(seen.body))


async def _seconds(service: Service, team: Team) -> float:
    row = await service.ended(await service.submit("Do the sums.", team))
    assert row["status"] == "succeeded", row["error"]
    return float((row["finished_at"] - row["started_at"]).total_seconds())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
